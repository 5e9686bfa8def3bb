"""Congruence closure that remembers why, and short paths through what it knows.

After R. Nieuwenhuis and A. Oliveras, "Proof-producing congruence closure" (RTA 2005),
but every equation stays an edge, also one that joined nothing new, so that paths can be
short; the forest that a union-find leaves leads along whatever came first.

An edge that rests on other equations (a congruence on those of its operands, a use of a
rule on the fact that it asks for) has a stamp: those hold by edges of smaller stamps
alone.  So a proof that only goes down in stamps cannot rest on itself.
"""

from __future__ import annotations

import heapq
import itertools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ..saturate.encode import Row
from ..saturate.rows import kids, with_kids
from .detours import straightened, uses

ALWAYS = 0  # the stamp of what rests on nothing
NO_BOUND = sys.maxsize
NEVER = float("inf")
DEEP = 24  # congruences within congruences, from which on their length is guessed
GUESS = 4.0  # steps


@dataclass(frozen=True)
class Edge:
    """`start` equals `end`, by an equation given, or (None) by congruence.

    `needs` are the equations that it rests on, each with the position of its operand,
    or with -1 where a fact is carried along it.
    """

    start: int
    end: int
    given: int | None
    stamp: int
    needs: tuple[tuple[int, int, int], ...] = ()

    @cached_property
    def rests_on(self) -> tuple[Pair, ...]:
        """Each equation once: x * x rests on one."""
        pairs = (ordered(a, b) for _, a, b in self.needs if a != b)
        return tuple(dict.fromkeys(pairs))

    @property
    def back(self) -> Edge:
        needs = tuple((k, b, a) if k >= 0 else (k, a, b) for k, a, b in self.needs)
        return Edge(self.end, self.start, self.given, self.stamp, needs)


@dataclass(frozen=True, slots=True)
class Equation:
    """Two terms that are equal if each of `about` equals a known term."""

    left: int
    right: int
    about: tuple[int, ...] = ()


class Forest:
    """Which terms are joined, and nothing more."""

    def __init__(self, terms: Iterable[int]) -> None:
        self._above = {t: t for t in terms}

    def top(self, t: int) -> int:
        above = self._above
        while above[t] != t:
            above[t] = t = above[above[t]]
        return t

    def join(self, a: int, b: int) -> None:
        self._above[self.top(a)] = self.top(b)

    def joined(self, a: int, b: int) -> bool:
        return self.top(a) == self.top(b)


type Pair = tuple[int, int]
type Steps = tuple[Edge, ...]


@dataclass
class Closure:
    """The congruence closure of equations over hash-consed terms; `known` are the terms
    that came with a fact."""

    terms: Mapping[int, Row]
    known: Sequence[int] = ()

    def __post_init__(self) -> None:
        self._stamps = itertools.count(1).__next__
        self._root = {t: t for t in self.terms}
        self._members = {t: [t] for t in self.terms}
        self._users: dict[int, list[int]] = {t: [] for t in self.terms}
        self._edges: dict[int, list[tuple[int, Edge]]] = {t: [] for t in self.terms}
        self._lengths: dict[Pair, float] = {}
        self._together: Callable[[Sequence[float]], float] = sum
        self._congruent = set[Pair]()
        self._signatures: dict[tuple[object, ...], int] = {}
        for t, row in self.terms.items():
            for k in set(kids(row)):
                self._users[k].append(t)
            self._signatures[self.signature(t)] = t

    def signature(self, t: int) -> tuple[object, ...]:
        return with_kids(self.terms[t], self._root)

    def root(self, t: int) -> int:
        """The name of the class of a term."""
        return self._root[t]

    def equal(self, a: int, b: int) -> bool:
        return self._root[a] == self._root[b]

    # -- merging --

    def merge(self, equations: Iterable[Equation]) -> None:
        """Adds the equations, by number, and all congruences that follow; one whose
        fact is not known to hold waits until it is."""
        waiting = list(enumerate(equations))
        while True:
            left = [(i, e) for i, e in waiting if not self._given(i, e)]
            if len(left) == len(waiting):
                break
            waiting = left
        self._stamp_anew()

    def _stamp_anew(self) -> None:
        """Small stamps: in which order equations came is no matter, only what rests on
        what.  Terms that are congruent are first joined as such, so that what rests on
        them need not go round by something that both equal."""
        equal, alike = Forest(self.terms), Forest(self.terms)

        def holds(e: Edge) -> bool:
            return all(equal.joined(a, b) for a, b in e.rests_on)

        def ready(e: Edge) -> bool:
            return holds(e) and all(
                alike.joined(a, b) or self.signature(a) != self.signature(b)
                for a, b in e.rests_on
            )

        edges = (e for t, out in self._edges.items() for _, e in out if e.start == t)
        waiting = sorted(edges, key=_came)
        self._edges = {t: [] for t in self.terms}
        for stamp in itertools.count(ALWAYS):
            now = list(map(ready, waiting))
            if not any(now):
                now = list(map(holds, waiting))
            for edge in itertools.compress(waiting, now):
                self._add(replace(edge, stamp=stamp))
                equal.join(edge.start, edge.end)
                if edge.given is None:
                    alike.join(edge.start, edge.end)
            waiting = [e for e, done in zip(waiting, now, strict=True) if not done]
            if not any(now):
                return

    def _add(self, edge: Edge) -> None:
        self._edges[edge.start].append((edge.end, edge))
        self._edges[edge.end].append((edge.start, edge))

    def _given(self, i: int, e: Equation) -> bool:
        facts = [self._fact(t) for t in e.about]
        if None in facts:
            return False
        pairs = zip(e.about, facts, strict=True)
        needs = tuple((-1, t, f) for t, f in pairs if f is not None)
        queue = [Edge(e.left, e.right, i, self._stamps() if needs else ALWAYS, needs)]
        while queue:
            queue.extend(self._union(queue.pop()))
        return True

    def _fact(self, t: int) -> int | None:
        """A term equal to this one that came with the fact."""
        return next((f for f in self.known if self.equal(f, t)), None)

    def _union(self, edge: Edge) -> list[Edge]:
        """Joins two classes by an edge; the congruences that this makes."""
        self._add(edge)
        small, large = self._root[edge.start], self._root[edge.end]
        if small == large:
            return []
        if len(self._members[small]) > len(self._members[large]):
            small, large = large, small
        for t in self._members[small]:
            self._root[t] = large
        self._members[large] += self._members.pop(small)
        result: list[Edge] = []
        for user in self._users[small]:
            twin = self._signatures.setdefault(self.signature(user), user)
            if twin != user and (user, twin) not in self._congruent:
                self._congruent.add((user, twin))
                result.append(self.congruence(user, twin, self._stamps()))
        self._users[large] += self._users.pop(small)
        return result

    def congruence(self, a: int, b: int, stamp: int) -> Edge:
        both = zip(kids(self.terms[a]), kids(self.terms[b]), strict=True)
        needs = tuple((k, x, y) for k, (x, y) in enumerate(both) if x != y)
        return Edge(a, b, None, stamp, needs)

    # -- short paths --

    def path(self, a: int, b: int, bound: int = NO_BOUND, depth: int = 0) -> Steps:
        """The shortest way from `a` to `b` by edges of stamps below `bound`."""
        best = {a: 0.0}
        came: dict[int, Edge] = {}
        heap = [(0.0, a)]
        while heap:
            far, t = heapq.heappop(heap)
            if t == b:
                break
            if far > best[t]:
                continue
            for other, edge in self._edges[t]:
                if edge.stamp < bound and far < best.get(other, NEVER):
                    length = far + self._length(edge, depth)
                    if length < best.get(other, NEVER):
                        best[other] = length
                        came[other] = edge
                        heapq.heappush(heap, (length, other))
        self._lengths[a, b] = best[b]
        direct = self._direct(a, b, bound)
        if direct and (length := self._length(direct, depth)) <= best[b]:
            self._lengths[a, b] = length
            return (direct,)
        out: list[Edge] = []
        while b != a:
            edge = came[b]
            out.append(edge if edge.end == b else edge.back)
            b = out[-1].start
        return self.joined(out[::-1])

    def _direct(self, a: int, b: int, bound: int) -> Edge | None:
        """The congruence of two terms that others join, under the least bound of all
        chains of congruences between them."""
        if a == b or self.signature(a) != self.signature(b):
            return None
        heap, seen = [(ALWAYS, a)], set[int]()
        while heap:
            stamp, t = heapq.heappop(heap)
            if t == b:
                return self.congruence(a, b, stamp)
            if t not in seen:
                seen.add(t)
                for other, edge in self._edges[t]:
                    if edge.given is None and edge.stamp < bound and other not in seen:
                        heapq.heappush(heap, (max(stamp, edge.stamp), other))
        return None

    def joined(self, steps: Sequence[Edge]) -> Steps:
        """Congruences one after the other are one, whose operands may be nearer."""
        out: list[Edge] = []
        for edge in steps:
            if out and out[-1].given is None and edge.given is None:
                last = out.pop()
                stamp = max(last.stamp, edge.stamp)
                edge = self.congruence(last.start, edge.end, stamp)
            out.append(edge)
        return tuple(out)

    def _length(self, edge: Edge, depth: int) -> float:
        """About how many uses of rules an edge takes."""
        own = 0.0 if edge.given is None else 1.0
        if not edge.rests_on:
            return own
        needs = [self._distance(p, edge.stamp, depth) for p in edge.rests_on]
        return own + self._together(needs)

    def _distance(self, pair: Pair, bound: int, depth: int) -> float:
        if pair not in self._lengths:
            if depth == DEEP:
                return GUESS
            self._lengths[pair] = GUESS  # while it is looked for
            self.path(*pair, bound, depth + 1)
        return self._lengths[pair]

    # -- proofs --

    def proofs(self, goals: Iterable[Pair]) -> dict[Pair, Steps]:
        """A path for each goal and for each equation that a path rests on, by ordered
        pairs, what is used before its users.

        What two operands need may be all different, or all the same: paths that are
        short by the sum of their lengths go round what is needed twice, those that are
        short by the longest do not.  The proof that uses less is taken.
        """
        ends = [ordered(a, b) for a, b in goals if a != b]
        made: list[dict[Pair, Steps]] = []
        for together in (sum, max):
            self._together = together
            self._lengths.clear()
            made.append(self._proofs(ends))
        return straightened(self, min(made, key=uses), ends)

    def _proofs(self, ends: Sequence[Pair]) -> dict[Pair, Steps]:
        """Of two bounds under which a pair is needed the smaller one's path serves
        both, since it goes down in stamps from either."""
        result: dict[Pair, Steps] = {}
        todo = [(pair, NO_BOUND) for pair in ends]
        while todo:
            pair, bound = todo.pop()
            if pair in result and _top(result[pair]) < bound:
                continue
            result[pair] = self.path(*pair, bound)
            todo += [(need, e.stamp) for e in result[pair] for need in e.rests_on]
        return result


def _came(edge: Edge) -> int:
    """Of two rules that say the same the one that came first is named."""
    return NO_BOUND if edge.given is None else edge.given


def ordered(a: int, b: int) -> Pair:
    return (a, b) if a < b else (b, a)


def _top(steps: Steps) -> int:
    return max((e.stamp for e in steps), default=ALWAYS)
