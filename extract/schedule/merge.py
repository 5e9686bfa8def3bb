"""Kernels with several outputs: merging neighbours where one is cheaper than two.

Candidates are a producer with a kernel that reads it (the value is computed once,
stored and used at once) and siblings that read the same buffer.  A merge must not close
a cycle through a third kernel, nor make one of what reads a value and what reads it
behind a barrier: that is to be computed again later.  What no other kernel reads any
more is then computed without being stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..dag.postorder import postorder
from .assemble import Except, Traced
from .search import EPSILON, Search

MAX_SIBLINGS = 8


@dataclass(frozen=True, slots=True)
class Group:
    """A kernel that stores `roots`; `reads` are computed classes of other kernels."""

    roots: tuple[int, ...]
    reads: frozenset[int]
    seconds: float
    sources: frozenset[int]  # all that is read, inputs included
    host: bool
    behind: frozenset[int] = frozenset()  # what is read behind barriers


def _apart(a: Group, b: Group) -> bool:
    """Whether one reads behind a barrier what the other reads or stores before it."""
    return not (a.behind - b.behind).isdisjoint((*b.sources, *b.roots))


class Merger:
    """Greedy merging over a finished search."""

    def __init__(self, search: Search) -> None:
        self.s = search
        self.groups: dict[int, Group] = {}  # by first root
        self.home: dict[int, int] = {}  # root class -> group
        self.stored = set(search.stored)
        self.readers: dict[int, set[int]] = {}  # root class -> groups
        for c in search.kernels_in_order():
            k = search.kern[c]
            sources = k.traced.reads if k.traced else k.reads
            group = Group(
                (c,),
                frozenset(k.reads),
                k.seconds,
                frozenset(sources),
                k.traced is None,
                self._behind(k.traced) if k.traced else frozenset(),
            )
            self.groups[c] = group
            self.home[c] = c
            for a in group.reads:
                self.readers.setdefault(a, set()).add(c)

    def run(self) -> tuple[tuple[int, ...], ...]:
        """Merges until nothing helps; the groups, producers first."""
        changed = set(self.groups)
        while changed:
            todo = sorted(changed, key=self._position)
            changed = set[int]()
            for g in todo:
                while g in self.groups and (found := self._best(g)) is not None:
                    self._merge(g, *found)
                    changed.add(g)
        return tuple(self.groups[g].roots for g in self.ordered())

    def _position(self, g: int) -> float:
        return self.s.pos[g]

    def _candidates(self, g: int) -> Iterator[int]:
        """Neighbours of group `g` that may join it."""
        group = self.groups[g]
        seen = {g}
        for c in sorted(group.reads, key=self._position):
            h = self.home[c]
            if h not in seen:
                seen.add(h)
                yield h
        shape = self.s.type(g).shape
        siblings = [
            h
            for h, other in self.groups.items()
            if h not in seen and group.sources & other.sources
        ]
        siblings.sort(key=lambda h: self.s.type(h).shape != shape)
        yield from siblings[:MAX_SIBLINGS]

    def _best(self, g: int) -> tuple[int, Group] | None:
        best: tuple[float, int, Group] | None = None
        for h in self._candidates(g):
            merged = self._merged(self.groups[h], self.groups[g])
            if merged is None or self._cyclic(merged):
                continue
            gain = self.groups[g].seconds + self.groups[h].seconds - merged.seconds
            if gain > EPSILON and (best is None or gain > best[0]):
                best = gain, h, merged
        return None if best is None else best[1:]

    def _merged(self, a: Group, b: Group) -> Group | None:
        """One kernel for what others read of the two, or for all of their outputs."""
        if a.host or b.host or _apart(a, b) or _apart(b, a):
            return None
        roots = (*a.roots, *b.roots)
        inside = {self.home[c] for c in roots}
        wanted = tuple(c for c in roots if self._wanted(c, inside))
        merged = self._price(wanted, roots)
        return merged if merged or wanted == roots else self._price(roots, roots)

    def _wanted(self, c: int, inside: set[int]) -> bool:
        """Whether something other than these groups reads the class."""
        return c in self.s.roots or not self.readers.get(c, set()) <= inside

    def _price(self, roots: tuple[int, ...], computed: tuple[int, ...]) -> Group | None:
        stored = Except(self.stored, frozenset(computed))
        found = self.s.known.kernel(self.s, roots, stored)
        if found is None or found.cost is None:
            return None
        traced = found.traced
        reads = frozenset(c for c in traced.reads if not self.s.given[c])
        seconds = found.cost.seconds * self.s.share(roots, traced.reads)
        behind = self._behind(traced)
        return Group(roots, reads, seconds, frozenset(traced.reads), False, behind)

    def _behind(self, traced: Traced) -> frozenset[int]:
        """What a kernel reads below its barriers."""
        members, found = set(traced.members), set[int]()
        todo = [c for c in members if self.s.node(c).op == "barrier"]
        while todo:
            c = todo.pop()
            if c not in found:
                found.add(c)
                todo.extend(self.s.node(c).args if c in members else ())
        return frozenset(found & set(traced.reads))

    def _cyclic(self, merged: Group) -> bool:
        """Whether an outside kernel between the two would have to run in between."""
        inside = set(merged.roots)
        todo, seen = [self.home[c] for c in merged.reads], set[int]()
        while todo:
            g = todo.pop()
            if g in seen:
                continue
            seen.add(g)
            if inside & set(self.groups[g].roots):
                return True
            todo += [self.home[c] for c in self.groups[g].reads]
        return False

    def _merge(self, g: int, h: int, merged: Group) -> None:
        for k in (g, h):
            group = self.groups.pop(k)
            for c in group.reads:
                self.readers[c].discard(k)
            self.stored.difference_update(group.roots)
        self.groups[g] = merged
        self.stored.update(merged.roots)
        for c in merged.roots:
            self.home[c] = g
        for c in merged.reads:
            self.readers.setdefault(c, set()).add(g)

    def ordered(self) -> list[int]:
        """Groups, producers first."""

        def needs(g: int) -> list[int]:
            return sorted({self.home[c] for c in self.groups[g].reads})

        return postorder([self.home[c] for c in self.s.roots], needs)
