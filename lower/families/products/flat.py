"""Products whose sides have several axes each, as products of two: what is summed along
several axes is summed along one, whose digits they are, and so the rows of a side that
slides, as the windows of an image do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import Any

from ....egraph.ir.dtypes import F32
from ....extract.schedule.kernel import (
    Affine,
    Cond,
    Div,
    Expr,
    Kernel,
    Mod,
    bits,
    exactly,
)
from ...axes import ceil_div, coefficient, normalise, rebuild
from ...fragments import EIGHTS, HALVES
from ...loops import panel
from ..nests.plan import each, facts, reach
from .halo import coordinates
from .products import Contraction, classify

SHORT = 64  # points of an axis that a tile would be half empty along
BYTES = 16  # of which rows that an engine brings begin at multiples
MOST = 4  # bytes of an element that instructions multiply
FULL = 8  # of panels, elements for one that is summed, at most


@lru_cache(maxsize=4096)
def flattened(kernel: Kernel, slid: bool = False, panels: bool = False) -> Kernel:
    """With all that it sums along as one axis, and so each side's own axes where none
    of them is long, or (`slid`) where the side slides.  `panels`: the innermost one
    that it sums along has whole panels, of which the rest is 0."""
    cs = classify(kernel)
    if isinstance(cs, str) or len(cs) != 1:
        return kernel
    (c,) = cs
    sliding = _sliding(kernel, c) if slid else ()
    for axes in (c.k, c.m, c.n):
        longest = max((kernel.extents[a] for a in axes), default=0)
        if len(axes) < 2 or not (axes is c.k or longest < SHORT or axes == sliding):
            continue
        last = kernel.extents[axes[-1]]
        if panels and axes is c.k:
            last = _in_panels(kernel, c, last)
        kernel = as_one(kernel, axes, last)
    return normalise(kernel)


def _sliding(kernel: Kernel, c: Contraction) -> tuple[int, ...]:
    """The own axes of a side that moves along something by them and by what is summed,
    or whose places are tested."""
    f = facts(kernel)
    for side, own in ((c.products[0].a, c.m), (c.products[0].b, c.n)):
        found = coordinates(kernel, side, (*own, *c.k))
        if not isinstance(found, str) and any(x.slides(own, c.k) for x in found):
            return own
        loads = (kernel.exprs[e] for e in each(reach(f, bits(side), 0) & f.loads))
        tests = (t for x in loads for t in x.attr[2])
        if any(coefficient(t.value, a) for t in tests for a in own):
            return own
    return ()


def _in_panels(kernel: Kernel, c: Contraction, last: int) -> int:
    """How many values the last digit of a sum has, where both sides are brought as they
    are stored, and one in panels of it."""
    wide, lies = 1, False
    for side in (side for p in c.products for side in (p.a, p.b)):
        x = kernel.exprs[stored_as(kernel, side[0])]
        if len(side) > 1 or x.op != "load" or x.dtype.itemsize > MOST:
            return last
        steps = [n for _, n in x.attr[1].terms if n != 1]
        if any(n * x.dtype.itemsize % BYTES for n in steps):
            return last
        wide = max(wide, panel(x.dtype))
        lies |= coefficient(x.attr[1], c.k[-1]) == 1
    if not lies:
        return last
    whole = ceil_div(last, wide) * wide
    return whole if whole <= FULL * last else last


def as_one(kernel: Kernel, axes: tuple[int, ...], last: int = 0) -> Kernel:
    """Axes, outermost first, as digits of a new one; the innermost digit has so many
    values, where a number is given, and those beyond the axis's own are 0."""
    new = len(kernel.extents)
    last = last or kernel.extents[axes[-1]]
    counts = (*(kernel.extents[a] for a in axes[:-1]), last)

    def affine(v: Affine) -> Affine:
        terms: list[tuple[Any, int]] = []
        for a, step in v.terms:
            if isinstance(a, Div | Mod):
                terms.append((a._replace(value=affine(a.value)), step))
            elif not (isinstance(a, int) and a in axes):
                terms.append((a, step))
        steps = [coefficient(v, a) for a in axes]
        return Affine((*terms, *_digits(new, counts, steps)), v.const)

    def group(old: tuple[int, ...]) -> tuple[int, ...]:
        return (*(a for a in old if a not in axes), *((new,) * (axes[0] in old)))

    inner = axes[-1]
    made = rebuild(kernel, (*kernel.extents, prod(counts)), affine, group)
    if last == kernel.extents[inner]:
        return made
    ((place, _),) = _digits(new, counts, [0] * (len(axes) - 1) + [1])
    end = Cond(Affine(((place, 1),)), 0, kernel.extents[inner])

    def ended(e: Expr, free: int) -> Expr:
        if e.op != "load" or not free >> inner & 1:
            return e
        return e._replace(attr=(*e.attr[:2], (*e.attr[2], end)))

    pairs = zip(made.exprs, kernel.free, strict=True)
    return replace(made, exprs=tuple(ended(e, free) for e, free in pairs))


def _digits(
    new: int, counts: Sequence[int], steps: Sequence[int]
) -> list[tuple[int | Div | Mod, int]]:
    """A sum of multiples of digits, outermost first: fewer, if some go on evenly."""
    out: list[tuple[int | Div | Mod, int]] = []
    i = len(counts)
    while i:
        last = i - 1
        i = last
        while i and steps[i - 1] == steps[last] * prod(counts[i : last + 1]):
            i -= 1
        if steps[last]:
            weight = prod(counts[last + 1 :])
            place = Affine(((new, 1),))
            atom: int | Div | Mod = Div(place, weight) if weight > 1 else new
            if i:
                whole = place if weight == 1 else Affine(((atom, 1),))
                atom = Mod(whole, prod(counts[i : last + 1]))
            out.append((atom, steps[last]))
    return out


# ---- sides as they lie in memory


def stored_as(kernel: Kernel, e: int) -> int:
    """The expression without a cast that loses nothing, and without a test that its
    load makes as well."""
    plain = untested(kernel, e)
    x = kernel.exprs[plain]
    if x.op != "cast" or x.dtype is not F32:
        return e
    inner = kernel.exprs[x.args[0]].dtype
    return untested(kernel, x.args[0]) if inner in (*HALVES, *EIGHTS) else e


def untested(kernel: Kernel, e: int) -> int:
    """Of `select(test, value, 0)` the value, a load that is 0 where its test fails."""
    x = kernel.exprs[e]
    if x.op != "select":
        return e
    test, value, other = (kernel.exprs[a] for a in x.args)
    load = kernel.exprs[value.args[0]] if value.op == "cast" else value
    alike = test.op == "inside" and load.op == "load" and other.op == "const"
    if alike and other.attr == exactly(0.0) and {*test.attr[0]} <= {*load.attr[2]}:
        return x.args[1]
    return e
