"""What rounds make of weights was made again in each call of a loop that also reads
something which calls bring, as the lengths of sequences: packing took longer than the
rounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rewrite.onnx
from rewrite.backends.flows.rounds import Rounds

from ...onnx.test_recurrent import HIDDEN, IN, RNG, compared, model

pytest.importorskip("onnxruntime")


def loops_of(program: Any) -> list[Rounds]:
    ready = program.compiled.runner.executable({"time": 80})
    return [x for x in ready.inner.values() if isinstance(x, Rounds)]


def test_weights_are_laid_out_once() -> None:
    proto = model("GRU", "time", lengths=True)
    program = rewrite.onnx.compile(proto, "c", fallback=False)
    compared(proto, program, 80)
    (loop,) = loops_of(program)
    made: list[object] = []
    once = loop.prologue.once
    assert once is not None and loop.prologue.own
    loop.prologue.once = lambda: made.append(0)  # pyright: ignore[reportAttributeAccessIssue]
    compared(proto, program, 80)
    assert not made


def test_two_lengths_share_the_program_of_a_round() -> None:
    """Each has memory of its own for what it makes of the weights."""
    proto = model("GRU", "time", lengths=True, linear_before_reset=1)
    program = rewrite.onnx.compile(proto, "c", fallback=False)
    for time in (80, 9, 80, 9, 33):
        compared(proto, program, time)


def test_the_same_arrays_again() -> None:
    """Where operands lie as in the last call, rounds only run again: on what is there
    now."""
    proto = model("LSTM", 90)
    program = rewrite.onnx.compile(proto, "c", fallback=False)
    arrays = {
        "x": RNG.standard_normal((90, 3, IN), np.float32),
        "h": RNG.standard_normal((1, 3, HIDDEN), np.float32),
        "c": RNG.standard_normal((1, 3, HIDDEN), np.float32),
    }
    first = program(arrays)
    again = program(arrays)
    arrays["h"][...] = 0
    other = program(arrays)
    arrays["h"] = np.zeros_like(arrays["h"])
    same = program(arrays)
    for name, y in first.items():
        np.testing.assert_array_equal(y, again[name])
        np.testing.assert_array_equal(other[name], same[name])
    assert np.abs(first["y"] - other["y"]).max() > 1e-3
