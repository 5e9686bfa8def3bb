"""Passes: what each makes of small functions, and that any order of them keeps every
function right, bit for bit, and its rules kept.

`pytest tests/lower/test_passes.py --bless` writes the fixtures' second halves anew.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rewrite.lower.emit.stages import work
from rewrite.lower.families.fold import FOLD
from rewrite.lower.interpret import run
from rewrite.lower.loops import Function
from rewrite.lower.passes.abreast import abreast
from rewrite.lower.passes.barriers import barriers
from rewrite.lower.passes.bytes import bytes_by_eights
from rewrite.lower.passes.hoist import hoist
from rewrite.lower.passes.rebuild import unique
from rewrite.lower.passes.widen import widen
from rewrite.lower.text import parse_all, show
from rewrite.lower.verify import faults
from tests.backends.functions import CASES as BY_HAND
from tests.effort import LONG, draws

from .folds import FOLDS
from .harness import GPU, lowered
from .programs import arrays_for, functions
from .races import barriers_in, watched, without_barriers
from .replay import ALL_CAPS
from .replay import functions as made

HERE = Path(__file__).parent / "passes"
SMALL = 60_000  # operations that the interpreter does within a second
PASSES = {
    "abreast": abreast, "barriers": barriers, "bytes": bytes_by_eights, "hoist": hoist,
    "widen": widen,
}  # fmt: skip
ORDERS = st.lists(st.sampled_from(sorted(PASSES)), max_size=6)


def test_each_pass_has_a_fixture() -> None:
    assert {p.stem for p in HERE.glob("*.loops")} == set(PASSES)


@pytest.mark.parametrize("name", PASSES)
def test_fixture(name: str, bless: bool) -> None:
    """Functions in pairs: what goes in, what comes out."""
    path = HERE / f"{name}.loops"
    found = parse_all(path.read_text("utf-8"), str(path))
    before, after = found[::2], found[1::2]
    got = tuple(PASSES[name](f) for f in before)
    if bless:
        pairs = zip(before, got, strict=True)
        path.write_text("\n".join(show(f) for p in pairs for f in p), "utf-8")
        after = got
    assert "\n".join(map(show, got)) == "\n".join(map(show, after))
    assert any(f != g for f, g in zip(before, got, strict=True))
    for f, g in zip(before, got, strict=True):
        assert not faults(f)
        same(f, g)
        watched(g, arrays_for(g))


def same(f: Function, g: Function) -> None:
    assert not faults(g), (faults(g)[0], show(g))
    a, b = arrays_for(f), arrays_for(f)
    run(f, a)
    run(g, b)
    for u, v in zip(a, b, strict=True):
        assert u.tobytes() == v.tobytes(), show(g)


def passed(f: Function, order: list[str]) -> Function:
    for name in order:
        f = PASSES[name](f)
    return f


MANY = settings(
    max_examples=draws(100, 2),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@MANY
@given(functions(), ORDERS)
def test_any_order_on_random_functions(f: Function, order: list[str]) -> None:
    assert not faults(f)
    same(f, passed(f, order))


def test_barriers_alone_on_what_they_change() -> None:
    changed: list[bool] = []

    @settings(MANY, max_examples=draws(200, 4))
    @given(functions(calm=True, about="team"))
    def check(f: Function) -> None:
        g = barriers(f)
        changed.append(g not in (f, unique(f)))
        same(f, g)

    check()
    assert sum(changed) > len(changed) / 8


# ---- barriers


@MANY
@given(functions(calm=True, about="team"), ORDERS)
def test_threads_meet_where_they_must(f: Function, order: list[str]) -> None:
    """Whatever barriers there were, and whichever thread runs first."""
    watched(f, arrays_for(f))
    bare = replace(f, body=without_barriers(f.body))
    g = barriers(bare)
    same(f, g)
    watched(g, arrays_for(g))
    assert unique(barriers(f)) == unique(g)
    assert barriers_in(g.body) <= barriers_in(f.body)
    more = passed(g, order)
    same(f, more)
    watched(more, arrays_for(more))


@pytest.mark.long
def test_families_need_no_barriers_but_those_that_are_placed() -> None:
    groups = [f for f in small() if f.threads > 1]
    assert len(groups) > 10
    folds = ("f64", "grouped", "entropy_of_a_product")
    groups += [lowered(FOLD, FOLDS[name](), GPU) for name in folds]
    for f in groups:
        g = barriers(replace(f, body=without_barriers(f.body)))
        same(f, g)
        watched(g, arrays_for(g))
        assert barriers_in(g.body) <= barriers_in(f.body), show(g)


# ---- what families make


@cache
def small() -> list[Function]:
    every = [f for caps in ALL_CAPS for f in made(caps).values()]
    every += [c.function for c in BY_HAND]
    return [f for f in every if work(f.body) < SMALL]


@settings(MANY, max_examples=draws(80, 8))
@given(st.integers(0, 10_000), ORDERS)
def test_any_order_on_what_families_make(at: int, order: list[str]) -> None:
    assert len(small()) > 80
    f = small()[at % len(small())]
    same(f, passed(f, order))


@pytest.mark.parametrize("name", PASSES)
def test_rules_are_kept_on_every_function(name: str) -> None:
    for caps in ALL_CAPS if LONG else ("eight", "gpu"):
        for kernel, f in made(caps).items():
            assert not faults(PASSES[name](f)), (kernel, caps)
