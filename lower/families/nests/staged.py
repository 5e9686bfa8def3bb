"""One kernel as several in turn, with values in scratch between them.

Used where a kernel's own loops are too few to fill a device: the reductions are done
first, in chunks, then combined, and what remains is a map.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

from ....egraph.ir.dtypes import BOOL, DType, compute
from ....egraph.ir.scalars import CHOICES, MONOIDS
from ....extract.schedule.kernel import (
    Affine,
    Cond,
    Div,
    Expr,
    Kernel,
    Mod,
    Output,
    Val,
    bits,
    needs,
)
from ...axes import ceil_div, free_axes, numel, rebuild
from .plan import each, facts, reach


class Cut(NamedTuple):
    """Kernels over the slots of the first one and `scratch` slots after them."""

    stages: tuple[Kernel, ...]
    scratch: tuple[tuple[DType, int], ...]


@dataclass(slots=True)
class _Cutter:
    kernel: Kernel
    pieces: int  # that fill the device
    grain: int
    slots: list[tuple[DType, int]]
    stages: list[Kernel] = field(default_factory=list[Kernel])

    def scratch(self, dtype: DType, size: int) -> int:
        self.slots.append((compute(dtype), size))
        return len(self.slots) - 1

    def stage(self, kernel: Kernel) -> None:
        kernel = replace(kernel, slots=tuple(self.slots))
        self.stages.append(prune(kernel))


@lru_cache(maxsize=1024)
def cut(kernel: Kernel, pieces: int, grain: int = 1) -> Cut | None:
    """The kernel in stages, or None if none of its reductions stands alone; `grain`:
    results that are work enough for one piece."""
    state = _Cutter(kernel, pieces, grain, list(kernel.slots))
    while ready := _ready(kernel):
        kernel = _finish(state, kernel, ready)
    if not state.stages:
        return None
    for rest in _side_by_side(kernel):
        state.stage(rest)
    slots = tuple(state.slots)
    stages = tuple(replace(k, slots=slots) for k in state.stages)
    return Cut(stages, slots[len(state.kernel.slots) :])


def parted(kernel: Kernel, root: int) -> Cut:
    """A reduction into scratch, then all that follows it."""
    kept = tuple(a for a in facts(kernel).order if kernel.free[root] >> a & 1)
    where, dtype = _flat(kernel.extents, kept), kernel.exprs[root].dtype
    slot = len(kernel.slots)
    slots = (*kernel.slots, (dtype, numel(kernel.extents, kept)))
    stored = (Output(slot, root, kept, where),)
    load = Expr("load", (), (slot, where, ()), dtype)
    rest, _ = edited(kernel, lambda i, e, _: load if i == root else e)
    stages = replace(kernel, outputs=stored, slots=slots), replace(rest, slots=slots)
    return Cut(tuple(map(prune, stages)), slots[-1:])


def _side_by_side(kernel: Kernel) -> list[Kernel]:
    """Kernels whose outputs nest: what the widest one held together falls apart where
    that is stored by itself."""
    if not kernel.outputs:
        return []
    widest = max((bits(o.axes) for o in kernel.outputs), key=int.bit_count)
    inside = tuple(o for o in kernel.outputs if not bits(o.axes) & ~widest)
    others = tuple(o for o in kernel.outputs if bits(o.axes) & ~widest)
    rest = _side_by_side(replace(kernel, outputs=others))
    return [replace(kernel, outputs=inside), *rest]


def _ready(kernel: Kernel) -> tuple[int, ...]:
    """Reductions over the same loops that only vary along loops of the outputs."""
    kept = (1 << len(kernel.extents)) - 1
    for r in kernel.reductions:
        kept &= ~bits(kernel.exprs[r].attr[1])
    f = facts(kernel)
    live = reach(f, f.stored, 0)
    ready = [r for r in each(live & f.reductions) if not kernel.free[r] & ~kept]
    mask = bits(tuple(ready))
    first = [r for r in ready if not reach(f, f.args[r], 0) & mask]

    def loops(r: int) -> tuple[frozenset[int], int]:
        return frozenset(kernel.exprs[r].attr[1]), kernel.free[r]

    return tuple(r for r in first if loops(r) == loops(first[0]))


def _finish(state: _Cutter, kernel: Kernel, ready: tuple[int, ...]) -> Kernel:
    """Adds the stages that compute `ready`; the kernel that loads their results."""
    order = facts(kernel).order
    kept = tuple(a for a in order if kernel.free[ready[0]] >> a & 1)
    rows = numel(kernel.extents, kept)
    where = _flat(kernel.extents, kept)
    now, later = _outputs(kernel, kept, bits(ready))
    loads: dict[int, Expr] = {}
    f = facts(kernel)
    for r in each(reach(f, bits(tuple(o.expr for o in later)), 0) & bits(ready)):
        e = kernel.exprs[r]
        slot = state.scratch(e.dtype, rows)
        now.append(Output(slot, r, kept, where))
        loads[r] = Expr("load", (), (slot, where, ()), e.dtype)
    chunks = _chunks(kernel, ready[0], ceil_div(rows, state.grain), state.pieces)
    last = replace(kernel, outputs=tuple(now))
    if chunks is not None:
        last = _partials(state, last, ready, kept, *chunks)
    state.stage(last)
    rest, _ = edited(kernel, lambda i, e, _: loads.get(i, e))
    moved = tuple(o for o in rest.outputs if o.slot in {x.slot for x in later})
    return replace(rest, outputs=moved, slots=tuple(state.slots))


def _outputs(
    kernel: Kernel, kept: tuple[int, ...], ready: int
) -> tuple[list[Output], list[Output]]:
    """The outputs that can be stored with the reductions `ready`, and the others."""
    f = facts(kernel)
    now: list[Output] = []
    later: list[Output] = []
    for o in kernel.outputs:
        needed = reach(f, 1 << o.expr, ready) & f.reductions
        fits = set(o.axes) == set(kept) and not needed
        (now if fits else later).append(o)
    return now, later


def _flat(extents: tuple[int, ...], axes: tuple[int, ...]) -> Affine:
    terms: list[tuple[int, int]] = []
    size = 1
    for a in reversed(axes):
        terms.append((a, size))
        size *= extents[a]
    return Affine(tuple(reversed(terms)))


def _chunks(
    kernel: Kernel, r: int, rows: int, pieces: int
) -> tuple[int, int, int] | None:
    """(axis, chunks, length of a chunk) to split a reduction by, if that helps."""
    wanted = ceil_div(pieces, max(rows, 1))
    bound: tuple[int, ...] = kernel.exprs[r].attr[1]
    f = facts(kernel)
    again: set[int] = set()  # bound again inside, where a chunk would not be enough
    for inner in each(reach(f, f.args[r], 0) & f.reductions):
        again |= set(kernel.exprs[inner].attr[1])
    axes = [a for a in f.order if a in bound and a not in again]
    axis = next((a for a in axes if kernel.extents[a] >= 2 * wanted), None)
    if wanted < 2 or axis is None:
        return None
    n = kernel.extents[axis]
    exact = next((c for c in range(wanted, min(2 * wanted, n) + 1) if n % c == 0), None)
    length = ceil_div(n, exact or wanted)
    return axis, ceil_div(n, length), length


def _partials(
    state: _Cutter, kernel: Kernel, ready: tuple[int, ...], kept: tuple[int, ...],
    axis: int, chunks: int, length: int,
) -> Kernel:  # fmt: skip
    """Adds the stage that reduces each chunk; the kernel that combines the chunks."""
    part = len(kernel.extents)
    size = numel(kernel.extents, kept)
    where = Affine(((part, size), *_flat(kernel.extents, kept).terms))
    chunked, to = _split(kernel, axis, part, chunks, length)
    chunked, found = _states(chunked, {to[r]: r for r in ready})
    slots: dict[int, list[int]] = {}
    outputs: list[Output] = []
    for r in ready:
        slots[r] = [state.scratch(chunked.exprs[e].dtype, size * chunks)
                    for e in found[r]]  # fmt: skip
        outputs += [
            Output(slot, e, (part, *kept), where)
            for slot, e in zip(slots[r], found[r], strict=True)
        ]
    state.stage(replace(chunked, outputs=tuple(outputs)))

    def combine(i: int, e: Expr, put: Put) -> Expr:
        if i not in slots:
            return e
        monoid, _, acc = e.attr
        kinds = (state.slots[slot][0] for slot in slots[i])
        loads = [Expr("load", (), (slot, where, ()), kind)
                 for slot, kind in zip(slots[i], kinds, strict=True)]  # fmt: skip
        return Expr("reduce", tuple(map(put, loads)), (monoid, (part,), acc), e.dtype)

    combined = replace(kernel, extents=(*kernel.extents, chunks))
    return edited(combined, combine)[0]


def _states(
    kernel: Kernel, roots: dict[int, int]
) -> tuple[Kernel, dict[int, list[int]]]:
    """The kernel with all that a chunk has to say of the reductions `roots`, by the
    number that each has there: its total, not rounded; before a choice, the best."""
    best: dict[int, int] = {}

    def widen(i: int, e: Expr, put: Put) -> Expr:
        if i not in roots:
            return e
        monoid, axes, acc = e.attr
        if monoid in CHOICES:
            kind = kernel.exprs[kernel.exprs[i].args[0]].dtype
            attr = (CHOICES[monoid], axes, kind)
            best[i] = put(Expr("reduce", e.args[:1], attr, kind))
        return e._replace(dtype=compute(acc))

    made, to = edited(kernel, widen)
    return made, {
        r: [best[i], to[i]] if i in best else [to[i]] for i, r in roots.items()
    }


def _split(
    kernel: Kernel, axis: int, part: int, chunks: int, length: int
) -> tuple[Kernel, dict[int, int]]:
    """`axis` as `part * length + axis`; what lies beyond its extent is neutral."""
    extent = kernel.extents[axis]

    def affine(v: Affine) -> Affine:
        terms: list[tuple[Any, int]] = []
        for a, c in v.terms:
            if isinstance(a, (Div, Mod)):
                a = a._replace(value=affine(a.value))
            terms.append((a, c))
            if isinstance(a, int) and a == axis:
                terms.append((part, c * length))
        return Affine(tuple(terms), v.const)

    extents = list(kernel.extents)
    extents[axis] = length
    split = rebuild(kernel, (*extents, chunks), affine, lambda axes: axes)
    if chunks * length == extent:
        return split, {i: i for i in range(len(kernel.exprs))}
    inside = Cond(affine(Affine(((axis, 1),))), 0, extent)
    return _guarded(split, axis, inside)


def _guarded(kernel: Kernel, axis: int, inside: Cond) -> tuple[Kernel, dict[int, int]]:
    """Loads along `axis` and terms of reductions over it hold only `inside`."""

    def change(i: int, e: Expr, put: Put) -> Expr:
        if e.op == "load" and kernel.free[i] >> axis & 1:
            return e._replace(attr=(e.attr[0], e.attr[1], (*e.attr[2], inside)))
        if e.op != "reduce" or axis not in e.attr[1]:
            return e
        dtype = kernel.exprs[kernel.exprs[i].args[0]].dtype
        test = put(Expr("inside", (), ((inside,),), BOOL))
        name: str = e.attr[0]
        monoid = CHOICES.get(name, name)
        other = put(Expr("const", (), (MONOIDS[monoid].identity(dtype),), dtype))
        arg = put(Expr("select", (test, e.args[0], other), (), dtype))
        return e._replace(args=(arg, *e.args[1:]))

    return edited(kernel, change)


type Put = Callable[[Expr], int]


def edited(
    kernel: Kernel, change: Callable[[int, Expr, Put], Expr]
) -> tuple[Kernel, dict[int, int]]:
    """Each expression as `change` has it, which may `put` others before it; and the
    new numbers."""
    exprs: list[Expr] = []
    to: dict[int, int] = {}

    def put(e: Expr) -> int:
        exprs.append(e)
        return len(exprs) - 1

    for i, e in enumerate(kernel.exprs):
        to[i] = put(change(i, _renamed(e, to), put))
    outputs = tuple(_output(o, to) for o in kernel.outputs)
    every = tuple(exprs)
    made = replace(kernel, exprs=every, free=free_axes(every), outputs=outputs)
    return made, to


def _output(o: Output, to: dict[int, int]) -> Output:
    change = o.update and o.update._replace(when=to[o.update.when])
    offset = _affine(o.offset, to) if change else o.offset
    return o._replace(expr=to[o.expr], offset=offset, update=change)


def _affine(v: Affine, to: dict[int, int]) -> Affine:
    terms: list[tuple[Any, int]] = []
    for a, c in v.terms:
        if isinstance(a, Val):
            a = Val(to[a.expr])
        elif isinstance(a, (Div, Mod)):
            a = a._replace(value=_affine(a.value, to))
        terms.append((a, c))
    return Affine(tuple(terms), v.const)


def _renamed(e: Expr, to: dict[int, int]) -> Expr:
    """`e` with the expressions it needs by their new numbers."""
    if all(to[a] == a for a in needs(e)):
        return e

    def conds(guard: Iterable[Cond]) -> tuple[Cond, ...]:
        return tuple(c._replace(value=_affine(c.value, to)) for c in guard)

    attr = e.attr
    if e.op == "load":
        attr = (attr[0], _affine(attr[1], to), conds(attr[2]))
    elif e.op == "index":
        attr = (_affine(attr[0], to),)
    elif e.op == "inside":
        attr = (conds(attr[0]),)
    return Expr(e.op, tuple([to[a] for a in e.args]), attr, e.dtype)


def prune(kernel: Kernel) -> Kernel:
    """Without the expressions that no output needs."""
    f = facts(kernel)
    live = reach(f, f.stored, 0)
    to: dict[int, int] = {}
    exprs: list[Expr] = []
    for i in each(live):
        exprs.append(_renamed(kernel.exprs[i], to))
        to[i] = len(exprs) - 1
    outputs = tuple(_output(o, to) for o in kernel.outputs)
    every = tuple(exprs)
    return replace(kernel, exprs=every, free=free_axes(every), outputs=outputs)
