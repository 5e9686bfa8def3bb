"""Products as tile programs: tiles of both sides in rings, multiplied turn by turn.

What comes before the products is written for each side where its tile is made, what
comes after them once the sums are complete, both by the writer of all tile programs.
A side that is a load of elements as they are stored is copied asynchronously; another
one is loaded, computed and copied.
"""

from __future__ import annotations

from typing import NamedTuple

from ...egraph.ir.dtypes import BF16, F16, F32, DType, compute
from ...extract.schedule.kernel import Kernel, bits
from ..axes import coefficient
from ..families.nests.index_types import index_type
from ..families.nests.plan import each, facts, reach
from ..families.nests.values import add, mul
from ..families.products.products import Contraction, classify
from ..loops import Ex, Lit, Op, Param, Var
from . import ir
from .build import Scope, Tiling, Writer
from .ir import Ahead, Axis, Copy, Grid, Load, Loop, Map, Mma, Stmt, Tile, Wait, var

HALVES = (BF16, F16)  # that instructions of warps multiply


class Blocks(NamedTuple):
    """Points of an instance's tile, and how it walks: `stages` of each ring, `group`
    rows of tiles that instances take side by side, so that they share columns."""

    m: int
    n: int
    k: int
    stages: int
    group: int
    team: int


class Sides(NamedTuple):
    """One product: which expressions it multiplies, and the axes that tiles lie along;
    `dtype`: of the elements that are multiplied."""

    root: int
    left: int
    right: int
    m: int
    n: int
    k: int
    dtype: DType


def sides_of(kernel: Kernel, halves: bool) -> Sides | str:
    """`halves`: as elements of two bytes, where those of the sides are no others."""
    cs = classify(kernel)
    if isinstance(cs, str):
        return cs
    if len(cs) != 1 or len(cs[0].products) != 1:
        return "several products"
    c = cs[0]
    p = c.products[0]
    if len(p.a) > 1 or len(p.b) > 1:
        return "a side of several factors"
    if c.dtype is not F32:
        return f"products of {c.dtype}"
    return _checked(kernel, c, halves)


def _checked(kernel: Kernel, c: Contraction, halves: bool) -> Sides | str:
    p = c.products[0]
    left, right = (_stored_as(kernel, e) for e in (*p.a, *p.b))
    m, n, k = (max(axes, key=lambda a: (kernel.extents[a], a), default=-1)
               for axes in (c.m, c.n, c.k))  # fmt: skip
    if len(c.k) != 1 or min(m, n) < 0:
        return "it sums along none or several axes"
    for e, own in ((left, m), (right, n)):
        if not kernel.free[e] >> own & 1 or not kernel.free[e] >> k & 1:
            return "a side that does not vary along an axis of its own"
    kinds = {kernel.exprs[e].dtype for e in (left, right)}
    half = halves and len(kinds) == 1 and kinds <= {*HALVES}
    if halves and not half:
        return f"sides of {', '.join(sorted(map(str, kinds)))}"
    return Sides(p.root, left, right, m, n, k, kinds.pop() if half else F32)


def _stored_as(kernel: Kernel, e: int) -> int:
    """The expression without a cast that loses nothing."""
    x = kernel.exprs[e]
    inner = kernel.exprs[x.args[0]].dtype if x.op == "cast" else x.dtype
    return x.args[0] if x.op == "cast" and inner in HALVES else e


class ProductWriter(Writer):
    """Writes one grid for one product."""

    def __init__(
        self, kernel: Kernel, sides: Sides, blocks: Blocks, strict: bool,
        buffers: tuple[Param, ...], index: DType,
    ) -> None:  # fmt: skip
        s = sides
        grid = {a: 1 for o in kernel.outputs for a in o.axes}
        grid |= {s.m: blocks.m, s.n: blocks.n}
        tiling = Tiling(grid, (s.k, blocks.k), blocks.team)
        super().__init__(kernel, tiling, buffers, strict, index)
        self.sides, self.blocks = sides, blocks
        self._raster()

    def _raster(self) -> None:
        """Columns of tiles inside of groups of rows of tiles."""
        m, group = self.sides.m, self.blocks.group
        rows, columns = f"g{m}", f"g{self.sides.n}"
        counts = {a.name: a.extent for a in self.grid}
        rest = [a for a in self.grid if a.name not in (rows, columns)]
        own = [Axis(n, counts[n]) for n in (columns, rows) if n in counts]
        count = counts.get(rows, 1)
        if 1 < group < count and count % group == 0:
            own = [Axis(f"o{m}", count // group), *own[:-1], Axis(rows, group)]
            first = mul(Var(f"o{m}", self.index), group)
            at = mul(add(first, Var(rows, self.index)), self.blocks.m)
            self.stand(m, add(at, Var(f"i{m}", self.index)))
        self.grid = rest + own

    def run(self) -> Grid:
        s, b = self.sides, self.blocks
        acc = Tile("a", F32, self.axes(bits((s.m, s.n))))
        outer = self.scopes[0]
        outer.body.append(Map(acc, Lit(0.0, F32), True))
        left, right = self.side(s.left, s.m), self.side(s.right, s.n)
        early = [Ahead(tuple(x)) for x in (left.first, right.first) if x]
        late = [Ahead(tuple(x)) for x in (left.then, right.then) if x]
        name = f"i{s.k}"
        product = Mma(acc.name, var(left.tile), var(right.tile), (name,))
        copies = sum(isinstance(x, Load) and x.tile.space == "shared"
                     for a in early for x in a.body)  # fmt: skip
        wait = Wait(max(b.stages - 2, 0) * copies)
        assert self.turns is not None
        axis, step = self.turns
        body: tuple[Stmt, ...] = (wait, *early, product, *late)
        outer.body.append(Loop((axis,), step, body, b.stages))
        outer.values[s.root] = self.total(self.kernel.exprs[s.root], acc)
        for o in self.kernel.outputs:
            self.store(o)
        points = tuple(p for _, p in self.points)
        return Grid(tuple(self.grid), points, tuple(outer.body), b.team)

    # ---- sides

    def side(self, e: int, own: int) -> _Made:
        """Its statements, written apart: they are laid out for memory, not as sums."""
        s = self.sides
        kept, self.scopes = self.scopes, [Scope(-1)]
        (scope,) = self.scopes
        axes = self._order(e, own)
        shared = Tile(self.fresh("s"), s.dtype, axes, space="shared")
        x = self.kernel.exprs[e]
        plain = x.op == "load" and self.kernel.slots[x.attr[0]][0] is s.dtype
        value = self.value(e)
        last = scope.body[-1] if scope.body else None
        if plain and isinstance(last, Load) and {*last.tile.axes} == {*axes}:
            scope.body[-1] = Load(shared, last.buffer, last.index, last.where)
        else:
            value = self._empty_beyond(x.op, value, s.k)
            if not (isinstance(value, Var) and {*self._axes_of(value)} == {*axes}):
                tile = Tile(self.fresh("v"), compute(value.dtype), axes)
                scope.body.append(Map(tile, value))
                value = var(tile)
            scope.body.append(Copy(shared, value))
        self.scopes = kept
        first = next((i for i, x in enumerate(scope.body) if not isinstance(x, Load)),
                     len(scope.body))  # fmt: skip
        return _Made(shared, scope.body[:first], scope.body[first:])

    def _axes_of(self, value: Var) -> tuple[str, ...]:
        made = (ir.bound(x) for x in self.scopes[0].body)
        return next((t.axes for t in made if t and t.name == value.name), ())

    def _empty_beyond(self, op: str, value: Ex, k: int) -> Ex:
        """0 beyond the end of k, where what is computed from nothing may be no number;
        loads are 0 there as they are."""
        test = self.over.get(k)
        if op == "load" or test is None:
            return value
        return Op("select", (test, value, Lit(0.0, value.dtype)), value.dtype)

    def _order(self, e: int, own: int) -> tuple[str, ...]:
        """The axes of a side's tile: the last one lies side by side in memory, but for
        threads that multiply by themselves, which read along their own axis."""
        k = self.sides.k
        along = own if self.sides.dtype not in HALVES else self._along(e, own)
        names = [f"i{a}" for a in (own, k) if a != along]
        return (*names, f"i{along}")

    def _along(self, e: int, own: int) -> int:
        """The axis that most of what a side reads lies along."""
        f = facts(self.kernel)
        steps = [self.kernel.exprs[i].attr[1]
                 for i in each(reach(f, 1 << e, 0) & f.loads)]  # fmt: skip
        votes = {a: sum(coefficient(v, a) == 1 for v in steps)
                 for a in (self.sides.k, own)}  # fmt: skip
        return max(votes, key=lambda a: votes[a])


class _Made(NamedTuple):
    tile: Tile
    first: list[Stmt]  # loads
    then: list[Stmt]  # what waits for them


def product_grid(
    kernel: Kernel, sides: Sides, blocks: Blocks, strict: bool,
    buffers: tuple[Param, ...],
) -> tuple[Grid, DType]:  # fmt: skip
    index = index_type(kernel, buffers)
    return ProductWriter(kernel, sides, blocks, strict, buffers, index).run(), index
