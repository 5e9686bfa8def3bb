"""Loops of running folds: lines by a thread each, in parts, or by groups of threads."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import contextmanager

from ....egraph.ir.dtypes import BOOL, F32, F64, DType
from ....extract.schedule.kernel import Kernel
from ...axes import ceil_div, numel
from ...loops import (
    Assign,
    Barrier,
    Ex,
    GroupReduce,
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
from .values import add, combine, mul

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
    """Lines in parts: the totals of parts, what comes before each, the parts again."""

    unit: LoopKind = "grid"  # of a part

    def __init__(
        self, kernel: Kernel, strict: bool, buffers: tuple[Param, ...], parts: int
    ) -> None:
        super().__init__(kernel, strict, buffers)
        self.along: int = kernel.exprs[kernel.scans[0]].attr[1][0]
        self.extent = kernel.extents[self.along]
        self.part = ceil_div(self.extent, parts)  # elements
        self.parts = ceil_div(self.extent, self.part)

    def run(self, todo: LoopOrder) -> None:
        lines = numel(self.kernel.extents, todo.outer)
        names = {r: f"before{i}" for i, r in enumerate(self.kernel.scans)}
        if self.parts > 1:
            count = lines * self.parts
            self.scratch = tuple(
                Param(name, self.acc_type(r), count, True) for r, name in names.items()
            )
            self._each(todo, lines, lambda at, first: self.totals(names, at, first))
            with self.loop("grid", lines) as line:
                for r, name in names.items():
                    self._before(r, name, mul(line, self.parts))
        self._each(todo, lines, lambda at, first: self.again(names, at, first))

    def _before(self, r: int, name: str, line: Ex) -> None:
        """The total of each part of a line becomes that of those before it."""
        (run,) = self.accumulator(r)
        with self.loop("serial", self.parts) as k:
            at = add(line, k)
            own = self.let(Load(name, at, self.acc_type(r)), "t")
            self.emit(Store(name, at, run))
            self.emit(Assign(run, combine(self.monoid(r), run, own)))

    def _each(self, todo: LoopOrder, lines: int, do: Callable[[Ex, Ex], None]) -> None:
        """For each part of each line: its number, and its first element."""
        with self.loop(self.unit, lines * self.parts) as g:
            count, line, part = self.number(self.parts), g, self.number(0)
            if self.parts > 1:
                part = self.let(Op("imod", (g, count), self.index), "t")
                line = Op("idiv", (g, count), self.index)
            self.unravel(todo.outer, line)
            do(g, self.let(mul(part, self.part), "o"))

    def start(self, r: int, name: str, at: Ex) -> Var:
        """What comes before a part."""
        kind = self.acc_type(r)
        value = Load(name, at, kind) if self.parts > 1 else self.starts(r)[0]
        return self.variable(value)

    @abstractmethod
    def totals(self, names: Mapping[int, str], at: Ex, first: Ex) -> None: ...

    @abstractmethod
    def again(self, names: Mapping[int, str], at: Ex, first: Ex) -> None: ...


class Pieces(InParts):
    """A part by one thread."""

    def totals(self, names: Mapping[int, str], at: Ex, first: Ex) -> None:
        """In lanes, which do not wait for each other."""

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

    def again(self, names: Mapping[int, str], at: Ex, first: Ex) -> None:
        runs = {r: self.start(r, name, at) for r, name in names.items()}
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


class Groups(InParts):
    """A part by a group of threads, a stretch at a time, in which each thread has
    `each` elements; what lies before them is found in log2(threads) steps (Hillis and
    Steele, 1986)."""

    unit: LoopKind = "block"

    def __init__(
        self, kernel: Kernel, strict: bool, buffers: tuple[Param, ...], parts: int,
        threads: int, each: int,
    ) -> None:  # fmt: skip
        super().__init__(kernel, strict, buffers, parts)
        self.threads, self.each = threads, each
        self.stretch = threads * each

    def totals(self, names: Mapping[int, str], at: Ex, first: Ex) -> None:
        accs = {r: self.accumulator(r) for r in names}
        with self.loop("thread", self.part) as x, self._inside(first, x):
            for r, acc in accs.items():
                self.take(r, acc)
        for r, acc in accs.items():
            self.emit(GroupReduce(acc[0], self.monoid(r)))
        with self.loop("thread", 1):
            for r, name in names.items():
                self.emit(Store(name, at, accs[r][0]))

    def again(self, names: Mapping[int, str], at: Ex, first: Ex) -> None:
        runs = {r: self.start(r, name, at) for r, name in names.items()}
        kinds = {r: self.acc_type(r) for r in names}
        ends = {
            r: [self.array("end", kind, self.threads, "shared") for _ in range(2)]
            for r, kind in kinds.items()
        }
        own = {r: self.array("own", kind, self.each) for r, kind in kinds.items()}
        with self.loop("serial", self.part, step=self.stretch) as base:
            origin = self.let(add(first, base), "o")
            self._own(ends, own, origin, base)
            here = {r: self._ended(r, pair) for r, pair in ends.items()}
            self._spread(here, own, runs, origin, base)
            for r, run in runs.items():
                whole = Load(here[r], self.number(self.threads - 1), kinds[r])
                self.emit(Assign(run, combine(self.monoid(r), run, whole)))
            self.emit(Barrier())

    def _own(
        self, ends: Mapping[int, list[str]], own: Mapping[int, str], origin: Ex,
        base: Ex,
    ) -> None:  # fmt: skip
        """What each thread's elements come to, one after another."""
        with self.loop("thread", self.threads) as t:
            accs = {r: self.accumulator(r) for r in own}
            with self.loop("serial", self.each) as e:
                place = add(mul(t, self.each), e)
                with self._inside(origin, place, base):
                    for r, acc in accs.items():
                        self.take(r, acc)
                for r, (acc,) in accs.items():
                    self.emit(Store(own[r], e, acc))
            for r, (acc,) in accs.items():
                self.emit(Store(ends[r][0], t, acc))
        self.emit(Barrier())

    def _ended(self, r: int, pair: list[str]) -> str:
        """The array in which thread t has the total of all up to it."""
        kind, (here, there) = self.acc_type(r), pair
        step = 1
        while step < self.threads:
            with self.loop("thread", self.threads) as t:
                far = Op("sub", (t, self.number(step)), self.index)
                reaches = Op("le", (self.number(step), t), BOOL)
                total = self.variable(Load(here, t, kind))
                with self.when(reaches):
                    more = combine(self.monoid(r), Load(here, far, kind), total)
                    self.emit(Assign(total, more))
                self.emit(Store(there, t, total))
            self.emit(Barrier())
            here, there, step = there, here, 2 * step
        return here

    def _spread(
        self, here: Mapping[int, str], own: Mapping[int, str],
        runs: Mapping[int, Var], origin: Ex, base: Ex,
    ) -> None:  # fmt: skip
        """Each thread's elements from what lies before them on."""
        with self.loop("thread", self.threads) as t:
            before = {r: self.variable(run) for r, run in runs.items()}
            with self.when(Op("lt", (self.number(0), t), BOOL)):
                one = Op("sub", (t, self.number(1)), self.index)
                for r, total in before.items():
                    left = Load(here[r], one, self.acc_type(r))
                    more = combine(self.monoid(r), total, left)
                    self.emit(Assign(total, more))
            with self.loop("serial", self.each) as e:
                place = add(mul(t, self.each), e)
                with self._inside(origin, place, base):
                    for r, total in before.items():
                        local = Load(own[r], e, self.acc_type(r))
                        self.reached(r, combine(self.monoid(r), total, local))
                    self.store_all()

    @contextmanager
    def _inside(self, origin: Ex, place: Ex, base: Ex | None = None):
        """At an element of the part, if there is one."""
        at = self.let(add(origin, place), "x")
        tests: list[Ex] = []
        if self.extent % self.part or self._ragged(base):
            tests.append(Op("lt", (at, self.number(self.extent)), BOOL))
        if self._ragged(base) and self.parts > 1:
            end = self.number(self.part)
            tests.append(Op("lt", (add(base or self.number(0), place), end), BOOL))
        ok = tests[0] if tests else None
        if len(tests) > 1:
            ok = Op("and", (tests[0], tests[1]), BOOL)
        if ok is None:
            self.at(self.along, at)
            yield
            return
        with self.when(ok):
            self.at(self.along, at)
            yield

    def _ragged(self, base: Ex | None) -> bool:
        """Whether the last stretch of a part is not full."""
        return base is not None and bool(self.part % self.stretch)
