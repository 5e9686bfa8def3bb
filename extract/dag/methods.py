"""The ways to extract: from the quick ones to the proof, and `auto`, which does all.

`auto` takes the better of the two greedy choices, improves it by local search on the
whole graph and on its core, proves what is small enough, and spends the rest of its
effort on what is not: as a cover, by crossing choices, by neighbourhoods.  By moves all
is decided by the problem alone; by seconds it is not.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from time import monotonic
from typing import Literal

from ..paused import collector_paused
from . import dag, exact, frontier
from .annealing import annealed
from .components import connected
from .covering import Cover, as_cover, bought, chosen
from .crossing import crossed
from .exact import Limits, Program, Relaxation
from .greedy import by_sets, by_sets_in_time, by_trees, dag_cost, lower_bound, needed
from .improve import improved
from .reduce import projected, reduced_in_time, settled
from .relaxation import near
from .terms import Graph, Problem, live_part, restricted

type Method = Literal["auto", "tree", "greedy-dag", "local", "exact"]
type Progress = Callable[[str, float | None], None]

METHODS: tuple[Method, ...] = ("auto", "tree", "greedy-dag", "local", "exact")
MOVES = 20_000
REDUCING = 5e-5  # seconds a node: with less time left, reductions are not begun
PROOF = 1  # work of a proof of a part, for a move
LEAST = 1_000  # moves for a part; with no more, its proof comes first
SEARCHING = 8e-6  # the same for each start of local search
ROUNDING = 2e-5  # seconds a node that a round of improvement takes, at first
ENDING = 1.2e-5  # seconds a node kept for the answer, where a core is shared
MODELLING = 4e-5  # seconds a node: with less time left, no program is begun
RELAXING = 58_000  # entries of the matrix times iterations, for a move
CORE = 1  # moves of local search on the core, for one on the whole graph
ANNEAL = 6_000  # entries of a cover that are looked at, for a move
CROSS = 4  # work of crossing choices, for a move
HALF = 0.5  # of the time for all improvement, for crossing choices
COVERED = 0.8  # the same for annealing covers
WORK = 2  # of proofs in neighbourhoods, for a move
IDLE = 3  # a share of these that may be of no use in a row
ROUND = 2_000  # work of one neighbourhood at most
NEAR = 2  # rounds for a piece near the relaxation
FIRST = 0.6  # of the time for neighbourhoods, before a proof is tried on a large part
BOUNDED = 5_000  # nodes of a graph of which a lower bound takes no time
PROVABLE = 4_000  # nodes of a part that `auto` tries to prove in one piece
EXACT_UNITS = 1 << 44  # of the sum of all costs, for these to be counted in units
OPTIMAL = 1e-6  # relative: HiGHS's own tolerance


@dataclass(frozen=True, slots=True)
class Answer:
    method: Method
    picked: Mapping[int, int]  # class -> index of its node, for just what is needed
    cost: float
    bound: float | None  # no choice costs less; None: not looked for
    optimal: bool  # proved
    starts: Mapping[str, float]  # costs of what it began with
    note: str = ""


@dataclass(frozen=True, slots=True)
class Effort:
    """Moves, or seconds from now on."""

    moves: int = MOVES
    seconds: float | None = None
    clock: Callable[[], float] = monotonic


@collector_paused()
def extracted(
    problem: Problem, method: Method, effort: Effort, tell: Progress
) -> Answer:
    """A cheap acyclic choice by one of the methods; `tell` hears of what is found."""
    start = effort.clock()
    if method == "local":
        choice = dag.extract(problem, effort.moves)
        done = choice.cost <= choice.bound
        return Answer("local", choice.picked, choice.cost, choice.bound, done, {})
    g = live_part(problem)
    if method == "tree":
        return _greedy(g, "tree", by_trees(g)[1])
    if method == "greedy-dag":
        return _greedy(g, "greedy-dag", by_sets(g))
    return _Search(g, effort, start, tell).answer(method)


def _greedy(g: Graph, method: Method, pick: list[int]) -> Answer:
    return Answer(method, _picked(g, pick), dag_cost(g, pick), None, False, {})


def _picked(g: Graph, pick: Sequence[int]) -> dict[int, int]:
    return {g.name[c]: g.index[pick[c]] for c in sorted(needed(g, pick))}


def unit(costs: Sequence[float]) -> Fraction | None:
    """What all costs are multiples of, as they are written; None: nothing of use."""
    found = Fraction(0)
    for c in sorted(set(costs)):
        x = Fraction(repr(c))
        found = Fraction(
            math.gcd(found.numerator * x.denominator, x.numerator * found.denominator),
            found.denominator * x.denominator,
        )
        if found.denominator > EXACT_UNITS:
            return None
    if found and Fraction(math.fsum(costs)) / found < EXACT_UNITS:
        return found
    return None


class _Search:
    """`auto` and `exact`: the best choice of `g` so far, and the core's parts."""

    def __init__(self, g: Graph, effort: Effort, start: float, tell: Progress) -> None:
        self.g, self.tell, self.effort, self.clock = g, tell, effort, effort.clock
        end = math.inf
        if effort.seconds is not None:
            end = start + effort.seconds - len(g.owner) * ENDING
        self.left: Callable[[], float] = lambda: end - self.clock()
        self.over: Callable[[], bool] = lambda: self.left() <= 0
        self.starts: dict[str, float] = {}
        self.best: list[int] = []
        self.cost = math.inf

    def answer(self, method: Method) -> Answer:
        self._begin()
        if not self.g.of:
            return Answer(method, {}, 0.0, 0.0, True, self.starts)
        self._local()
        if self.left() < len(self.g.owner) * REDUCING:
            return self._early(method)
        self.unit = unit(self.g.cost)
        u = self.unit
        costs = [c if u is None else float(Fraction(repr(c)) / u) for c in self.g.cost]
        core = reduced_in_time(self.g, costs, self.over)
        if core is None:
            return self._early(method)
        self.core = core
        bound, sure, note = self._parts(method)
        return self._answer(method, bound, sure, note)

    def _begin(self) -> None:
        g = self.g
        self.order, self.tree = by_trees(g)
        self._keep(self.tree)
        self.starts["tree"] = self.cost
        self.tell("tree", self.cost)
        sets = None if self.over() else by_sets_in_time(g, self.over)
        if sets is not None:
            self.starts["greedy-dag"] = dag_cost(g, sets)
            self._keep(sets)
            self.tell("greedy-dag", self.cost)

    def _early(self, method: Method) -> Answer:
        """What there is without reductions, with a bound where that takes no time."""
        g, bound = self.g, None
        if len(g.owner) <= BOUNDED:
            bound = min(self.cost, lower_bound(g, self.order))
        note = "the time was spent before a proof"
        picked = _picked(g, self.best)
        return Answer(method, picked, self.cost, bound, False, self.starts, note)

    def _keep(self, pick: list[int]) -> None:
        cost = dag_cost(self.g, pick)
        if cost < self.cost:
            self.best, self.cost = pick, cost

    def _local(self) -> None:
        g, spare = self.g, len(self.g.owner) * SEARCHING
        if self.left() > spare:
            moves = self.effort.moves
            self._keep(dag.search(g, self.order, self.tree, moves, self.left, spare))
            self.tell("local search", self.cost)

    # ---- the core

    def _parts(self, method: Method) -> tuple[float, bool, str]:
        """Improves and proves the core part by part; its bound, and whether sure."""
        core = self.core.graph
        edges = ((core.owner[n], d) for n, kids in enumerate(core.kids) for d in kids)
        groups = sorted(connected(len(core.of), edges), key=len)
        if not groups:
            self._back([])
            return 0.0, True, ""
        if not exact.available():
            if method == "exact":
                exact.require()
            return self._without(core)
        now = projected(self.g, self.core, self.best)
        pick, bound, sure = [-1] * len(core.of), 0.0, True
        for k, group in enumerate(groups):
            part = restricted(core, group)
            share = len(part.owner) / len(core.owner)
            got, low, done = self._part(method, part, [now[c] for c in group], share)
            bound += low
            sure = sure and done
            for c, n in zip(group, got, strict=True):
                pick[c] = part.index[n]
            if len(groups) > 1:
                self.tell(f"part {k + 1} of {len(groups)}", None)
        self._back(pick)
        return bound, sure, ""

    def _part(
        self, method: Method, part: Graph, now: list[int], share: float
    ) -> tuple[list[int], float, bool]:
        """The best choice of a part, a bound, and whether that proves it."""
        at = {n: m for m, n in enumerate(part.index)}
        pick = [at[n] for n in now]
        narrow = frontier.decided(part)
        if narrow is not None:
            return narrow, dag_cost(part, narrow), True
        order, tree = by_trees(part)
        low = lower_bound(part, order)
        moves = max(LEAST, round(self.effort.moves * share))
        if self.left() > 0 and moves > LEAST:
            spare = len(part.owner) * SEARCHING
            other = dag.search(part, order, tree, CORE * moves, self.left, spare)
            pick = min(pick, other, key=lambda pick: dag_cost(part, pick))
        small = len(part.owner) <= PROVABLE
        share = share if small else 1.0
        if self.left() < len(part.owner) * MODELLING:
            return pick, low, low >= dag_cost(part, pick)
        program = Program(part, pick, self._limits(method, moves, share))
        relaxation = self._relaxed(program, method, moves)
        low = max(low, program.bound)
        if small or method == "exact":
            proof = program.proved()
            pick, low = proof.pick, max(low, proof.bound)
            if proof.optimal or method == "exact":
                return pick, low, proof.optimal
        share = 1.0 if small or self.effort.seconds is None else FIRST
        pick = self._improved(part, pick, relaxation, moves, low, share)
        if not small and self.effort.seconds is not None:
            program.keep(pick)
            proof = program.proved()
            return proof.pick, max(low, proof.bound), proof.optimal
        return pick, low, low >= dag_cost(part, pick)

    def _relaxed(self, program: Program, method: Method, moves: int) -> Relaxation:
        return program.relaxed(None if method == "exact" else RELAXING * moves)

    def _round(self, rounds: int) -> Limits:
        return Limits(rounds * ROUND, self.left)

    def _limits(self, method: Method, moves: int, share: float) -> Limits:
        if self.effort.seconds is not None:
            part = 1.0 if method == "exact" else min(1.0, share)
            end = self.clock() + part * max(0.0, self.left())
            return Limits(left=lambda: end - self.clock())
        return Limits() if method == "exact" else Limits(PROOF * moves)

    def _improved(
        self, part: Graph, pick: list[int], relaxation: Relaxation, moves: int,
        bound: float, share: float,
    ) -> list[int]:  # fmt: skip
        """As a cover, or near the relaxation and by crossing; then by neighbourhoods.

        All together take a share of the time that is left, or work by the moves.
        """
        now = self.clock()
        timed = self.effort.seconds is not None
        end = now + share * self.left() if timed else math.inf
        cover = as_cover(part, pick)
        first = HALF if cover is None else COVERED
        half = now + first * (end - now) if timed else math.inf
        if cover is not None:
            pick = self._annealed(part, pick, cover, moves, half)
        else:
            if self.left() > 0:
                pick = near(part, pick, relaxation, moves, self._round(NEAR))
            rounds = crossed(part, pick, relaxation, 0, self._rounds_to(half))
            pick = self._best_of(rounds, part, pick, CROSS * moves, bound, half)
        rounds = improved(part, pick, 0, self._rounds_to(end))
        return self._best_of(rounds, part, pick, WORK * moves, bound, end)

    def _annealed(
        self, part: Graph, pick: list[int], cover: Cover, moves: int, end: float
    ) -> list[int]:  # fmt: skip
        """To the end of the moves, or of the time."""
        start = self.clock()
        if start >= end:
            return pick
        work, done = ANNEAL * moves, lambda: 0.0
        if end < math.inf:
            work, done = sys.maxsize, lambda: (self.clock() - start) / (end - start)
        on = annealed(cover, bought(part, pick, cover), work, done)
        return chosen(part, pick, cover, on)

    def _rounds_to(self, end: float) -> Limits:
        return Limits(ROUND, lambda: end - self.clock())

    def _best_of(
        self, rounds: Iterator[tuple[list[int], int]], part: Graph, pick: list[int],
        work: float, bound: float, end: float,
    ) -> list[int]:  # fmt: skip
        """Rounds until the time, the work, or what is allowed without use is up."""
        timed = self.effort.seconds is not None
        idle = most = work / IDLE
        before, longest = dag_cost(part, pick), len(part.owner) * ROUNDING
        while before > bound and (timed or min(work, idle) > 0):
            start = self.clock()
            done = next(rounds, None) if start + longest < end else None
            if done is None:
                break
            pick, spent = done
            longest = max(longest, self.clock() - start)
            cost = dag_cost(part, pick)
            work -= spent
            idle = idle - spent if cost >= before else most
            before = cost
            self.tell("improved", None)
        return pick

    def _without(self, core: Graph) -> tuple[float, bool, str]:
        order, tree = by_trees(core)
        pick = dag.search(core, order, tree, CORE * self.effort.moves)
        self._back(pick)
        bound = lower_bound(core, order)
        note = "without HiGHS nothing is proved: pip install 'rewrite[exact]'"
        return bound, bound >= dag_cost(core, pick), note

    def _back(self, pick: list[int]) -> None:
        self._keep(settled(self.g, self.core, pick))
        self.tell("the core", self.cost)

    def _answer(self, method: Method, bound: float, sure: bool, note: str) -> Answer:
        low = bound + self.core.paid
        if self.unit is not None:
            low = float(Fraction(low) * self.unit)
        if not sure and self.left() > 0:
            low = max(low, lower_bound(self.g, self.order))
        close = self.cost - low <= OPTIMAL * max(self.cost, low)
        if self.unit is not None:
            close = self.cost - low < float(self.unit) / 2
        picked = _picked(self.g, self.best)
        low = min(low, self.cost)
        return Answer(method, picked, self.cost, low, sure and close, self.starts, note)
