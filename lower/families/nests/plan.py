"""In which order the parts of a kernel are computed, before any device is chosen.

A *step* is one nest of loops: it finishes reductions over the same axes, or stores
outputs over the same axes.  Reductions that depend on each other become steps one after
the other; independent ones share a step.  What is costly and needed again by a later
step over the same loops is *staged*: kept in an on-chip array from its first
evaluation on.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from ....egraph.ir.scalars import BY_NAME
from ....extract.schedule.kernel import Kernel, Output, bits, needs, stored
from ...axes import accesses, coefficient, numel

HEAVY = 8  # flops from which on a value is staged rather than computed again


class Step(NamedTuple):
    """Loops over `axes`, outermost first, that finish `roots` or store `outputs`; where
    there are none of both, it keeps values of a column that later steps need."""

    axes: tuple[int, ...]
    roots: tuple[int, ...]  # reductions
    outputs: tuple[int, ...]
    inner: tuple[tuple[Step, ...], ...]  # steps inside the first 1, 2, ... loops
    staged: tuple[int, ...]  # expressions kept in arrays over `axes`
    work: int  # bit set of the expressions evaluated in the innermost loop


class LoopOrder(NamedTuple):
    """What happens inside the `outer` loops (and, for column tiles, `vector`)."""

    outer: tuple[int, ...]
    vector: int | None
    tile: int  # columns of `vector` at a time; 1 without
    steps: tuple[Step, ...]


class Facts(NamedTuple):
    """What planning asks of a kernel again and again; sets of expressions are bits."""

    args: tuple[int, ...]  # what each expression needs
    cones: tuple[int, ...]  # all below it, and itself
    heavy: tuple[int, ...]  # flops of one evaluation; of a reduction, its terms
    order: tuple[int, ...]  # axes, the most contiguous last
    stored: int  # what outputs are computed from
    reductions: int
    loads: int
    busy: int  # what costs flops by itself


def each(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


@lru_cache(maxsize=4096)
def facts(kernel: Kernel) -> Facts:
    args: list[int] = []
    cones: list[int] = []
    heavy: list[int] = []
    reductions = loads = busy = outputs = 0
    for i, e in enumerate(kernel.exprs):
        below = needs(e)
        args.append(bits(below))
        cone = 1 << i
        for a in below:
            cone |= cones[a]
        cones.append(cone)
        opcode = BY_NAME.get(e.op)
        flops = 0
        if opcode is not None:
            flops = opcode.flops
            busy |= 1 << i
        elif e.op == "load":
            loads |= 1 << i
        elif e.op == "scan":
            flops = 1
            busy |= 1 << i
        elif e.op == "reduce":
            flops = numel(kernel.extents, e.attr[1])
            reductions |= 1 << i
        heavy.append(flops)
    for o in kernel.outputs:
        outputs |= bits(stored(o))
    order = axis_order(kernel)
    return Facts(
        tuple(args), tuple(cones), tuple(heavy), order, outputs, reductions, loads, busy
    )


def needed(f: Facts) -> int:
    """The expressions that outputs are computed from."""
    found = 0
    for i in each(f.stored):
        found |= f.cones[i]
    return found


def axis_order(kernel: Kernel) -> tuple[int, ...]:
    """Axes from the one with the longest strides to the contiguous one."""
    rank = len(kernel.extents)
    unit, reach = [0] * rank, [0] * rank
    for v, size in accesses(kernel):
        size *= numel(kernel.extents, tuple(a for a, _ in v.terms if type(a) is int))
        for a, c in v.terms:
            if type(a) is int:
                unit[a] += size * (c == 1)
                reach[a] = max(reach[a], c, -c)
    return tuple(sorted(range(rank), key=lambda a: (unit[a], -reach[a], a)))


def reach(f: Facts, targets: int, have: int) -> int:
    """The expressions to evaluate for `targets`, given those in `have`."""
    todo = targets & ~have
    seen = 0
    for i in each(todo):
        seen |= f.cones[i]
    if not seen & have:
        return seen
    seen = 0
    while todo:
        i = todo.bit_length() - 1
        todo ^= 1 << i
        seen |= 1 << i
        todo |= f.args[i] & ~have & ~seen
    return seen


def lie_along(kernel: Kernel, s: Step, vector: int | None) -> bool:
    """Whether what a step adds up for each place along `vector` lies along what it is
    summed over: a product of a matrix, a row for each place, and a vector."""
    if vector is None or not s.roots or not s.axes or s.inner[-1] or s.staged:
        return False
    if not all(kernel.free[r] >> vector & 1 for r in s.roots):
        return False
    offsets = [kernel.exprs[e].attr[1] for e in each(s.work & facts(kernel).loads)]
    along = [coefficient(x, s.axes[-1]) for x in offsets]
    across = [coefficient(x, vector) for x in offsets]
    rows = any(a == 1 and abs(c) > 1 for a, c in zip(along, across, strict=True))
    return rows and all(a in (0, 1) for a in along)


@lru_cache(maxsize=8192)
def plan(
    kernel: Kernel, outer: tuple[int, ...], vector: int | None, tile: int, capacity: int
) -> LoopOrder:
    """The steps inside loops over `outer`.  `capacity`: bytes of on-chip arrays.

    With `vector`, reductions keep that axis: their results are arrays over a tile of
    it, and it is the innermost loop of each step.
    """
    wide = 0 if vector is None else 1 << vector
    planner = _Planner(kernel, wide, capacity // max(tile, 1))
    steps = planner.scope(bits(outer), facts(kernel).stored, 0, True)
    return LoopOrder(outer, vector, tile, steps)


class _Planner:
    def __init__(self, kernel: Kernel, vector: int, capacity: int) -> None:
        self.kernel, self.vector, self.capacity = kernel, vector, capacity
        self.f = facts(kernel)
        self.position = {a: i for i, a in enumerate(self.f.order)}

    def scope(
        self, open_: int, targets: int, have: int, stores: bool
    ) -> tuple[Step, ...]:
        """Steps for what `targets` need where the axes `open_` are known."""
        steps: list[Step] = []
        known = open_ | self.vector
        while groups := self._ready(reach(self.f, targets, have), known, have):
            for (axes, _), roots in groups.items():
                done = have | bits(roots)
                step = self._step(open_, axes, roots, (), have, targets)
                steps.append(step)
                have = done | bits(step.staged)
            if stores and (ended := self._ended(open_, targets, have)):
                work = reach(self.f, bits(ended), have)
                steps.append(Step((), (), (), (), ended, work))
                have |= bits(ended)
        if stores:
            steps += self._stores(open_, have)
        return tuple(steps)

    def _ready(
        self, need: int, known: int, have: int
    ) -> dict[tuple[tuple[int, ...], int], tuple[int, ...]]:
        """Reductions that can be computed now, those over the same loops together."""
        free, f = self.kernel.free, self.f
        ready = 0
        for r in each(need & f.reductions):
            if not free[r] & ~known:
                ready |= 1 << r
        groups: dict[tuple[tuple[int, ...], int], tuple[int, ...]] = {}
        for r in each(ready):
            if not reach(f, f.args[r], have) & ready:
                axes = tuple(sorted(self.kernel.exprs[r].attr[1], key=self._place))
                key = axes, free[r] & self.vector
                groups[key] = (*groups.get(key, ()), r)
        return groups

    def _place(self, axis: int) -> int:
        return self.position[axis]

    def _stores(self, open_: int, have: int) -> Iterator[Step]:
        groups: dict[tuple[int, ...], tuple[int, ...]] = {}
        for k, o in enumerate(self.kernel.outputs):
            left = [a for a in o.axes if not (open_ | self.vector) >> a & 1]
            axes = self._nest(o, left)
            groups[axes] = (*groups.get(axes, ()), k)
        for axes, outputs in groups.items():
            yield self._step(open_, axes, (), outputs, have, 0)

    def _nest(self, o: Output, left: list[int]) -> tuple[int, ...]:
        """The contiguous axes innermost; those that have an order, in theirs."""
        serial = o.update.serial if o.update else ()
        if self.kernel.scans:
            serial = self.kernel.exprs[self.kernel.scans[0]].attr[1]
        rest = sorted((a for a in left if a not in serial), key=self._place)
        return (*rest, *serial)

    def _step(
        self, open_: int, axes: tuple[int, ...], roots: tuple[int, ...],
        outputs: tuple[int, ...], have: int, later: int,
    ) -> Step:  # fmt: skip
        goal = 0
        for k in outputs:
            goal |= bits(stored(self.kernel.outputs[k]))
        for r in roots:
            goal |= self.f.args[r]
        work = reach(self.f, goal, have)
        inner: list[tuple[Step, ...]] = [()] * len(axes)
        if work & self.f.reductions or open_ & bits(axes):
            inner, have = self._nested(open_, axes, goal, have)
            work = reach(self.f, goal, have)
        staged = self._staged(open_, axes, work, inner, have | bits(roots), later)
        return Step(axes, roots, outputs, tuple(inner), staged, work)

    def _nested(
        self, open_: int, axes: tuple[int, ...], goal: int, have: int
    ) -> tuple[list[tuple[Step, ...]], int]:
        """The steps inside each loop, and what is then computed."""
        inner: list[tuple[Step, ...]] = []
        for i, axis in enumerate(axes):
            if open_ >> axis & 1:  # bound anew: what varies along it is another value
                have &= ~self._varying(axis)
            steps = self.scope(open_ | bits(axes[: i + 1]), goal, have, False)
            inner.append(steps)
            for s in steps:
                have |= bits(s.roots)
        return inner, have

    def _varying(self, axis: int) -> int:
        return bits(tuple(e for e, x in enumerate(self.kernel.free) if x >> axis & 1))

    def _staged(
        self, open_: int, axes: tuple[int, ...], work: int,
        inner: list[tuple[Step, ...]], have: int, later: int,
    ) -> tuple[int, ...]:  # fmt: skip
        """Costly values of this step, varying along all its loops, needed later."""
        if not later or not axes:
            return ()
        inside = bits(tuple(r for s in inner[-1] for r in s.roots))
        rest = reach(self.f, later, have & ~inside)
        wanted = bits(axes)
        free = self.kernel.free
        both = 0
        for e in each(rest & (work | inside)):
            if free[e] & ~open_ & ~self.vector == wanted:
                both |= 1 << e
        used = later | (rest & ~both and self._uses(rest & ~both))
        tops = [e for e in each(both & used) if self._weight(e, both) >= HEAVY]
        return tuple(tops) if self._fits(axes, tops) else ()

    def _ended(self, open_: int, targets: int, have: int) -> tuple[int, ...]:
        """Costly values of a column that each row of a later loop would compute."""
        wide, other = self.vector, ~(open_ | self.vector)
        if not wide:
            return ()
        rest = reach(self.f, targets, have)
        fixed = reduced = 0  # reduced: what needs a reduction that is still to come
        for e in each(rest):
            free = self.kernel.free[e]
            if (1 << e | self.f.args[e]) & (reduced | self.f.reductions & rest):
                reduced |= 1 << e
            elif free & wide and not free & other:
                fixed |= 1 << e
        used = fixed & self._uses(rest & ~fixed)
        tops = [e for e in each(used) if self._weight(e, fixed) >= HEAVY]
        return tuple(tops) if self._fits((), tops) else ()

    def _uses(self, mask: int) -> int:
        out = 0
        for e in each(mask):
            out |= self.f.args[e]
        return out

    def _weight(self, top: int, among: int) -> int:
        cone = self.f.cones[top] & among
        return sum(self.f.heavy[e] for e in each(cone))

    def _fits(self, axes: tuple[int, ...], staged: list[int]) -> bool:
        size = sum(max(self.kernel.exprs[e].dtype.itemsize, 4) for e in staged)
        return size * numel(self.kernel.extents, axes) <= self.capacity
