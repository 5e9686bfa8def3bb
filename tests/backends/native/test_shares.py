"""A program whose functions several compilers read at a time."""

from __future__ import annotations

from collections.abc import Sequence
from time import sleep
from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.backends import c
from rewrite.backends.native import aiming, pool
from rewrite.backends.native import shares as parts
from rewrite.backends.native.shares import PART, shares, side_by_side
from rewrite.backends.native.toolchain import Toolchain


def test_parts_are_about_as_long_as_each_other() -> None:
    texts = ["x" * n for n in (PART, PART * 3, PART, PART, PART // 2)]
    dealt = shares(texts, 2)
    assert sorted(i for part in dealt for i in part) == list(range(len(texts)))
    lengths = [sum(len(texts[i]) for i in part) for part in dealt]
    assert max(lengths) - min(lengths) <= PART


@pytest.mark.parametrize("texts", [[], ["short"], ["short"] * 9, ["x" * PART]])
def test_what_is_soon_read_is_not_dealt_out(texts: list[str]) -> None:
    assert shares(texts, 8) == [list(range(len(texts)))]


def test_an_error_in_one_part_is_an_error() -> None:
    with pytest.raises(ZeroDivisionError):
        side_by_side([lambda: 1, lambda: 1 // 0])


def test_parts_run_as_one_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parts, "PART", 1)
    monkeypatch.setattr(c, "thread_count", lambda: 3)

    def f(x: Any, y: Any) -> Any:  # a few kernels
        s = xp.sort(x @ y, axis=-1)
        return xp.cumulative_sum(s, axis=0), xp.sum(s * s, axis=1), x + 1

    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 24, 24), "f4")
    made = rw.optimize(f, x, y, device="c", cache=False, fallback=False)
    s = np.sort(x @ y, axis=-1)
    for got, want in zip(made(x, y), (np.cumsum(s, 0), (s * s).sum(1), x + 1),
                         strict=True):  # fmt: skip
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def test_what_each_part_calls_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two parts that came for the pool at a time made one each, with as many threads
    again."""
    monkeypatch.setattr(parts, "PART", 1)
    monkeypatch.setattr(c, "thread_count", lambda: 2)
    made, compiled = list[Sequence[str]](), Toolchain.library

    def library(
        tools: Toolchain, source: str, contract: bool, names: Sequence[str] = ()
    ) -> Any:
        made.append(names)
        sleep(0.1)  # the other part comes meanwhile
        return compiled(tools, source, contract, names)

    pool.library.cache_clear()
    aiming.library.cache_clear()
    monkeypatch.setattr(Toolchain, "library", library)
    x = np.ones((24, 24), "f4")
    f = rw.optimize(lambda x: (xp.cumulative_sum(x, axis=0), x @ x), x, cache=False)
    assert np.all(f(x)[1] == 24)
    assert len([n for n in made if "rw_run" in n]) == 2
    assert sorted(n[0] for n in made if "rw_run" not in n) == ["rw_aim", "rw_pool_run"]
