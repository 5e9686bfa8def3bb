"""Sides of products that never change, packed when a program is made.

A side is laid out as the register tile reads it: by batch, by strips of `unit` rows or
columns, by k, the places of a strip next to each other; beyond the edges are zeros.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from ....extract.schedule.affine import Ranges
from ....extract.schedule.kernel import Affine, Cond, Div, Expr, Kernel, Mod, Output
from ...axes import ceil_div, free_axes, numel
from ...loops import Param
from ...model import Layout
from .products import Contraction, starts_of


class Strips(NamedTuple):
    """Where a packed side lies: the place of a strip is `rest` + its first row or
    column times `depth`."""

    slot: int
    rest: Affine  # of the batch, and of a side among those that lie in one slot
    unit: int
    depth: int  # along k, to the end of the last block
    size: int  # elements in all


def strips(
    kernel: Kernel, c: Contraction, side: tuple[int, ...], unit: int, deep: int
) -> Strips:
    """The place of a fixed side in strips of `unit`; `deep`: of a block of k."""
    own = c.m if side in c.sides[0] else c.n
    depth = ceil_div(numel(kernel.extents, c.k), deep) * deep
    size = ceil_div(numel(kernel.extents, own), unit) * unit * depth
    terms: list[tuple[int, int]] = []
    for a in reversed(batch_of(kernel, c, side)):
        terms.append((a, size))
        size *= kernel.extents[a]
    slot, offset, _ = kernel.exprs[side[0]].attr
    starts = starts_of(kernel, slot)
    rest = Affine(tuple(reversed(terms)), size * starts.index(offset.const))
    return Strips(slot, rest, unit, depth, size * len(starts))


def layout(kernel: Kernel, c: Contraction, side: tuple[int, ...], s: Strips) -> Layout:
    """The kernel that packs a fixed side and all that lie in one slot with it."""
    own = c.m if side in c.sides[0] else c.n
    batch = batch_of(kernel, c, side)
    extent, k = (numel(kernel.extents, axes) for axes in (own, c.k))
    starts = starts_of(kernel, s.slot)
    extents = [len(starts), *(kernel.extents[a] for a in batch)]
    extents += [ceil_div(extent, s.unit), s.depth, s.unit]
    n = len(batch) + 1
    place = Affine(((n, s.unit), (n + 2, 1)))
    deep = Affine(((n + 1, 1),))
    at = {a: Affine(((i, 1),)) for i, a in enumerate(batch, 1)}
    at |= digits(kernel, own, place) | digits(kernel, c.k, deep)

    x = kernel.exprs[side[0]]
    guard = Cond(place, 0, extent), Cond(deep, 0, k)
    offset: Affine = x.attr[1]
    apart = (starts[-1] - starts[0]) // max(len(starts) - 1, 1)
    moves = [(at[a], by) for a, by in offset.terms if isinstance(a, int)]
    moves.append((Affine(((0, 1),)), apart))
    moved = Ranges(extents).combine(moves, starts[0])
    load = Expr("load", (), (0, moved, guard), x.dtype)
    steps = [(0, s.size // len(starts))]
    steps += [(i, c) for i, (_, c) in enumerate(s.rest.terms, 1)]
    steps += [(n, s.depth * s.unit), (n + 1, s.unit), (n + 2, 1)]
    axes = tuple(range(n + 3))
    out = Output(1, 0, axes, Affine(tuple(steps)))
    slots = kernel.slots[s.slot], (x.dtype, s.size)
    free = free_axes((load,))
    return Layout(s.slot, Kernel(tuple(extents), (load,), free, (out,), slots, 1))


def resized(params: tuple[Param, ...], packed: Iterable[Strips]) -> tuple[Param, ...]:
    """The buffers of a function that reads some of them packed."""
    sizes = {s.slot: s.size for s in packed}
    return tuple(replace(p, size=sizes.get(i, p.size)) for i, p in enumerate(params))


def batch_of(kernel: Kernel, c: Contraction, side: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of the batch that a side varies along."""
    return tuple(a for a in c.batch if kernel.free[side[0]] >> a & 1)


def digits(kernel: Kernel, axes: tuple[int, ...], flat: Affine) -> dict[int, Affine]:
    """Where each of `axes` stands at the flat position among them."""
    out: dict[int, Affine] = {}
    size = 1
    for a in reversed(axes):
        high = Affine(((Div(flat, size), 1),)) if size > 1 else flat
        out[a] = Affine(((Mod(high, kernel.extents[a]), 1),)) if a != axes[0] else high
        size *= kernel.extents[a]
    return out
