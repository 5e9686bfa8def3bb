"""Programs on memory that the caller holds; the host's stands in for a GPU's."""

from __future__ import annotations

import ctypes
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

from rewrite.backends.c import CDevice, HostBuffer
from rewrite.backends.interpreter import NumpyDevice
from rewrite.backends.resident import Resident
from rewrite.core.options import Options
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.lower.device import DeviceError
from rewrite.pipeline import optimize_graph

type Array = np.ndarray[Any, Any]


class Lending(CDevice):
    def borrowed(self, address: int, nbytes: int) -> HostBuffer:
        return HostBuffer(address, nbytes, None)

    def move(self, to: HostBuffer, source: HostBuffer) -> None:
        ctypes.memmove(to.address, source.address, to.nbytes)


def resident(graph: Graph, dev: Any) -> Resident:
    options = Options(effort=0, fallback=False, cache=False)
    ready = optimize_graph(graph, dev, options).executable({})
    assert ready is not None
    return Resident(ready)


def lent(*arrays: Array) -> list[HostBuffer]:
    return [HostBuffer(a.ctypes.data, a.nbytes, a) for a in arrays]


def values(n: int, first: float = 0) -> Array:
    return np.arange(first, first + n, dtype=np.float32)


def test_outputs_are_written_where_they_belong() -> None:
    b = Builder()
    x = b.input("x", F32, (64,))
    y = b.un("neg", x)
    run = resident(b.build({"y": y, "again": y, "x2": x}), Lending())
    assert run.inputs == ("x",)
    given, made = values(64, 1), [np.full(64, np.nan, np.float32) for _ in range(3)]
    run(lent(given), lent(*made))
    for label, got in zip(run.outputs, made, strict=True):
        np.testing.assert_array_equal(got, given if label == "x2" else -given)
    other = values(64, 9)
    run(lent(other), lent(*made))  # elsewhere, and then where it was before
    np.testing.assert_array_equal(made[run.outputs.index("y")], -other)
    run(lent(given), lent(*made))
    np.testing.assert_array_equal(made[run.outputs.index("y")], -given)


def test_a_call_on_the_memory_of_the_last_one_places_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    b = Builder()
    graph = b.build({"y": b.un("neg", b.input("x", F32, (64,)))})
    run = resident(graph, Lending())
    ready = run.ready
    place = MagicMock(wraps=getattr(ready, "_place"))  # noqa: B009
    monkeypatch.setattr(ready, "_place", place)
    given, made = values(64), np.zeros(64, np.float32)
    for n in range(3):
        given += n
        run(lent(given), lent(made))
        np.testing.assert_array_equal(made, -given)
    assert place.call_count == 1
    np.testing.assert_array_equal(ready({"x": values(64, 5)})["y"], -values(64, 5))
    run(lent(given), lent(made))  # after a call elsewhere
    np.testing.assert_array_equal(made, -given)
    other = np.zeros(64, np.float32)
    run(lent(given), lent(other))
    np.testing.assert_array_equal(other, -given)
    run(lent(other), lent(other))  # each onto itself
    np.testing.assert_array_equal(other, given)


@pytest.mark.parametrize("overlap", [False, True])
def test_an_input_holds_the_output_that_must_lie_on_it(overlap: bool) -> None:
    b = Builder()
    x, y = b.input("x", F32, (64,)), b.input("y", F32, (64,))
    b.alias("x_new", "x", "must")
    run = resident(b.build({"x_new": b.bin("add", x, y)}), Lending())
    memory = values(128)
    x_at, y_at = memory[:64], memory[32:96] if overlap else memory[64:]
    want = x_at + y_at
    assert run.inputs == ("x", "y")
    run(lent(x_at, y_at), [])
    np.testing.assert_array_equal(x_at, want)
    want = x_at + y_at
    run(lent(x_at, y_at), [])
    np.testing.assert_array_equal(x_at, want)


def test_a_device_that_takes_no_memory_says_so() -> None:
    b = Builder()
    graph = b.build({"y": b.un("neg", b.input("x", F32, (4,)))})
    with pytest.raises(DeviceError, match="numpy takes no memory of others"):
        resident(graph, NumpyDevice())


def test_inputs_have_no_memory_beside_the_callers() -> None:
    """Parameters of a model would stand twice on a GPU."""
    b = Builder()
    x, w = b.input("x", F32, (64,)), b.input("w", F32, (64,))
    run = resident(b.build({"y": b.bin("mul", x, w)}), Lending())
    ready = run.ready
    inputs = [p.b for p in ready.ports.inputs]
    assert [ready.buffers[b] for b in inputs] == [None, None]
    made = np.full(64, np.nan, np.float32)
    run(lent(values(64), values(64, 2)), lent(made))
    np.testing.assert_array_equal(made, values(64) * values(64, 2))
    ready.launch()  # by itself it has memory of its own again
    assert all(ready.buffers[b] is not None for b in inputs)
    run(lent(values(64, 3), values(64, 2)), lent(made))
    np.testing.assert_array_equal(made, values(64, 3) * values(64, 2))
    ready.lend()
    found = ready({"x": values(64), "w": values(64, 1)})["y"]
    np.testing.assert_array_equal(found, values(64) * values(64, 1))


def test_one_value_is_stored_in_both_inputs_that_it_updates() -> None:
    b = Builder()
    x, _, _ = (b.input(name, F32, (64,)) for name in "xyz")
    two = b.bin("add", x, x)
    for name in "yz":
        b.alias(f"{name}_new", name, "must")
    run = resident(b.build({"y_new": two, "out": two, "z_new": two}), Lending())
    assert run.outputs == ("out",)
    held = {k: values(64, 1) for k in run.inputs}
    made, want = np.zeros(64, np.float32), 2 * held["x"]
    run(lent(*held.values()), lent(made))
    for array in (held["y"], held["z"], made):
        np.testing.assert_array_equal(array, want)
