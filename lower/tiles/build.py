"""From a kernel and a tiling to a tile program.

A tiling says of each axis of the kernel whether instances share it out, one value or
one block each, whether a tile lies along it, or whether a loop takes it block by block.
Each expression becomes part of a `Map`, at the outermost place where all that it is
computed from is known; what is used again is a tile of its own.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce as fold
from typing import NamedTuple

from ...egraph.ir.dtypes import BOOL, F32, DType, compute
from ...egraph.ir.scalars import BY_NAME, CHOICES, MONOIDS, UNROUNDED
from ...egraph.rules.tables import widens
from ...extract.schedule.kernel import (
    Affine,
    Cond,
    Div,
    Expr,
    Kernel,
    Mod,
    Output,
    Val,
    bits,
)
from ..axes import ceil_div
from ..families.nests.index_types import bounds, index_type
from ..families.nests.plan import each, facts, reach
from ..families.nests.values import (
    add,
    bitcast,
    combine,
    convert,
    divide,
    expand,
    identity,
    mul,
    rounded,
)
from ..families.nests.writer import parameters
from ..loops import Ex, Lit, Op, Param, Var
from .ir import (
    Axis,
    Grid,
    Layout,
    Load,
    Loop,
    Map,
    Reduce,
    Stmt,
    Store,
    Tile,
    TileProgram,
    Update,
    var,
)
from .small import as_float


class Tiling(NamedTuple):
    """By axis of the kernel the block of it that an instance takes, or a turn of the
    loop; an axis without one is a tile's whole length.  1: one value, no tile."""

    grid: dict[int, int]
    loop: tuple[int, int] | None = None  # one axis, and its block
    team: int = 0


@dataclass(slots=True)
class Scope:
    """A body under construction; `axes`: those of the kernel that it opens."""

    axes: int
    body: list[Stmt] = field(default_factory=list[Stmt])
    values: dict[int, Ex] = field(default_factory=dict[int, Ex])


class Writer:
    """Writes one grid for one kernel."""

    def __init__(
        self, kernel: Kernel, tiling: Tiling, buffers: tuple[Param, ...], strict: bool,
        index: DType,
    ) -> None:  # fmt: skip
        self.kernel, self.tiling, self.buffers = kernel, tiling, buffers
        self.strict, self.index = strict, index
        self.facts = facts(kernel)
        self.uses = _uses(kernel)
        self.count = 0
        self.points: list[tuple[int, Axis]] = []  # with the axis of the kernel
        self.grid: list[Axis] = []
        self.turns: tuple[Axis, int] | None = None
        self.where: dict[int, Ex] = {}  # by axis: its position
        self.over: dict[int, Ex] = {}  # by axis: the test that it is no overhang
        for a in self.facts.order:
            self._open(a)
        outer = (1 << len(kernel.extents)) - 1
        self.scopes = [Scope(outer & ~bits(tuple(self._looped)))]

    @property
    def _looped(self) -> list[int]:
        return [self.tiling.loop[0]] if self.tiling.loop else []

    def _open(self, a: int) -> None:
        n, name = self.kernel.extents[a], f"i{a}"
        block = self.tiling.grid.get(a)
        at: Ex = Lit(0, self.index)
        if block is not None:
            count = ceil_div(n, block)
            if count > 1:
                self.grid.append(Axis(f"g{a}", count))
                at = mul(Var(f"g{a}", self.index), block)
        elif a in self._looped:
            assert self.tiling.loop is not None
            block = self.tiling.loop[1]
            self.turns = Axis(f"l{a}", n), block
            at = Var(f"l{a}", self.index)
        else:
            block = n
        if block > 1:
            self.points.append((a, Axis(name, block)))
            at = add(at, Var(name, self.index))
        self.stand(a, at)

    def stand(self, a: int, at: Ex) -> None:
        self.where[a] = at
        block = self.block(a)
        if self.kernel.extents[a] % block:
            end = Lit(self.kernel.extents[a], self.index)
            self.over[a] = Op("lt", (at, end), BOOL)

    def block(self, a: int) -> int:
        t = self.tiling
        looped = t.loop[1] if t.loop and t.loop[0] == a else self.kernel.extents[a]
        return t.grid.get(a, looped)

    # ---- values

    def axes(self, free: int) -> tuple[str, ...]:
        """Of a tile for what varies along these axes of the kernel."""
        return tuple(p.name for a, p in self.points if free >> a & 1)

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def depth(self, free: int) -> int:
        """The innermost scope that opens an axis of these."""
        deep = (i for i, s in enumerate(self.scopes) if i and s.axes & free)
        return max(deep, default=0)

    def known(self, e: int) -> Ex | None:
        found = (s.values[e] for s in reversed(self.scopes) if e in s.values)
        return next(found, None)

    def value(self, e: int) -> Ex:
        """Expression `e`; what it needs is written first, without recursion."""
        have = bits(tuple(k for s in self.scopes for k in s.values))
        for i in each(reach(self.facts, 1 << e, have)):
            if self.known(i) is None:
                self._write(i)
        made = self.known(e)
        assert made is not None
        return made

    def _write(self, e: int) -> None:
        x, free = self.kernel.exprs[e], self.kernel.free[e]
        scope = self.scopes[self.depth(free)]
        if x.op == "load":
            scope.values[e] = self._load(x, free, scope)
        elif x.op == "reduce":
            scope.values[e] = self._reduce(e, scope)
        else:
            made = self._rounded(x, self._scalar(x))
            again = self.uses[e] > 1 and not isinstance(made, Var | Lit)
            scope.values[e] = self.name(made, free) if again else made

    def name(self, value: Ex, free: int, stem: str = "v") -> Ex:
        """A tile of its own for a value."""
        if isinstance(value, Var | Lit):
            return value
        tile = Tile(self.fresh(stem), value.dtype, self.axes(free))
        self.scopes[self.depth(free)].body.append(Map(tile, value))
        return var(tile)

    def _rounded(self, x: Expr, value: Ex) -> Ex:
        exact = x.op != "cast" and (not self.strict or x.op in UNROUNDED)
        if x.op == "cast":  # of floats, values may be finer than their type
            own = self.kernel.exprs[x.args[0]].dtype
            exact = own.is_int and widens(own, x.dtype)
        return value if exact else rounded(value, x.dtype)

    def _scalar(self, x: Expr) -> Ex:
        to = compute(x.dtype)
        if x.op == "const":
            return Lit(x.attr[0], to)
        if x.op == "index":
            return convert(self.affine(x.attr[0]), to)
        if x.op == "inside":
            return self.conds(x.attr[0]) or Lit(True, BOOL)
        args = [self.value(a) for a in x.args]
        if x.op == "cast":
            return (as_float(args[0]) if to is F32 else None) or convert(args[0], to)
        if x.op == "select":
            return Op("select", tuple(args), to)
        if x.op == "bitcast":
            return bitcast(args[0], self.kernel.exprs[x.args[0]].dtype, x.dtype)
        tree = BY_NAME[x.op].expansion
        if tree is None:
            return Op(x.op, tuple(args), to)
        return expand(tree, self.name(args[0], self.kernel.free[x.args[0]]))

    def _load(self, x: Expr, free: int, scope: Scope) -> Ex:
        slot: int = x.attr[0]
        _, offset, guard = x.attr
        buffer, to = self.buffers[slot], compute(x.dtype)
        where = self.conds(guard)
        if buffer.size == 0 or (isinstance(where, Lit) and not where.value):
            return Lit(False if to is BOOL else 0, to)
        at = self.affine(offset)
        tile = Tile(self.fresh("x"), to, self.axes(free))
        test = self.all_of(where, self.overhang(free))
        scope.body.append(Load(tile, buffer.name, at, test))
        return var(tile)

    # ---- reductions

    def _reduce(self, e: int, scope: Scope) -> Ex:
        """A reduction whose axes all lie along tiles."""
        x = self.kernel.exprs[e]
        monoid, axes, acc = x.attr
        value = convert(self.value(x.args[0]), compute(acc))
        for a in axes:  # along which the term is the same
            if not self.kernel.free[x.args[0]] >> a & 1:
                raise AssertionError(f"a reduction over axis {a}, which its term lacks")
        kept = self.axes(self.kernel.free[e])
        over = tuple(n for n in self.axes(bits(axes)) if n not in kept)
        tile = Tile(self.fresh("r"), compute(acc), kept)
        scope.body.append(Reduce(tile, monoid, value, over, self.overhang(bits(axes))))
        return self.total(x, tile)

    def total(self, x: Expr, tile: Tile) -> Ex:
        """A reduction's value from its total."""
        value = convert(var(tile), compute(x.dtype))
        return rounded(value, x.dtype) if self.strict else value

    def accumulators(self, level: Iterable[int]) -> dict[int, Tile]:
        """For each reduction along the loop a tile of what it has so far."""
        out: dict[int, Tile] = {}
        for e in level:
            monoid, _, acc = self.kernel.exprs[e].attr
            free = self.kernel.free[self.kernel.exprs[e].args[0]]
            tile = Tile(self.fresh("a"), compute(acc), self.axes(free))
            self.scopes[-1].body.append(Map(tile, identity(monoid, acc), True))
            out[e] = tile
        return out

    def take(self, e: int, acc: Tile) -> None:
        x = self.kernel.exprs[e]
        monoid, axes, kind = x.attr
        term = convert(self.value(x.args[0]), compute(kind))
        made = combine(monoid, var(acc), term)
        self.scopes[-1].body.append(Update(acc.name, made, self.overhang(bits(axes))))

    def finish(self, e: int, acc: Tile) -> None:
        x = self.kernel.exprs[e]
        kept = self.axes(self.kernel.free[e])
        over = tuple(n for n in acc.axes if n not in kept)
        tile = Tile(self.fresh("r"), acc.dtype, kept)
        self.scopes[-1].body.append(Reduce(tile, x.attr[0], var(acc), over))
        self.scopes[-1].values[e] = self.total(x, tile)

    # ---- outputs

    def store(self, o: Output) -> None:
        free = bits(o.axes)
        value, at = self.value(o.expr), self.affine(o.offset)
        value = unrounded(value, self.kernel.slots[o.slot][0])
        scope = self.scopes[self.depth(free)]
        buffer = self.buffers[o.slot].name
        scope.body.append(
            Store(buffer, at, value, self.axes(free), self.overhang(free))
        )

    # ---- indices

    def affine(self, v: Affine) -> Ex:
        total: Ex = Lit(0, self.index)
        for a, c in v.terms:
            total = add(total, mul(self._atom(a), c))
        return add(total, Lit(v.const, self.index))

    def _atom(self, a: int | Div | Mod | Val) -> Ex:
        if isinstance(a, int):
            return self.where[a]
        if isinstance(a, Val):
            return convert(self.value(a.expr), self.index)
        value = self.affine(a.value)
        if bounds(a.value, self.kernel)[0] < 0:  # where a guard fails; then unused
            value = Op("max", (value, Lit(0, self.index)), self.index)
        return divide(value, a.by, isinstance(a, Mod))

    def conds(self, conds: tuple[Cond, ...]) -> Ex | None:
        """All of them; None where they always hold."""
        tests: list[Ex | None] = []
        for c in conds:
            low, high = bounds(c.value, self.kernel)
            if high < c.low or low >= c.high:
                return Lit(False, BOOL)
            value = self.affine(c.value)
            if low < c.low:
                tests.append(Op("le", (Lit(c.low, self.index), value), BOOL))
            if high >= c.high:
                tests.append(Op("lt", (value, Lit(c.high, self.index)), BOOL))
        return self.all_of(*tests)

    def overhang(self, free: int) -> Ex | None:
        return self.all_of(*(t for a, t in self.over.items() if free >> a & 1))

    def all_of(self, *tests: Ex | None) -> Ex | None:
        left = [t for t in tests if t is not None]
        return fold(lambda a, b: Op("and", (a, b), BOOL), left) if left else None

    # ---- the whole

    def run(self) -> Grid:
        self._fetch(self.facts.stored)
        looped = bits(tuple(self._looped))
        for level in _levels(self.kernel, looped):
            accs = self.accumulators(level)
            with_needs = bits(tuple(self.kernel.exprs[e].args[0] for e in level))
            with self._turn(with_needs):
                for e in level:
                    self.take(e, accs[e])
            for e in level:
                self.finish(e, accs[e])
        self.outputs()
        return self.as_grid()

    def as_grid(self, layout: Layout = ()) -> Grid:
        """All that was written."""
        points = tuple(p for _, p in self.points)
        body = tuple(self.scopes[0].body)
        return Grid(tuple(self.grid), points, body, self.tiling.team, layout)

    def outputs(self) -> None:
        looped = bits(tuple(self._looped))
        inside = [o for o in self.kernel.outputs if bits(o.axes) & looped]
        for o in self.kernel.outputs:
            if o not in inside:
                self.store(o)
        if inside:
            needs = bits(tuple(o.expr for o in inside))
            with self._turn(needs):
                for o in inside:
                    self.store(o)

    @contextmanager
    def _turn(self, targets: int) -> Generator[None]:
        """The loop, around what is written within."""
        assert self.turns is not None
        axis, step = self.turns
        self.scopes.append(Scope(bits(tuple(self._looped))))
        self._fetch(targets)
        yield
        inner = self.scopes.pop()
        self.scopes[-1].body.append(Loop((axis,), step, tuple(inner.body)))

    def _fetch(self, targets: int) -> None:
        """All loads that can be made here come first: none waits for another."""
        have = bits(tuple(k for s in self.scopes for k in s.values))
        depth = len(self.scopes) - 1
        for e in each(reach(self.facts, targets, have) & self.facts.loads):
            plain = not self.facts.args[e]
            if plain and self.depth_of_all(e) == depth:
                self.value(e)

    def depth_of_all(self, e: int) -> int:
        """Where a load belongs, once every loop is open; beyond, if none is."""
        looped = bool(self.kernel.free[e] & bits(tuple(self._looped)))
        return int(looped)


def unrounded(value: Ex, dtype: DType) -> Ex:
    """Without a last rounding to `dtype`, which a store does."""
    match value:
        case Op("cast", (Op("cast", (inner,), to),)) if to is dtype:
            return inner if inner.dtype is value.dtype else value
        case _:
            return value


def _uses(kernel: Kernel) -> list[int]:
    out = [0] * len(kernel.exprs)
    f = facts(kernel)
    live = reach(f, f.stored, 0)
    for e in each(live):
        for a in kernel.exprs[e].args:
            out[a] += 1
        for a in each(f.args[e] & ~bits(kernel.exprs[e].args)):
            out[a] += 1
    for o in kernel.outputs:
        out[o.expr] += 1
    return out


def _levels(kernel: Kernel, looped: int) -> list[list[int]]:
    """Reductions along the loop, those first that others depend on."""
    f = facts(kernel)
    live = reach(f, f.stored, 0)
    along = (r for r in each(live & f.reductions)
             if bits(kernel.exprs[r].attr[1]) & looped)  # fmt: skip
    left: list[int] = list(along)
    out: list[list[int]] = []
    while left:
        mask = bits(tuple(left))
        ready = [r for r in left if not reach(f, f.args[r], 0) & mask]
        out.append(ready)
        left = [r for r in left if r not in ready]
    return out


def refusal(kernel: Kernel, paired: bool = False) -> str | None:
    """Why no tiling can write the kernel; `paired`: products may be of what is read for
    several."""
    if kernel.updates:
        return "it changes what lies in a buffer"
    if kernel.orders:
        return "it sorts"
    if any(kernel.exprs[r].attr[0] in CHOICES for r in kernel.reductions):
        return "it looks for the place of a best term"
    for r in kernel.reductions:
        x = kernel.exprs[r]
        if x.attr[0] not in MONOIDS:
            return f"it reduces by {x.attr[0]}"
        if bits(x.attr[1]) & ~kernel.free[x.args[0]]:
            return "it reduces along an axis that the term lacks"
        if not paired and not _read_once(kernel, x.args[0]):
            return "its terms pair what is read for several of them: a product"
    return None


def _read_once(kernel: Kernel, term: int) -> bool:
    """Whether some load is as many as the terms are, or there is none: then instances
    share little of what they read.  (Products are tiled for that.)"""
    f = facts(kernel)
    loads = list(each(reach(f, 1 << term, f.reductions) & f.loads))
    wanted = kernel.free[term]
    return not loads or any(not wanted & ~kernel.free[e] for e in loads)


def written(
    kernel: Kernel, tiling: Tiling, strict: bool = False,
    buffers: tuple[Param, ...] | None = None, index: DType | None = None,
) -> Grid:  # fmt: skip
    buffers = buffers or parameters(kernel)
    index = index or index_type(kernel, buffers)
    return Writer(kernel, tiling, buffers, strict, index).run()


def program(name: str, kernel: Kernel, tiling: Tiling, strict: bool) -> TileProgram:
    """A program of one grid."""
    buffers = parameters(kernel)
    index = index_type(kernel, buffers)
    grid = written(kernel, tiling, strict, buffers, index)
    return TileProgram(name, buffers, (grid,), (), index)
