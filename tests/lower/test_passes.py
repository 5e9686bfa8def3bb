"""Passes: what each makes of small functions, and that any order of them keeps every
function right, bit for bit, and its rules kept.

With a pass that may round otherwise in the order, results are the same where nothing
rounds, and else as far apart as roundings may take them (`rounding.py`).

`pytest tests/lower/test_passes.py --bless` writes the fixtures' second halves anew.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from rewrite.lower.emit.stages import work
from rewrite.lower.families.fold import FOLD
from rewrite.lower.interpret import run
from rewrite.lower.loops import Function
from rewrite.lower.passes import LOOSE, PASSES
from rewrite.lower.passes.rebuild import unique
from rewrite.lower.text import parse, parse_all, show
from rewrite.lower.verify import faults
from tests.backends.functions import CASES as BY_HAND

from .folds import FOLDS
from .harness import GPU, lowered
from .programs import arrays_for, functions
from .races import barriers_in, watched, without_barriers
from .replay import ALL_CAPS
from .replay import functions as made
from .rounding import nothing_rounds, ran, same_numbers, within_rounding

HERE = Path(__file__).parent / "passes"
SMALL = 60_000  # operations that the interpreter does within a second
EVERY = PASSES | LOOSE
ORDERS = st.lists(st.sampled_from(sorted(PASSES)), max_size=6)
LOOSE_ORDERS = st.lists(st.sampled_from(sorted(EVERY)), max_size=6)
# Passes, and the kind of random functions of which each changes most.
ABOUT = {
    "pad": "sums", "split": "sums", "steps": "sums", "wide": "sums", "fma": "sums",
    "jam": "nests", "stage": "nests", "barriers": "team",
}  # fmt: skip


def test_each_pass_has_a_fixture_a_file_and_a_sentence() -> None:
    assert {p.stem for p in HERE.glob("*.loops")} == set(EVERY)
    assert len(EVERY) == len(PASSES) + len(LOOSE)
    folder = Path(PASSES["dead"].__code__.co_filename).parent
    for name in EVERY:
        assert (folder / f"{name}.py").read_text("utf-8").startswith('"""')


@pytest.mark.parametrize("name", EVERY)
def test_fixture(name: str, bless: bool) -> None:
    """Functions in pairs: what goes in, what comes out."""
    path = HERE / f"{name}.loops"
    found = parse_all(path.read_text("utf-8"), str(path))
    before, after = found[::2], found[1::2]
    got = tuple(EVERY[name](f) for f in before)
    if bless:
        pairs = zip(before, got, strict=True)
        path.write_text("\n".join(show(f) for p in pairs for f in p), "utf-8")
        after = got
    assert "\n".join(map(show, got)) == "\n".join(map(show, after))
    assert any(f != g for f, g in zip(before, got, strict=True))
    for f, g in zip(before, got, strict=True):
        assert not faults(f)
        if name in PASSES:
            same(f, g)
        else:
            agrees(f, g)
        watched(g, arrays_for(g))


def agrees(f: Function, g: Function) -> None:
    """The same where nothing rounds, else within rounding."""
    kept(g)
    assert nothing_rounds(f), show(f)
    assert same_numbers(ran(f, True), ran(g, True)), show(g)
    within_rounding(f, g)


def kept(g: Function) -> None:
    assert not faults(g), (faults(g)[0], show(g))


def same(f: Function, g: Function) -> None:
    kept(g)
    a, b = arrays_for(f), arrays_for(f)
    run(f, a)
    run(g, b)
    for u, v in zip(a, b, strict=True):
        assert u.tobytes() == v.tobytes(), show(g)


def passed(f: Function, order: list[str]) -> Function:
    for name in order:
        f = EVERY[name](f)
    return f


@pytest.mark.parametrize("name", ["split", "merge", "pad"])
def test_loops_at_the_end_of_their_type_stay(name: str) -> None:
    """Numbers beyond it wrap around, to turns that were not there."""
    f = parse("""function f(out y: f32[8]) {
  serial i < 2147483647 by 3 {
    serial j < 4 {
      y[j] = f32(i)
    }
  }
}
""")
    assert PASSES[name](f) == f


def test_loops_around_a_product_of_the_library_stay() -> None:
    """They are one launch, without conditions."""
    f = parse("""function f(a: f32[64], b: f32[4], out y: f32[64]) {
  serial i < 5 {
    product 2 2 2: y[i * 4] by 2 1 = a[i * 4] by 2 1, b[0] by 2 1
  }
}
""")
    assert all(EVERY[name](f) == f for name in ("pad", "split", "steps", "jam"))


def test_wide_sums_round_once() -> None:
    f = parse("""function f(x: f32[9], out y: f32[1]) {
  grid i < 1 {
    var total: f32 = 16777216.0
    serial j < 9 {
      total = total + x[j]
    }
    y[i] = total
  }
}
""")
    arrays = [np.full(9, 1.5, np.float32), np.zeros(1, np.float32)]
    run(EVERY["wide"](f), arrays)
    assert arrays[1] == np.float32(16777216.0 + 13.5)


MANY = settings(
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@MANY
@given(functions(), ORDERS)
def test_any_order_on_random_functions(f: Function, order: list[str]) -> None:
    assert not faults(f)
    same(f, passed(f, order))


@MANY
@given(functions(calm=True), LOOSE_ORDERS)
def test_any_order_with_loose_passes_on_random_functions(
    f: Function, order: list[str]
) -> None:
    assert not faults(f)
    agrees(f, passed(f, order))


@pytest.mark.parametrize("name", ABOUT)
def test_alone_on_what_it_changes(name: str) -> None:
    changed: list[bool] = []

    @settings(MANY, max_examples=200)
    @given(functions(calm=True, about=ABOUT[name]))
    def check(f: Function) -> None:
        g = EVERY[name](f)
        changed.append(g not in (f, unique(f)))
        agrees(f, g)

    check()
    assert sum(changed) > len(changed) / 8


def test_random_functions_have_what_passes_change() -> None:
    """Of all kinds; always the same ones, for shares are far apart."""
    changed: Counter[str] = Counter()

    @seed(0)
    @settings(MANY, max_examples=300, database=None)
    @given(functions(calm=True))
    def count(f: Function) -> None:
        changed["all"] += 1
        for name in ABOUT:
            changed[name] += EVERY[name](f) not in (f, unique(f))

    count()
    assert all(changed[name] > changed["all"] / 20 for name in ABOUT), changed


# ---- barriers


@MANY
@given(functions(calm=True, about="team"), ORDERS)
def test_threads_meet_where_they_must(f: Function, order: list[str]) -> None:
    """Whatever barriers there were, and whichever thread runs first."""
    watched(f, arrays_for(f))
    bare = replace(f, body=without_barriers(f.body))
    g = PASSES["barriers"](bare)
    same(f, g)
    watched(g, arrays_for(g))
    assert unique(PASSES["barriers"](f)) == unique(g)
    assert barriers_in(g.body) <= barriers_in(f.body)
    more = passed(g, order)
    same(f, more)
    watched(more, arrays_for(more))


def test_families_need_no_barriers_but_those_that_are_placed() -> None:
    groups = [f for f in small() if f.threads > 1]
    assert len(groups) > 10
    folds = ("f64", "grouped", "entropy_of_a_product")
    groups += [lowered(FOLD, FOLDS[name](), GPU) for name in folds]
    for f in groups:
        g = PASSES["barriers"](replace(f, body=without_barriers(f.body)))
        same(f, g)
        watched(g, arrays_for(g))
        assert barriers_in(g.body) <= barriers_in(f.body), show(g)


# ---- what families make


@cache
def small() -> list[Function]:
    every = [f for caps in ALL_CAPS for f in made(caps).values()]
    every += [c.function for c in BY_HAND]
    return [f for f in every if work(f.body) < SMALL]


def close(f: Function, g: Function) -> None:
    """As near as the sums of families are to what they mean (`harness.close`)."""
    kept(g)
    for u, v in zip(ran(f, False), ran(g, False), strict=True):
        if u.dtype.kind in "iub":
            np.testing.assert_array_equal(v, u)
            continue
        tol = {8: 1e-6, 4: 2e-5, 2: 1e-2, 1: 0.2}[u.dtype.itemsize]
        u, v = u.astype(np.float64), v.astype(np.float64)
        scale = max(1.0, float(np.max(np.abs(u[np.isfinite(u)]), initial=0)))
        np.testing.assert_allclose(v, u, rtol=tol, atol=tol * scale)
    if nothing_rounds(f):
        assert same_numbers(ran(f, True), ran(g, True)), show(g)


@settings(MANY, max_examples=80)
@given(st.integers(0, 10_000), st.one_of(ORDERS, LOOSE_ORDERS))
def test_any_order_on_what_families_make(at: int, order: list[str]) -> None:
    assert len(small()) > 80
    f = small()[at % len(small())]
    g = passed(f, order)
    close(f, g) if LOOSE.keys() & set(order) else same(f, g)


@pytest.mark.parametrize("name", EVERY)
def test_rules_are_kept_on_every_function(name: str) -> None:
    for caps in ALL_CAPS:
        for kernel, f in made(caps).items():
            assert not faults(EVERY[name](f)), (kernel, caps)
