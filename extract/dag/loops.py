"""Which sets of classes are taken by more than what supports them from outside.

In a set S, a node supports where its class is in S and its children are not: every term
of a class of S has one.  So a class of S can be taken no more than all nodes that
support S.  Linear relaxations break this on cycles, whose classes make each other, and
where halves of two nodes share one half of what both need whole (on trees these are the
directed cuts of Steiner arborescences; Wong 1984, Koch & Martin 1998).

A set that breaks this for a class is a cut in a network: from the class along its
nodes, each to one of its children (the one that is built least), to the nodes with no
child in question.  Nodes with several such children make the cut an upper bound, so
that sets are missed.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence

from .components import strong
from .greedy import needed
from .terms import Graph

VIOLATED = 1e-4  # what is less is left for the integral choice
CREEP = 1e-5  # added to capacities: of cuts of equal size the one with fewest nodes
TRIES = 4
NESTED = 8  # most cuts for one class at once

type Arcs = dict[int, float]  # class (or OUT) -> what is left

OUT = -1


class Loops:
    """The classes of a graph that lie on a cycle, and the sets to cut them by."""

    def __init__(self, g: Graph) -> None:
        self.g = g
        part = strong(range(len(g.of)), self._below)
        sizes: dict[int, int] = {}
        for k in part.values():
            sizes[k] = sizes.get(k, 0) + 1
        self.part = [part[c] if sizes[part[c]] > 1 else -1 for c in range(len(g.of))]
        self.steps = 0  # about 0.1 us each
        self.classes = sorted(range(len(g.of)), key=lambda c: (part[c], c))  # bottom-up

    def _below(self, c: int) -> list[int]:
        return sorted({d for n in self.g.of[c] for d in self.g.kids[n]})

    def support(self, loop: set[int]) -> list[int]:
        """The nodes of a set of classes that need none of them."""
        g = self.g
        return [n for c in sorted(loop) for n in g.of[c] if loop.isdisjoint(g.kids[n])]

    # ---- of an integral choice

    def chosen(self, pick: Sequence[int]) -> list[set[int]]:
        """The loops of a choice below the roots."""
        g = self.g
        used = needed(g, pick)
        left = {c: len(g.kids[pick[c]]) for c in used}
        todo = [c for c in sorted(used) if not left[c]]
        for c in todo:
            for u in g.users[c]:
                o = g.owner[u]
                if o in used and pick[o] == u:
                    left[o] -= 1
                    if not left[o]:
                        todo.append(o)
        stuck = used - set(todo)
        return _groups(stuck, lambda c: [d for d in g.kids[pick[c]] if d in stuck])

    # ---- of a linear relaxation

    def fractional(
        self, x: Sequence[float], most: float = math.inf
    ) -> list[tuple[int, set[int]]]:
        """Sets whose support is less than the class beside them is taken.

        First those on cycles, then, where there are none, of classes that are taken by
        halves.  Not all are found where that takes `most` steps, which are counted.
        """
        end = self.steps + most
        built = self._built(x)
        short: list[tuple[float, int]] = []
        split: list[tuple[float, int]] = []
        for c, nodes in enumerate(self.g.of):
            taken = sum([x[n] for n in nodes])
            if taken > built[c] + VIOLATED:
                short.append((built[c] - taken, c))
            elif sum([x[n] > VIOLATED for n in nodes]) > 1:
                split.append((-taken, c))
        self.steps += 5 * len(self.g.owner)
        found = self._sets([c for _, c in sorted(short)], x, built, True, end)
        return found or self._sets([c for _, c in sorted(split)], x, built, False, end)

    def _sets(
        self, sources: list[int], x: Sequence[float], built: Sequence[float],
        cyclic: bool, end: float,
    ) -> list[tuple[int, set[int]]]:  # fmt: skip
        """Sets around the sources, but for those that an earlier set holds."""
        found: list[tuple[int, set[int]]] = []
        covered = set[int]()
        for c in sources:
            if self.steps > end:
                break
            if c not in covered:
                for loop in self._around(c, x, built, cyclic):
                    found.append((c, loop))
                    covered |= loop
        return found

    def _around(
        self, c: int, x: Sequence[float], built: Sequence[float], cyclic: bool
    ) -> list[set[int]]:
        """Sets around `c` with too little support, on its cycles or anywhere.

        Where a node has several children in question, the network with those in the
        last set is exact for that set, so that the next one is no worse.
        """
        inside = set[int]()
        taken = sum([x[n] for n in self.g.of[c]])
        for _ in range(TRIES):
            part = self.part[c] if cyclic else None
            net = Network(self, x, built, part, inside)
            loops = list(self._cuts(net, c, taken))
            short = [s for s in loops if self._supported(s, x) < taken - VIOLATED]
            if short or not loops or loops[0] == inside:
                return short
            inside = loops[0]
        return []

    def _supported(self, loop: set[int], x: Sequence[float]) -> float:
        return math.fsum(x[n] for n in self.support(loop))

    def _built(self, x: Sequence[float]) -> list[float]:
        """How much of each class can be built bottom-up, at least."""
        g = self.g
        built = [0.0] * len(g.of)
        todo, waiting = deque(self.classes), set(self.classes)
        steps = 20 * len(built)
        while todo and steps:
            steps -= 1
            c = todo.popleft()
            waiting.discard(c)
            self.steps += 10 + 5 * len(g.of[c])
            total = 0.0
            for n in g.of[c]:
                if x[n] > 0:
                    total += min([x[n], *[built[d] for d in g.kids[n]]])
            if total > built[c] + VIOLATED / 100:
                built[c] = total
                for u in g.users[c]:
                    o = g.owner[u]
                    if o not in waiting and x[u] > 0:
                        waiting.add(o)
                        todo.append(o)
        return built

    def _cuts(self, net: Network, source: int, wanted: float) -> Iterator[set[int]]:
        """Smallest sets around `source` that let less than `wanted` out, each wider."""
        flow = 0.0
        for _ in range(NESTED):
            while flow < wanted - VIOLATED:
                path = self._path(net, source)
                if not path:
                    break
                flow += _push(net, path, wanted)
            else:
                return
            inside = self._reached(net, source).keys()
            yield set(inside)
            for c in inside:
                for d in net[c]:
                    if d not in inside:
                        net[c][d] += wanted

    def _reached(self, net: Network, source: int) -> dict[int, int]:
        """What is reached by arcs with something left -> from where."""
        via = {source: source}
        todo = [source]
        for c in todo:
            self.steps += 5 + len(net[c])
            for d, left in net[c].items():
                if left > CREEP / 100 and d not in via:
                    via[d] = c
                    if d == OUT:
                        return via
                    todo.append(d)
        return via

    def _path(self, net: Network, source: int) -> list[int]:
        """A shortest path out, the last first; none if there is none."""
        via = self._reached(net, source)
        if OUT not in via:
            return []
        path = [OUT]
        while path[-1] != source:
            path.append(via[path[-1]])
        return path


class Network(dict[int, Arcs]):
    """The arcs of each class, made when it is first looked at.

    Of children only those in the strong component `part` are in question, if it is
    given; those in `near` come first.
    """

    def __init__(
        self,
        loops: Loops,
        x: Sequence[float],
        built: Sequence[float],
        part: int | None,
        near: set[int],
    ) -> None:
        super().__init__()
        self.loops, self.x, self.built = loops, x, built
        self.part, self.near = part, near

    def __missing__(self, c: int) -> Arcs:
        loops, x, part = self.loops, self.x, self.part
        g, where = loops.g, loops.part
        arcs: Arcs = {}
        loops.steps += 20 * len(g.of[c])
        for n in g.of[c]:
            inside = g.kids[n]
            if part is not None:
                inside = [d for d in inside if where[d] == part]
            d = self._least(inside) if inside else OUT
            arcs[d] = arcs.get(d, CREEP) + x[n]
        self[c] = arcs
        return arcs

    def _least(self, kids: Sequence[int]) -> int:
        if len(kids) == 1:
            return kids[0]
        near, built = self.near, self.built
        return min([(d not in near, built[d], d) for d in kids])[2]


def _groups(among: set[int], below: Callable[[int], list[int]]) -> list[set[int]]:
    parts: dict[int, set[int]] = {}
    for c, k in strong(sorted(among), below).items():
        parts.setdefault(k, set()).add(c)
    return [part for part in parts.values() if len(part) > 1]


def _push(net: Network, path: list[int], most: float) -> float:
    arcs = list(zip(path[1:], path, strict=False))
    amount = min([most, *[net[a][b] for a, b in arcs]])
    for a, b in arcs:
        net[a][b] -= amount
        if b != OUT:
            net[b][a] = net[b].get(a, 0.0) + amount
    return amount
