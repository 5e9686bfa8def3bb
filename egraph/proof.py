"""Proof-producing congruence closure, and proofs as a DAG of lemmas.

After R. Nieuwenhuis and A. Oliveras, "Proof-producing congruence closure" (RTA 2005):
beside the union-find, each merge adds an edge between exactly the two terms that it
was made for.  The edges form a forest, so two equal terms have one path, and each edge
of it is the use of a rule or a congruence, which needs its operands equal in turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .encode import Row
from .rows import kids, with_kids


@dataclass(frozen=True, slots=True)
class Given:
    """An edge that a rule's use made; `forward` when walked from its left side."""

    use: int
    forward: bool


@dataclass(frozen=True, slots=True)
class Congruent:
    """An edge between terms with one head and equal operands."""


type Reason = Given | Congruent


@dataclass(frozen=True, slots=True)
class Link:
    """One edge of a path: `start` equals `end` for `reason`."""

    start: int
    end: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class Lemma:
    """Two equal terms and the path between them; congruences rest on other lemmas."""

    left: int
    right: int
    path: tuple[Link, ...]


def _turned(reason: Reason) -> Reason:
    return (
        Given(reason.use, not reason.forward) if isinstance(reason, Given) else reason
    )


class Closure:
    """The congruence closure of given equations over hash-consed terms."""

    def __init__(self, terms: Mapping[int, Row]) -> None:
        self.terms = terms
        self._root = {t: t for t in terms}
        self._members = {t: [t] for t in terms}
        self._users: dict[int, list[int]] = {t: [] for t in terms}
        self._proof: dict[int, tuple[int, Reason]] = {}
        self._signatures: dict[tuple[object, ...], int] = {}
        for t, row in terms.items():
            for k in set(kids(row)):
                self._users[k].append(t)
            self._signatures[self._signature(t)] = t

    def _signature(self, t: int) -> tuple[object, ...]:
        return with_kids(self.terms[t], self._root)

    def equal(self, a: int, b: int) -> bool:
        return self._root[a] == self._root[b]

    def merge(self, equations: Iterable[tuple[int, int]]) -> None:
        """Adds equation i as `Given(i)`, and all congruences that follow."""
        for i, (a, b) in enumerate(equations):
            queue: list[tuple[int, int, Reason]] = [(a, b, Given(i, True))]
            while queue:
                queue.extend(self._union(*queue.pop()))

    def _union(self, a: int, b: int, why: Reason) -> list[tuple[int, int, Reason]]:
        """Joins two classes; the congruences that this makes."""
        small, large = self._root[a], self._root[b]
        if small == large:
            return []
        if len(self._members[small]) > len(self._members[large]):
            a, b, small, large, why = b, a, large, small, _turned(why)
        self._link(a, b, why)
        for t in self._members[small]:
            self._root[t] = large
        self._members[large] += self._members.pop(small)
        found: list[tuple[int, int, Reason]] = []
        for user in self._users[small]:
            twin = self._signatures.setdefault(self._signature(user), user)
            if self._root[twin] != self._root[user]:
                found.append((user, twin, Congruent()))
        self._users[large] += self._users.pop(small)
        return found

    def _link(self, a: int, b: int, why: Reason) -> None:
        """Makes `a` the root of its proof tree, then hangs it on `b`."""
        node, above, reason = a, b, why
        while True:
            old = self._proof.get(node)
            self._proof[node] = (above, reason)
            if old is None:
                return
            above, node, reason = node, old[0], _turned(old[1])

    def path(self, a: int, b: int) -> tuple[Link, ...]:
        """The edges from `a` to `b` in the proof forest."""
        up = {a: 0}
        chain = [a]
        while chain[-1] in self._proof:
            chain.append(self._proof[chain[-1]][0])
            up[chain[-1]] = len(chain) - 1
        back: list[Link] = []
        node = b
        while node not in up:
            above, why = self._proof[node]
            back.append(Link(above, node, _turned(why)))
            node = above
        ahead = [Link(t, *self._proof[t]) for t in chain[: up[node]]]
        return (*ahead, *reversed(back))

    def lemmas(self, goals: Sequence[tuple[int, int]]) -> list[Lemma]:
        """Proofs of the goals, each pair of terms once, what is used before its users.

        Each equation of operands is proved by edges older than the congruence that
        rests on it, so the order is well founded.
        """
        out: dict[tuple[int, int], Lemma] = {}
        todo = [(a, b, False) for a, b in reversed(goals)]
        paths: dict[tuple[int, int], tuple[Link, ...]] = {}
        while todo:
            a, b, closing = todo.pop()
            if a == b or (a, b) in out:
                continue
            if closing:
                out[a, b] = Lemma(a, b, paths[a, b])
                continue
            todo.append((a, b, True))
            if (a, b) not in paths:
                paths[a, b] = self.path(a, b)
                for link in paths[a, b]:
                    todo.extend((x, y, False) for x, y in self.operands(link))
        return list(out.values())

    def root(self, t: int) -> int:
        """The name of the class of a term."""
        return self._root[t]

    def operands(self, link: Link) -> list[tuple[int, int]]:
        """The equations that a congruence rests on."""
        return [pair for _, pair in self.pairs(link)]

    def pairs(self, link: Link) -> list[tuple[int, tuple[int, int]]]:
        """The same, each with the position of its operand."""
        if isinstance(link.reason, Given):
            return []
        start, end = kids(self.terms[link.start]), kids(self.terms[link.end])
        both = enumerate(zip(start, end, strict=True))
        return [(k, (x, y)) for k, (x, y) in both if x != y]
