"""The scatter family: a buffer is filled, then changed at places that are data.

Points that may meet in one element keep their order, so that sums are the same in every
run.  *Pushed*, each point finds its element: work is shared along the axes on which
points never meet, and what is left is one loop after another.  *Pulled*, each element
looks through all points for its own: more work, but any number of threads; on a GPU the
cheaper of the two, on a CPU the first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from ...egraph.ir.dtypes import BOOL, compute
from ...extract.schedule.kernel import Cost, Kernel, Output, bits, stored
from ..axes import ceil_div, normalise, numel
from ..choice import Domains, Holes, hole
from ..device import Caps
from ..loops import Assign, Ex, Function, Load, Op, Stmt, Store, Var
from ..model import AsTheyAre, DeviceModel, Parts, model_of, summed, total
from .nests.nest import Nest
from .nests.plan import LoopOrder, Step, facts, plan, reach
from .nests.price import occupancy, price
from .nests.staged import prune
from .nests.values import rounded
from .nests.writer import function, parameters
from .rows import COLUMN, MAP, ROW, TILES, Walk, ordered, row_axes, tile_of

# Measured on an H100 (`python bench/scatters.py`).
LATENCY = 2e-7  # seconds between two changes of an element by one thread of a GPU
LOOK = 18  # flops worth of asking whether a point is an element's own


class Stages(NamedTuple):
    """What fills the buffer, unless it is full already, and what changes it."""

    fill: Kernel | None
    change: Kernel


@dataclass(frozen=True, slots=True)
class Scatter(AsTheyAre):
    """Fill and change, a launch each; pulled, both in one."""

    name: str = "scatter"

    def accepts(self, kernel: Kernel) -> str | None:
        return None if kernel.updates else "it does not scatter"

    def floor(self, kernel: Kernel, model: DeviceModel) -> float:
        return 0.0

    def domains(self, kernel: Kernel, model: DeviceModel) -> Domains:
        return {"pulled": (0, 1)} if _pulls(kernel, model) else {}

    def cost(
        self, kernel: Kernel, model: DeviceModel, holes: Holes = ()
    ) -> Cost | None:
        if self._pulled(kernel, model, holes):
            return self._one(kernel, model)
        return self._two(kernel, model)

    def _pulled(self, kernel: Kernel, model: DeviceModel, holes: Holes = ()) -> bool:
        if not _pulls(kernel, model):
            return False
        one, two = self._one(kernel, model), self._two(kernel, model)
        return bool(hole(holes, "pulled", int(one.seconds < two.seconds)))

    def _two(self, kernel: Kernel, model: DeviceModel) -> Cost:
        fill, change = stages(kernel)
        parts = [change_parts(change, model)]
        if fill is not None and not _lies_there(kernel):
            parts.append(_filling(fill, model).parts(fill, model))
        return total(self.name, len(parts), summed(parts), model)

    def _one(self, kernel: Kernel, model: DeviceModel) -> Cost:
        return total(self.name, 1, _pull_parts(kernel, model), model)

    def overwrites(
        self, kernel: Kernel, model: DeviceModel, output: int, loads: int,
        holes: Holes = (),
    ) -> bool:  # fmt: skip
        """The base is read as it is filled, element by element, and never again."""
        fill, update = kernel.outputs[0], kernel.outputs[-1]
        f = facts(kernel)
        if fill.update or reach(f, bits(stored(update)), 0) & loads:
            return False
        return not reach(f, 1 << fill.expr, 0) & f.reductions

    def lower(
        self, kernel: Kernel, caps: Caps, name: str, strict: bool, holes: Holes = ()
    ) -> Function:
        model, params = model_of(caps), parameters(kernel)
        if self._pulled(kernel, model, holes):
            pull = Pull(kernel, strict, params)
            pull.run_elements()
            return function(name, pull)
        fill, change = stages(kernel)
        threads, body = 1, list[Stmt]()
        if fill is not None:
            made = _filling(fill, model).write(fill, caps, params, strict)
            body, threads = list(made.body), made.threads
        nest = Push(change, strict, params, caps.vector_bytes if caps.cpu_like else 0)
        nest.grid = model.outermost(change_parts(change, model))
        nest.run(change_plan(change, model))
        return Function(name, params, (*body, *nest.scopes[0].body), (), threads)


# ---- in two stages -------------------------------------------------------------------


@lru_cache(maxsize=1024)
def stages(kernel: Kernel) -> Stages:
    *fills, update = kernel.outputs
    made = [normalise(prune(replace(kernel, outputs=(o,)))) for o in (*fills, update)]
    return Stages(made[0] if fills else None, made[-1])


def _lies_there(kernel: Kernel) -> bool:
    """Whether the base is an operand that may be changed where it lies."""
    fill = kernel.outputs[0]
    e = kernel.exprs[fill.expr]
    if e.op != "load" or fill.update is not None:
        return False
    return bool(kernel.over >> e.attr[0] & 1) and e.attr[1:] == (fill.offset, ())


def _filling(kernel: Kernel, model: DeviceModel) -> Walk:
    """The cheapest way to store the base."""
    options = [f for f in (MAP, ROW, COLUMN) if f.accepts(kernel) is None]
    return min(options, key=lambda f: _seconds(f.parts(kernel, model)))


def _seconds(parts: Parts) -> float:
    return max(parts) + 0.1 * sum(parts)


@lru_cache(maxsize=1024)
def change_plan(kernel: Kernel, model: DeviceModel) -> LoopOrder:
    """Rows side by side, tiles of them where the CPU gains by it."""
    axes = ordered(kernel, row_axes(kernel))
    plain = plan(kernel, axes, None, 1, model.on_chip if model.cpu_like else 0)
    if not (axes and model.cpu_like):
        return plain
    *outer, vector = axes
    n = kernel.extents[vector]
    tile = tile_of(TILES, n, numel(kernel.extents, tuple(outer)), model.units)
    tiled = plan(kernel, tuple(outer), vector, tile, model.on_chip)
    return min((tiled, plain), key=lambda p: _seconds(_priced(kernel, p, model)))


def change_parts(kernel: Kernel, model: DeviceModel) -> Parts:
    return _priced(kernel, change_plan(kernel, model), model)


def _priced(kernel: Kernel, todo: LoopOrder, model: DeviceModel) -> Parts:
    tiles = 1
    if todo.vector is not None:
        tiles = ceil_div(kernel.extents[todo.vector], max(todo.tile, 1))
    parts = price(kernel, todo, model, numel(kernel.extents, todo.outer) * tiles)
    update = kernel.outputs[0].update
    assert update is not None
    waits = 0.0 if model.cpu_like else numel(kernel.extents, update.serial) * LATENCY
    return parts._replace(scalar=parts.scalar + waits)


class Push(Nest):
    """Each point changes its element."""

    def _stores(self, s: Step) -> None:
        (k,) = s.outputs
        o = self.kernel.outputs[k]
        assert o.update is not None
        when = o.update.when
        apart = self.vector is not None and self.kernel.free[when] >> self.vector & 1

        def change() -> None:
            self._change(o)

        def leaf() -> None:
            if apart:
                self._over_columns(s, lambda _: self._only(when, change))
            elif self.vector is not None:
                self._only(when, lambda: self._over_columns(s, lambda _: change()))
            else:
                self._only(when, change)

        self.descend(s, leaf)

    def _only(self, when: int, body: Callable[[], None]) -> None:
        with self.when(self.value(when)):
            body()

    def _change(self, o: Output) -> None:
        assert o.update is not None
        value, at = self.value(o.expr), self.affine(o.offset)[0]
        array, dtype = self.buffers[o.slot].name, compute(self.kernel.slots[o.slot][0])
        before = Load(array, at, dtype)
        self.emit(Store(array, at, changed(o.update.mode, before, value)))


def changed(mode: str, before: Ex, value: Ex) -> Ex:
    return value if mode == "set" else Op(mode, (before, value), before.dtype)


# ---- in one, by element --------------------------------------------------------------


def _pulls(kernel: Kernel, model: DeviceModel) -> bool:
    """Whether elements that find their own points could fill the device better."""
    return not (model.cpu_like or kernel.reductions or kernel.outputs[0].update)


def _pull_parts(kernel: Kernel, model: DeviceModel) -> Parts:
    """What points bring is read once; that they are others' is found in the cache."""
    fill, change = stages(kernel)
    assert fill is not None
    axes, update = kernel.outputs[0].axes, kernel.outputs[-1].update
    assert update is not None
    elements = numel(kernel.extents, axes)
    spread = occupancy(elements, model.units * model.group)
    read = sum(dtype.itemsize * n for dtype, n in change.slots[: change.reads])
    looks = elements * numel(kernel.extents, update.serial)
    first = _filling(fill, model).parts(fill, model)
    return Parts(
        first.bytes + model.moving(read) / spread,
        first.scalar + LOOK * looks / model.scalar / spread,
    )


class Pull(Nest):
    """Each element takes what is its own, in order."""

    def run_elements(self) -> None:
        fill, change = self.kernel.outputs
        array, dtype = self.buffers[fill.slot].name, self.kernel.slots[fill.slot][0]
        with self.loop("grid", numel(self.kernel.extents, fill.axes)) as g:
            self.unravel(fill.axes, g)
            total = self.variable(rounded(self.value(fill.expr), dtype))
            self._look(fill, change, 0, total)
            self.emit(Store(array, self.affine(fill.offset)[0], total))

    def _look(self, fill: Output, o: Output, i: int, total: Var) -> None:
        """Over the axes that have an order, from the `i`-th on."""
        assert o.update is not None
        serial = o.update.serial
        if i < len(serial):
            with self.loop("serial", self.kernel.extents[serial[i]]) as x:
                self.at(serial[i], x)
                self._look(fill, o, i + 1, total)
            return
        here = Op("eq", (self.affine(o.offset)[0], self.affine(fill.offset)[0]), BOOL)
        own = Op("and", (self.value(o.update.when), here), BOOL)
        last = [(a, self.scopes[-1].axes[a]) for a in serial[-1:]]
        with self.when(own):
            for a, x in last:  # bound anew: what is not an element's own is not read
                self.at(a, x)
            after = changed(o.update.mode, total, self.value(o.expr))
            dtype = self.kernel.slots[o.slot][0]
            self.emit(Assign(total, rounded(after, dtype)))


SCATTER = Scatter()
