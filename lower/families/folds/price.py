"""What a fold costs anywhere: flops of a row, elements to pack, bytes moved."""

from __future__ import annotations

from ....extract.schedule.kernel import Kernel, bits
from ...axes import coefficient, numel
from ...model import DeviceModel
from ..nests.plan import each, facts, reach
from ..nests.price import GATHER, PACK, TURN, taking
from ..products.products import Contraction, contiguous
from .recognize import Fold, row_factors

LOAD = 2.0  # flops worth of a load, where vectors are read


def packing(kernel: Kernel, c: Contraction, count: int) -> float:
    side = c.products[0].b
    f = facts(kernel)
    flops = sum(f.heavy[e] for e in each(reach(f, bits(side), 0)))
    return count * (flops + PACK + TURN * (not contiguous(kernel, side, c.n)))


def middle(kernel: Kernel, fold: Fold, load: float = LOAD) -> float:
    """Flops for each row and place of the pass: what each level computes anew; `load`:
    flops worth of a load."""
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
                flops += f.heavy[e] + _access(kernel, e, fold.axes[-1], load)
    return flops


def _access(kernel: Kernel, e: int, axis: int, load: float) -> float:
    """Flops worth of a load, along the innermost axis of the pass."""
    x = kernel.exprs[e]
    if x.op != "load":
        return 0
    return load + GATHER * (coefficient(x.attr[1], axis) not in (0, 1))


def end(kernel: Kernel, fold: Fold) -> float:
    """Flops a row after the pass."""
    f = facts(kernel)
    have = bits(tuple(fold.level))
    e = numel(kernel.extents, fold.e)
    flops = 0.0
    for x in each(reach(f, f.stored, have)):
        flops += f.heavy[x] * (e if kernel.free[x] & bits(fold.e) else 1)
    return flops + 10 * len(fold.level) + 2 * e * len(fold.wide)


def traffic(kernel: Kernel, fold: Fold, down: int, model: DeviceModel) -> float:
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
