"""Passes: what each makes of small functions, and that any order of them keeps every
function right, bit for bit, and its rules kept.

`pytest tests/lower/test_passes.py --bless` writes the fixtures' second halves anew.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rewrite.lower.emit.stages import work
from rewrite.lower.interpret import run
from rewrite.lower.loops import Function
from rewrite.lower.passes import PASSES
from rewrite.lower.text import parse, parse_all, show
from rewrite.lower.verify import faults
from tests.backends.functions import CASES as BY_HAND

from .programs import arrays_for, functions
from .replay import ALL_CAPS
from .replay import functions as made

HERE = Path(__file__).parent / "passes"
SMALL = 60_000  # operations that the interpreter does within a second
ORDERS = st.lists(st.sampled_from(sorted(PASSES)), max_size=6)


def test_each_pass_has_a_fixture_a_file_and_a_sentence() -> None:
    assert {p.stem for p in HERE.glob("*.loops")} == set(PASSES)
    folder = Path(PASSES["dead"].__code__.co_filename).parent
    for name in PASSES:
        assert (folder / f"{name}.py").read_text("utf-8").startswith('"""')


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


@pytest.mark.parametrize("name", ["split", "merge"])
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


@settings(
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(functions(), ORDERS)
def test_any_order_on_random_functions(f: Function, order: list[str]) -> None:
    assert not faults(f)
    same(f, passed(f, order))


@cache
def small() -> list[Function]:
    every = [f for caps in ALL_CAPS for f in made(caps).values()]
    every += [c.function for c in BY_HAND]
    return [f for f in every if work(f.body) < SMALL]


@settings(
    max_examples=80,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.integers(0, 10_000), ORDERS)
def test_any_order_on_what_families_make(at: int, order: list[str]) -> None:
    assert len(small()) > 80
    f = small()[at % len(small())]
    same(f, passed(f, order))


@pytest.mark.parametrize("name", PASSES)
def test_rules_are_kept_on_every_function(name: str) -> None:
    for caps in ALL_CAPS:
        for kernel, f in made(caps).items():
            assert not faults(PASSES[name](f)), (kernel, caps)
