"""Expressions of a kernel as values of tiles.

A tiling says of each axis of the kernel whether instances share it out, one value or
one block each, whether a tile lies along it, or whether a loop takes it block by block.
Each expression becomes part of a `Map`, at the outermost place where all that it is
computed from is known; what is used again is a tile of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce as fold
from typing import NamedTuple

from ...egraph.ir.dtypes import BOOL, F32, DType, compute
from ...egraph.ir.scalars import BY_NAME, UNROUNDED
from ...egraph.rules.tables import widens
from ...extract.schedule.kernel import Affine, Cond, Div, Expr, Kernel, Mod, Val, bits
from ..axes import ceil_div
from ..families.nests.index_types import bounds
from ..families.nests.plan import each, facts, reach
from ..families.nests.values import add, bitcast, convert, divide, expand, mul, rounded
from ..loops import Ex, Lit, Op, Param, Var
from .ir import Axis, Load, Map, Reduce, Stmt, Tile, var
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


class Values:
    """Of one grid for one kernel."""

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
