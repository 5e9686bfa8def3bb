"""Reductions: a smaller graph with the same optimum, and the way back.

Each step keeps the cost of every choice that matters and undoes itself by what it wrote
down: a node of the small graph stands for a bundle of nodes of the given one.

- A class with a free leaf is taken and leaves all child lists.
- What every node of a class costs at least is paid by its users where they are one
  class, and by the total where it is a root.
- A class that one node uses is put into that node; a free class with one node is
  replaced by its children.
- A root's only node makes its children roots, and so do children that all its nodes
  share, or that every term needs.  A root is paid anyway: what uses it need not name
  it, unless they lie on a cycle.
- A node goes that costs no less than the whole cheapest term of its class: that term
  may take its place, and brings its children along.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .components import strong
from .greedy import by_trees, needed, unavoidable
from .terms import DOMINATORS, Graph

GROWTH = 4  # child entries that putting a class into its users may add
MANY = 20_000  # most classes for which what every term needs is found as sets
OFTEN = 64  # classes between looks at the clock
ROUNDS = 12  # most over the whole graph

type Bundle = int | tuple[Bundle, Bundle]  # nodes of the given graph


@dataclass(frozen=True, slots=True)
class Core:
    """What is left to decide; `graph.index` points into `bundles`."""

    graph: Graph
    bundles: list[Bundle]
    fixed: list[Bundle]  # what is decided, needed or not
    paid: float  # on top of the graph's cost


def reduced(g: Graph, cost: Sequence[float], rounds: int = ROUNDS) -> Core:
    """The core of `g` under other costs (of its nodes)."""
    core = reduced_in_time(g, cost, lambda: False, rounds)
    assert core is not None
    return core


def reduced_in_time(
    g: Graph,
    cost: Sequence[float],
    expired: Callable[[], bool],
    rounds: int = ROUNDS,
) -> Core | None:
    """`reduced`, or None once `expired` says so."""
    work = _Work(g, cost, expired)
    work.settle(range(len(g.of)))
    for _ in range(rounds):
        if expired() or not work.globally():
            break
    return None if expired() else work.frozen()


def expanded(g: Graph, core: Core, pick: Sequence[int]) -> list[int]:
    """The choice of `g` that one of the core stands for; -1 where none is needed."""
    out = [-1] * len(g.of)
    taken = [core.bundles[core.graph.index[n]] for n in pick if n >= 0]
    for bundle in (*taken, *core.fixed):
        for n in flat(bundle):
            out[g.owner[n]] = n
    return out


def settled(g: Graph, core: Core, chosen: Sequence[int]) -> list[int]:
    """The choice of `g`; only nodes that the core's roots need are made part of it."""
    pick = list(chosen)
    if pick:
        used = needed(core.graph, pick)
        pick = [n if c in used else -1 for c, n in enumerate(pick)]
    return expanded(g, core, pick)


def projected(g: Graph, core: Core, pick: Sequence[int]) -> list[int]:
    """A choice of the core that follows a choice of `g` where it can.

    Where a node is gone, one is taken that needs no more classes than the choice.
    """
    chosen, used = set(pick), needed(g, pick)
    k = core.graph
    inside = [c in used for c in k.name]
    extra = 1e-3 * sum(k.cost) + 1e-300
    cost = list(k.cost)
    for n, i in enumerate(k.index):
        if all(m in chosen for m in flat(core.bundles[i])):
            cost[n] = 0.0
        elif not all(inside[d] for d in k.kids[n]):
            cost[n] += extra
    return by_trees(k, cost=cost)[1]


def flat(bundle: Bundle) -> list[int]:
    """The nodes of a bundle."""
    nodes: list[int] = []
    todo = [bundle]
    while todo:
        b = todo.pop()
        if isinstance(b, int):
            nodes.append(b)
        else:
            todo += b
    return nodes


class _Work:
    """The graph while it shrinks; a class that is gone has no entry in `of`."""

    def __init__(
        self, g: Graph, cost: Sequence[float], expired: Callable[[], bool]
    ) -> None:
        self.g = g
        self.expired = expired
        self.cost = list(cost)
        self.kids = [set(kids) for kids in g.kids]
        self.bundle: list[Bundle] = list(range(len(g.owner)))
        self.owner = list(g.owner)
        self.of = {c: list(nodes) for c, nodes in enumerate(g.of)}
        self.users = [set(users) for users in g.users]
        self.roots = set(g.roots)
        self.fixed: list[Bundle] = []
        self.paid = 0.0
        self.todo = deque[int]()
        self.waiting = set[int]()
        self.changed = False

    # ---- one class at a time

    def settle(self, classes: Sequence[int]) -> None:
        for c in classes:
            self._wake(c)
        while self.todo:
            if not len(self.todo) % OFTEN and self.expired():
                return
            c = self.todo.popleft()
            self.waiting.discard(c)
            if c in self.of:
                self._simplify(c)

    def _wake(self, c: int) -> None:
        if c in self.of and c not in self.waiting:
            self.waiting.add(c)
            self.todo.append(c)

    def _simplify(self, c: int) -> None:
        if c not in self.roots and not self.users[c]:
            self._remove(c)
            return
        self._prune(c)
        self._pull(c)
        free = [n for n in self.of[c] if not self.kids[n] and self.cost[n] == 0]
        if free:
            self._take(c, free[0])
        elif c in self.roots:
            self._force(c)
        else:
            self._merge(c)

    def _prune(self, c: int) -> None:
        """Drops nodes whose children and cost exceed another's."""
        order = sorted(self.of[c], key=lambda n: (self.cost[n], len(self.kids[n]), n))
        kept: list[int] = []
        for n in order:
            if any(self.kids[m] <= self.kids[n] for m in kept[:DOMINATORS]):
                self._drop(n)
            else:
                kept.append(n)
        self.of[c] = sorted(kept)

    def _pull(self, c: int) -> None:
        """Moves what `c` costs at least to its users, or to the total."""
        least = min([self.cost[n] for n in self.of[c]])
        owners = {self.owner[u] for u in self.users[c]}
        if least == 0 or not (c in self.roots or len(owners) == 1):
            return
        if c in self.roots:
            self.paid += least
        else:
            for u in self.users[c]:
                self.cost[u] += least
            self._wake(owners.pop())
        for n in self.of[c]:
            self.cost[n] -= least

    def _take(self, c: int, n: int) -> None:
        """Decides for a node that costs nothing and needs nothing."""
        self.fixed.append(self.bundle[n])
        for u in self.users[c]:
            self.kids[u].discard(c)
            self._wake(self.owner[u])
        self._remove(c)

    def _force(self, c: int) -> None:
        """Makes roots of what all nodes of a root need."""
        nodes = self.of[c]
        common = self.kids[nodes[0]].intersection(*[self.kids[n] for n in nodes])
        for d in sorted(common - self.roots):
            self.roots.add(d)
            self._wake(d)
            self.changed = True
        if len(nodes) == 1 and self._fits(c):  # free, by `_pull`
            self._replace(c)

    def _merge(self, c: int) -> None:
        nodes, users = self.of[c], self.users[c]
        if len(users) == 1:
            (u,) = users
            if len(nodes) == 1 or (len(nodes) - 1) * (len(self.kids[u]) - 1) <= GROWTH:
                self._put_into(c, u)
        elif len(nodes) == 1 and self.cost[nodes[0]] == 0 and self._fits(c):
            self._replace(c)

    def _fits(self, c: int) -> bool:
        """Whether its users can name the children of its node instead."""
        a, b = len(self.kids[self.of[c][0]]), len(self.users[c])
        return a * b <= a + b + GROWTH

    def _replace(self, c: int) -> None:
        """Puts the children of a free class's only node where the class is used."""
        (n,) = self.of[c]
        self.fixed.append(self.bundle[n])
        for u in sorted(self.users[c]):
            o = self.owner[u]
            self.kids[u].discard(c)
            if o in self.kids[n]:
                self._cut(u)
            else:
                self._adopt(u, self.kids[n])
            self._wake(o)
        self._remove(c)

    def _put_into(self, c: int, u: int) -> None:
        """The only user of `c`, once for each node of `c`."""
        o = self.owner[u]
        self.kids[u].discard(c)
        for n in self.of[c]:
            if o in self.kids[n]:
                continue
            m = len(self.owner)
            self.owner.append(o)
            self.cost.append(self.cost[u] + self.cost[n])
            self.kids.append(set[int]())
            self.bundle.append((self.bundle[u], self.bundle[n]))
            self._adopt(m, self.kids[u] | self.kids[n])
            self.of[o].append(m)
        self._cut(u)
        self._remove(c)
        self._wake(o)

    # ---- parts of a step

    def _adopt(self, u: int, kids: set[int]) -> None:
        for d in kids:
            self.users[d].add(u)
        self.kids[u] |= kids

    def _drop(self, n: int) -> None:
        """Takes a node out of the lists of its children, which it may free."""
        for d in self.kids[n]:
            self.users[d].discard(n)
            self._wake(d)

    def _cut(self, n: int) -> None:
        self._drop(n)
        self.of[self.owner[n]].remove(n)

    def _remove(self, c: int) -> None:
        for n in self.of.pop(c):
            self._drop(n)
        self.users[c].clear()
        self.roots.discard(c)

    # ---- the whole graph

    def globally(self) -> bool:
        """One round of what needs the whole graph; whether anything changed."""
        self.changed = False
        for step in (self._name_less, self._need, self._afford):
            if not self.expired():
                step()
        return self.changed

    def _name_less(self) -> None:
        """No node names a root, unless both lie on a cycle."""
        part = strong(sorted(self.of), self._below)
        for r in sorted(self.roots):
            for u in sorted(self.users[r]):
                if part[self.owner[u]] != part[r]:
                    self.kids[u].discard(r)
                    self.users[r].discard(u)
                    self._wake(self.owner[u])
                    self.changed = True
            self._wake(r)
        self.settle(())

    def _below(self, c: int) -> list[int]:
        return sorted({d for n in self.of[c] for d in self.kids[n]})

    def _need(self) -> None:
        """Makes roots of the classes that every term needs."""
        if not 0 < len(self.of) <= MANY:
            return
        g = self.frozen().graph
        for c in sorted(unavoidable(g, by_trees(g)[0])):
            d = g.name[c]
            if d not in self.roots:
                self.roots.add(d)
                self._wake(d)
                self.changed = True
        self.settle(())

    def _afford(self) -> None:
        """Drops nodes that cost no less than the cheapest whole term of their class.

        The terms' own nodes stay, so all that is dropped may be replaced by them.
        """
        core = self.frozen()
        g, ids = core.graph, self.live
        order, pick = by_trees(g)
        value = [math.inf] * len(g.of)
        for c in order:
            value[c] = g.cost[pick[c]] + sum([value[d] for d in g.kids[pick[c]]])
        for c in order:
            for n in g.of[c]:
                if n != pick[c] and g.cost[n] >= value[c]:
                    self._cut(ids[n])
                    self._wake(g.name[c])
                    self.changed = True
        self.settle(())

    def frozen(self) -> Core:
        name = sorted(self.of)
        number = {c: k for k, c in enumerate(name)}
        of: list[list[int]] = [[] for _ in name]
        users: list[list[int]] = [[] for _ in name]
        roots = sorted(number[r] for r in self.roots)
        g = Graph(name, [], [], [], [], of, users, roots)
        self.live: list[int] = []
        for k, c in enumerate(name):
            for n in sorted(self.of[c]):
                m = len(g.owner)
                self.live.append(n)
                g.index.append(m)
                g.owner.append(k)
                g.cost.append(self.cost[n])
                g.kids.append(tuple(sorted([number[d] for d in self.kids[n]])))
                of[k].append(m)
                for d in g.kids[m]:
                    users[d].append(m)
        return Core(g, [self.bundle[n] for n in self.live], self.fixed, self.paid)
