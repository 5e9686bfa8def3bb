"""Sides of products that never change, packed when a program is made.

A side is laid out as the register tile reads it: by batch, by strips of `unit` rows or
columns, by k, the places of a strip next to each other; beyond the edges are zeros.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ...extract.affine import Ranges
from ...extract.kernel import (
    Affine,
    Cond,
    Div,
    Expr,
    Kernel,
    Mod,
    Output,
    factors,
    needs,
)
from ..axes import ceil_div, free_axes, numel
from ..model import Layout
from .products import Contraction


class Strips(NamedTuple):
    """Where a packed side lies: the place of a strip is `rest` + its first row or
    column times `depth`."""

    slot: int
    rest: Affine  # of the batch
    unit: int
    depth: int  # along k, to the end of the last block
    size: int  # elements in all


@lru_cache(maxsize=4096)
def fixed(kernel: Kernel, c: Contraction, side: tuple[int, ...]) -> bool:
    """Whether a side is a load that gives the same in every run, and nothing else of
    the kernel reads its slot."""
    x = kernel.exprs[side[0]]
    if len(side) > 1 or x.op != "load" or not kernel.steady >> x.attr[0] & 1:
        return False
    slot, offset, guard = x.attr
    if kernel.slots[slot][0] is not c.dtype or x.dtype is not c.dtype or guard:
        return False
    loads = [e for e in kernel.exprs if e.op == "load" and e.attr[0] == slot]
    direct = all(isinstance(a, int) for a, _ in offset.terms)
    return direct and loads == [x] and _only_side(kernel, c, side)


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


def strips(
    kernel: Kernel, c: Contraction, side: tuple[int, ...], unit: int, deep: int
) -> Strips:
    """The place of a fixed side in strips of `unit`; `deep`: of a block of k."""
    own = c.m if side in c.sides[0] else c.n
    depth = ceil_div(numel(kernel.extents, c.k), deep) * deep
    size = ceil_div(numel(kernel.extents, own), unit) * unit * depth
    terms: list[tuple[int, int]] = []
    for a in reversed(_batch(kernel, c, side)):
        terms.append((a, size))
        size *= kernel.extents[a]
    return Strips(
        kernel.exprs[side[0]].attr[0], Affine(tuple(reversed(terms))), unit, depth, size
    )


def layout(kernel: Kernel, c: Contraction, side: tuple[int, ...], s: Strips) -> Layout:
    """The kernel that packs a fixed side."""
    own = c.m if side in c.sides[0] else c.n
    batch = _batch(kernel, c, side)
    extent, k = (numel(kernel.extents, axes) for axes in (own, c.k))
    extents = [*(kernel.extents[a] for a in batch), ceil_div(extent, s.unit)]
    extents += [s.depth, s.unit]
    n = len(batch)
    place = Affine(((n, s.unit), (n + 2, 1)))
    deep = Affine(((n + 1, 1),))
    at = {a: Affine(((i, 1),)) for i, a in enumerate(batch)}
    at |= _digits(kernel, own, place) | _digits(kernel, c.k, deep)

    x = kernel.exprs[side[0]]
    guard = Cond(place, 0, extent), Cond(deep, 0, k)
    offset: Affine = x.attr[1]
    moved = Ranges(extents).combine(
        ((at[a], by) for a, by in offset.terms if isinstance(a, int)), offset.const
    )
    load = Expr("load", (), (0, moved, guard), x.dtype)
    steps = [(i, c) for i, (_, c) in enumerate(s.rest.terms)]
    steps += [(n, s.depth * s.unit), (n + 1, s.unit), (n + 2, 1)]
    axes = tuple(range(n + 3))
    out = Output(1, 0, axes, Affine(tuple(steps)))
    slots = kernel.slots[s.slot], (x.dtype, s.size)
    free = free_axes((load,))
    return Layout(s.slot, Kernel(tuple(extents), (load,), free, (out,), slots, 1))


def _batch(kernel: Kernel, c: Contraction, side: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of the batch that a side varies along."""
    return tuple(a for a in c.batch if kernel.free[side[0]] >> a & 1)


def _digits(kernel: Kernel, axes: tuple[int, ...], flat: Affine) -> dict[int, Affine]:
    """Where each of `axes` stands at the flat position among them."""
    out: dict[int, Affine] = {}
    size = 1
    for a in reversed(axes):
        high = Affine(((Div(flat, size), 1),)) if size > 1 else flat
        out[a] = Affine(((Mod(high, kernel.extents[a]), 1),)) if a != axes[0] else high
        size *= kernel.extents[a]
    return out
