"""Kernels of a captured graph start before those before them end, if all wait."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from rewrite.backends.cuda import CudaDevice
from rewrite.backends.nvidia import launches, nvrtc, overlaps
from rewrite.backends.nvidia.launches import CudaModule, Kernel
from rewrite.backends.nvidia.overlaps import overlap, waits
from rewrite.backends.nvidia.tensor_maps import TensorMaps
from rewrite.lower.device import Grid
from rewrite.lower.loops import Function
from rewrite.lower.text import parse

COPY = """function f(x: f32[64], out y: f32[64]) {
  grid i < 64 {
    y[i] = x[i]
  }
}
"""


def driver(count: int) -> MagicMock:
    """With a graph of so many edges; bindings of CUDA 13 have one name for each."""
    cu = MagicMock(spec=[
        "cuGraphGetEdges", "cuGraphRemoveDependencies", "cuGraphAddDependencies",
        "CUgraphEdgeData", "CUgraphDependencyType", "cuGraphInstantiate",
        "CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC", "CUstream", "CUstreamCaptureMode",
        "cuStreamBeginCapture", "cuStreamEndCapture",
    ])  # fmt: skip
    sources, targets = [*range(count)], [*range(1, count + 1)]
    before = ["whole"] * count
    cu.cuGraphGetEdges.return_value = 0, sources, targets, before, count
    cu.cuGraphRemoveDependencies.return_value = (0,)
    cu.cuGraphAddDependencies.return_value = (0,)
    cu.CUgraphEdgeData.side_effect = SimpleNamespace
    cu.CUgraphDependencyType.CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC = 1
    cu.CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC = 1
    cu.cuStreamBeginCapture.return_value = (0,)
    cu.cuStreamEndCapture.return_value = 0, "graph"
    cu.cuGraphInstantiate.return_value = 0, "executable"
    return cu


def test_each_edge_is_put_in_place_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    for count in (0, 2):
        cu = driver(count)
        monkeypatch.setattr(overlaps, "import_module", MagicMock(return_value=cu))
        overlap("graph")
        if not count:
            cu.cuGraphAddDependencies.assert_not_called()
            continue
        old = cu.cuGraphRemoveDependencies.call_args[0]
        assert old == ("graph", [0, 1], [1, 2], ["whole"] * 2, 2)
        *_, sources, targets, edges, many = cu.cuGraphAddDependencies.call_args[0]
        assert (sources, targets, many) == ([0, 1], [1, 2], 2)
        assert [(e.type, e.from_port) for e in edges] == [(1, 1)] * 2


def test_texts_of_kernels_say_that_they_wait_before_anything_else() -> None:
    text = nvrtc.emit([parse(COPY)]).text
    body = text.partition("f_0(")[2].partition("{\n")[2]
    assert waits(text) and body.startswith("  rw_begin();\n")
    assert not waits(text.replace("  rw_begin();\n", ""))


@pytest.mark.parametrize(
    ("waiting", "capability", "found"),
    [((True, True), (9, 0), 1), ((True, False), (9, 0), 0), ((True,), (8, 9), 0),
     ((True,), (10, 0), 1)],
)  # fmt: skip
def test_only_graphs_all_of_which_wait_overlap(
    waiting: tuple[bool, ...], capability: tuple[int, int], found: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    done: list[Any] = []
    monkeypatch.setattr(launches, "overlap", done.append)
    device = CudaDevice()
    device.__dict__.update(stream=MagicMock(), capability=capability)
    starts = tuple(
        Kernel(MagicMock(), Grid(f"f_{i}", 1, 32, 0), TensorMaps(()), w)
        for i, w in enumerate(waiting)
    )
    module = CudaModule(device, (), {"f": Function("f", (), ())}, {"f": starts})
    graph = getattr(module, "_captured")(driver(1), [("f", [])])  # noqa: B009
    assert done == ["graph"] * found
    assert graph.names == tuple(f"f_{i}" for i in range(len(waiting)))
