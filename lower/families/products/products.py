"""Which kernels are contractions, by meaning: sums over one set of axes of products
whose factors split into two sides.  Several may stand side by side, each with outputs
over columns of its own: a query, a key and a value of one input."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations, pairwise
from typing import NamedTuple

from ....egraph.ir.dtypes import F32, F64, DType, compute
from ....extract.schedule.affine import atoms
from ....extract.schedule.kernel import Affine, Expr, Kernel, bits, factors, needs
from ...axes import coefficient, numel
from ..nests.plan import HEAVY, each, facts, reach

MAX_FACTORS = 5


class Product(NamedTuple):
    """Reduction `root` sums the product of the factors `a` times those of `b`."""

    root: int
    a: tuple[int, ...]
    b: tuple[int, ...]


class Contraction(NamedTuple):
    """Axes by class, outermost first; the products share them."""

    batch: tuple[int, ...]
    m: tuple[int, ...]
    n: tuple[int, ...]
    k: tuple[int, ...]
    products: tuple[Product, ...]
    dtype: DType  # that the products are computed in
    outputs: tuple[int, ...] = ()  # that it stores

    def sizes(self, kernel: Kernel) -> tuple[int, int, int, int]:
        """The extents of batch, m, n and k."""
        b, m, n, k = (
            numel(kernel.extents, axes) for axes in (self.batch, self.m, self.n, self.k)
        )
        return b, m, n, k

    @property
    def sides(self) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]:
        """The distinct left sides and the distinct right sides."""
        left = dict.fromkeys(p.a for p in self.products)
        right = dict.fromkeys(p.b for p in self.products)
        return tuple(left), tuple(right)


@lru_cache(maxsize=4096)
def classify(kernel: Kernel) -> tuple[Contraction, ...] | str:
    """The contractions that the kernel is, or the reason why it is none."""
    if kernel.updates:
        return "it scatters"
    if kernel.orders:
        return "it sorts"
    sets = dict[int, list[int]]()
    for i, o in enumerate(kernel.outputs):
        sets.setdefault(bits(o.axes), []).append(i)
    result: list[Contraction] = []
    met = 0
    for kept, outputs in sets.items():
        stored = bits(tuple(kernel.outputs[i].expr for i in outputs))
        below = reach(facts(kernel), stored, 0) & facts(kernel).reductions
        if met & below:
            return "its outputs run over different axes"
        met |= below
        one = _contraction(kernel, kept, tuple(each(below)), tuple(outputs))
        if isinstance(one, str):
            return one
        result.append(one)
    return tuple(result) or "it stores nothing"


def _contraction(
    kernel: Kernel, kept: int, roots: tuple[int, ...], outputs: tuple[int, ...]
) -> Contraction | str:
    """The contraction that the outputs over the axes `kept` are."""
    reason = _sums(kernel, roots)
    if reason:
        return reason
    k = bits(kernel.exprs[roots[0]].attr[1])
    if k & kept or any(kernel.free[r] & ~kept for r in roots):
        return "a summed axis is stored"
    split = _split(kernel, roots[0], kept)
    if split is None:
        return "its factors do not split into two sides"
    m, n = (_side(kernel, split, i) & kept for i in (0, 1))
    batch = m & n
    m, n = m & ~batch, n & ~batch
    if (batch | m | n) != kept:
        return "an output axis is in no factor"
    products: list[Product] = []
    for r in roots:
        parts = _split(kernel, r, kept, (m | batch, n | batch))
        if parts is None:
            return "its products have different axes"
        products.append(parts)
    made = _ordered(kernel, batch, m, n, k, tuple(products))
    return made._replace(outputs=outputs)


def _sums(kernel: Kernel, roots: tuple[int, ...]) -> str | None:
    """Why the reductions are not independent floating sums over the same axes."""
    if not roots:
        return "no reductions"
    f = facts(kernel)
    first = kernel.exprs[roots[0]].attr
    for r in roots:
        e = kernel.exprs[r]
        body = kernel.exprs[e.args[0]].dtype
        acc = compute(e.attr[2])
        if e.attr[0] != "sum" or set(e.attr[1]) != set(first[1]):
            return "not only sums over the same axes"
        if acc is not compute(first[2]) or compute(body) is not acc:
            return "mixed accumulator types"
        if acc not in (F32, F64):
            return f"products of {acc}"
        if reach(f, f.args[r], 0) & f.reductions:
            return "a sum depends on another reduction"
    return None


def _split(
    kernel: Kernel, root: int, kept: int,
    within: tuple[int, int] | None = None,
) -> Product | None:  # fmt: skip
    """The factors of `root` on two sides with an axis each of its own."""
    parts = factors(kernel, kernel.exprs[root].args[0])
    if not 2 <= len(parts) <= MAX_FACTORS:
        return None
    best: tuple[int, Product] | None = None
    for size in range(1, len(parts)):
        for a in combinations(parts, size):
            b = tuple(f for f in parts if f not in a)
            p = Product(root, a, b)
            left, right = (_side(kernel, p, i) & kept for i in (0, 1))
            if within and (left & ~within[0] or right & ~within[1]):
                continue
            own = [
                numel(kernel.extents, kernel.axes_of(s))
                for s in (left & ~right, right & ~left)
            ]
            if min(own) > 1 and (best is None or min(own) > best[0]):
                best = min(own), p
    return best[1] if best else None


def _side(kernel: Kernel, p: Product, side: int) -> int:
    out = 0
    for f in p.b if side else p.a:
        out |= kernel.free[f]
    return out


def _ordered(
    kernel: Kernel, batch: int, m: int, n: int, k: int, products: tuple[Product, ...]
) -> Contraction:
    """Of the two ways to call the sides m and n, the one that turns fewer elements."""
    order = facts(kernel).order
    dtype = compute(kernel.exprs[products[0].root].attr[2])

    def axes(mask: int) -> tuple[int, ...]:
        return tuple(a for a in order if mask >> a & 1)

    def contraction(m: int, n: int, products: tuple[Product, ...]) -> Contraction:
        return Contraction(axes(batch), axes(m), axes(n), axes(k), products, dtype)

    made = contraction(m, n, products)
    return min((made, turned(made)), key=lambda c: _across(kernel, c))


def turned(c: Contraction) -> Contraction:
    """The same with its sides exchanged."""
    products = tuple(Product(p.root, p.b, p.a) for p in c.products)
    return c._replace(m=c.n, n=c.m, products=products)


def _across(kernel: Kernel, c: Contraction) -> int:
    """Elements that each run reads or stores across their contiguous axis."""
    batch, m, n, k = c.sizes(kernel)
    left, right = ([s for s in x if not fixed(kernel, c, s)] for x in c.sides)
    total = sum(m * k for side in left if not runs_along(kernel, side, c.k))
    total += sum(n * k for side in right if not contiguous(kernel, side, c.n))
    stored = sum(apart(kernel, o.offset, c.n) for o in kernel.outputs)
    return batch * (total + int(m * n * stored))


TEST = 2  # flops of holding a place against two bounds
NEAR = 16  # elements of 4 bytes that share a line of a cache


def apart(kernel: Kernel, offset: Affine, axes: tuple[int, ...]) -> float:
    """Of neighbours along `axes`, as one number, the part in other lines of a cache."""
    count = min(NEAR, numel(kernel.extents, axes))
    if count < 2:
        return 1.0
    lines: set[int] = set()
    for at in range(count):
        place = 0
        for a in reversed(axes):
            at, digit = divmod(at, kernel.extents[a])
            place += digit * coefficient(offset, a)
        lines.add(place // NEAR)
    return (len(lines) - 1) / (count - 1)


def contiguous(kernel: Kernel, factors: tuple[int, ...], axes: tuple[int, ...]) -> bool:
    """Whether the loads of a side move by one element along the last of `axes`."""
    f = facts(kernel)
    mask = reach(f, bits(factors), 0)
    loads = [kernel.exprs[e] for e in each(mask) if kernel.exprs[e].op == "load"]
    return bool(axes) and any(coefficient(x.attr[1], axes[-1]) == 1 for x in loads)


@lru_cache(maxsize=4096)
def runs_along(kernel: Kernel, factors: tuple[int, ...], axes: tuple[int, ...]) -> bool:
    """Whether the loads of a side, without tests, move by the same along all of `axes`
    as one number, and some by one element."""
    f = facts(kernel)
    steps: set[int | None] = set()
    for e in each(reach(f, bits(factors), 0)):
        x = kernel.exprs[e]
        if x.op == "load":
            tested = any(coefficient(c.value, a) for c in x.attr[2] for a in axes)
            atoms = all(isinstance(a, int) for a, _ in x.attr[1].terms)
            even = atoms and not tested
            steps.add(steps_along(kernel, x.attr[1], axes) if even else None)
    return 1 in steps and None not in steps


@lru_cache(maxsize=4096)
def ragged(kernel: Kernel, c: Contraction, side: tuple[int, ...]) -> bool:
    """Whether a load of a side is tested along the axes of a run, or moves evenly along
    neither its own ones nor the summed ones: the place of each element is computed."""
    own = c.m if side in c.sides[0] else c.n
    for e in each(reach(facts(kernel), bits(side), 0)):
        x = kernel.exprs[e]
        if x.op != "load":
            continue
        axes = {*own, *c.k}
        if any(not axes.isdisjoint(atoms(t.value)) for t in x.attr[2]):
            return True
        if all(steps_along(kernel, x.attr[1], along) is None for along in (own, c.k)):
            return True
    return False


@lru_cache(maxsize=4096)
def fixed(kernel: Kernel, c: Contraction, side: tuple[int, ...]) -> bool:
    """Whether a side is a load that gives the same in every run, and what else of the
    kernel reads its slot is sides like it, one as far from the next as any."""
    x = kernel.exprs[side[0]]
    if len(side) > 1 or x.op != "load" or not kernel.constant >> x.attr[0] & 1:
        return False
    slot, offset, guard = x.attr
    if kernel.slots[slot][0] is not c.dtype or x.dtype is not c.dtype or guard:
        return False
    if not all(isinstance(a, int) for a, _ in offset.terms):
        return False
    starts = starts_of(kernel, slot)
    if len({b - a for a, b in pairwise(starts)}) > 1:
        return False
    own = c.sides[0] if side in c.sides[0] else c.sides[1]
    return all(
        (i,) in own
        and e.attr[1].terms == offset.terms
        and e.attr[2] == guard
        and e.dtype is x.dtype
        and _only_side(kernel, c, (i,))
        for i, e in enumerate(kernel.exprs)
        if e.op == "load" and e.attr[0] == slot
    )


def starts_of(kernel: Kernel, slot: int) -> list[int]:
    """Where the loads of a slot begin, in order."""
    loads = (e.attr for e in kernel.exprs if e.op == "load")
    return sorted({a[1].const for a in loads if a[0] == slot})


def _only_side(kernel: Kernel, c: Contraction, side: tuple[int, ...]) -> bool:
    """Whether a side of one factor is used as the left or the right side of products of
    `c`, and for nothing else."""
    left, right = c.sides
    if side in left and side in right:
        return False
    bodies = [kernel.exprs[p.root].args[0] for p in c.products if side in (p.a, p.b)]
    inside = {e for body in bodies for e in _multiplied(kernel, body, side[0])}
    users = {i for i, e in enumerate(kernel.exprs) if side[0] in needs(e)}
    stored = any(o.expr == side[0] for o in kernel.outputs)
    return users <= inside and not stored


def _multiplied(kernel: Kernel, e: int, factor: int) -> set[int]:
    """The products below `e` that `factor` is a factor of."""
    if e == factor or factor not in factors(kernel, e):
        return set()
    below = (_multiplied(kernel, a, factor) for a in kernel.exprs[e].args)
    return {e}.union(*below)


class Plain(NamedTuple):
    """A side that is a load: its place is `rest` + `own` * m or n + `k` * k."""

    slot: int
    rest: Affine
    own: int
    k: int


@lru_cache(maxsize=4096)
def plain(
    kernel: Kernel, c: Contraction, side: tuple[int, ...], own: tuple[int, ...]
) -> Plain | None:
    """The side as a load of the type that products are computed in, if it is one and
    runs evenly along its `own` axes and along k."""
    x = kernel.exprs[side[0]]
    if len(side) > 1 or x.op != "load" or x.dtype is not c.dtype:
        return None
    return even(kernel, c, x, own)


def even(kernel: Kernel, c: Contraction, x: Expr, own: tuple[int, ...]) -> Plain | None:
    """A load of elements as they are stored, if it runs so."""
    slot, offset, guard = x.attr
    if guard or kernel.slots[slot][0] is not x.dtype:
        return None
    if not all(isinstance(a, int) for a, _ in offset.terms):
        return None
    along = [steps_along(kernel, offset, axes) for axes in (own, c.k)]
    rest = tuple(t for t in offset.terms if t[0] not in (*own, *c.k))
    if along[0] is None or along[1] is None:
        return None
    return Plain(slot, Affine(rest, offset.const), along[0], along[1])


def steps_along(kernel: Kernel, offset: Affine, axes: tuple[int, ...]) -> int | None:
    """By how much the place grows with the flat position among `axes`; None if that
    differs."""
    step = coefficient(offset, axes[-1]) if axes else 0
    size = 1
    for a in reversed(axes):
        if coefficient(offset, a) != step * size:
            return None
        size *= kernel.extents[a]
    return step


@lru_cache(maxsize=4096)
def by_column(kernel: Kernel, c: Contraction) -> tuple[int, ...]:
    """What follows the sums, varies along the columns only and is dear: its topmost
    expressions, worth a row of values that all rows of a tile share."""
    f = facts(kernel)
    have = bits(tuple(p.root for p in c.products))
    stored = bits(tuple(kernel.outputs[i].expr for i in c.outputs))
    below = reach(f, stored, have)
    rows, columns = bits(c.m), bits(c.n)
    alike = [e for e in each(below) if not kernel.free[e] & rows]
    read = 0
    for e in each(below & ~bits(tuple(alike))):
        read |= f.args[e]
    tops = (e for e in alike if kernel.free[e] & columns and read >> e & 1)
    return tuple(e for e in tops if flops_of(kernel, 1 << e, have) >= HEAVY)


def flops_of(kernel: Kernel, tops: int, have: int) -> int:
    """Flops of one evaluation of `tops`, given `have`: tests of places among them, but
    for those of one load and of the choice around it, which whatever stores its element
    does anyway."""
    f = facts(kernel)
    total, loads, choices = 0, [0], [0]
    for e in each(reach(f, tops, have)):
        x = kernel.exprs[e]
        total += f.heavy[e]
        if x.op == "load":
            loads.append(TEST * len(x.attr[2]))
        elif x.op == "inside":
            choices.append(TEST * len(x.attr[0]))
    return total + sum(loads) - max(loads) + sum(choices) - max(choices)
