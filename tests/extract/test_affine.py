"""Index arithmetic against plain integer arithmetic."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from rewrite.extract.schedule.affine import Digit, Ranges
from rewrite.extract.schedule.kernel import Affine, Div, Mod

EXTENTS = [6, 4, 3]


def value(v: Affine, at: tuple[int, ...]) -> int:
    total = v.const
    for a, c in v.terms:
        match a:
            case int():
                x = at[a]
            case Digit():
                x = at[a.axis] // a.low % (a.high // a.low)
            case Div():
                x = value(a.value, at) // a.by
            case Mod():
                x = value(a.value, at) % a.by
            case _:
                raise AssertionError(a)
        total += c * x
    return total


affines = st.builds(
    lambda cs, k: Affine(tuple((a, c) for a, c in enumerate(cs) if c), k),
    st.lists(st.integers(0, 24), min_size=3, max_size=3),
    st.integers(0, 5),
)


@given(affines, st.integers(1, 24), st.integers(1, 24))
def test_window_is_floor_and_remainder(v: Affine, t: int, q: int) -> None:
    ranges = Ranges(list(EXTENTS))
    w = ranges.window(v, t, q)
    for at in product(*map(range, EXTENTS)):
        assert value(w, at) == value(v, at) // t % q


@given(affines, st.integers(1, 24), st.integers(1, 24), st.integers(1, 24))
def test_splitting_twice_and_joining(v: Affine, t: int, q: int, r: int) -> None:
    """High and low part of a window joined again give the window."""
    ranges = Ranges(list(EXTENTS))
    w = ranges.window(v, t, q * r)
    high, low = ranges.window(w, r, q), ranges.window(w, 1, r)
    joined = ranges.combine([(high, r), (low, 1)])
    for at in product(*map(range, EXTENTS)):
        assert value(joined, at) == value(w, at)


@given(affines)
def test_bounds_hold(v: Affine) -> None:
    ranges = Ranges(list(EXTENTS))
    seen = [value(v, at) for at in product(*map(range, EXTENTS))]
    assert ranges.bottom(v) == min(seen)
    assert ranges.top(v) == max(seen)


def test_split_heads_meet_again() -> None:
    ranges = Ranges([12, 5])
    row = Affine(((0, 1),))
    head, part = ranges.window(row, 4, 3), ranges.window(row, 1, 4)
    assert head.terms == ((Digit(0, 4, 12), 1),)
    assert ranges.combine([(head, 4), (part, 1)]) == row
    assert ranges.exact_radix(row, 12) == [0]
    assert ranges.exact_radix(head, 4) is None
