"""Values of tile programs and where they lie.

A value varies along no axis that its tile lacks; accesses stay in their buffers; no two
points store to one element.  Bounds and stores are proved where an index is a sum of
multiples of axes, by what its test says; others (gathered, divided) pass: the
interpreter checks them as they run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ....egraph.ir.dtypes import BOOL
from ...intervals import Interval, interval
from ...loops import Ex, Lit, Op, Var
from ...targets.layouts import scene
from ...text.syntax import ARITY
from .. import ir
from ..ir import Grid, Loop, Store, TileProgram
from .scopes import Scopes


class Bound(NamedTuple):
    """`form` <= `most`, as a test says; a form is its multiples, by axis or, of what is
    not affine, by expression."""

    form: Mapping[str | Ex, int]
    most: int


class Places(Scopes):
    """`axes`: those in scope, with the values that they take; `loops`: names of those
    that loops run along, outermost first."""

    def __init__(self, program: TileProgram, grid: Grid) -> None:
        super().__init__()
        self.program, self.grid = program, grid
        self.scene = scene(grid)
        self.axes: dict[str, Interval] = {}
        self.points = {p.name for p in grid.points}
        self.loops: list[str] = []

    # ---- expressions

    def typed(self, x: Ex) -> None:
        match x:
            case Lit():
                pass
            case Var(name, dtype, lanes):
                known = self.program.index if name in self.axes else None
                if name in self.tiles:
                    known = self.tiles[name].dtype
                    self.seen(name)
                if known is None:
                    self.fault(f"{name!r} is used where it is not bound")
                elif known is not dtype or lanes != 1:
                    self.fault(f"{name!r} is {known}, used as {dtype}")
            case Op(op, args, _, lanes):
                if ARITY.get(op) != len(args) or lanes != 1 or op == "splat":
                    self.fault(f"{op!r} of {len(args)} operands")
                for a in args:
                    self.typed(a)
            case _:
                self.fault("an element of a buffer in an expression")

    def varies(self, x: Ex) -> Iterator[str]:
        """The points that a value varies along."""
        match x:
            case Var(name):
                if name in self.points:
                    yield name
                yield from self.tiles[name].axes if name in self.tiles else ()
            case Op(_, args):
                for a in args:
                    yield from self.varies(a)
            case _:
                pass

    def fits(self, x: Ex, axes: tuple[str, ...], dtype: object, what: str) -> None:
        if x.dtype is not dtype:
            self.fault(f"{what}: {x.dtype} where {dtype} was expected")
        beyond = set(self.varies(x)) - set(axes)
        if beyond:
            self.fault(f"{what}: varies along {', '.join(sorted(beyond))} too")

    # ---- places

    def region(
        self, buffer: str, size: int, index: Ex, where: Ex | None,
        axes: tuple[str, ...],
    ) -> None:  # fmt: skip
        self.fits(index, axes, self.program.index, f"the index of {buffer}")
        if where is not None:
            self.fits(where, axes, BOOL, f"the test of {buffer}")
        form, const = self.form(index)
        bounds, plain = self.bounds(where)
        if not plain or any(not isinstance(k, str) for k in form):
            return
        high = const + self.most(form, bounds)
        low = const - self.most(_times(form, -1), bounds)
        if low < 0 or high >= size:
            self.fault(f"{buffer} of {size} elements, accessed at {low} .. {high}")

    def apart(self, s: Store) -> None:
        """Each digit of the index is larger than all that lower ones add up to."""
        form, _ = self.form(s.index)
        bounds, plain = self.bounds(s.where)
        if not plain or any(not isinstance(k, str) for k in form):
            return
        axes = [a.name for a in self.grid.axes] + [*self.loops, *s.over]
        left = [a for a in axes if self.axes[a].high and self.most({a: 1}, bounds)]
        lower: dict[str | Ex, int] = {}
        steps = {a: abs(form.get(a, 0)) * self.step(a) for a in left}
        for a in sorted(left, key=lambda a: steps[a]):
            reach = self.most(lower, bounds) + self.most(_times(lower, -1), bounds)
            if steps[a] <= reach or not steps[a]:
                self.fault(f"two points along {a!r} store to one element of {s.buffer}")
                return
            lower[a] = form[a]

    def step(self, axis: str) -> int:
        for s in ir.walk(self.grid.body):
            if isinstance(s, Loop) and s.axes[0].name == axis:
                return s.step
        return 1

    def form(self, x: Ex) -> tuple[dict[str | Ex, int], int]:
        """Multiples, by axis or expression, and a number."""
        match x:
            case Lit(value):
                return {}, int(value)
            case Var(name) if name in self.axes:
                return {name: 1}, 0
            case Op("add" | "sub" as op, (a, b)):
                (left, m), (right, n) = self.form(a), self.form(b)
                sign = 1 if op == "add" else -1
                return _sum(left, _times(right, sign)), m + sign * n
            case Op("mul", (a, Lit(value))):
                inner, n = self.form(a)
                return _times(inner, int(value)), n * int(value)
            case _:
                return {x: 1}, 0

    def bounds(self, where: Ex | None) -> tuple[list[Bound], bool]:
        """What a test says, and whether that is all of it."""
        match where:
            case None:
                return [], True
            case Op("and", (a, b)):
                (left, p), (right, q) = self.bounds(a), self.bounds(b)
                return left + right, p and q
            case Op("lt", (x, Lit(n))):
                form, const = self.form(x)
                return [Bound(form, int(n) - 1 - const)], _of_axes(form)
            case Op("le", (Lit(n), x)):
                form, const = self.form(x)
                return [Bound(_times(form, -1), const - int(n))], _of_axes(form)
            case _:
                return [], False

    def most(self, form: Mapping[str | Ex, int], bounds: list[Bound]) -> int:
        """No value of the form is larger, where the bounds hold."""
        best = 0
        for key, c in form.items():
            reach = self.axes[key] if isinstance(key, str) else self.reach(key)
            best += max(c * reach.low, c * reach.high)
        for k, b in enumerate(bounds):
            pairs = [(form[a], c) for a, c in b.form.items() if a in form]
            for r in {n // c for n, c in pairs if n % c == 0 and n // c > 0}:
                rest = _sum(form, _times(b.form, -r))
                others = bounds[:k] + bounds[k + 1 :]
                best = min(best, r * b.most + self.most(rest, others))
        return best

    def reach(self, x: Ex) -> Interval:
        return interval(x, self.axes)


def _of_axes(form: Mapping[str | Ex, int]) -> bool:
    return all(isinstance(k, str) for k in form)


def _sum(a: Mapping[str | Ex, int], b: Mapping[str | Ex, int]) -> dict[str | Ex, int]:
    total = {k: a.get(k, 0) + b.get(k, 0) for k in (*a, *b)}
    return {k: c for k, c in total.items() if c}


def _times(form: Mapping[str | Ex, int], by: int) -> dict[str | Ex, int]:
    return {k: c * by for k, c in form.items()}
