"""The fold family: dependent reductions in one pass, around products of matrices.

Attention is the case in point: scores are a product, their maximum and sum run along a
row, the weights meet the values in a second product.  By the cascade law
(extract/cascade.py) blocks of the scores are used as soon as they are there, and never
stored.  Nothing here knows of a softmax: rows, sums and products are told apart by the
axes that they vary along.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from ...egraph.dtypes import F32, F64, DType, compute
from ...extract.cascade import Cascade, State, cascade
from ...extract.kernel import Cost, Kernel, bits, factors
from ..axes import SIDE_BY_SIDE, ceil_div, coefficient, nested, numel
from ..choice import Domains, Holes, hole
from ..device import Caps
from ..loops import Function
from ..model import AsTheyAre, DeviceModel, Parts, model_of, total
from .blocking import (
    CLOSE,
    Blocking,
    about,
    even,
    fits_close,
    register_holes,
    register_tile,
)
from .plan import each, facts, reach
from .price import END, GATHER, PACK, TURN, occupancy, taking
from .products import Contraction, Product, contiguous


class Fold(NamedTuple):
    """A pass over `axes` for each row of `batch` and `m`; `states` of the row itself
    come first, `wide` are those that vary along further axes, as products."""

    batch: tuple[int, ...]
    m: tuple[int, ...]
    axes: tuple[int, ...]
    e: tuple[int, ...]
    rows: tuple[State, ...]
    level: dict[int, int]  # by root: how many states must be known before
    inner: tuple[Contraction, ...]
    wide: tuple[tuple[State, Contraction], ...]
    dtype: DType


@dataclass(frozen=True, slots=True)
class Folding(AsTheyAre):
    """Kernels whose reductions over one set of axes are a cascade."""

    name: str = "fold"

    def accepts(self, kernel: Kernel) -> str | None:
        found = classify(kernel)
        return found if isinstance(found, str) else None

    def floor(self, kernel: Kernel, model: DeviceModel) -> float:
        return 0.0 if model.cpu_like else float("inf")

    def domains(self, kernel: Kernel, model: DeviceModel) -> Domains:
        found = classify(kernel)
        if isinstance(found, str) or not model.cpu_like:
            return {}
        own, (m, j) = tiles(kernel, found, model), _extents(kernel, found)[1:3]
        sizes = {"rows": about({own.rows}, m), "block": about({own.block}, j)}
        if found.inner or found.wide:
            sizes |= register_holes(own.lanes, m)
        return {**sizes, **model.sharing(_parts(kernel, found, model))}

    def cost(
        self, kernel: Kernel, model: DeviceModel, holes: Holes = ()
    ) -> Cost | None:
        found = classify(kernel)
        if isinstance(found, str) or not model.cpu_like:
            return None
        t = tiles(kernel, found, model, holes)
        if holes and not _fits(kernel, found, t, model):
            return None
        parts = _parts(kernel, found, model, holes)
        return total(self.name, 1, parts, model, holes)

    def overwrites(
        self, kernel: Kernel, model: DeviceModel, output: int, loads: int,
        holes: Holes = (),
    ) -> bool:  # fmt: skip
        """Rows are read while others of the same block are stored."""
        return False

    def lower(
        self, kernel: Kernel, caps: Caps, name: str, strict: bool, holes: Holes = ()
    ) -> Function:
        from .online import Online  # which needs this file
        from .writer import function, parameters

        found, model = classify(kernel), model_of(caps)
        assert isinstance(found, Fold), found
        online = Online(
            kernel, strict, parameters(kernel), found,
            tiles(kernel, found, model, holes),
        )  # fmt: skip
        online.grid = model.outermost(_parts(kernel, found, model, holes), holes)
        online.run()
        return function(name, online)


# ---- which kernels -------------------------------------------------------------------


@lru_cache(maxsize=4096)
def classify(kernel: Kernel) -> Fold | str:
    """The fold that the kernel is, or the reason why it is none."""
    sets = dict.fromkeys(bits(kernel.exprs[r].attr[1]) for r in kernel.reductions)
    if not nested(kernel):
        return SIDE_BY_SIDE
    if len(kernel.reductions) < 2:
        return "fewer than two reductions"
    stored = 0
    for o in kernel.outputs:
        stored |= bits(o.axes)
    reasons = ["every reduced axis is stored"]
    for axes in sets:
        if axes & stored:
            continue
        found = cascade(kernel, axes)
        fold = found if isinstance(found, str) else _Sorter(kernel, found).fold(stored)
        if isinstance(fold, Fold):
            return fold
        reasons.append(fold)
    return reasons[-1]


class _Sorter:
    """Sorts axes and reductions by their parts in the pass."""

    def __init__(self, kernel: Kernel, found: Cascade) -> None:
        self.kernel, self.found = kernel, found
        self.j = found.axes
        self.f = facts(kernel)
        self.roots = bits(tuple(s.root for s in found.states))

    def fold(self, stored: int) -> Fold | str:
        states = self.found.states
        dtype = compute(self.kernel.exprs[states[0].root].attr[2])
        accs = {compute(self.kernel.exprs[s.root].attr[2]) for s in states}
        if accs != {dtype} or dtype not in (F32, F64):
            return "its accumulators are of several types"
        rows = self._row_axes()
        wide = [s for s in states if self._free(s.root) & ~rows]
        e = self._union(s.root for s in wide) & ~rows
        if stored & ~(rows | e):
            return "an output axis is in no state"
        if any(s.root in _needed(states) for s in wide):
            return "a state with columns is needed by another"
        inner = [r for r in self.kernel.reductions if not self.roots >> r & 1]
        sides = [*(self._inner(r, dtype) for r in inner),
                 *(self._wide(s, e) for s in wide)]  # fmt: skip
        for side in sides:
            if isinstance(side, str):
                return side
        products = [s for s in sides if not isinstance(s, str)]
        right = self._union(f for p in products for f in p.b)
        batch = rows & right
        if any(self._union(p.a) & ~(rows | self.j | self._own(p)) for p in products):
            return "a left factor has an axis that no row has"
        m = rows & ~batch
        cs = [self._contraction(p, batch, m, e, dtype) for p in products]
        return Fold(
            self._order(batch), self._order(m), self._order(self.j), self._order(e),
            tuple(s for s in states if s not in wide), _levels(states),
            tuple(cs[: len(inner)]), tuple(zip(wide, cs[len(inner) :], strict=True)),
            dtype,
        )  # fmt: skip

    def _free(self, e: int) -> int:
        return self.kernel.free[e]

    def _union(self, exprs: Iterator[int] | tuple[int, ...]) -> int:
        out = 0
        for e in exprs:
            out |= self._free(e)
        return out

    def _order(self, axes: int) -> tuple[int, ...]:
        return tuple(a for a in self.f.order if axes >> a & 1)

    def _own(self, p: Product) -> int:
        """The axes that a product inside the pass sums over."""
        return bits(self.kernel.exprs[p.root].attr[1])

    def _row_axes(self) -> int:
        """What states vary along that others need, or that are no sums of products."""
        states = self.found.states
        needed = _needed(states)
        plain = [s for s in states if s.root in needed or len(s.factors) < 2]
        rows = self._union(tuple(s.root for s in plain))
        return rows | self._union(tuple(a for s in states for a in s.after))

    def _inner(self, r: int, dtype: DType) -> Product | str:
        """A sum inside the pass: the row's factors on the left, the others right."""
        x = self.kernel.exprs[r]
        k = bits(x.attr[1])
        if x.attr[0] != "sum" or not self._free(r) & self.j or k & self.j:
            return "a reduction is neither of the pass nor a product inside it"
        below = reach(self.f, self.f.args[r], 0)
        if below & self.f.reductions:
            return "a product inside the pass reads a reduction"
        parts = factors(self.kernel, x.args[0], False)
        left = tuple(f for f in parts if not self._free(f) & self.j)
        right = tuple(f for f in parts if self._free(f) & self.j)
        if not left or not right or compute(x.attr[2]) is not dtype:
            return "a sum inside the pass is no product of two sides"
        return Product(r, left, right)

    def _wide(self, s: State, e: int) -> Product | str:
        left = tuple(f for f in s.factors if not self._free(f) & e)
        right = tuple(f for f in s.factors if self._free(f) & e)
        below = reach(self.f, bits(right), 0)
        if s.monoid != "sum" or s.moments or not left or not right:
            return "a state with columns is no sum of products"
        if below & self.f.reductions or self._union(right) & e != e:
            return "the right side of a product reads a reduction"
        return Product(s.root, left, right)

    def _contraction(
        self, p: Product, batch: int, m: int, e: int, dtype: DType
    ) -> Contraction:
        state = self.roots >> p.root & 1
        n, k = (e, self.j) if state else (self.j, self._own(p))
        order = self._order
        return Contraction(order(batch), order(m), order(n), order(k), (p,), dtype)


def _needed(states: tuple[State, ...]) -> frozenset[int]:
    return frozenset(r for s in states for r in s.needs)


def _levels(states: tuple[State, ...]) -> dict[int, int]:
    out: dict[int, int] = {}
    for s in states:
        out[s.root] = max((out[r] + 1 for r in s.needs), default=0)
    return out


# ---- sizes and price -----------------------------------------------------------------

ROWS = 256  # of a unit of work: a block of its scores stays in the second cache
BLOCK = 512  # of the pass
SUMS = 1 << 16  # elements of the sums of a unit


class Tiles(NamedTuple):
    """A unit of work is `rows` rows; the pass takes `block` places at a time."""

    lanes: int
    vectors: int
    height: int
    rows: int
    block: int

    def blocking(self, n: int, depth: int) -> Blocking:
        """The tiles of a product: `n` columns, `depth` terms."""
        vectors = min(self.vectors, max(ceil_div(n, self.lanes), 1))
        width = self.lanes * vectors
        columns = ceil_div(n, width) * width
        return Blocking(self.lanes, vectors, self.height, self.rows, columns, depth)


def _extents(kernel: Kernel, fold: Fold) -> tuple[int, int, int, int]:
    """Of batch, rows, the pass and the columns."""
    b, m, j, e = (
        numel(kernel.extents, a) for a in (fold.batch, fold.m, fold.axes, fold.e)
    )
    return b, m, j, e


def _fits(kernel: Kernel, fold: Fold, t: Tiles, model: DeviceModel) -> bool:
    """As `fits_close`, of a block of scores and of the sums of a unit."""
    if not (fold.inner or fold.wide):
        return t.rows * t.block * fold.dtype.itemsize <= CLOSE
    wide = max(t.block, _extents(kernel, fold)[3])
    return fits_close(t.blocking(wide, t.block), 1, fold.dtype.itemsize, model)


def tiles(kernel: Kernel, fold: Fold, model: DeviceModel, holes: Holes = ()) -> Tiles:
    size = fold.dtype.itemsize
    batch, m, j, e = _extents(kernel, fold)
    lanes, vectors, height = register_tile(model.vector_bytes, size)
    products = bool(fold.inner or fold.wide)
    own = max(ceil_div(m, ceil_div(m, height)), 1) if products else 1
    height = min(hole(holes, "height", own), max(m, 1))
    vectors = hole(holes, "vectors", vectors)
    rows = even(m, min(ROWS * 4 // size, max(SUMS // e, 1)), height)
    while batch * ceil_div(m, rows) < 2 * model.units and rows > height:
        rows = even(rows, rows // 2, height)
    if named := hole(holes, "rows", 0):
        rows = even(m, named, height)
    block = even(j, hole(holes, "block", BLOCK * 4 // size), lanes * vectors)
    return Tiles(lanes, vectors, height, rows, block)


def _parts(kernel: Kernel, fold: Fold, model: DeviceModel, holes: Holes = ()) -> Parts:
    t = tiles(kernel, fold, model, holes)
    batch, m, j, _ = _extents(kernel, fold)
    down = ceil_div(m, t.rows)
    spread = occupancy(batch * down, model.units)
    height = ceil_div(m, t.height) * t.height
    macs = packed = 0.0
    cs = (*fold.inner, *(c for _, c in fold.wide))
    for c in cs:
        _, _, n, k = c.sizes(kernel)
        macs += batch * height * n * k
        packed += _packing(kernel, c, batch * down * n * k)
    rate = model.scalar_rate(fold.dtype)
    blocks = ceil_div(j, t.block)
    each_row = j * _middle(kernel, fold) + _end(kernel, fold)
    each_row += blocks * t.lanes * END * sum(taking(kernel, s.root) for s in fold.rows)
    for s, c in fold.wide if blocks > 1 else ():  # sums are corrected once a block
        each_row += 2 * c.sizes(kernel)[2] * blocks * bool(s.needs)
    scalar = packed + batch * m * each_row
    return Parts(
        _traffic(kernel, fold, down, model),
        scalar / rate / spread,
        macs / model.product_rate(fold.dtype) / spread,
    )


def _packing(kernel: Kernel, c: Contraction, count: int) -> float:
    side = c.products[0].b
    f = facts(kernel)
    flops = sum(f.heavy[e] for e in each(reach(f, bits(side), 0)))
    return count * (flops + PACK + TURN * (not contiguous(kernel, side, c.n)))


def _middle(kernel: Kernel, fold: Fold) -> float:
    """Flops for each row and place of the pass: what each level computes anew."""
    f = facts(kernel)
    states = (*fold.rows, *(s for s, _ in fold.wide))
    have = bits(tuple(c.products[0].root for c in fold.inner))
    have |= bits(tuple(s.root for s in states))
    flops = float(sum(1 + taking(kernel, s.root) for s in states))
    for level in sorted(set(fold.level.values())):
        tops = bits(tuple(x for s in states if fold.level[s.root] == level
                          for x in row_factors(fold, s)))  # fmt: skip
        for e in each(reach(f, tops, have)):
            if kernel.free[e] & bits(fold.axes):
                flops += f.heavy[e] + _access(kernel, e, fold.axes[-1])
    return flops


def _access(kernel: Kernel, e: int, axis: int) -> int:
    """Flops worth of a load, along the innermost axis of the pass."""
    x = kernel.exprs[e]
    if x.op != "load":
        return 0
    return 2 + GATHER * (coefficient(x.attr[1], axis) not in (0, 1))


def row_factors(fold: Fold, s: State) -> tuple[int, ...]:
    """What is evaluated at each place of the pass: of a product, its left side."""
    return next((c.products[0].a for w, c in fold.wide if w is s), s.factors)


def _end(kernel: Kernel, fold: Fold) -> float:
    """Flops a row after the pass."""
    f = facts(kernel)
    have = bits(tuple(fold.level))
    e = numel(kernel.extents, fold.e)
    flops = 0.0
    for x in each(reach(f, f.stored, have)):
        flops += f.heavy[x] * (e if kernel.free[x] & bits(fold.e) else 1)
    return flops + 10 * len(fold.level) + 2 * e * len(fold.wide)


def _traffic(kernel: Kernel, fold: Fold, down: int, model: DeviceModel) -> float:
    """What a row reads comes once; the right sides once for each unit of rows."""
    far = near = 0.0
    for x, free in zip(kernel.exprs, kernel.free, strict=True):
        if x.op != "load":
            continue
        slot: int = x.attr[0]
        dtype, count = kernel.slots[slot]
        size = count * dtype.itemsize
        far += size
        if not free & bits(fold.m):
            far += size * (down - 1) * (size > model.cache)
            near += size * (down - 1) * (size <= model.cache)
    for o in kernel.outputs:
        far += numel(kernel.extents, o.axes) * kernel.slots[o.slot][0].itemsize
    return model.moving(far) + near / model.cache_bandwidth


FOLD = Folding()
