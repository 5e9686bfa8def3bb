"""`rewrite diff` compared what is around a loop and not its rounds: two plans of one
scan were "the same kernels", whatever rules had made of its body."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import rewrite as rw
from rewrite import xp
from rewrite.report.diff import diff
from tests.authoring.test_user_rules import CIRCLE


def turns(xs: Any) -> Any:
    def step(level: Any, x: Any) -> Any:
        one = xp.square(xp.sin(x)) + xp.square(xp.cos(x))
        return level * 0.5 + one * x, level

    return xp.scan(step, xp.zeros_like(xs[0]), xs)


def test_rounds_are_compared_as_well(tmp_path: Path) -> None:
    rules = tmp_path / "circle.egg"
    rules.write_text(CIRCLE, encoding="utf-8")
    xs = np.ones((64, 8), np.float32)
    plain, ruled = (
        rw.optimize(turns, xs, device="numpy", rules=r, cache=False)
        .explain(run=False)
        .json()
        for r in ((), (rules,))
    )
    same = diff(plain, plain, ("a", "a"))
    assert "the same kernels for the same values" in str(same)
    found = diff(plain, ruled, ("a", "b"))
    ((_, rounds),) = found.loops
    assert "circle" in rounds.rules[1] and "circle" not in rounds.rules[0]
    assert rounds.changes and rounds.seconds[1] < rounds.seconds[0]
    assert "the same kernels" not in str(found) and "circle" in str(found)
