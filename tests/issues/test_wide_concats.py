"""A concat of hundreds of values fits no kernel; compiling it raised, fallback or not.

Its operands are stored now, and the concat itself runs on the host; so too in the
graph's own schedule, for which `rewrite optimize` says how much memory it takes.
"""

from __future__ import annotations

import numpy as np
import pytest

from rewrite.api import compile_graph
from rewrite.backends.devices import device
from rewrite.backends.executable import Executable
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.steps import own_groups, schedule
from rewrite.lower.program import build


@pytest.mark.long
@pytest.mark.parametrize(("name", "parts"), [("c", 160), ("numpy", 320)])
def test_a_concat_of_many_parts(name: str, parts: int) -> None:
    b = Builder()
    xs = [b.un("neg", b.input(f"x{i}", F32, (2, 3))) for i in range(parts)]
    y = b.un("abs", b.concat(xs, 0))
    z = b.concat([b.const(1.0, F32, (2, 3)), *xs], 1)
    graph = b.build({"y": y, "z": z})
    compiled = compile_graph(graph, name, fallback=False, effort=0)
    rng = np.random.default_rng(0)
    inputs = {f"x{i}": rng.standard_normal((2, 3), np.float32) for i in range(parts)}
    got = compiled(inputs)
    each = [-inputs[f"x{i}"] for i in range(parts)]
    np.testing.assert_array_equal(got["y"], np.abs(np.concatenate(each, 0)))
    ones = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(got["z"], np.concatenate([ones, *each], 1))


@pytest.mark.parametrize("parts", [400, 200])
def test_the_own_schedule(parts: int) -> None:
    """400 constants and inputs; 200 views of views, which are as large for a trace."""
    b = Builder()
    xs = [b.input(f"x{i}", F32, (2, 3)) for i in range(parts)]
    if parts < 400:
        xs = [b.permute(b.slice(x, (0, 0), (2, 2), (1, 1)), (1, 0)) for x in xs]
    ones = b.const(1.0, F32, (2, 3) if parts == 400 else (2, 2))
    graph = b.build({"y": b.un("neg", b.concat([ones, *xs], 1))})
    program = build(schedule(graph, own_groups(graph)), None)
    inputs = {n.attrs[0]: np.ones((2, 3), np.float32) for n in graph.inputs}
    got = Executable(program, graph, device("numpy"))(inputs)["y"]
    assert got.shape == graph.nodes[graph.outputs[0][1]].type.shape
    assert (got == -1).all()
