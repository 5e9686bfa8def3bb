"""The optimum of a small graph, proved by HiGHS (an integer program).

A variable says whether a node is taken.  A root takes one; where a class takes a node
with some child, that child takes one too:

    sum of x[n], n in c with child d  <=  sum of x[m], m in d

Cycles are cut when they turn up, by loop formulas (Lin & Zhao 2004): within any set S
of classes that need each other, a class is taken only if some class of S is taken by a
node that needs none of S.  Cuts are found first for the linear relaxation, by how much
of each class could be built bottom-up, then for integral choices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .greedy import by_trees, dag_cost, needed
from .loops import Loops
from .terms import Graph

if TYPE_CHECKING:
    from highspy import Highs

TOLERANCE = 1e-6  # of HiGHS, on rows, integrality and (relative) the bound
SCALE = 1e4  # what the cost of the start becomes: HiGHS's tolerances are absolute
STALLED = 60  # rounds of cuts in a row that raise the linear relaxation by
FILL = 45_000  # entries from which an iteration takes more than they do
STEPS = 1e7  # in search of loops, a second
TINY = 10_000  # entries of the matrix below which an iteration takes no less
STEP = 100  # entries times iterations for a step in search of loops
CUTTING = 2  # times the work of a proof that the relaxation and its cuts may take
SHARE = 0.5  # of the time that is left, what these may take
LOOK = 5  # entries of the matrix for which a look counts one iteration
LOOKS = 15  # least
ROUNDING = 1e-6  # of its cost, what a node costs that a relaxation takes whole
SLOPE = 1e-4  # of it or less, before branching


type Point = tuple[NDArray[np.float64], NDArray[np.float64]]  # as in `Relaxation`


class NoSolver(ImportError):
    """HiGHS is not installed."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a proof may take.

    `work` is iterations of the simplex method on relaxations; branch and bound, which
    does not tell how many it made, is stopped by how often it looks at the limits.
    """

    work: int | None = None
    left: Callable[[], float] = lambda: math.inf


@dataclass(frozen=True, slots=True)
class Bounded:
    pick: list[int]
    bound: float
    optimal: bool  # by HiGHS's word; the caller compares cost and bound
    work: int  # as in `Limits`, what it took if that is limited


def available() -> bool:
    """Whether HiGHS can be imported."""
    try:
        import highspy  # noqa: F401  # pyright: ignore[reportUnusedImport]
    except ImportError:
        return False
    return True


def require() -> None:
    """NoSolver where HiGHS is missing."""
    highs()


@dataclass(frozen=True, slots=True)
class Relaxation:
    """The last solution of the linear relaxation, cut or not, at its end or before."""

    value: list[float]  # node -> how much of it is taken
    work: int


def prove(g: Graph, start: Sequence[int], limits: Limits) -> Bounded:
    """The best choice found from `start`, and a lower bound."""
    return Program(g, start, limits).proved()


class Program:
    """Columns are the nodes, then the classes of more than one node."""

    def __init__(self, g: Graph, start: Sequence[int], limits: Limits) -> None:
        self.g = g
        self.limits = limits
        self.best = list(start)
        self.cost = dag_cost(g, start)
        self.bound = 0.0
        self.looks = self.work = self.entries = 0
        self.scale = SCALE / self.cost if self.cost > 0 else 1.0
        self.whole = all(c.is_integer() for c in g.cost) and self.cost < 2**50
        count = len(g.owner)
        self.column = [-1] * len(g.of)  # class -> whether it is taken
        for c, nodes in enumerate(g.of):
            if len(nodes) == 1:
                self.column[c] = nodes[0]
            else:
                self.column[c] = count
                count += 1
        self.count = count
        self.loops = Loops(g)
        self.done = False  # with the relaxation
        self.point: Point | None = None  # its last solution
        self.h = self._model()

    def relaxed(self, limit: int | None) -> Relaxation:
        """The linear relaxation, cut where it has loops.

        `limit` is of entries of the matrix times iterations, less for large ones, which
        fill in.  It is solved as given: so a basis that is not yet optimal is of use.
        """
        entries = max(1, self.h.getNumNz())
        work = None if limit is None else limit // max(entries, self._filled(entries))
        self.h.setOptionValue("presolve", "off")
        self.done = self._relax(self.h, work, work)
        self.h.setOptionValue("presolve", "choose")
        value, _ = self.point or self._point(self.h)
        return Relaxation(value.tolist(), self.work)

    def _point(self, h: Highs) -> Point:
        solution, size = h.getSolution(), len(self.g.owner)
        value = np.clip(solution.col_value[:size], 0.0, 1.0)
        return value, np.asarray(solution.col_dual[:size]) / self.scale

    def _filled(self, entries: int) -> int:
        return math.isqrt(entries**3 // FILL)

    def proved(self) -> Bounded:
        """The best choice, from the best so far, and a lower bound."""
        h, limit = self.h, self.limits.work
        most = None if limit is None else CUTTING * limit
        ended = self.done or self._relax(h, limit, most)
        if self.point is not None:
            self.keep(rounded(self.g, self.point[0].tolist()))
        if self.bound >= self.cost:
            return self._proof(True)
        if not ended:
            return self._proof(False)
        self._integral(h)
        while self.limits.left() > 0 and self.looks >= 0:
            self._offer(h)
            optimal = self._solved(h)
            self._raise(h.getInfo().mip_dual_bound)
            x = self._values(h)
            if x is None:
                return self._proof(False)
            pick = [max(nodes, key=x.__getitem__) for nodes in self.g.of]
            loops = self.loops.chosen(pick)
            if not loops:
                self.keep(pick)
                return self._proof(optimal)
            self.keep(rounded(self.g, x))
            for loop in loops:
                for c in sorted(loop):
                    self._cut(h, c, loop)
            if not optimal:
                return self._proof(False)
        return self._proof(False)

    def _proof(self, optimal: bool) -> Bounded:
        return Bounded(self.best, min(self.bound, self.cost), optimal, self.work)

    def keep(self, pick: Sequence[int]) -> None:
        """Remembers a choice if it is the best."""
        cost = dag_cost(self.g, pick)
        if cost < self.cost:
            self.best, self.cost = list(pick), cost

    def _raise(self, objective: float) -> None:
        """A bound that HiGHS found, less its tolerance, up to what costs can add to."""
        if not math.isfinite(objective):
            return
        bound = objective / self.scale
        slack = TOLERANCE * max(abs(bound), self.cost)
        if self.whole and slack < 0.25:
            bound = math.ceil(bound - slack)
        else:
            bound -= slack * 1e-3
        self.bound = max(self.bound, bound)

    # ---- the model

    def _model(self) -> Highs:
        highspy = highs()
        g, rows = self.g, Rows()
        for c, nodes in enumerate(g.of):
            if len(nodes) > 1:
                rows.add([*nodes, self.column[c]], [1.0] * len(nodes) + [-1.0], 0.0)
            users: dict[int, list[int]] = {}
            for u in g.users[c]:
                users.setdefault(g.owner[u], []).append(u)
            for _, us in sorted(users.items()):
                rows.add([*us, self.column[c]], [1.0] * len(us) + [-1.0], -math.inf)
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = self.count, len(rows.lower)
        cost = np.zeros(self.count)
        cost[: len(g.owner)] = np.asarray(g.cost) * self.scale
        low, high = np.zeros(self.count), np.ones(self.count)
        low[[self.column[r] for r in g.roots]] = 1.0
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = cost, low, high
        lp.row_lower_ = np.asarray(rows.lower)
        lp.row_upper_ = np.asarray(rows.upper)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.asarray(rows.start, np.int32)
        lp.a_matrix_.index_ = np.asarray(rows.index, np.int32)
        lp.a_matrix_.value_ = np.asarray(rows.value)
        h = solver()
        # There is a start: nothing is gained by another.
        h.setOptionValue("mip_heuristic_run_feasibility_jump", False)
        if self.limits.work is not None:
            h.cbMipInterrupt.subscribe(self._watch)
            self.entries = max(1, len(rows.index))
            self.looks = max(LOOKS, self.limits.work * LOOK // self.entries)
        h.passModel(lp)
        return h

    def _integral(self, h: Highs) -> None:
        h.setOptionValue("simplex_iteration_limit", highs().kHighsIInf)
        kind = highs().HighsVarType.kInteger
        index = np.arange(len(self.g.owner), dtype=np.int32)
        h.changeColsIntegrality(len(index), index, np.full(len(index), kind))

    def _offer(self, h: Highs) -> None:
        """The best choice so far, as a start."""
        x = [0.0] * self.count
        for c in needed(self.g, self.best):
            x[self.best[c]] = x[self.column[c]] = 1.0
        solution = highs().HighsSolution()
        solution.col_value = x
        solution.value_valid = True
        h.setSolution(solution)

    def _values(self, h: Highs) -> list[float] | None:
        if not h.getSolution().value_valid:
            return None
        return list(h.getSolution().col_value)

    def _solved(self, h: Highs) -> bool:
        """Runs HiGHS; whether it came to an end within the limits."""
        h.setOptionValue("time_limit", max(0.0, self.limits.left()))
        h.run()
        return h.getModelStatus() == highs().HighsModelStatus.kOptimal

    def _watch(self, event: Any) -> None:
        self.looks -= 1
        self.work += self.entries // LOOK
        if self.looks < 0:
            event.interrupt()

    # ---- cuts

    def _relax(self, h: Highs, limit: int | None, cutting: int | None) -> bool:
        """Solves the linear relaxation, with cuts; whether it came to an end.

        `limit` is of the work until there is a solution, `cutting` of all.
        """
        before, stalled, first = -math.inf, 0, max(1, h.getNumNz())
        until = self.limits.left() * (1 - SHARE)
        while stalled < STALLED:
            most = highs().kHighsIInf
            if limit is not None:
                rest = max(0, limit - self.work) * first
                most = min(most, rest // max(1, h.getNumNz()))
            h.setOptionValue("simplex_iteration_limit", most)
            solved = self._solved(h)
            iterations = max(0, h.getInfo().simplex_iteration_count)
            self.work += iterations * h.getNumNz() // first
            if not solved:
                self._raise(_lagrangian(h))
                return False
            self.point, limit = self._point(h), cutting
            now = h.getInfo().objective_function_value
            self._raise(now)
            stalled = 0 if now > before + SLOPE * abs(now) else stalled + 1
            before = max(before, now)
            if self.bound >= self.cost or self.limits.left() < until:
                return True
            found = self._loops(self.point[0].tolist(), max(first, TINY), cutting)
            if not found:
                return cutting is None or self.work < cutting
            for c, loop in found:
                self._cut(h, c, loop)
        return True

    def _loops(
        self, x: list[float], entries: int, limit: int | None
    ) -> list[tuple[int, set[int]]]:
        """Loops of the relaxation; what it takes to find them is work."""
        most = self.limits.left() * STEPS
        if limit is None:
            return self.loops.fractional(x, most)
        before = self.loops.steps
        most = min(most, max(0, limit - self.work) * entries / STEP)
        found = self.loops.fractional(x, most)
        self.work += int((self.loops.steps - before) * STEP // entries)
        return found if self.work < limit else []

    def _cut(self, h: Highs, c: int, loop: set[int]) -> None:
        """`c` of the loop is taken no more than all that supports the loop."""
        terms = dict.fromkeys(self.loops.support(loop), 1.0)
        own = self.column[c]
        terms[own] = terms.get(own, 0.0) - 1.0
        index = np.asarray(list(terms), np.int32)
        h.addRow(0.0, math.inf, len(index), index, np.asarray([*terms.values()]))


def rounded(g: Graph, value: Sequence[float]) -> list[int]:
    """The terms that cost least where what a relaxation takes is cheap."""
    cost = [c * (1 - x) + ROUNDING * c for c, x in zip(g.cost, value, strict=False)]
    return by_trees(g, cost=cost)[1]


def _lagrangian(h: Highs) -> float:
    """The bound that the duals give, be they optimal or not; all rows are about 0."""
    lp, dual = h.getLp(), np.asarray(h.getSolution().row_dual)
    if not len(dual):
        return -math.inf
    dual = np.where(np.isinf(lp.row_lower_), np.minimum(dual, 0.0), dual)
    dual = np.where(np.isinf(lp.row_upper_), np.maximum(dual, 0.0), dual)
    a = lp.a_matrix_
    index, value = np.asarray(a.index_), np.asarray(a.value_)
    outer = np.repeat(np.arange(len(a.start_) - 1), np.diff(a.start_))
    by_row = a.format_ == highs().MatrixFormat.kRowwise
    row, column = (outer, index) if by_row else (index, outer)
    paid = np.bincount(column, value * dual[row], minlength=lp.num_col_)
    cost = np.asarray(lp.col_cost_) - paid
    ends = np.where(cost < 0, lp.col_upper_, lp.col_lower_)
    return float(np.sum(cost * ends))


class Rows:
    """Rows `lower <= sum <= upper` of a matrix, end to end."""

    def __init__(self) -> None:
        self.start = [0]
        self.index: list[int] = []
        self.value: list[float] = []
        self.lower: list[float] = []
        self.upper: list[float] = []

    def add(
        self, index: Sequence[int], value: Sequence[float], lower: float,
        upper: float = 0.0,
    ) -> None:  # fmt: skip
        self.index += index
        self.value += value
        self.lower.append(lower)
        self.upper.append(upper)
        self.start.append(len(self.index))


def highs() -> Any:
    """The package `highspy`; NoSolver where it is missing."""
    try:
        import highspy
    except ImportError:
        raise NoSolver(
            "HiGHS is needed for this: pip install 'rewrite[exact]' (package highspy)"
        ) from None
    return highspy


def solver() -> Highs:
    """HiGHS without limits or output; the same answer in every process."""

    class Silent(highs().Highs):
        # The constructor calls this, and from 1.16 on it greets on standard output.
        def enableCallbacks(self) -> None:
            self.setOptionValue("output_flag", False)
            highs().Highs.enableCallbacks(self)

    h: Highs = Silent()
    for option, value in (
        ("threads", 1), ("random_seed", 0), ("mip_rel_gap", 0.0),
        ("mip_abs_gap", 1e-6), ("mip_feasibility_tolerance", TOLERANCE),
    ):  # fmt: skip
        h.setOptionValue(option, value)
    return h
