"""Where spread filters lie, and the kernel that spreads those that never change, when
a program is made."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

from ....extract.schedule.affine import Ranges
from ....extract.schedule.kernel import Affine, Cond, Expr, Kernel, Output
from ...axes import ceil_div, free_axes
from ...model import Layout
from .filter_tiles import Tiles
from .filtering import SPREAD_FILTER, TAPS, transformed
from .products import Contraction
from .strips import batch_of, digits


class Spread(NamedTuple):
    """Where spread filters lie: for each of the products of a tile, `apart` elements
    from one to the next, in strips of `unit` filters."""

    slot: int
    rest: Affine  # of the batch
    unit: int
    apart: int
    size: int  # elements in all


def spread_of(kernel: Kernel, c: Contraction, t: Tiles) -> Spread:
    """In the slot of the filters, or in one beyond all if they may change."""
    of, unit, side = t.of, t.register.height, c.products[0].b
    slot = kernel.exprs[side[0]].attr[0] if of.fixed else len(kernel.slots)
    apart = ceil_div(of.filters, unit) * unit * of.depth + t.lanes
    size = of.products * apart
    terms: list[tuple[int, int]] = []
    for a in reversed(batch_of(kernel, c, side)):
        terms.append((a, size))
        size *= kernel.extents[a]
    return Spread(slot, Affine(tuple(reversed(terms))), unit, apart, size)


def layout(kernel: Kernel, c: Contraction, t: Tiles) -> Layout:
    """The kernel that spreads them."""
    s, of, (side,) = spread_of(kernel, c, t), t.of, (c.products[0].b,)
    batch, n, depth = batch_of(kernel, c, side), of.filters, of.depth
    extents = [*(kernel.extents[a] for a in batch), ceil_div(n, s.unit), depth, s.unit]
    strip = len(batch)
    place = Affine(((strip, s.unit), (strip + 2, 1)))
    at = {a: Affine(((i, 1),)) for i, a in enumerate(batch)}
    at |= digits(kernel, c.n, place)
    at |= digits(kernel, of.deep, Affine(((strip + 1, 1),)))

    x = kernel.exprs[side[0]]
    offset: Affine = x.attr[1]
    steps = {a: by for a, by in offset.terms if isinstance(a, int)}
    moves = [(at[a], by) for a, by in steps.items() if a in at]
    guard = (Cond(place, 0, n),) if n % s.unit else ()
    exprs: list[Expr] = []

    def emit(e: Expr) -> int:
        exprs.append(e)
        return len(exprs) - 1

    def tap(js: tuple[int, ...]) -> int:
        far = sum(j * steps[r] for (_, r), j in zip(of.taps, js, strict=True))
        moved = Ranges(extents).combine(moves, offset.const + far)
        return emit(Expr("load", (), (0, moved, guard), x.dtype))

    def scaled(e: int, by: float) -> int:
        if by == 1:
            return e
        return emit(
            Expr("mul", (e, emit(Expr("const", (), (by,), x.dtype))), (), x.dtype)
        )

    def combined(factors: Sequence[float], values: Sequence[int]) -> int:
        pairs = zip(factors, values, strict=True)
        total, *rest = (scaled(e, by) for by, e in pairs if by)
        for e in rest:
            total = emit(Expr("add", (total, e), (), x.dtype))
        return total

    taps = [tap(js) for js in product(range(TAPS), repeat=len(of.taps))]
    made = transformed(SPREAD_FILTER, taps, len(of.taps), combined)
    order = [(i, by) for i, (_, by) in enumerate(s.rest.terms)]
    order += [(strip, depth * s.unit), (strip + 1, s.unit), (strip + 2, 1)]
    axes = tuple(range(strip + 3))
    outputs = tuple(
        Output(1, e, axes, Affine(tuple(order), j * s.apart))
        for j, e in enumerate(made)
    )
    slots = kernel.slots[s.slot], (x.dtype, s.size)
    free = free_axes(tuple(exprs))
    return Layout(s.slot, Kernel(tuple(extents), tuple(exprs), free, outputs, slots, 1))
