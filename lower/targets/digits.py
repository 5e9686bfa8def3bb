"""Indices and tests of a load by the digits of its tile's two positions.

Where several axes of a kernel are one axis of a tile, a position among them stands for
all, and an index is a sum of multiples of its digits: `position // weight % size`.
Digits are cut so finely that every index and test is a sum of multiples of whole ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd
from typing import NamedTuple

from ...egraph.ir.dtypes import DType
from ..families.nests.values import add, divide, mul
from ..loops import Ex, Lit, Op, Var
from ..tiles import ir
from .layouts import Form, Scene


class Digit(NamedTuple):
    """So many values; of the last one 0: as many as there are."""

    weight: int
    size: int


class Sum(NamedTuple):
    """A number, and a multiple of each digit of the row's position and of the column's;
    `rest`: of other axes."""

    const: int
    steps: tuple[tuple[int, ...], tuple[int, ...]]
    rest: tuple[tuple[str, int], ...]


class Test(NamedTuple):
    """0 <= `value`, and `value` < `end` unless that is always so (0)."""

    value: Sum
    end: int


class Part(NamedTuple):
    """`step` times some digits of a position, from `weight` on."""

    weight: int
    size: int
    step: int


@dataclass(frozen=True)
class Position:
    """Where a point stands along an axis of a tile: `name` and multiples of axes that
    are none of the tile."""

    name: str
    form: Form
    digits: tuple[Digit, ...]

    def digit(self, i: int, at: Ex) -> Ex:
        """Of a place, which is not negative."""
        d = self.digits[i]
        place = divide(at, d.weight, False)
        return divide(place, d.size, True) if d.size else place

    def at(self, point: int, index: DType) -> Ex:
        """The place of a point of the tile, by its number."""
        total: Ex = Lit(self.form.const + point, index)
        for name, c in self.form.axes.items():
            if name != self.name:
                total = add(mul(Var(name, index), c), total)
        return total

    def begins(self, view: Scene) -> int:
        """What the place of the first point is a multiple of; 0: it is 0."""
        steps = (c * view.steps[a] for a, c in self.form.axes.items() if a != self.name)
        return gcd(self.form.const, *steps)

    def reach(self, view: Scene, points: int) -> int:
        """How many places there are, those beyond an end too."""
        loops = (s for s in ir.walk(view.grid.body) if isinstance(s, ir.Loop))
        extents = ir.extents(view.grid.axes, *(s.axes for s in loops))
        last = 0
        for a, c in self.form.axes.items():
            if a != self.name:
                last += c * (max(extents[a] - 1, 0) // view.steps[a] * view.steps[a])
        return self.form.const + last + points


@dataclass(frozen=True)
class Access:
    """A load, by digits; `ends`: of both positions, where tests name one."""

    positions: tuple[Position, Position]
    index: Sum
    tests: tuple[Test, ...]
    ends: tuple[int, int]


def access(load: ir.Load, view: Scene) -> Access | str:
    """Or why it is none by digits."""
    axes = load.tile.axes
    tests = list(_tests(load.where))
    if None in tests:
        return "its test is no bound"
    known = [t for t in tests if t is not None]
    forms = [view.form(x) for x in (load.index, *(x for x, _ in known))]
    row = _position(axes[0], forms, view, frozenset())
    if isinstance(row, str):
        return row
    column = _position(axes[1], forms, view, frozenset(row.axes))
    if isinstance(column, str):
        return column
    split: list[_Parts] = []
    for f in forms:
        made = _parts(f, (row, column), axes, view)
        if isinstance(made, str):
            return made
        split.append(made)
    rows, columns = (_digits([x for s in split for x in s.parts[i]]) for i in (0, 1))
    if rows is None or columns is None:
        return "its digits are cut in several ways"
    cut = rows, columns
    index, *values = (
        Sum(s.const, (_steps(s.parts[0], rows), _steps(s.parts[1], columns)), s.rest)
        for s in split
    )
    ends, bounds = [0, 0], list[Test]()
    for value, (_, end) in zip(values, known, strict=True):
        alone = next((i for i in (0, 1) if _alone(value, i, cut[i])), None)
        if alone is None:
            bounds.append(Test(value, end))
        elif end:
            ends[alone] = min(ends[alone] or end, end)
    places = Position(axes[0], row, rows), Position(axes[1], column, columns)
    return Access(places, index, _both(bounds), (ends[0], ends[1]))


def _alone(value: Sum, i: int, digits: tuple[Digit, ...]) -> bool:
    """Whether it is the whole position."""
    whole = tuple(d.weight for d in digits)
    return value.steps[i] == whole and not (
        value.const or any(value.steps[1 - i]) or value.rest
    )


def _both(tests: list[Test]) -> tuple[Test, ...]:
    """Each sum once, with its end if it has one."""
    ends: dict[Sum, int] = {}
    for t in tests:
        ends[t.value] = max(ends.get(t.value, 0), t.end)
    return tuple(Test(value, end) for value, end in ends.items())


def _tests(x: Ex | None) -> Iterator[tuple[Ex, int] | None]:
    """What is not negative (0), and what is less than a number; None: another one."""
    match x:
        case None:
            pass
        case Op("and", (a, b)):
            yield from _tests(a)
            yield from _tests(b)
        case Op("le", (Lit(0), a)):
            yield a, 0
        case Op("lt", (a, Lit(n))):
            yield a, int(n)
        case _:
            yield None


def _position(
    name: str, forms: Sequence[Form], view: Scene, beside: frozenset[str]
) -> Form | str:
    """What digits are taken of, that varies along the axis; where none are, multiples
    of axes that go with it, in a test if there is one, and are not of the place
    `beside`."""
    inner = [f for x in forms for y, _ in x.rest for f in _inner(y, view)]
    mine = [f for f in inner if f.axes.get(name)]
    if mine:
        plain = mine[0].axes[name] == 1 and not mine[0].rest
        if not plain or any(f != mine[0] for f in mine):
            return f"digits of several places along {name}"
        return mine[0]
    points = {p.name for p in view.grid.points}
    others = points | beside | {a for f in inner for a in f.axes}
    index, *tests = forms
    for f in (*tests, index):
        step = f.axes.get(name, 0)
        if step > 0 and (f is index or not (points - {name}) & {*f.axes}):
            kept = {a: c // step for a, c in f.axes.items()
                    if a == name or (a not in others and c % step == 0)}  # fmt: skip
            return Form(0, kept, ())
    return f"it does not grow along {name}"


def _inner(x: Ex, view: Scene) -> Iterator[Form]:
    """What digits are taken of."""
    match x:
        case Op("idiv" | "imod", (a, Lit())):
            yield from _inner(a, view)
        case _:
            yield view.form(x)


class _Parts(NamedTuple):
    const: int
    parts: tuple[list[Part], list[Part]]
    rest: tuple[tuple[str, int], ...]


def _parts(
    f: Form, positions: tuple[Form, Form], axes: Sequence[str], view: Scene
) -> _Parts | str:
    out: tuple[list[Part], list[Part]] = ([], [])
    left, const = dict(f.axes), f.const
    for own, p, name in zip(out, positions, axes, strict=True):
        step = left.get(name, 0)
        if step:
            own.append(Part(1, 0, step))
            const -= step * p.const
            for a, c in p.axes.items():
                left[a] = left.get(a, 0) - step * c
    for x, step in f.rest:
        made = _part(x, view)
        if made is None:
            return "an index that is no sum of digits"
        of, weight, count = made
        if of not in positions:
            return "digits of another place"
        out[positions.index(of)].append(Part(weight, count, step))
    return _Parts(const, out, tuple((a, c) for a, c in left.items() if c))


def _part(x: Ex, view: Scene) -> tuple[Form, int, int] | None:
    """Of what, from which weight on, how many values (0: all)."""
    match x:
        case Op("idiv", (a, Lit(n))):
            made = _part(a, view)
            if made is None or (made[2] and made[2] % int(n)):
                return None
            return made[0], made[1] * int(n), made[2] // int(n)
        case Op("imod", (a, Lit(n))):
            made = _part(a, view)
            if made is None or (made[2] and made[2] % int(n)):
                return None
            return made[0], made[1], int(n)
        case _:
            f = view.form(x)
            return None if f.rest else (f, 1, 0)


def _digits(parts: list[Part]) -> tuple[Digit, ...] | None:
    cuts = sorted({1, *(p.weight for p in parts),
                   *(p.weight * p.size for p in parts if p.size)})  # fmt: skip
    out: list[Digit] = []
    for low, high in zip(cuts, (*cuts[1:], 0), strict=True):
        if high % low:
            return None
        out.append(Digit(low, high // low))
    return tuple(out)


def _steps(parts: list[Part], digits: tuple[Digit, ...]) -> tuple[int, ...]:
    out: list[int] = []
    for d in digits:
        mine = (p for p in parts if p.weight <= d.weight
                and not (p.size and d.weight >= p.weight * p.size))  # fmt: skip
        out.append(sum(p.step * (d.weight // p.weight) for p in mine))
    return tuple(out)
