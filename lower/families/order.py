"""The order family: lines in order, all of their elements or the first ones.

What is sorted is first stored, unless it lies in a buffer already.  A library of sorts,
where the device has one, sorts lines: many by a thread each, few long ones by all
threads.  Elsewhere a network of comparisons does (Batcher, 1968): a launch for each of
its stages, whose pairs are independent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from ...egraph.ir.dtypes import I32, U8, compute
from ...extract.schedule.kernel import Affine, Kernel, Order, Output
from ..axes import coefficient, normalise, numel
from ..choice import Domains, Holes
from ..device import Caps
from ..loops import Function, LoopKind, Param, Row, Sort, Stmt
from ..model import AsTheyAre, DeviceModel, Parts, model_of, summed
from ..orders import few, room
from .common import InParts
from .nests.network import Network, stages_of
from .nests.staged import prune
from .nests.writer import Writer, parameters
from .rows import COLUMN, MAP, ROW, Walk

LOCAL = 1 << 20  # bytes in which a thread sorts a line
WIDE = 1 << 16  # elements of a line from which on all threads sort it, if lines are few
PARTS = 4  # of a line for each thread

# Seconds on a core of a CPU, by order of magnitude and not fitted: of a line; of each
# element that is sorted, for each byte of what is moved; of one that is left out.
LINE, MOVED, LEFT_OUT = 6e-8, 1.6e-9, 5e-10


class Stages(NamedTuple):
    """What stores the elements, if they do not lie somewhere, and what sorts them."""

    fill: Kernel | None
    sort: Kernel  # its expression is a load
    scratch: int  # elements that are stored


@dataclass(frozen=True, slots=True)
class InOrder(InParts, AsTheyAre):
    """A line is read again while it is stored."""

    name: str = "order"

    def accepts(self, kernel: Kernel) -> str | None:
        return None if kernel.orders else "it sorts nothing"

    def domains(self, kernel: Kernel, model: DeviceModel) -> Domains:
        return {}

    def parts(self, kernel: Kernel, model: DeviceModel, holes: Holes = ()) -> Parts:
        made = stages(kernel)
        sort = _by_lines if model.sorts else _by_network
        parts = [sort(made.sort, model)]
        if made.fill is not None:
            parts.append(_filling(made.fill, model).parts(made.fill, model))
        return summed(parts)

    def launches(self, kernel: Kernel, model: DeviceModel) -> int:
        made = stages(kernel)
        sorting = 1 if model.sorts else _steps(made.sort)
        return sorting + (made.fill is not None)

    def lower(
        self, kernel: Kernel, caps: Caps, name: str, strict: bool, holes: Holes = ()
    ) -> Function:
        made, model = stages(kernel), model_of(caps)
        own = parameters(kernel)
        dtype = kernel.exprs[kernel.outputs[0].expr].dtype
        scratch: tuple[Param, ...] = ()
        body: tuple[Stmt, ...] = ()
        threads = 1
        if made.fill is not None:
            scratch = (Param("s0", dtype, made.scratch, True),)
            buffers = (*own, *scratch)
            filled = _filling(made.fill, model).write(made.fill, caps, buffers, strict)
            body, threads = filled.body, filled.threads
        buffers = (*own, *scratch)
        if model.sorts:
            lines = Lines(made.sort, strict, buffers)
            lines.run(model)
            return Function(name, own, (*body, *lines.scopes[0].body),
                            (*scratch, *lines.scratch), threads)  # fmt: skip
        network = Network(made.sort, strict, buffers)
        network.run()
        return Function(name, own, (*body, *network.scopes[0].body),
                        (*scratch, *network.scratch), threads)  # fmt: skip


def _order(kernel: Kernel) -> Order:
    (o,) = kernel.outputs
    assert o.order is not None
    return o.order


# ---- in two stages -------------------------------------------------------------------


@lru_cache(maxsize=1024)
def stages(kernel: Kernel) -> Stages:
    """The first stores lines one after another, to a slot behind all others."""
    (o,) = kernel.outputs
    order, e = _order(kernel), kernel.exprs[o.expr]
    if e.op == "load" and not e.attr[2] and _even(kernel, e.attr[1], order):
        return Stages(None, prune(kernel), 0)
    rest = tuple(a for a in o.axes if a not in order.axes)
    size, terms = 1, list[tuple[int, int]]()
    for a in reversed((*rest, *order.axes)):
        terms.append((a, size))
        size *= kernel.extents[a]
    place, slot = Affine(tuple(sorted(terms))), len(kernel.slots)
    slots = (*kernel.slots, (e.dtype, size))
    fill = replace(
        kernel, outputs=(Output(slot, o.expr, o.axes, place),), slots=slots
    )  # fmt: skip
    load = e._replace(op="load", args=(), attr=(slot, place, ()))
    free = sum(1 << a for a in o.axes)
    sort = replace(
        kernel, exprs=(load,), free=(free,), outputs=(o._replace(expr=0),), slots=slots
    )
    return Stages(normalise(prune(fill)), sort, size)


def _even(kernel: Kernel, offset: Affine, order: Order) -> bool:
    """Whether a line's elements lie evenly, forwards, by its loops alone."""
    step = coefficient(offset, order.axes[-1])
    size = step
    for a in reversed(order.axes):
        if coefficient(offset, a) != size:
            return False
        size *= kernel.extents[a]
    return step > 0 and all(isinstance(a, int) for a, _ in offset.terms)


def _filling(fill: Kernel, model: DeviceModel) -> Walk:
    options = [f for f in (MAP, ROW, COLUMN) if f.accepts(fill) is None]
    return min(options, key=lambda f: max(f.parts(fill, model)))


# ---- by the host's library -----------------------------------------------------------


class Shape(NamedTuple):
    """Lines, elements of each, and in how many parts a line is sorted; 0: by one
    thread."""

    lines: int
    n: int
    parts: int


def _shape(kernel: Kernel, model: DeviceModel) -> Shape:
    (o,), order = kernel.outputs, _order(kernel)
    n = numel(kernel.extents, order.axes)
    lines = numel(kernel.extents, o.axes) // n
    dtype = kernel.exprs[o.expr].dtype
    alone = room(dtype, n, order.kept, order.places, 0) <= LOCAL
    shared = not alone or (n >= WIDE and lines < 2 * model.units)
    return Shape(lines, n, PARTS * model.units if shared else 0)


def _by_lines(kernel: Kernel, model: DeviceModel) -> Parts:
    (o,), order = kernel.outputs, _order(kernel)
    lines, n, parts = _shape(kernel, model)
    dtype = kernel.exprs[o.expr].dtype
    size = (8 if dtype.bits == 64 else 4) * (2 if order.places else 1)
    if few(n, order.kept):
        kept = min(order.kept * max(n // order.kept, 1).bit_length(), n)
        each = LINE + n * LEFT_OUT + kept * 2 * size * MOVED
    else:
        each = LINE + n * size * MOVED
    spread = model.units if parts else min(lines, model.units)
    read = n * lines * dtype.itemsize
    stored = order.kept * lines * kernel.slots[o.slot][0].itemsize
    return Parts(model.moving(read + stored), each * lines / spread)


class Lines(Writer):
    """A call of the library for each line."""

    scratch: tuple[Param, ...] = ()

    def run(self, model: DeviceModel) -> None:
        (o,), order = self.kernel.outputs, _order(self.kernel)
        shape = _shape(self.kernel, model)
        dtype = self.kernel.exprs[o.expr].dtype
        size = room(dtype, shape.n, order.kept, order.places, shape.parts)
        rest = tuple(a for a in o.axes if a not in order.axes)
        kind: LoopKind = "serial" if shape.parts else self._kind(model)
        if shape.parts:
            self.scratch = (Param("w0", U8, size, True),)
        with self.loop(kind, shape.lines) as line:
            self.unravel(rest, line)
            for a in order.axes:
                self.at(a, self.number(0))
            held = "w0" if shape.parts else self.array("work", U8, size)
            self._call(o, order, shape, held)

    def _kind(self, model: DeviceModel) -> LoopKind:
        return model.outermost(_by_lines(self.kernel, model))

    def _call(self, o: Output, order: Order, shape: Shape, held: str) -> None:
        slot, offset, _ = self.kernel.exprs[o.expr].attr
        last = order.axes[-1]
        out, source = (
            Row(self.buffers[s].name, self.affine(v)[0], coefficient(v, last))
            for s, v in ((o.slot, o.offset), (slot, offset))
        )
        self.emit(
            Sort(shape.n, order.kept, order.descending, order.places, out, source,
                 held, shape.parts)
        )  # fmt: skip


# ---- by a network --------------------------------------------------------------------


def _steps(kernel: Kernel) -> int:
    """Launches of the network: its stages, what goes before and what follows."""
    return stages_of(numel(kernel.extents, _order(kernel).axes)) + 2


def _by_network(kernel: Kernel, model: DeviceModel) -> Parts:
    """Every stage reads and stores each element and its place."""
    (o,) = kernel.outputs
    size = compute(kernel.exprs[o.expr].dtype).itemsize + I32.itemsize
    moved = 2 * numel(kernel.extents, o.axes) * size
    return Parts(_steps(kernel) * model.moving(moved), 0.0)


ORDER = InOrder()
