"""From a kernel and a tiling to a tile program.

Reductions along the loop have accumulators, of which those come first that others
depend on; outputs are stored where all that they need is known.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager

from ...egraph.ir.dtypes import DType, compute
from ...egraph.ir.scalars import CHOICES, MONOIDS
from ...extract.schedule.kernel import Kernel, Output, bits
from ..families.nests.index_types import index_type
from ..families.nests.plan import each, facts, reach
from ..families.nests.values import combine, convert, identity
from ..families.nests.writer import parameters
from ..loops import Ex, Op, Param
from .ir import Grid, Layout, Loop, Map, Reduce, Store, Tile, TileProgram, Update, var
from .values import Scope, Tiling, Values


class Writer(Values):
    """Writes one grid for one kernel."""

    def accumulators(self, level: Iterable[int]) -> dict[int, Tile]:
        """For each reduction along the loop a tile of what it has so far."""
        out: dict[int, Tile] = {}
        for e in level:
            monoid, _, acc = self.kernel.exprs[e].attr
            free = self.kernel.free[self.kernel.exprs[e].args[0]]
            tile = Tile(self.fresh("a"), compute(acc), self.axes(free))
            self.scopes[-1].body.append(Map(tile, identity(monoid, acc), True))
            out[e] = tile
        return out

    def take(self, e: int, acc: Tile) -> None:
        x = self.kernel.exprs[e]
        monoid, axes, kind = x.attr
        term = convert(self.value(x.args[0]), compute(kind))
        made = combine(monoid, var(acc), term)
        self.scopes[-1].body.append(Update(acc.name, made, self.overhang(bits(axes))))

    def finish(self, e: int, acc: Tile) -> None:
        x = self.kernel.exprs[e]
        kept = self.axes(self.kernel.free[e])
        over = tuple(n for n in acc.axes if n not in kept)
        tile = Tile(self.fresh("r"), acc.dtype, kept)
        self.scopes[-1].body.append(Reduce(tile, x.attr[0], var(acc), over))
        self.scopes[-1].values[e] = self.total(x, tile)

    # ---- outputs

    def store(self, o: Output) -> None:
        free = bits(o.axes)
        value, at = self.value(o.expr), self.affine(o.offset)
        value = unrounded(value, self.kernel.slots[o.slot][0])
        scope = self.scopes[self.depth(free)]
        buffer = self.buffers[o.slot].name
        scope.body.append(
            Store(buffer, at, value, self.axes(free), self.overhang(free))
        )

    # ---- the whole

    def run(self) -> Grid:
        self._fetch(self.facts.stored)
        looped = bits(tuple(self._looped))
        for level in _levels(self.kernel, looped):
            accs = self.accumulators(level)
            with_needs = bits(tuple(self.kernel.exprs[e].args[0] for e in level))
            with self._turn(with_needs):
                for e in level:
                    self.take(e, accs[e])
            for e in level:
                self.finish(e, accs[e])
        self.outputs()
        return self.as_grid()

    def as_grid(self, layout: Layout = ()) -> Grid:
        """All that was written."""
        points = tuple(p for _, p in self.points)
        body = tuple(self.scopes[0].body)
        return Grid(tuple(self.grid), points, body, self.tiling.team, layout)

    def outputs(self) -> None:
        looped = bits(tuple(self._looped))
        inside = [o for o in self.kernel.outputs if bits(o.axes) & looped]
        for o in self.kernel.outputs:
            if o not in inside:
                self.store(o)
        if inside:
            needs = bits(tuple(o.expr for o in inside))
            with self._turn(needs):
                for o in inside:
                    self.store(o)

    @contextmanager
    def _turn(self, targets: int) -> Generator[None]:
        """The loop, around what is written within."""
        assert self.turns is not None
        axis, step = self.turns
        self.scopes.append(Scope(bits(tuple(self._looped))))
        self._fetch(targets)
        yield
        inner = self.scopes.pop()
        self.scopes[-1].body.append(Loop((axis,), step, tuple(inner.body)))

    def _fetch(self, targets: int) -> None:
        """All loads that can be made here come first: none waits for another."""
        have = bits(tuple(k for s in self.scopes for k in s.values))
        depth = len(self.scopes) - 1
        for e in each(reach(self.facts, targets, have) & self.facts.loads):
            plain = not self.facts.args[e]
            if plain and self.depth_of_all(e) == depth:
                self.value(e)

    def depth_of_all(self, e: int) -> int:
        """Where a load belongs, once every loop is open; beyond, if none is."""
        looped = bool(self.kernel.free[e] & bits(tuple(self._looped)))
        return int(looped)


def unrounded(value: Ex, dtype: DType) -> Ex:
    """Without a last rounding to `dtype`, which a store does."""
    match value:
        case Op("cast", (Op("cast", (inner,), to),)) if to is dtype:
            return inner if inner.dtype is value.dtype else value
        case _:
            return value


def _levels(kernel: Kernel, looped: int) -> list[list[int]]:
    """Reductions along the loop, those first that others depend on."""
    f = facts(kernel)
    live = reach(f, f.stored, 0)
    along = (r for r in each(live & f.reductions)
             if bits(kernel.exprs[r].attr[1]) & looped)  # fmt: skip
    left: list[int] = list(along)
    out: list[list[int]] = []
    while left:
        mask = bits(tuple(left))
        ready = [r for r in left if not reach(f, f.args[r], 0) & mask]
        out.append(ready)
        left = [r for r in left if r not in ready]
    return out


def refusal(kernel: Kernel, paired: bool = False) -> str | None:
    """Why no tiling can write the kernel; `paired`: products may be of what is read for
    several."""
    if kernel.updates:
        return "it changes what lies in a buffer"
    if kernel.orders:
        return "it sorts"
    if any(kernel.exprs[r].attr[0] in CHOICES for r in kernel.reductions):
        return "it looks for the place of a best term"
    for r in kernel.reductions:
        x = kernel.exprs[r]
        if x.attr[0] not in MONOIDS:
            return f"it reduces by {x.attr[0]}"
        if bits(x.attr[1]) & ~kernel.free[x.args[0]]:
            return "it reduces along an axis that the term lacks"
        if not paired and not _read_once(kernel, x.args[0]):
            return "its terms pair what is read for several of them: a product"
    return None


def _read_once(kernel: Kernel, term: int) -> bool:
    """Whether some load is as many as the terms are, or there is none: then instances
    share little of what they read.  (Products are tiled for that.)"""
    f = facts(kernel)
    loads = list(each(reach(f, 1 << term, f.reductions) & f.loads))
    wanted = kernel.free[term]
    return not loads or any(not wanted & ~kernel.free[e] for e in loads)


def written(
    kernel: Kernel, tiling: Tiling, strict: bool = False,
    buffers: tuple[Param, ...] | None = None, index: DType | None = None,
) -> Grid:  # fmt: skip
    buffers = buffers or parameters(kernel)
    index = index or index_type(kernel, buffers)
    return Writer(kernel, tiling, buffers, strict, index).run()


def program(name: str, kernel: Kernel, tiling: Tiling, strict: bool) -> TileProgram:
    """A program of one grid."""
    buffers = parameters(kernel)
    index = index_type(kernel, buffers)
    grid = written(kernel, tiling, strict, buffers, index)
    return TileProgram(name, buffers, (grid,), (), index)
