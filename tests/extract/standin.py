"""A small cost model of its own, so that extraction is tested without families."""

from __future__ import annotations

import math

from rewrite.egraph.ir.scalars import BY_NAME
from rewrite.extract.schedule.kernel import Cost, Kernel

LAUNCH, BANDWIDTH, SCALAR, PRODUCT = 2e-6, 1e11, 1e11, 1e13


def _size(k: Kernel, bits: int) -> float:
    return float(math.prod(k.extents[a] for a in k.axes_of(bits)))


def is_product(k: Kernel, i: int) -> bool:
    """A sum of products in which each factor misses a loop that the other has."""
    a, *at = k.exprs[i].args
    e = k.exprs[a]
    if at or k.exprs[i].attr[0] != "sum" or e.op != "mul":
        return False
    x, y = (k.free[j] for j in e.args)
    return x != y and bool(x & ~y) and bool(y & ~x)


def cost(kernel: Kernel) -> Cost | None:
    k = kernel
    reds = k.reductions
    products = [i for i in reds if is_product(k, i)]
    if products:
        spaces = {k.free[k.exprs[i].args[0]] for i in products}
        if len(products) != len(reds) or len(spaces) > 1:
            return None
    moved = float(sum(d.itemsize * n for d, n in k.slots))
    scalar = product = 0.0
    for i, e in enumerate(k.exprs):
        if e.op == "reduce":
            a = e.args[0]
            if i in products:
                product += 2 * _size(k, k.free[a])
            else:
                scalar += _size(k, k.free[a])
        elif e.op == "scan":
            scalar += _size(k, k.free[i])
        elif e.op in BY_NAME and not (
            products and any(i in k.exprs[p].args for p in products)
        ):
            scalar += BY_NAME[e.op].flops * _size(k, k.free[i])
    parts = moved / BANDWIDTH, scalar / SCALAR, product / PRODUCT
    return Cost(LAUNCH + max(parts) + 0.1 * sum(parts), LAUNCH, *parts, "standin")
