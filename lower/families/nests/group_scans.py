"""Loops of running folds by groups of threads, a stretch of a line at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ....egraph.ir.dtypes import BOOL
from ....extract.schedule.kernel import Kernel
from ...loops import (
    Assign,
    Barrier,
    Ex,
    GroupReduce,
    Load,
    LoopKind,
    Op,
    Param,
    Store,
    Var,
)  # fmt: skip
from .scans import InParts, Runs
from .values import add, combine, divide, mul


class Groups(InParts):
    """A part by a group of threads, a stretch at a time, in which each thread has
    `each` elements; what lies before them is found in log2(threads) steps (Hillis and
    Steele, 1986)."""

    unit: LoopKind = "block"

    def __init__(
        self, kernel: Kernel, strict: bool, buffers: tuple[Param, ...], parts: int,
        threads: int, each: int,
    ) -> None:  # fmt: skip
        super().__init__(kernel, strict, buffers, parts, threads * each)
        self.threads, self.each = threads, each
        self.stretch = threads * each

    def totals(self, names: Mapping[int, str], line: Ex, part: Ex, first: Ex) -> None:
        accs = {r: self.accumulator(r) for r in names}

        def take(at: Ex, _: Ex) -> None:
            self.at(self.along, at)
            for r, acc in accs.items():
                self.take(r, acc)

        end = self._end(first)
        with self.loop("serial", self.part, step=self.stretch) as base:
            origin = self.let(add(first, base), "o")
            with self.loop("thread", self.threads) as t:
                self._own(origin, end, lambda e: add(mul(e, self.threads), t), take)
        for r, acc in accs.items():
            self.emit(GroupReduce(acc[0], self.monoid(r)))
        with self.loop("thread", 1):
            for r, name in names.items():
                self.emit(Store(name, add(line, part), accs[r][0]))

    def again(self, names: Mapping[int, str], line: Ex, part: Ex, first: Ex) -> None:
        runs = self._before(names, line, part)
        ends = {r: [self._shared(r), self._shared(r)] for r in names}
        size = self.stretch + self.threads
        held = {r: self.array("held", self.acc_type(r), size, "shared") for r in names}
        end = self._end(first)
        with self.loop("serial", self.part, step=self.stretch) as base:
            origin = self.let(add(first, base), "o")
            self._terms(held, origin, end)
            self._folded(ends, held)
            here = {r: self._ended(r, pair) for r, pair in ends.items()}
            self._spread(here, held, runs, origin, end)
            for r, run in runs.items():
                last = self.number(self.threads - 1)
                whole = Load(here[r], last, self.acc_type(r))
                self.emit(Assign(run, combine(self.monoid(r), run, whole)))
            self.emit(Barrier())  # all have read of this stretch

    def _before(self, names: Mapping[int, str], line: Ex, part: Ex) -> dict[int, Var]:
        """What the parts before come to: every group folds their totals for itself, so
        that nobody waits for a launch that does nothing else."""
        runs = {r: self.accumulator(r)[0] for r in names}
        if self.parts == 1:
            return runs
        with self.loop("thread", self.parts) as k, self.when(less(k, part)):
            for r, name in names.items():
                total = Load(name, add(line, k), self.acc_type(r))
                value = combine(self.monoid(r), runs[r], total)
                self.emit(Assign(runs[r], value))
        for r, run in runs.items():
            self.emit(GroupReduce(run, self.monoid(r)))
        return runs

    def _shared(self, r: int) -> str:
        return self.array("end", self.acc_type(r), self.threads, "shared")

    def _banked(self, x: Ex) -> Ex:
        """Of an element of a stretch, in shared memory: one is left out after each
        thread's, so that elements of neighbours lie in different banks."""
        return add(x, divide(x, self.each, False))

    def _terms(self, held: Mapping[int, str], origin: Ex, end: Ex) -> None:
        """Of a stretch, as memory has them side by side."""
        with self.loop("thread", self.threads) as t:

            def keep(at: Ex, e: Ex) -> None:
                self.at(self.along, at)
                place = self.let(self._banked(add(mul(e, self.threads), t)), "p")
                for r, array in held.items():
                    acc = self.accumulator(r)
                    self.take(r, acc)
                    self.emit(Store(array, place, acc[0]))

            self._own(origin, end, lambda e: add(mul(e, self.threads), t), keep)
        self.emit(Barrier())

    def _folded(self, ends: Mapping[int, list[str]], held: Mapping[int, str]) -> None:
        """What each thread's elements come to, one after another; those beyond the end
        are after all others."""
        with self.loop("thread", self.threads) as t:
            for r, array in held.items():
                (acc,) = self.accumulator(r)
                with self.loop("unroll", self.each) as e:
                    place = add(mul(t, self.each + 1), e)
                    term = Load(array, place, self.acc_type(r))
                    self.emit(Assign(acc, combine(self.monoid(r), acc, term)))
                    self.emit(Store(array, place, acc))
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
        self, here: Mapping[int, str], held: Mapping[int, str], runs: Runs, origin: Ex,
        end: Ex,
    ) -> None:  # fmt: skip
        """Each element from what lies before its thread's on."""
        with self.loop("thread", self.threads) as t:

            def put(at: Ex, e: Ex) -> None:
                self.at(self.along, at)
                x = self.let(add(mul(e, self.threads), t), "x")
                owner = self.let(divide(x, self.each, False), "t")
                for r, run in runs.items():
                    kind, monoid = self.acc_type(r), self.monoid(r)
                    before = self.variable(run)
                    with self.when(less(self.number(0), owner)):
                        one = Op("sub", (owner, self.number(1)), self.index)
                        left = Load(here[r], one, kind)
                        self.emit(Assign(before, combine(monoid, before, left)))
                    local = Load(held[r], self._banked(x), kind)
                    self.reached(r, combine(monoid, before, local))
                self.store_all()

            self._own(origin, end, lambda e: add(mul(e, self.threads), t), put)

    def _end(self, first: Ex) -> Ex:
        """Of the part that begins there."""
        end = add(first, self.number(self.part))
        if self.extent % self.part == 0:
            return end
        least = Op("min", (end, self.number(self.extent)), self.index)
        return self.let(least, "e")

    def _own(
        self, origin: Ex, end: Ex, place: Callable[[Ex], Ex],
        do: Callable[[Ex, Ex], None],
    ) -> None:  # fmt: skip
        """A thread's elements of a stretch, with their numbers.  Only where a part ends
        within the stretch is each asked for: else all are on their way at once."""

        def every(test: bool) -> None:
            with self.loop("unroll", self.each) as e:
                at = self.let(add(origin, place(e)), "x")
                if not test:
                    do(at, e)
                    return
                with self.when(less(at, end)):
                    do(at, e)

        if self.extent % self.part == 0 and self.part % self.stretch == 0:
            every(False)
            return
        whole = Op("le", (add(origin, self.number(self.stretch)), end), BOOL)
        with self.when(whole):
            every(False)
        with self.when(Op("not", (whole,), BOOL)):
            every(True)


def less(a: Ex, b: Ex) -> Ex:
    return Op("lt", (a, b), BOOL)
