"""Loops of running folds: lines by a thread each, in parts, or by groups of threads."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import partial

from ....egraph.ir.dtypes import BOOL, F32, F64, DType
from ....extract.schedule.kernel import Kernel
from ...axes import ceil_div, numel
from ...loops import (
    Assign,
    Ex,
    Lit,
    Load,
    LoopKind,
    Op,
    Param,
    Store,
    Var,
)  # fmt: skip
from .accumulate import Arrays
from .nest import Nest
from .plan import LoopOrder, Step
from .values import add, combine, divide, mul

type Runs = Mapping[int, Var]  # by scan, what it has come to

LANES = 16  # of the total of a part
BLOCK = 8  # elements folded by themselves first: of so many only one waits for the last


class Scanning(Nest):
    """A nest whose points come one after the other along the axes of its scans."""

    scratch: tuple[Param, ...] = ()

    def acc_type(self, r: int) -> DType:
        """Sums of f32 in f64, where that is as fast: a line may be long."""
        kind = super().acc_type(r)
        return F64 if self.wide and self.monoid(r) == "sum" and kind is F32 else kind

    def starts(self, r: int) -> tuple[Lit, ...]:
        (start,) = super().starts(r)
        return (Lit(start.value, self.acc_type(r)),)

    def reached(self, r: int, total: Ex) -> None:
        """From here on, in this scope, scan `r` has come to `total`."""
        self.define(r, self.result(r, total))

    def line(self, axis: int, first: Ex, count: int, runs: Runs) -> None:
        """So many elements along `axis`, one after the other."""
        whole = count // BLOCK * BLOCK
        with self.loop("serial", whole, step=BLOCK) as base:
            self._block(axis, add(first, base), BLOCK, runs)
        if whole < count:
            start = add(first, self.number(whole))
            self._block(axis, start, count - whole, runs)

    def _block(self, axis: int, first: Ex, count: int, runs: Runs) -> None:
        own = {r: self.accumulator(r) for r in runs}
        with self.loop("unroll", count) as x:
            self.at(axis, add(first, x))
            for r, run in runs.items():
                self.take(r, own[r])
                self.reached(r, combine(self.monoid(r), run, own[r][0]))
            self.store_all()
        for r, run in runs.items():
            self.emit(Assign(run, combine(self.monoid(r), run, own[r][0])))

    def store_all(self) -> None:
        outputs = self.kernel.outputs
        values = [self.value(o.expr) for o in outputs]
        for o, value in zip(outputs, values, strict=True):
            at = self.affine(o.offset)[0]
            self.emit(Store(self.buffers[o.slot].name, at, value))


class Lines(Scanning):
    """A line by one thread; with a vector axis, a tile of lines side by side."""

    def _stores(self, s: Step) -> None:
        scans = self.kernel.scans
        if self.vector is None:
            runs = {r: self.accumulator(r)[0] for r in scans}
            last, start = s.axes[-1], self.number(0)
            n = self.kernel.extents[last]
            self.descend(s, lambda: self.line(last, start, n, runs), 1)
            return
        lanes = {r: self.lane_array(r, self.columns) for r in scans}
        self.descend(s, lambda: self._over_columns(s, lambda i: self._at(lanes, i)))

    def _at(self, lanes: Mapping[int, Arrays], i: Ex) -> None:
        for r, acc in lanes.items():
            (after,) = self.taken(r, self.held(r, acc, i), self.terms(r))
            after = self.let(after, "a")
            self.emit(Store(acc[0], i, after))
            self.reached(r, after)
        self.store_all()


class InParts(Scanning):
    """Lines in parts: the totals of parts, then the parts again, from what comes before
    each on."""

    unit: LoopKind = "grid"  # of a part

    def __init__(
        self, kernel: Kernel, strict: bool, buffers: tuple[Param, ...], parts: int,
        whole: int = 1,
    ) -> None:  # fmt: skip
        """Parts are a multiple of `whole` elements, if not shorter."""
        super().__init__(kernel, strict, buffers)
        self.along: int = kernel.exprs[kernel.scans[0]].attr[1][0]
        self.extent = kernel.extents[self.along]
        part = ceil_div(self.extent, parts)  # elements
        self.part = ceil_div(part, whole) * whole if part > whole else part
        self.parts = ceil_div(self.extent, self.part)

    def run(self, todo: LoopOrder) -> None:
        lines = numel(self.kernel.extents, todo.outer)
        names = {r: f"before{i}" for i, r in enumerate(self.kernel.scans)}
        if self.parts > 1:
            count = lines * self.parts
            self.scratch = tuple(
                Param(name, self.acc_type(r), count, True) for r, name in names.items()
            )
            self._each(todo, lines, False, partial(self.totals, names))
            self.between(names, lines)
        self._each(todo, lines, True, partial(self.again, names))

    def _each(
        self, todo: LoopOrder, lines: int, back: bool, do: Callable[[Ex, Ex, Ex], None]
    ) -> None:
        """For each part of each line: where the line's parts begin, the part's number,
        and its first element.  Neighbours have the same part of lines side by side.
        `back`: the last parts first, which a cache still holds."""
        with self.loop(self.unit, lines * self.parts) as g:
            line, part = g, self.number(0)
            if self.parts > 1:
                line = self.let(divide(g, lines, True), "t")
                part = self.let(divide(g, lines, False), "t")
            if self.parts > 1 and back:
                last = self.number(self.parts - 1)
                part = self.let(Op("sub", (last, part), self.index), "t")
            self.unravel(todo.outer, line)
            base = self.let(mul(line, self.parts), "l")
            do(base, part, self.let(mul(part, self.part), "o"))

    def between(self, names: Mapping[int, str], lines: int) -> None:
        """What is done with the totals of all parts."""

    @abstractmethod
    def totals(
        self, names: Mapping[int, str], line: Ex, part: Ex, first: Ex
    ) -> None: ...

    @abstractmethod
    def again(
        self, names: Mapping[int, str], line: Ex, part: Ex, first: Ex
    ) -> None: ...


class Pieces(InParts):
    """A part by one thread."""

    def totals(self, names: Mapping[int, str], line: Ex, part: Ex, first: Ex) -> None:
        """In lanes, which do not wait for each other."""
        at = add(line, part)

        def walk(count: int) -> None:
            whole = count // LANES * LANES
            accs = {r: self.lane_array(r, LANES) for r in names}
            with self.loop("serial", whole, step=LANES) as base:
                self._lanes_at(accs, add(first, base), LANES)
            self._lanes_at(accs, add(first, self.number(whole)), count - whole)
            for r, name in names.items():
                self.emit(Store(name, at, self.fold_lanes(r, accs[r], LANES)[0]))

        self._sized(first, walk)

    def _lanes_at(self, accs: Mapping[int, Arrays], first: Ex, count: int) -> None:
        with self.loop("simd", count) as lane:
            self.at(self.along, add(first, lane))
            for r, acc in accs.items():
                self.accumulate(r, acc, lane, self.terms(r))

    def between(self, names: Mapping[int, str], lines: int) -> None:
        """The total of each part of a line becomes that of those before it."""
        with self.loop(self.unit, lines) as line:
            first = mul(line, self.parts)
            for r, name in names.items():
                (run,) = self.accumulator(r)
                with self.loop("serial", self.parts) as k:
                    at = add(first, k)
                    own = self.let(Load(name, at, self.acc_type(r)), "t")
                    self.emit(Store(name, at, run))
                    self.emit(Assign(run, combine(self.monoid(r), run, own)))

    def again(self, names: Mapping[int, str], line: Ex, part: Ex, first: Ex) -> None:
        at = add(line, part)
        runs: dict[int, Var] = {}
        for r, name in names.items():
            start: Ex = self.starts(r)[0]
            if self.parts > 1:
                start = Load(name, at, self.acc_type(r))
            runs[r] = self.variable(start)
        self._sized(first, lambda n: self.line(self.along, first, n, runs))

    def _sized(self, first: Ex, do: Callable[[int], None]) -> None:
        """With the elements of a part; the last one of a line may have fewer."""
        rest = self.extent % self.part
        if not rest:
            do(self.part)
            return
        last = Op("eq", (first, self.number(self.extent - rest)), BOOL)
        with self.when(last):
            do(rest)
        with self.when(Op("not", (last,), BOOL)):
            do(self.part)
