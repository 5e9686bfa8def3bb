"""The cheapest set of columns, by an integer program (HiGHS).

A variable says whether a column is chosen.  Each value is stored by at most one column,
each that must be delivered by one; what a chosen column reads, some column stores, and
nothing else is stored (a price may fall by an output more, but in vain):

    sum of x[k], k stores d and reads c  <=  sum of x[j], j stores c
    sum of x[j], j stores c  <=  sum of x[k], k reads c, c not delivered

Columns that wait for each other in a circle are cut when they turn up, as in
`exact.py`: of a set S of values, one is stored only if some column that stores a value
of S reads none of them.

Like `columns.py` this measures the scheduler and is no part of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rewrite.extract.dag.components import strong
from rewrite.extract.dag.exact import SCALE, TOLERANCE, Rows, highs, solver
from rewrite.extract.schedule.kernel import KernelCost
from rewrite.extract.schedule.space import Extraction, Space

from .columns import Column, Limits, Shape, enumerated, of_choice

if TYPE_CHECKING:
    from highspy import Highs

NODES = 20000  # of branch and bound, before it is given up


@dataclass(frozen=True, slots=True)
class Selection:
    """Columns, producers first; no set of those offered costs less than `bound`."""

    columns: tuple[Column, ...]
    seconds: float
    bound: float

    @property
    def optimal(self) -> bool:
        return self.seconds <= self.bound * (1 + 2 * TOLERANCE)


@dataclass(frozen=True, slots=True)
class Optimum:
    """The better of the choice and the selection.  `ops` as in `Columns`: where it is
    None for each number of outputs and `solved`, no schedule of columns costs less."""

    columns: tuple[Column, ...]
    seconds: float
    ops: tuple[int | None, ...]
    solved: bool  # nothing that was enumerated is better
    offered: tuple[Column, ...]

    @property
    def proved(self) -> bool:
        return self.solved and all(n is None for n in self.ops)


def optimum(
    space: Space, cost: KernelCost, choice: Extraction, limits: Limits
) -> Optimum:
    """The cheapest schedule of the columns within the limits and those of `choice`."""
    own = of_choice(space, cost, choice)
    found = enumerated(space, cost, limits, own)
    best = select(Shape(space).roots, found.columns)
    seconds = sum(k.seconds for k in own)
    if best is None or best.seconds >= seconds:  # what is stored in vain may be cheaper
        solved = best is not None and best.optimal
        return Optimum(own, seconds, found.ops, solved, found.columns)
    return Optimum(
        best.columns, best.seconds, found.ops, best.optimal, found.columns
    )  # fmt: skip


def select(
    outputs: Iterable[int], columns: Iterable[Column], per_value: bool = False
) -> Selection | None:
    """The best that was found; None where the columns do not make the outputs.

    `per_value`: as the search has it, a class is computed by one e-node wherever it is
    computed, and read wherever it is stored.
    """
    kept = _distinct(columns, per_value)
    return _Program(tuple(outputs), kept, per_value).run()


def _distinct(columns: Iterable[Column], by_form: bool) -> list[Column]:
    """The cheapest of those that store and read the same (and, `by_form`, compute by
    the same e-nodes)."""
    best: dict[object, Column] = {}
    for k in columns:
        form = tuple(sorted(k.inside.items())) if by_form else ()
        key = (frozenset(k.roots), k.reads, form)
        if key not in best or k.seconds < best[key].seconds:
            best[key] = k
    return list(best.values())


class _Program:
    """Variables are the columns, then the e-nodes of classes with several."""

    def __init__(
        self, outputs: tuple[int, ...], columns: Sequence[Column], per_value: bool
    ) -> None:
        self.outputs, self.columns = outputs, columns
        self.makers: dict[int, list[int]] = {}  # class -> columns that store it
        for k, column in enumerate(columns):
            for c in column.roots:
                self.makers.setdefault(c, []).append(k)
        self.rows = Rows()
        self.count = len(columns)
        self._store()
        self._read()
        self._use()
        if per_value:
            self._agree()
            self._load()

    # ---- rows

    def _store(self) -> None:
        for ks in self.makers.values():
            self.rows.add(ks, [1.0] * len(ks), -math.inf, 1.0)

    def _read(self) -> None:
        for ks in self.makers.values():
            readers: dict[int, list[int]] = {}
            for k in ks:
                for c in sorted(self.columns[k].reads):
                    readers.setdefault(c, []).append(k)
            for c, users in readers.items():
                self._at_most(users, self.makers.get(c, ()))

    def _use(self) -> None:
        """What is stored is delivered or read."""
        readers: dict[int, list[int]] = {}
        for k, column in enumerate(self.columns):
            for c in column.reads:
                readers.setdefault(c, []).append(k)
        for c, ks in self.makers.items():
            if c not in self.outputs:
                self._at_most(ks, readers.get(c, ()))

    def _at_most(self, less: Sequence[int], more: Sequence[int]) -> None:
        """sum of x[less] <= sum of x[more]"""
        terms = dict.fromkeys(less, 1.0)
        for k in more:
            terms[k] = terms.get(k, 0.0) - 1.0
        self.rows.add(list(terms), list(terms.values()), -math.inf, 0.0)

    def _by_form(self) -> dict[int, dict[int, dict[int, list[int]]]]:
        """class -> e-node -> class that is stored -> columns"""
        out: dict[int, dict[int, dict[int, list[int]]]] = {}
        for k, column in enumerate(self.columns):
            for c, i in column.inside.items():
                by_root = out.setdefault(c, {}).setdefault(i, {})
                for r in column.roots:
                    by_root.setdefault(r, []).append(k)
        return out

    def _agree(self) -> None:
        """A class has one e-node in all columns."""
        for forms in self._by_form().values():
            if len(forms) < 2:
                continue
            first = self.count
            self.count += len(forms)
            for y, by_root in enumerate(forms.values(), first):
                for ks in by_root.values():
                    self._at_most(ks, [y])
            index = list(range(first, self.count))
            self.rows.add(index, [1.0] * len(index), -math.inf, 1.0)

    def _load(self) -> None:
        """Where a class is stored, no other column computes it."""
        for c, forms in self._by_form().items():
            by_root: dict[int, list[int]] = {}
            for found in forms.values():
                for r, ks in found.items():
                    inner = [k for k in ks if c not in self.columns[k].roots]
                    by_root.setdefault(r, []).extend(inner)
            for ks in by_root.values():
                both = sorted({*ks, *self.makers.get(c, ())})
                if ks and c in self.makers:
                    self.rows.add(both, [1.0] * len(both), -math.inf, 1.0)

    # ---- solving

    def run(self) -> Selection | None:
        if not all(c in self.makers for c in self.outputs):
            return None
        h = self._model()
        while True:
            h.run()
            status = h.getModelStatus()
            known = h.getSolution().value_valid
            if status == highs().HighsModelStatus.kInfeasible or not known:
                return None
            values = h.getSolution().col_value
            chosen = [k for k in range(len(self.columns)) if values[k] > 0.5]
            loops = self._loops(chosen)
            if not loops:
                bound = h.getInfo().mip_dual_bound / self.scale
                return self._selection(chosen, bound)
            for loop in loops:
                self._cut(h, loop)

    def _selection(self, chosen: Sequence[int], bound: float) -> Selection:
        home = {c: k for k in chosen for c in self.columns[k].roots}
        order: dict[int, None] = {}

        def visit(k: int) -> None:
            if k not in order:
                for c in sorted(self.columns[k].reads):
                    visit(home[c])
                order[k] = None

        for c in self.outputs:
            visit(home[c])
        columns = tuple(self.columns[k] for k in order)
        seconds = sum(k.seconds for k in columns)
        return Selection(columns, seconds, min(bound, seconds))

    def _model(self) -> Highs:
        api = highs()
        lp = api.HighsLp()
        lp.num_col_, lp.num_row_ = self.count, len(self.rows.lower)
        cost, low = np.zeros(self.count), np.zeros(self.count)
        cost[: len(self.columns)] = [k.seconds for k in self.columns]
        self.scale = SCALE / max(cost.max(initial=0.0), 1e-30)
        lp.col_cost_, lp.col_lower_ = cost * self.scale, low
        lp.col_upper_ = np.ones(self.count)
        lower, upper = list(self.rows.lower), list(self.rows.upper)
        for row, c in enumerate(self.makers):
            lower[row] = 1.0 if c in self.outputs else -math.inf
        lp.row_lower_, lp.row_upper_ = np.asarray(lower), np.asarray(upper)
        lp.a_matrix_.format_ = api.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.asarray(self.rows.start, np.int32)
        lp.a_matrix_.index_ = np.asarray(self.rows.index, np.int32)
        lp.a_matrix_.value_ = np.asarray(self.rows.value)
        lp.integrality_ = [api.HighsVarType.kInteger] * self.count
        h = solver()
        h.setOptionValue("mip_max_nodes", NODES)
        h.passModel(lp)
        return h

    # ---- cycles

    def _loops(self, chosen: Sequence[int]) -> list[set[int]]:
        """Sets of stored values that wait for each other."""
        home = {c: k for k in chosen for c in self.columns[k].roots}

        def below(c: int) -> list[int]:
            k = self.columns[home[c]]
            return sorted(k.reads)

        part = strong(sorted(home), below)
        loops: dict[int, set[int]] = {}
        for c, p in part.items():
            loops.setdefault(p, set()).add(c)
        return [
            loop
            for loop in loops.values()
            if any(loop & self.columns[home[c]].reads for c in loop)
        ]

    def _cut(self, h: Highs, loop: set[int]) -> None:
        support = {
            k
            for c in loop
            for k in self.makers[c]
            if loop.isdisjoint(self.columns[k].reads)
        }
        for c in sorted(loop):
            terms = dict.fromkeys(sorted(support), 1.0)
            for k in self.makers[c]:
                terms[k] = terms.get(k, 0.0) - 1.0
            index = np.asarray(list(terms), np.int32)
            h.addRow(0.0, math.inf, len(index), index, np.asarray([*terms.values()]))
