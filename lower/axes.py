"""Kernel to kernel: loops of one turn vanish, loops that always run as one become one.

After this a reduction over several adjacent axes is a reduction over one, and an
elementwise kernel over contiguous buffers has a single axis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ..egraph.ir.scalars import CHOICES, MONOIDS
from ..extract.schedule.kernel import (
    Affine,
    Cond,
    Expr,
    Kernel,
    Output,
    Val,
    bits,
    expr_affines,
    needs,
    subforms,
)

SIDE_BY_SIDE = "its outputs run over different loops, or in an order"


def nested(kernel: Kernel) -> bool:
    """Whether the loops of each output are among those of the widest, no output changes
    what another stored, and no point needs those before it."""
    if kernel.updates or kernel.scans or kernel.orders:
        return False
    sets = [bits(o.axes) for o in kernel.outputs]
    widest = max(sets, key=int.bit_count, default=0)
    return not any(s & ~widest for s in sets)


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def numel(extents: tuple[int, ...], axes: tuple[int, ...]) -> int:
    out = 1
    for a in axes:
        out *= extents[a]
    return out


def affines(kernel: Kernel) -> Iterator[Affine]:
    """Every index form of the kernel, those inside `Div` and `Mod` included."""
    for e in kernel.exprs:
        yield from expr_affines(e)
    for o in kernel.outputs:
        yield from subforms(o.offset)


def coefficient(v: Affine, axis: int) -> int:
    return next((c for a, c in v.terms if type(a) is int and a == axis), 0)


def accesses(kernel: Kernel) -> Iterator[tuple[Affine, int]]:
    """The offset and element size of each load and each store."""
    for e in kernel.exprs:
        if e.op == "load":
            slot: int = e.attr[0]
            yield e.attr[1], kernel.slots[slot][0].itemsize
    for o in kernel.outputs:
        yield o.offset, kernel.slots[o.slot][0].itemsize


# ---- rewriting ----


def rebuild(
    kernel: Kernel,
    extents: tuple[int, ...],
    affine: Callable[[Affine], Affine],
    group: Callable[[tuple[int, ...]], tuple[int, ...]],
) -> Kernel:
    """The kernel over new loops: index forms by `affine`, sets of axes by `group`."""

    def conds(guard: tuple[Cond, ...]) -> tuple[Cond, ...]:
        return tuple(Cond(affine(c.value), c.low, c.high) for c in guard)

    def expr(e: Expr) -> Expr:
        attr: tuple[Any, ...] = e.attr
        if e.op == "load":
            attr = (attr[0], affine(attr[1]), conds(attr[2]))
        elif e.op == "index":
            attr = (affine(attr[0]),)
        elif e.op == "inside":
            attr = (conds(attr[0]),)
        elif e.op in ("reduce", "scan"):
            attr = (attr[0], group(attr[1]), attr[2])
        return e._replace(attr=attr)

    exprs = tuple(expr(e) for e in kernel.exprs)

    def output(o: Output) -> Output:
        change = o.update and o.update._replace(serial=group(o.update.serial))
        order = o.order and o.order._replace(axes=group(o.order.axes))
        return Output(o.slot, o.expr, group(o.axes), affine(o.offset), change, order)

    outputs = tuple(map(output, kernel.outputs))
    return replace(
        kernel, extents=extents, exprs=exprs, outputs=outputs, free=free_axes(exprs)
    )


def free_axes(exprs: tuple[Expr, ...]) -> tuple[int, ...]:
    """For each expression the bits of the axes it varies along."""
    out: list[int] = []
    for e in exprs:
        free = 0
        for v in expr_affines(e):
            for atom, _ in v.terms:
                if isinstance(atom, int):
                    free |= 1 << atom
        for a in needs(e):
            free |= out[a]
        if e.op == "reduce":
            free &= ~bits(e.attr[1])
        elif e.op == "scan":
            free |= bits(e.attr[1])
        out.append(free)
    return tuple(out)


@lru_cache(maxsize=4096)
def normalise(kernel: Kernel) -> Kernel:
    """Empty reductions are constants; loops of one turn are gone; the rest merged."""
    kernel = _drop(_empty(kernel))
    pair = _mergeable(kernel)
    while pair:
        kernel = _merge(kernel, *pair)
        pair = _mergeable(kernel)
    return kernel


def _empty(kernel: Kernel) -> Kernel:
    """A reduction over nothing is the monoid's identity."""
    if all(kernel.extents):
        return kernel

    def expr(e: Expr) -> Expr:
        if e.op != "reduce" or numel(kernel.extents, e.attr[1]):
            return e
        if e.attr[0] in CHOICES:  # then no element of it is ever asked for
            return Expr("const", (), (0,), e.dtype)
        return Expr("const", (), (MONOIDS[e.attr[0]].identity(e.dtype),), e.dtype)

    exprs = tuple(expr(e) for e in kernel.exprs)
    live = tuple(o for o in kernel.outputs if numel(kernel.extents, o.axes))
    return replace(kernel, exprs=exprs, free=free_axes(exprs), outputs=live)


def _renumber(v: Affine, to: dict[int, int]) -> Affine:
    """Axes by their new numbers; those without one are at 0."""
    terms: list[tuple[Any, int]] = []
    for a, c in v.terms:
        if isinstance(a, int):
            if a in to:
                terms.append((to[a], c))
        elif isinstance(a, Val):
            terms.append((a, c))
        else:
            terms.append((a._replace(value=_renumber(a.value, to)), c))
    return Affine(tuple(terms), v.const)


def _keep(kernel: Kernel, kept: list[int], extents: tuple[int, ...]) -> Kernel:
    to = {a: i for i, a in enumerate(kept)}

    def group(axes: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(to[a] for a in axes if a in to)

    return rebuild(kernel, extents, lambda v: _renumber(v, to), group)


def _drop(kernel: Kernel) -> Kernel:
    used = 0
    for e in kernel.exprs:
        if e.op == "reduce":
            used |= bits(e.attr[1])
    for o in kernel.outputs:
        used |= bits(o.axes)
    lines = {a for o in kernel.outputs if o.order for a in o.order.axes}
    kept = [
        a for a, n in enumerate(kernel.extents)
        if used >> a & 1 and (n != 1 or a in lines)
    ]  # fmt: skip
    if len(kept) == len(kernel.extents):
        return kernel
    return _keep(kernel, kept, tuple(kernel.extents[a] for a in kept))


def _mergeable(kernel: Kernel) -> tuple[int, int] | None:
    """Axes (a, b) that every index form and every loop uses as `a * |b| + b`."""
    sets = [set(e.attr[1]) for e in kernel.exprs if e.op in ("reduce", "scan")]
    sets += [set(o.axes) for o in kernel.outputs]
    sets += [set(o.update.serial) for o in kernel.outputs if o.update]
    sets += [set(o.order.axes) for o in kernel.outputs if o.order]
    forms = [dict(v.terms) for v in affines(kernel)]
    rank = len(kernel.extents)
    for a in range(rank):
        for b in range(rank):
            if a == b or any((a in s) != (b in s) for s in sets):
                continue
            n = kernel.extents[b]
            if all(f.get(a, 0) == n * f.get(b, 0) for f in forms):
                return a, b
    return None


def _merge(kernel: Kernel, a: int, b: int) -> Kernel:
    kept = [x for x in range(len(kernel.extents)) if x != a]
    extents = list(kernel.extents)
    extents[b] *= extents[a]
    return _keep(kernel, kept, tuple(extents[x] for x in kept))
