"""Ops whose elements come from one of several places: by where they are, or by data."""

from __future__ import annotations

from typing import NamedTuple, cast

from ...egraph.ir.ranges import whole
from .affine import ZERO
from .chosen import ELEMENTWISE, VIEWS, Term
from .kernel import Affine, Cond, Val
from .movement import Index, operand_index
from .occurrences import Guard, Occurrence, Occurrences

MOVED = VIEWS - {"pad", "concat", "gather"}  # by `operand_index` alone
DEEP = 8  # elementwise ops and movements above what parts of a `concat` read


class Read(NamedTuple):
    """A class, and where."""

    cls: int
    at: Index


def moved(met: Occurrences, c: int, node: Term, index: Index) -> Read:
    """What a movement of class `c` reads at an index."""
    (a,) = node.args
    shapes = met.shape(a), met.shape(c)
    return Read(a, operand_index(node.op, node.attrs, index, *shapes, met.ranges))


def pad(met: Occurrences, o: Occurrence, node: Term) -> None:
    low, _, value = node.attrs
    (a,) = node.args
    source = met.shape(a)
    if 0 in source:
        o.kind, o.payload = "const", value
        return
    index = tuple(
        v if n == 0 else met.ranges.combine([(v, 1)], -n)
        for v, n in zip(o.index, low, strict=True)
    )
    conds = [Cond(v, 0, n) for v, n in zip(index, source, strict=True)]
    new, guard = met.guarded(o.guard, conds)
    inside = met.meet(a, index, guard)
    if not new:
        o.kind, o.args = "same", [inside]
        return
    other = met.pseudo("const", [], value, o, o.dtype)
    o.kind, o.payload, o.args = "guarded", new, [inside, other]


# ---- concat --------------------------------------------------------------------------


def concat(met: Occurrences, o: Occurrence, node: Term) -> None:
    axis: int = node.attrs[0]
    if (index := _alike(met, o, node, axis)) is not None:
        parts = _digits(met, o, node, axis, index)
    else:
        parts = _stretches(met, o, node, axis)
    if not parts:
        o.kind, o.payload = "const", 0
        return
    (first, made), (_, rest) = parts[0], parts[-1]
    for conds, arg in reversed(parts[1:-1]):
        rest = met.pseudo("guarded", [arg, rest], conds, o, o.dtype)
    if len(parts) == 1 or not first:
        o.kind, o.args = "same", [made]
    else:
        o.kind, o.payload, o.args = "guarded", first, [made, rest]


def _stretches(
    met: Occurrences, o: Occurrence, node: Term, axis: int
) -> list[tuple[Guard, int]]:
    """When each part is meant, and its value: one after another along the axis."""
    at, start = o.index[axis], 0
    parts: list[tuple[Guard, int]] = []
    for a in node.args:
        n = met.shape(a)[axis]
        if n:
            new, guard = met.guarded(o.guard, [Cond(at, start, start + n)])
            index = list(o.index)
            index[axis] = met.ranges.combine([(at, 1)], -start) if start else at
            parts.append((new, met.meet(a, tuple(index), guard)))
        start += n
    return parts


def _alike(met: Occurrences, o: Occurrence, node: Term, axis: int) -> Index | None:
    """The index of all parts, where they are as long, unlike, and read the same
    elements, as both halves of bytes do: these are read once then, and not tested for
    each part."""
    at, (first, *rest) = o.index[axis], node.args
    n = met.shape(first)[axis]
    unlike = len({*node.args}) > 1  # else each is one array, repeated
    if not unlike or n == 0 or any(met.shape(a)[axis] != n for a in rest):
        return None
    if met.ranges.bottom(at) < 0 or met.ranges.top(at) >= n * len(node.args):
        return None
    index = (*o.index[:axis], met.ranges.window(at, 1, n), *o.index[axis + 1 :])
    found = {_reads(met, Read(a, index)) for a in node.args}
    return index if len(found) == 1 and all(found) else None


def _reads(met: Occurrences, r: Read, depth: int = DEEP) -> frozenset[Read]:
    """What a value at an index reads, by elementwise ops and movements."""
    node = met.terms.node(r.cls)
    if node.op == "const":
        return frozenset()
    if r.cls in met.stored or not depth or node.op not in (ELEMENTWISE | MOVED):
        return frozenset({r})
    if node.op in MOVED:
        return _reads(met, moved(met, r.cls, node, r.at), depth - 1)
    below = (_reads(met, Read(a, r.at), depth - 1) for a in node.args)
    return frozenset(x for part in below for x in part)


def _digits(
    met: Occurrences, o: Occurrence, node: Term, axis: int, index: Index
) -> list[tuple[Guard, int]]:
    """Of parts that read the same: which one it is, is a digit of the place."""
    count, n = len(node.args), met.shape(node.args[0])[axis]
    part = met.ranges.window(o.index[axis], n, count)
    made = [met.meet(a, index, o.guard) for a in node.args]
    return [((Cond(part, k, k + 1),), i) for k, i in enumerate(made)]


# ---- gather --------------------------------------------------------------------------


def gather(met: Occurrences, o: Occurrence, node: Term) -> None:
    axis: int = node.attrs[0]
    x, which = node.args
    n = met.shape(x)[axis]
    if n == 0:
        o.kind, o.payload = "const", 0
        return
    index = list(o.index)
    index[axis] = ZERO
    if n > 1:  # of one element every index is that element: it is not even read
        index[axis] = _counted(met, which, o.index, n) or _clipped(met, which, o, n)
    o.kind, o.args = "same", [met.meet(x, tuple(index), o.guard)]


def _clipped(met: Occurrences, which: int, o: Occurrence, n: int) -> Affine:
    """The value of `which` as a place among `n`."""
    at = met.meet(which, o.index, o.guard)
    clip = met.pseudo("clip", [at], n - 1, o, met.occ[at].dtype)
    met.ranges.val_max[clip] = n - 1
    return Affine(((Val(clip), 1),))


def _counted(met: Occurrences, which: int, index: Index, n: int) -> Affine | None:
    """The same where `which` is no data, but a position, and stays below `n`."""
    while which not in met.stored:
        node = met.terms.node(which)
        if node.op == "iota":
            v = index[cast(int, node.attrs[0])]
            most = min(n - 1, whole(met.terms.type(which).dtype).high)
            fits = met.ranges.bottom(v) >= 0 and met.ranges.top(v) <= most
            return v if fits else None
        if node.op not in MOVED:
            return None
        which, index = moved(met, which, node, index)
    return None
