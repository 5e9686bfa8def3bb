"""Which instances a team takes where a mask leaves turns out: all, in even shares."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rewrite.egraph.ir.dtypes import BF16
from rewrite.egraph.ir.scalars import BY_NAME, Array
from rewrite.lower.axes import normalise
from rewrite.lower.loops import Ex, Lit, Op, Var
from rewrite.lower.model import model_of
from rewrite.lower.targets.threads import GridWriter
from rewrite.lower.tiles.attention import ONLINE
from rewrite.lower.tiles.ir import Loop, TileProgram

from ..folds import attend, causal
from .test_products import HOPPER


def value(x: Ex, env: dict[str, Array]) -> Array:
    match x:
        case Lit(number):
            return np.asarray(number)
        case Var(name):
            return env[name]
        case Op(op, args):
            v = [value(a, env) for a in args]
            if op == "select":
                return np.where(*v)
            if op in ("idiv", "imod"):
                return v[0] // v[1] if op == "idiv" else v[0] % v[1]
            return BY_NAME[op].numpy(*v)
        case _:
            raise AssertionError(x)


@pytest.mark.parametrize(
    ("heads", "length", "units", "worst"),
    [
        (64, 4096, 132, 1.06),
        (16, 16384, 132, 1.06),
        (3, 1000, 7, 1.3),
        (5, 640, 4, 1.3),
    ],
)
def test_shares(heads: int, length: int, units: int, worst: float) -> None:
    kernel = normalise(attend(causal, (heads, length, length, 128, 128), BF16))
    model = replace(model_of(HOPPER), units=2 * units)
    made = ONLINE.program(kernel, model, (("parts", 1), ("rows", 128), ("stages", 2)))
    assert isinstance(made, TileProgram), made
    (grid,) = made.body
    writer = GridWriter(grid, made)
    rounds = writer.instances // writer.alike * writer.rounds
    turn, team = np.indices((rounds, writer.teams))
    here = {"w": turn, "t": team}
    numbers = value(writer.number_of(Var("w", made.index), Var("t", made.index)), here)
    taken = numbers[numbers >= 0]
    assert sorted(taken) == list(range(writer.instances))
    (loop,) = (s for s in grid.body if isinstance(s, Loop))
    assert loop.where is not None
    left, env = np.maximum(numbers, 0), dict[str, Array]()
    for a in reversed(grid.axes):
        env[a.name] = left % a.extent
        left = left // a.extent
    (axis,) = loop.axes
    turns = sum(
        np.where(numbers >= 0, value(loop.where, {**env, axis.name: np.asarray(at)}), 0)
        for at in range(0, axis.extent, loop.step)
    )
    shares = np.asarray(turns).sum(0)
    assert shares.max() <= worst * shares.mean(), (shares.max(), shares.mean())
