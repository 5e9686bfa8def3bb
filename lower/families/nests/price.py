"""The price of a plan: how often each expression is really evaluated, what each pass
reads, and from where."""

from __future__ import annotations

from collections.abc import Container, Sequence
from math import gcd

from ....egraph.ir.dtypes import DType
from ....egraph.ir.scalars import CHOICES
from ....extract.schedule.affine import atoms
from ....extract.schedule.kernel import Affine, Expr, Kernel, Output, Val
from ...axes import ceil_div, coefficient, numel
from ...costs import bytes_moved
from ...model import DeviceModel, Parts, overlapped
from .plan import LoopOrder, Step, each, facts, lie_along, needed

LINE = 64  # bytes that one scattered access moves
PAGE = 4096  # bytes after which lines meet the same set of a first cache again
CLOSE = 8  # times a CPU's first cache fits into what a unit keeps close
ONE_CORE = 0.4  # of the memory bandwidth, that one core of a CPU can use
PACK = 4.0  # flops worth of packing an element of a side of products
TURN = 6.0  # and more of them where it is transposed
RAGGED = 24.0  # or its place follows from quotients along both of its directions
QUOTIENT = 150.0  # or is read or stored by itself, at a place that a quotient gives
END = 8  # flops worth of each lane of a sum, which become one in the end
CHOICE = 6  # flops worth of comparing a term, with its place, to the best so far
BOUND = 3  # and of keeping the larger of two floats, or one that is no number
RESIDENT = 2048  # threads that a unit of a GPU keeps
LOAD = 0.5  # flops worth of a load
GATHER = 6  # flops worth of an access that is not contiguous
# Flops worth of a quotient and its remainder, by which a unit finds its place: each
# waits for the one before; the first one is done beside the unit before.
PLACE = 64


def price(
    kernel: Kernel, todo: LoopOrder, model: DeviceModel, grid: int, dealt: bool = False,
    tiled: bool = False,
) -> Parts:  # fmt: skip
    """Seconds of `todo` run as `grid` units; `dealt`: by groups of threads; `tiled`:
    in squares, so that no part of a cache line is read twice."""
    p = _Price(kernel, todo, model, dealt, tiled)
    for s in todo.steps:
        p.step(s, todo.outer)
    if model.cpu_like:
        p.scalar += grid * PLACE * max(len(todo.outer) - 2, 0) / model.scalar
    units = model.units if model.cpu_like or dealt else model.units * model.group
    spread = occupancy(grid, units)
    streams = max(spread, ONE_CORE) if model.cpu_like else spread
    return Parts(p.traffic() / streams, p.scalar / spread, 0.0)


def least_time(
    kernel: Kernel, model: DeviceModel, but: Container[str] = (), other: float = 0.0
) -> float:
    """Seconds that any walk over the kernel's loops takes: each value is made at least
    once for every point of the loops along which it differs, and what is read or
    stored goes through memory once.  Work `but` that of these ops takes `other`."""
    extents, f, flops = kernel.extents, facts(kernel), 0.0
    for e in each(needed(f)):
        x = kernel.exprs[e]
        if x.op in but:
            continue
        points = numel(extents, kernel.axes_of(kernel.free[e]))
        if x.op == "reduce":
            flops += taking(kernel, e) * points * numel(extents, x.attr[1])
        elif x.op == "load":
            flops += LOAD * _lanes(x.dtype) * points
        else:
            flops += f.heavy[e] * _lanes(x.dtype) * points
    moved = 0 if kernel.updates else bytes_moved(kernel)
    return overlapped(Parts(model.moving(moved), flops / model.scalar + other))


def taking(kernel: Kernel, r: int) -> int:
    """Flops of taking a term into a reduction."""
    x = kernel.exprs[r]
    bound = BOUND if x.attr[0] in ("max", "min") and x.dtype.is_float else 1
    return (CHOICE if x.attr[0] in CHOICES else bound) * _lanes(x.dtype)


def _lanes(dtype: DType) -> int:
    """That an element takes."""
    return 2 if dtype.bits > 32 else 1


def occupancy(grid: int, units: int) -> float:
    """The part of the device that `grid` equal pieces of work keep busy."""
    if grid <= 0:
        return 1.0
    return grid / (ceil_div(grid, units) * units)


class _Price:
    def __init__(
        self,
        kernel: Kernel,
        todo: LoopOrder,
        model: DeviceModel,
        dealt: bool,
        tiled: bool,
    ) -> None:
        self.kernel, self.todo, self.model = kernel, todo, model
        self.dealt, self.tiled = dealt, tiled
        self.f = facts(kernel)
        self.scalar = 0.0
        self.far = 0.0  # bytes stored, and read from memory again
        self.near = 0.0  # bytes from the last cache
        self.once: dict[int, float] = {}  # by slot: elements read
        self.seen: set[int] = set()
        self.waste: dict[int, float] = {}  # by slot: bytes moved per byte used

    def step(self, s: Step, around: tuple[int, ...]) -> None:
        loops, vector = around + s.axes, self.todo.vector
        rows = self._in_rows(s)
        for i, inner in enumerate(s.inner):
            for t in inner:
                self.step(t, around + s.axes[: i + 1])
        if vector is not None:
            loops = (*around, vector, *s.axes) if rows else (*loops, vector)
        extents = self.kernel.extents
        counts = [1]
        for a in loops:
            counts.append(counts[-1] * max(extents[a], 1))
        memo: dict[int, int] = {}
        taken = sum(taking(self.kernel, r) for r in s.roots) * counts[-1]
        flops = float(taken) + self._ends(s, counts[-1], rows)
        for e in each(s.work & (self.f.busy | self.f.loads)):
            free = self.kernel.free[e]
            times = memo.get(free)
            if times is None:
                times = memo[free] = counts[_depth(free, loops)]
            x = self.kernel.exprs[e]
            if x.op == "load":
                flops += self._load(e, x, times, loops) * times
            else:
                flops += self.f.heavy[e] * times * _lanes(x.dtype)
        self.scalar += flops * self._slow(s, loops, rows) / self.model.scalar
        for k in s.outputs:
            self._store(self.kernel.outputs[k], loops)

    def _in_rows(self, s: Step) -> bool:
        """Whether lanes are along what is summed, though places are the innermost loop
        of other steps."""
        lanes = self.model.vector_bytes // 4
        rows = self.model.cpu_like and lie_along(self.kernel, s, self.todo.vector)
        return rows and self.kernel.extents[s.axes[-1]] >= lanes

    def _ends(self, s: Step, points: int, rows: bool) -> float:
        """Flops of adding up the lanes that sums along contiguous axes are made in."""
        model = self.model
        columns = self.todo.vector is not None and not rows
        if not model.cpu_like or columns or not s.axes:
            return 0.0
        n, lanes = self.kernel.extents[s.axes[-1]], model.vector_bytes // 4
        all_ = sum(taking(self.kernel, r) for r in s.roots)
        return END * lanes * all_ * points / n if n >= lanes > 0 else 0.0

    def _store(self, o: Output, loops: tuple[int, ...]) -> None:
        dtype, count = self.kernel.slots[o.slot]
        size = dtype.itemsize
        step = abs(coefficient(o.offset, self._neighbour(loops))) if loops else 0
        if o.update is not None:
            self._change(o, step, size, count)
            return
        waste = self._waste(step, [a for a in loops if a in o.axes], size)
        stored = numel(self.kernel.extents, o.axes)
        self.far += stored * size * waste / self.model.share(size)
        if step > 1 and self.model.cpu_like and not self.tiled:
            self.scalar += GATHER * stored / self.model.scalar

    def _change(self, o: Output, step: int, size: int, count: int) -> None:
        """Read and stored; where neighbours do not lie side by side, a line each, if
        the buffer is too large to stay close."""
        points = numel(self.kernel.extents, o.axes)
        near = step == 1 or count * size <= self.model.on_chip
        waste = 1.0 if near else LINE / size
        self.far += 2 * min(points * waste, count) * size
        if step != 1:
            self.scalar += GATHER * points / self.model.scalar

    def _slow(self, s: Step, loops: tuple[int, ...], rows: bool) -> float:
        """1, or the factor by which a short innermost loop loses."""
        model = self.model
        if self.tiled:
            return 1.0
        if not model.cpu_like:
            n = numel(self.kernel.extents, s.axes[-1:]) if self.dealt else model.group
            return model.group / min(max(n, 1), model.group)
        lanes = max(model.vector_bytes // 4, 1)
        if self.todo.vector is not None and not rows:
            n = self.kernel.extents[self.todo.vector]
            # By vectors of half as many lanes, and again.
            whole = n.bit_count() * lanes / max(n, 1)
            return 1.0 if n >= lanes else min(whole, model.narrow)
        n = self.kernel.extents[loops[-1]] if loops and s.axes else 1
        return 1.0 if n >= lanes else model.narrow

    def _load(self, e: int, x: Expr, times: int, loops: tuple[int, ...]) -> float:
        """Books the traffic of a load; its own cost in flops."""
        slot: int = x.attr[0]
        _, offset, guard = x.attr
        dtype, count = self.kernel.slots[slot]
        extents, free = self.kernel.extents, self.kernel.free[e]
        mine = [a for a in loops if free >> a & 1]
        touched = min(numel(extents, tuple(mine)), max(count, 1))
        step = abs(coefficient(offset, self._neighbour(loops))) if loops else 0
        waste = self._waste(step, mine, dtype.itemsize)
        anywhere = bool(loops) and self._looked_up(offset, self._neighbour(loops))
        if anywhere and count * dtype.itemsize > self.model.on_chip:
            waste = max(waste, LINE / dtype.itemsize)
        if e in self.seen:
            again = times
            inside = tuple(a for a in mine if a not in self.todo.outer)
        else:
            self.seen.add(e)
            self.once[slot] = self.once.get(slot, 0) + touched
            self.waste[slot] = max(waste, self.waste.get(slot, 1.0))
            again = times - touched
            inside = _within(mine, loops)
        if again > 0:
            waste /= self.model.share(dtype.itemsize)
            self._again(again * dtype.itemsize, inside, dtype.itemsize, waste)
        own = LOAD * _lanes(dtype) + 2 * len(guard) + self._widening(dtype)
        return own + GATHER * (anywhere or (step > 1 and not self.tiled))

    def _looked_up(self, offset: Affine, neighbour: int) -> bool:
        """Whether neighbours lie wherever a value says that differs between them."""
        free = self.kernel.free
        vals = (a.expr for a in atoms(offset) if isinstance(a, Val))
        return any(free[e] >> neighbour & 1 for e in vals)

    def _widening(self, dtype: DType) -> int:
        """Flops of making elements as wide as the floats beside them: on a CPU a step
        for each doubling; threads of a GPU do it as they load."""
        return max(32 // dtype.bits, 1).bit_length() - 1 if self.model.cpu_like else 0

    def _again(
        self, moved: int, inside: tuple[int, ...], size: int, waste: float
    ) -> None:
        """Books bytes that were read before, from where they still lie."""
        between = numel(self.kernel.extents, inside) * size * waste
        if between > self.model.cache:
            self.far += moved * waste
        elif between > self.model.on_chip:
            self.near += moved * waste

    def _neighbour(self, loops: Sequence[int]) -> int:
        """The axis along which neighbouring lanes or threads lie."""
        gpu_point = not self.model.cpu_like and not self.dealt
        return self.todo.outer[-1] if gpu_point and self.todo.outer else loops[-1]

    def _waste(self, step: int, mine: list[int], size: int) -> float:
        """Bytes moved per byte used, where neighbours lie in different lines and the
        lines have left the first cache before their next use."""
        if self.tiled:
            return 1.0
        if step <= 1 or (self.model.cpu_like and self._kept(step * size, mine[-1:])):
            return 1.0
        return float(max(min(LINE // size, step), 1))

    def _kept(self, stride: int, along: list[int]) -> bool:
        """Whether a first cache keeps a line of each point, so many bytes apart: they
        meet in few of its sets where the stride shares a large power of two with a
        page.  It keeps no line of them where they fill it: others are read as well."""
        lines = numel(self.kernel.extents, tuple(along))
        if along == [self.todo.vector]:
            lines = self.todo.tile
        sets = min(PAGE // gcd(stride, PAGE), PAGE // LINE)
        return lines * LINE * CLOSE < self.model.on_chip * sets * LINE // PAGE

    def traffic(self) -> float:
        """Seconds of memory and cache traffic."""
        total = self.far
        for slot, elements in self.once.items():
            dtype, count = self.kernel.slots[slot]
            read = min(elements, count) * dtype.itemsize
            share = self.model.share(dtype.itemsize)
            total += read * self.waste.get(slot, 1.0) / share
        near = self.near / self.model.cache_bandwidth
        return self.model.moving(total) + near


def _depth(free: int, loops: tuple[int, ...]) -> int:
    """How many of the loops surround a value that varies along `free`."""
    for i in range(len(loops), 0, -1):
        if free >> loops[i - 1] & 1:
            return i
    return 0


def _within(mine: Sequence[int], loops: Sequence[int]) -> tuple[int, ...]:
    """Of the axes of a load, those inside the outermost loop that repeats it."""
    for i, a in enumerate(loops):
        if a not in mine:
            return tuple(b for b in loops[i + 1 :] if b in mine)
    return ()
