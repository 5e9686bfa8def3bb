"""A recurrent layer ran through all of a padded axis, though its longest sequence had
ended: the rounds after that change nothing, and stack zeros."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import rewrite.onnx
from rewrite.backends.flows.rounds import Rounds
from rewrite.egraph.looping.ends import Ends, ends_of
from rewrite.egraph.looping.loop import Loop

from ...onnx.test_recurrent import HIDDEN, IN, RNG, model

ort = pytest.importorskip("onnxruntime")

TIME = 90


def arrays(proto: Any, lengths: Sequence[int]) -> dict[str, Any]:
    made: dict[str, Any] = {"x": RNG.standard_normal((TIME, 3, IN), np.float32)}
    for i in proto.graph.input:
        if i.name in ("h", "c"):
            d = i.type.tensor_type.shape.dim[0].dim_value
            made[i.name] = RNG.standard_normal((d, 3, HIDDEN), np.float32)
    return {**made, "lengths": np.asarray(lengths, np.int32)}


def loops_of(program: Any) -> list[Rounds]:
    ready = program.compiled.executable()
    return [x for x in ready.inner.values() if isinstance(x, Rounds)]


@pytest.mark.sweep(5)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("kind", ["GRU", "LSTM", "RNN"])
@pytest.mark.parametrize("table", [1 << 12, 1 << 18])
def test_lengths(
    kind: str, direction: str, table: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short, then long, then short ones, on the same arrays and on others; in several
    lists, and in one that is kept."""
    monkeypatch.setattr("rewrite.backends.flows.rounds.TABLE", table)
    proto = model(kind, TIME, True, direction=direction)
    program = rewrite.onnx.compile(proto, "c", fallback=False, cache=False)
    session = ort.InferenceSession(proto.SerializeToString())
    given = arrays(proto, [5, 2, 1])
    for lengths in ([5, 2, 1], [1, 1, 1], [TIME, 3, 1], [7, 2, 64], [2, 2, 2]):
        given["lengths"][...] = lengths
        for inputs in (given, arrays(proto, lengths)):
            want, got = session.run(None, inputs), program(inputs)
            for (name, have), w in zip(got.items(), want, strict=True):
                np.testing.assert_allclose(have, w, atol=2e-5, err_msg=name)


def test_rounds_that_run() -> None:
    proto = model("GRU", TIME, True)
    program = rewrite.onnx.compile(proto, "c", fallback=False, cache=False)
    program(arrays(proto, [5, 2, 1]))
    (loop,) = loops_of(program)
    assert loop.ends is not None
    taken: list[int] = []
    run = loop.tables.run
    loop.tables.run = lambda x: (taken.append(x.count), run(x))[1]  # pyright: ignore
    width = len(loop.tables.entries[0])
    for lengths, want in (([5, 2, 1], 5), ([0, 0, 0], 0), ([TIME + 7, 1, 1], TIME)):
        taken.clear()
        program(arrays(proto, lengths))
        assert sum(taken) == want * width


def test_no_other_loop_ends() -> None:
    """Without lengths each round matters."""
    proto = model("GRU", TIME, True)
    (flow,) = rewrite.onnx.load(proto).calls.values()
    assert isinstance(flow, Loop)
    ends = ends_of(flow)
    assert isinstance(ends, Ends)
    assert [*ends.idle.values()] == [0.0]
    for other in (model("GRU", TIME), model("LSTM", TIME)):
        (flow,) = rewrite.onnx.load(other).calls.values()
        assert isinstance(flow, Loop) and ends_of(flow) is None
