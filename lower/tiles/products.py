"""Products as tile programs: tiles of both sides in rings, multiplied turn by turn.

What comes before the products is written for each side where its tile is made, what
comes after them once the sums are complete, both by the writer of all tile programs.
A side that is a load of elements as they are stored is copied asynchronously; another
one is loaded, computed and copied.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ...egraph.ir.dtypes import F32, U32, DType, compute
from ...extract.schedule.kernel import Affine, Kernel, Mod, bits
from ..axes import coefficient
from ..families.nests.index_types import index_type
from ..families.nests.plan import each, facts, reach
from ..families.nests.values import add, mul
from ..families.products.flat import stored_as
from ..families.products.products import Product, classify
from ..fragments import EIGHTS, HALVES, LOST
from ..loops import Ex, Lit, Op, Param, Var
from . import ir
from .build import Writer
from .ir import Ahead, Axis, Copy, Grid, Load, Loop, Map, Mma, Stmt, Tile, Wait, var
from .values import Scope, Tiling

SEEN = 0xFFFFFFFF >> LOST << LOST  # bits of f32, of those


class Blocks(NamedTuple):
    """Points of an instance's tile, and how it walks: `stages` of each ring, `group`
    rows of tiles that instances take side by side, so that they share columns; those
    next to each other are one under the other, or `abreast`."""

    m: int
    n: int
    k: int
    stages: int
    group: int
    team: int
    abreast: bool = False


type Factors = tuple[int, ...]  # expressions, of which a side is the product


class Sides(NamedTuple):
    """Products that are summed together, and the axes that tiles lie along; `dtype`:
    of the elements that are multiplied, `sums`: of what they add up to.  Those
    `along_k` must lie along the axis that is summed."""

    products: tuple[Product, ...]
    m: int
    n: int
    k: int
    dtype: DType
    sums: DType
    along_k: bool = False
    held: bool = False  # the left one lies along its own axis, and threads hold it

    @property
    def turned(self) -> Sides:
        """Those of the product's transpose: the right side is the left one."""
        products = tuple(Product(p.root, p.b, p.a) for p in self.products)
        return self._replace(products=products, m=self.n, n=self.m)

    @property
    def distinct(self) -> tuple[tuple[Factors, int], ...]:
        """Each left and each right side once, with the axis of its own."""
        left = dict.fromkeys((p.a, self.m) for p in self.products)
        right = dict.fromkeys((p.b, self.n) for p in self.products)
        return (*left, *right)


@lru_cache(maxsize=4096)
def sides_of(kernel: Kernel, kinds: tuple[DType, ...] = ()) -> Sides | str:
    """`kinds`: as elements of one of these types, where those of the sides are no
    others; f32 without the bits that instructions do not see.  Else as they are."""
    cs = classify(kernel)
    if isinstance(cs, str):
        return cs
    if len(cs) != 1:
        return "products of different axes"
    (c,) = cs
    m, n, k = (max(axes, key=lambda a: (kernel.extents[a], a), default=-1)
               for axes in (c.m, c.n, c.k))  # fmt: skip
    if len(c.k) != 1 or min(m, n) < 0:
        return "it sums along none or several axes"
    if not kinds:
        made = Sides(c.products, m, n, k, c.dtype, c.dtype)
    else:
        if c.dtype is not F32 or len(c.products) != 1:
            return f"{len(c.products)} products of {c.dtype}"
        ((root, a, b),) = c.products
        own = tuple(tuple(stored_as(kernel, e) for e in side) for side in (a, b))
        of = {kernel.exprs[side[0]].dtype for side in own}
        if max(map(len, own)) > 1 or len(of) > 1 or not of <= {*kinds}:
            return f"sides of {', '.join(sorted(map(str, of)))}"
        dtype = of.pop()
        if dtype is F32:
            words = [unmasked(kernel, e) for side in own for e in side]
            if None in words:
                return "sides of f32"
            own = tuple((e,) for e in words if e is not None)
        if dtype in EIGHTS and (reason := _stored_fine(kernel)):
            return reason
        along_k = dtype not in HALVES
        made = Sides((Product(root, *own),), m, n, k, dtype, F32, along_k)
        if dtype is F32:
            across = [
                _lies_across(kernel, e, a, k)
                for (e,), a in zip(own, (m, n), strict=True)
            ]
            made = made.turned if across == [False, True] else made
            made = made._replace(held=any(across))
    for side, axis in made.distinct:
        free = 0
        for e in side:
            free |= kernel.free[e]
        if not free >> axis & 1 or not free >> k & 1:
            return "a side that does not vary along an axis of its own"
    return made


def _lies_across(kernel: Kernel, e: int, own: int, k: int) -> bool:
    x = kernel.exprs[e]
    return x.op == "load" and [coefficient(x.attr[1], a) == 1 for a in (own, k)] == [
        True, False,
    ]  # fmt: skip


def unmasked(kernel: Kernel, e: int) -> int | None:
    """The f32 of which an expression is the bits that instructions of groups see."""
    x = kernel.exprs[e]
    word = kernel.exprs[x.args[0]] if x.op == "bitcast" else x
    if word.op != "and" or (x.dtype, word.dtype) != (F32, U32):
        return None
    sides = [kernel.exprs[a] for a in word.args]
    whole = [y.args[0] for y in sides if y.op == "bitcast"]
    masks = [y.attr[0] for y in sides if y.op == "const"]
    found = len(whole) == 1 and masks == [SEEN]
    return whole[0] if found and kernel.exprs[whole[0]].dtype is F32 else None


def _stored_fine(kernel: Kernel) -> str | None:
    """Instructions add up a few products of f8 with about 14 bits: enough for what is
    rounded to fewer."""
    stored = {kernel.slots[o.slot][0] for o in kernel.outputs}
    fine = sorted(str(t) for t in stored if t.bits > 16 or not t.is_float)
    return f"sums of f8 that are stored as {', '.join(fine)}" if fine else None


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
        if self.blocks.abreast and counts.get(columns, 1) % 2 == 0:
            self._abreast(columns)

    def _abreast(self, columns: str) -> None:
        """Tiles side by side in pairs."""
        n = self.sides.n
        (count,) = (a.extent for a in self.grid if a.name == columns)
        pairs = Axis(f"h{n}", count // 2)
        self.grid = [pairs if a.name == columns else a for a in self.grid]
        self.grid.append(Axis(columns, 2))
        first = mul(Var(pairs.name, self.index), 2)
        at = mul(add(first, Var(columns, self.index)), self.blocks.n)
        self.stand(n, add(at, Var(f"i{n}", self.index)))

    def run(self) -> Grid:
        s, b = self.sides, self.blocks
        accs = [Tile(f"a{i or ''}", s.sums, self.axes(bits((s.m, s.n))))
                for i in range(len(s.products))]  # fmt: skip
        outer = self.scopes[0]
        outer.body += [Map(acc, Lit(0.0, s.sums), True) for acc in accs]
        made = {key: self.side(*key) for key in s.distinct}
        early = [Ahead(tuple(x.first)) for x in made.values() if x.first]
        late = [Ahead(tuple(x.then)) for x in made.values() if x.then]
        products: list[Stmt] = []
        for acc, p in zip(accs, s.products, strict=True):
            left, right = made[p.a, s.m].tile, made[p.b, s.n].tile
            products.append(Mma(acc.name, var(left), var(right), (f"i{s.k}",)))
        copies = sum(isinstance(x, Load) and x.tile.space == "shared"
                     for a in early for x in a.body)  # fmt: skip
        wait = Wait(max(b.stages - 2, 0) * copies)
        assert self.turns is not None
        axis, step = self.turns
        body: tuple[Stmt, ...] = (wait, *early, *products, *late)
        outer.body.append(Loop((axis,), step, body, b.stages))
        for acc, p in zip(accs, s.products, strict=True):
            outer.values[p.root] = self.total(self.kernel.exprs[p.root], acc)
        for o in self.kernel.outputs:
            self.store(o)
        points = tuple(p for _, p in self.points)
        return Grid(tuple(self.grid), points, tuple(outer.body), b.team)

    # ---- sides

    def side(self, factors: Factors, own: int) -> _Made:
        """Its statements, written apart: they are laid out for memory, not as sums."""
        s = self.sides
        kept, self.scopes = self.scopes, [Scope(-1)]
        (scope,) = self.scopes
        axes = self._order(factors, own)
        shared = Tile(self.fresh("s"), s.dtype, axes, space="shared")
        x = self.kernel.exprs[factors[0]]
        loaded = x.op == "load" and len(factors) == 1
        plain = loaded and self.kernel.slots[x.attr[0]][0] is s.dtype
        value = self.value(factors[0])
        for e in factors[1:]:
            value = Op("mul", (value, self.value(e)), s.sums)
        last = scope.body[-1] if scope.body else None
        if plain and isinstance(last, Load) and {*last.tile.axes} == {*axes}:
            scope.body[-1] = Load(shared, last.buffer, last.index, last.where)
        else:
            value = value if loaded else self._empty_beyond(value, s.k)
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

    def _empty_beyond(self, value: Ex, k: int) -> Ex:
        """0 beyond the end of k, where what is computed from nothing may be no number;
        loads are 0 there as they are."""
        test = self.over.get(k)
        if test is None:
            return value
        return Op("select", (test, value, Lit(0.0, value.dtype)), value.dtype)

    def _order(self, factors: Factors, own: int) -> tuple[str, ...]:
        """The axes of a side's tile: the last one lies side by side in memory, but for
        threads that multiply by themselves, which read along their own axis."""
        k = self.sides.k
        along = k if self.sides.along_k else own
        if self.sides.dtype in HALVES:
            along = self._along(factors, own)
        if self.sides.held and own == self.sides.m:
            along = own
        names = [f"i{a}" for a in (own, k) if a != along]
        return (*names, f"i{along}")

    def _along(self, factors: Factors, own: int) -> int:
        """The axis that most of what a side reads lies along."""
        f = facts(self.kernel)
        steps = [self.kernel.exprs[i].attr[1]
                 for i in each(reach(f, bits(factors), 0) & f.loads)]  # fmt: skip
        votes = {a: sum(_side_by_side(v, a) for v in steps)
                 for a in (self.sides.k, own)}  # fmt: skip
        return max(votes, key=lambda a: votes[a])


def _side_by_side(v: Affine, axis: int) -> bool:
    """Whether places grow by one along an axis, or along its last digit."""
    place = Affine(((axis, 1),))
    return any(
        step == 1 and (a == axis or (isinstance(a, Mod) and a.value == place))
        for a, step in v.terms
    )


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
