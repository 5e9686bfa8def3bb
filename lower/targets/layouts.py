"""Layouts: the points of a grid's tiles as digits in threads, registers and lanes, and
what the accesses of a program want of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..loops import Ex, Lit, Op, Var
from ..tiles import ir
from ..tiles.ir import Axis, Digit, Grid, Layout, Load, Loop, Place, Store


class Form(NamedTuple):
    """An index: `const`, multiples of axes, and multiples of what is not affine."""

    const: int
    axes: Mapping[str, int]
    rest: tuple[tuple[Ex, int], ...]


def form(x: Ex, axes: frozenset[str]) -> Form:
    match x:
        case Lit(value):
            return Form(int(value), {}, ())
        case Var(name) if name in axes:
            return Form(0, {name: 1}, ())
        case Op("add" | "sub" as op, (a, b)):
            return _plus(form(a, axes), form(b, axes), 1 if op == "add" else -1)
        case Op("mul", (a, Lit(value))):
            return _plus(Form(0, {}, ()), form(a, axes), int(value))
        case _:
            return Form(0, {}, ((x, 1),))


def _plus(a: Form, b: Form, times: int) -> Form:
    if not b.axes and not b.rest:
        return Form(a.const + b.const * times, a.axes, a.rest)
    total = dict(a.axes)
    for name, c in b.axes.items():
        total[name] = total.get(name, 0) + c * times
    rest = (*a.rest, *((x, c * times) for x, c in b.rest))
    kept = {n: c for n, c in total.items() if c}
    return Form(a.const + b.const * times, kept, rest)


def names_in(x: Ex) -> Iterator[str]:
    match x:
        case Var(name):
            yield name
        case Op(_, args):
            for a in args:
                yield from names_in(a)
        case _:
            pass


@dataclass(frozen=True, slots=True)
class Scene:
    """The names in a grid: axes with their steps, tiles with their axes."""

    grid: Grid
    steps: Mapping[str, int]  # by axis that is no point: what it is a multiple of
    tiles: Mapping[str, tuple[str, ...]]
    axes: frozenset[str]
    # By what `id` says of an expression, which is kept beside.
    forms: dict[int, tuple[Ex, Form]] = field(default_factory=dict[int, Any])
    along_axes: dict[int, tuple[Ex, frozenset[str]]] = field(
        default_factory=dict[int, Any]
    )

    def form(self, x: Ex) -> Form:
        found = self.forms.get(id(x))
        if found is None:
            found = self.forms[id(x)] = x, form(x, self.axes)
        return found[1]

    def varies(self, x: Ex, axis: str) -> bool:
        found = self.along_axes.get(id(x))
        if found is None:
            names = {*names_in(x)}
            of_tiles = (a for n in names for a in self.tiles.get(n, ()))
            found = self.along_axes[id(x)] = x, frozenset((*names, *of_tiles))
        return axis in found[1]

    def along(self, index: Ex, axis: str, lanes: int = 0) -> int | None:
        """By how much the index grows along an axis, where so many points are asked for
        within groups of as many; None: not evenly."""
        f = self.form(index)
        total = f.axes.get(axis, 0)
        for x, times in f.rest:
            step = self.digit(x, axis, lanes)
            if step is None:
                return None
            total += step * times
        return total

    def digit(self, x: Ex, axis: str, lanes: int) -> int | None:
        """The same of a digit: within groups that no multiple of it cuts."""
        if not self.varies(x, axis):
            return 0
        match x:
            case Op("idiv" | "imod" as op, (a, Lit(n))) if lanes:
                step = self.along(a, axis, lanes)
                cut = int(n) % lanes or self.divisor(self.form(a), axis) % lanes
                if step == 1 and not cut:
                    return int(op == "imod")
                return 0 if step == 0 else None
            case _:
                return None

    def divisor(self, f: Form, axis: str) -> int:
        """Of the rest of the index beside `axis`."""
        total = f.const
        for name, c in f.axes.items():
            if name != axis:
                total = math.gcd(total, c * self.steps.get(name, 1))
        for x, c in f.rest:
            total = math.gcd(total, c * self.of_digit(x, axis))
        return abs(total)

    def of_digit(self, x: Ex, axis: str) -> int:
        """Of what a digit is a multiple beside the axis."""
        match x:
            case Op("imod", (a, Lit(n))):
                return math.gcd(self.divisor(self.form(a), axis), int(n))
            case _:
                return 1

    def even(self, index: Ex, test: Ex | None, axis: str, lanes: int) -> bool:
        """Whether groups of so many points along `axis` lie side by side, begin at a
        multiple of their number, and pass the test together."""
        if lanes == 1 or self.along(index, axis, lanes) != 1:
            return lanes == 1
        at = self.form(index)
        aligned = self.divisor(at, axis) % lanes == 0
        return aligned and (test is None or self.together(test, axis, lanes))

    def together(self, test: Ex, axis: str, lanes: int) -> bool:
        if not self.varies(test, axis):
            return True
        match test:
            case Op("lt", (x, Lit())) | Op("le", (Lit(), x)) if (
                self.along(x, axis, lanes) == 0
            ):
                return True
            case Op("and", (a, b)):
                return self.together(a, axis, lanes) and self.together(b, axis, lanes)
            case Op("lt", (x, Lit(n))) | Op("le", (Lit(n), x)):
                if self.along(x, axis, lanes) != 1 or int(n) % lanes:
                    return False
                return self.divisor(self.form(x), axis) % lanes == 0
            case _:
                return False


def scene(grid: Grid) -> Scene:
    steps = {a.name: 1 for a in grid.axes}
    tiles: dict[str, tuple[str, ...]] = {}
    for s in ir.walk(grid.body):
        if isinstance(s, Loop):
            steps |= {a.name: s.step for a in s.axes}
        tile = ir.bound(s)
        if tile is not None:
            tiles[tile.name] = tile.axes
    axes = frozenset((*steps, *(p.name for p in grid.points)))
    return Scene(grid, steps, tiles, axes)


class Access(NamedTuple):
    stmt: Load | Store
    axes: tuple[str, ...]  # of its points
    itemsize: int
    inside: int  # turns of the loops around it


def accesses(grid: Grid, sizes: Mapping[str, int]) -> Iterator[Access]:
    """`sizes`: bytes of an element, by buffer."""

    def body(stmts: tuple[ir.Stmt, ...], turns: int) -> Iterator[Access]:
        for s in stmts:
            match s:
                case Load():
                    yield Access(s, s.tile.axes, sizes[s.buffer], turns)
                case Store():
                    yield Access(s, s.over, sizes[s.buffer], turns)
                case Loop(axes, step, inner):
                    yield from body(inner, turns * -(-axes[0].extent // step))
                case _:
                    pass

    return body(grid.body, 1)


# ---- digits


def up(n: int) -> int:
    """The least power of two that is no less."""
    return 1 << max(n - 1, 0).bit_length()


def spread(points: tuple[Axis, ...], last: str, lanes: int, team: int) -> Layout:
    """`last` innermost, in lanes; threads along it first, then along the others."""
    order = sorted(points, key=lambda p: p.name == last)
    digits: list[Digit] = []
    left = max(team, 1)
    for p in reversed(order):
        wide = lanes if p.name == last else 1
        count = -(-p.extent // wide)
        threads = min(up(count), left)
        left //= threads
        own = [Digit(p.name, "register", -(-count // threads))]
        own += [Digit(p.name, "thread", threads), Digit(p.name, "lane", wide)]
        digits = [d for d in own if d.size > 1] + digits
    return tuple(digits)


def product(layout: Layout, *places: Place) -> int:
    return math.prod(d.size for d in layout if d.place in places)


def of_axes(layout: Layout, axes: tuple[str, ...]) -> Layout:
    return tuple(d for d in layout if d.axis in axes)
