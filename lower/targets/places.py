"""Where a thread stands among the points of a grid's tiles, and what it holds there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple

from ...egraph.ir.dtypes import BOOL, DType
from ..families.nests.values import add, divide, mul
from ..loops import Ex, For, If, Let, Lit, Op, Stmt, Var
from ..loops import Load as Read
from ..tiles import ir
from ..tiles.ir import Grid, Layout, Mma, Reduce, Store, TileProgram, Update
from .layouts import Scene, names_in, scene


class Point(NamedTuple):
    """Where a thread stands: by digit of the layout, and so by axis."""

    layout: Layout
    digits: tuple[Ex, ...]

    def axis(self, name: str, zero: Lit) -> Ex:
        total: Ex = zero
        weight = 1
        pairs = list(zip(self.layout, self.digits, strict=True))
        for d, value in reversed([p for p in pairs if p[0].axis == name]):
            total = add(mul(value, weight), total)
            weight *= d.size
        return total

    def slot(self, axes: Sequence[str], zero: Lit) -> Ex:
        """Among the elements that a thread holds of a tile over `axes`."""
        total: Ex = zero
        weight = 1
        pairs = list(zip(self.layout, self.digits, strict=True))
        for d, value in reversed(pairs):
            if d.axis in axes and d.place != "thread":
                total = add(mul(value, weight), total)
                weight *= d.size
        return total


class Places:
    """`held`: by tile the name of its array, or the variable that it is."""

    def __init__(self, grid: Grid, program: TileProgram) -> None:
        self.grid, self.index = grid, program.index
        self.buffers = program.buffers
        self.scene: Scene = scene(grid)
        self.tiles = {t.name: t for s in ir.walk(grid.body) if (t := ir.bound(s))}
        self.extents = ir.extents(grid.points)
        self.zero = Lit(0, self.index)
        self.held: dict[str, str | Var] = {}
        self.turn: dict[str, Ex] = {}  # of a loop whose turn is another one
        self.count = 0
        self.out: list[list[Stmt]] = [[]]

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def emit(self, s: Stmt) -> None:
        self.out[-1].append(s)

    def inside(self) -> list[Stmt]:
        self.out.append([])
        return self.out[-1]

    def number(self, n: int) -> Lit:
        return Lit(n, self.index)

    def let(self, value: Ex, stem: str) -> Ex:
        if isinstance(value, Var | Lit):
            return value
        var = Var(self.fresh(stem), value.dtype)
        self.emit(Let(var, value))
        return var

    def digits(self, layout: Layout) -> tuple[Var, dict[int, Ex]]:
        """The loop variable of threads, and by place in the layout the digit of a
        thread."""
        whole = layout
        thread = Var(self.fresh("t"), self.index)
        out: dict[int, Ex] = {}
        weight = 1
        for k in reversed(range(len(whole))):
            if whole[k].place != "thread":
                continue
            value = divide(thread, weight, False)
            if weight * whole[k].size < self.grid.team:
                value = divide(value, whole[k].size, True)
            out[k] = self.let(value, "d")
            weight *= whole[k].size
        return thread, out

    def own_digits(
        self, layout: Layout, threads: Mapping[int, Ex], mine: Sequence[int],
        wide: int = -1,
    ) -> tuple[Point, list[tuple[Var, int]]]:  # fmt: skip
        """A point by digits `mine`, and loops over those that a thread has for itself;
        all of digit `wide` are moved at once."""
        values: list[Ex] = []
        loops: list[tuple[Var, int]] = []
        for k in mine:
            if k in threads:
                values.append(threads[k])
            elif k == wide:
                values.append(self.zero)
            else:
                loops.append((Var(self.fresh("j"), self.index), layout[k].size))
                values.append(loops[-1][0])
        return Point(tuple(layout[k] for k in mine), tuple(values)), loops

    def by_team(
        self, thread: Var, loops: Sequence[tuple[Var, int]], s: Stmt,
        where: Ex | None = None,
    ) -> None:  # fmt: skip
        """What each thread does in all turns of the loops; ends what `inside` began."""
        for var, n in reversed(loops):
            s = For(var, n, "unroll", (s,))
        self.emit(s)
        body = tuple(self.out.pop())
        body = body if where is None else (If(where, body),)
        self.emit(For(thread, self.grid.team, "thread", body))

    def beyond(self, point: Point, axes: Sequence[str]) -> Ex | None:
        """The test that a point is one, where digits count further than an axis."""
        tests: list[Ex] = []
        for a in axes:
            if prod(d.size for d in point.layout if d.axis == a) > self.extents[a]:
                at = point.axis(a, self.zero)
                tests.append(Op("lt", (at, self.number(self.extents[a])), BOOL))
        return both(*tests)

    def at(self, x: Ex, point: Point, local: Mapping[str, Ex]) -> Ex:
        """An expression of tiles at one point, as one of loops."""
        match x:
            case Var(name):
                if name in local:
                    return local[name]
                if name in self.turn:
                    return self.turn[name]
                if name in self.extents:
                    return point.axis(name, self.zero)
                held = self.held.get(name)
                if held is None:
                    return x  # an axis of the grid or of a loop
                if isinstance(held, Var):
                    return held
                slot = point.slot(self.tiles[name].axes, self.zero)
                return Read(held, slot, x.dtype)
            case Op(op, args, dtype):
                made = tuple(self.at(a, point, local) for a in args)
                return _folded(op, made, dtype)
            case _:
                return x

    def layout_of(self, s: ir.Stmt) -> Layout:
        """In which a statement walks over its points."""
        tile = ir.bound(s)
        if isinstance(s, Update):
            tile = self.tiles[s.name]
        if isinstance(s, Store):
            found = (self.tiles.get(n) for n in names_in(s.value))
            mine = [t for t in found if t is not None]
            whole = (t for t in mine if {*s.over} <= {*t.axes})
            tile = next(whole, mine[0] if mine else None)
        return (tile.layout if tile else ()) or self.grid.layout

    def axes_of(self, s: ir.Stmt) -> tuple[str, ...]:
        match s:
            case Reduce(tile, _, _, over):
                mine = {*tile.axes, *over}
            case Update(name) | Mma(name):
                mine = set(self.tiles[name].axes)
            case Store(over=over):
                mine = set(over)
            case _:
                tile = ir.bound(s)
                mine = set(tile.axes if tile else ())
        return tuple(p.name for p in self.grid.points if p.name in mine)


def both(*tests: Ex | None) -> Ex | None:
    out: Ex | None = None
    for t in tests:
        if t is not None:
            out = t if out is None else Op("and", (out, t), BOOL)
    return out


def _folded(op: str, args: tuple[Ex, ...], dtype: DType) -> Ex:
    """Index arithmetic with numbers in it, done now."""
    if op == "add" and dtype.is_int:
        return add(*args)
    if op == "mul" and dtype.is_int and isinstance(args[1], Lit):
        return mul(args[0], int(args[1].value))
    return Op(op, args, dtype)
