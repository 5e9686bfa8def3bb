"""Loops from a plan, one group of threads a row."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ....egraph.ir.dtypes import BOOL, DType
from ....egraph.ir.scalars import CHOICES
from ....extract.schedule.kernel import Affine
from ...axes import numel
from ...loops import Assign, Barrier, Ex, GroupReduce, Op, Var
from .nest import Nest
from .plan import LoopOrder, Step


class GroupNest(Nest):
    """One group of threads a row: the last loop of a step is dealt out to them."""

    threaded = False  # inside a loop that is dealt out

    def run_groups(self, todo: LoopOrder) -> None:
        with self.loop("block", numel(self.kernel.extents, todo.outer)) as g:
            self.unravel(todo.outer, g)
            for s in todo.steps:
                self.step(s)

    def step(self, s: Step) -> None:
        if self.threaded:
            super().step(s)
            return
        nested = len(self.scopes) > 2
        arrays = self._stage_arrays(s)
        if arrays and nested:  # the readers of the last turn are done
            self.emit(Barrier())
        if s.outputs:
            self._stores(s)
        else:
            self._grouped(s, arrays)
        if arrays:
            self.emit(Barrier())
        for e, (array, where) in arrays.items():
            self.keep(e, array, where)

    def _stage(self, dtype: DType, size: int) -> str:
        return self.array("row", dtype, size, "local" if self.threaded else "shared")

    def _dealt(self, s: Step, body: Callable[[], None]) -> None:
        """The step's last loop, an iteration a thread."""
        axis = s.axes[-1] if s.axes else None
        with self.loop("thread", 1 if axis is None else self.kernel.extents[axis]) as x:
            self.threaded = True
            if axis is not None:
                self.at(axis, x)
                for inner in s.inner[-1]:
                    self.step(inner)
            body()
            self.threaded = False

    def _grouped(self, s: Step, arrays: dict[int, tuple[str, Affine]]) -> None:
        held = self.holders(s.roots)
        accs = {r: self.accumulator(r) for r in s.roots if held[r][0] == r}

        def terms() -> None:
            for r, acc in accs.items():
                self.take(r, acc)
            self._fill(arrays)

        self.descend(s, lambda: self._dealt(s, terms), 1 if s.axes else 0)
        self._define(held, {r: self._together(r, acc) for r, acc in accs.items()})

    def _together(self, r: int, acc: tuple[Var, ...]) -> tuple[Var, ...]:
        """What the threads have, as each thread's; of several that have a best term,
        the first."""
        monoid = self.monoid(r)
        if monoid not in CHOICES:
            self.emit(GroupReduce(acc[0], monoid))
            return acc
        own, at = acc
        best = self.variable(own)
        self.emit(GroupReduce(best, CHOICES[monoid]))
        mine: Ex = Op("eq", (own, best), BOOL)
        if own.dtype.is_float:
            mine = Op("or", (mine, Op("isnan", (own,), BOOL)), BOOL)
        self.emit(Assign(at, Op("select", (mine, at, self.starts(r)[1]), at.dtype)))
        self.emit(GroupReduce(at, "min"))
        return best, at

    def _stores(self, s: Step) -> None:
        if self.threaded:
            super()._stores(s)
            return
        store = partial(self._outputs, s)
        self.descend(s, lambda: self._dealt(s, store), 1 if s.axes else 0)
