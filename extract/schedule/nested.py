"""Reductions that a kernel would compute over and over, one inside another.

The terms of an outer product ask for an inner one at more points than it has values:
scores inside the sum of weighted rows, for each of their columns.  One such step is
attention, whose families keep the scores of a row.  Two of them, the one inside the
other, no family keeps: the work is that of all loops at once.
"""

from __future__ import annotations

from math import prod

from .kernel import Kernel, bits, needs

MOST = 1  # reductions computed again, one inside another, that a kernel may hold
POINTS = 1 << 20  # of all its loops, up to which that is no matter


def computed_again(kernel: Kernel) -> str | None:
    """Why a kernel does its work many times over, if it does."""
    if len(kernel.reductions) <= MOST + 1 or prod(kernel.extents) <= POINTS:
        return None
    below, depth = _below(kernel), dict.fromkeys(kernel.reductions, 0)
    for outer in reversed(kernel.reductions):
        bound = bits(kernel.exprs[outer].attr[1])
        for inner in below[outer]:
            free = kernel.free[inner]
            again = free & bound and (kernel.free[outer] | bound) & ~free
            depth[inner] = max(depth[inner], depth[outer] + bool(again))
    if max(depth.values()) <= MOST:
        return None
    return "its reductions would be computed again and again inside one another"


def _below(kernel: Kernel) -> dict[int, frozenset[int]]:
    """By reduction: the nearest ones that its terms are computed from."""
    met: list[frozenset[int]] = []
    found: dict[int, frozenset[int]] = {}
    for i, e in enumerate(kernel.exprs):
        under = frozenset[int]().union(*(met[a] for a in needs(e)))
        if e.op == "reduce":
            found[i], under = under, frozenset((i,))
        met.append(under)
    return found
