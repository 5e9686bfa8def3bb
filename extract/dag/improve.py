"""Large neighbourhoods: some classes near each other are free, the others stay.

What stays has one node, so reductions make the rest small, and HiGHS decides it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from random import Random

from .exact import Limits, prove
from .greedy import by_trees, dag_cost, needed
from .reduce import projected, reduced, settled
from .terms import Graph

FIRST, LEAST, MOST = 300, 20, 6_000  # free classes
EASY = 5  # a share of the work allowed that is little
NEIGHBOURS = 24  # of one class that are looked at: a root may have thousands
ROUNDS = 2  # of reductions; what is left is small
SHRINK = 2  # nodes of a neighbourhood that count as work for its reductions
PASS = 30  # nodes of the graph that count as work where all are gone through


def improved(
    g: Graph,
    pick: Sequence[int],
    seed: int,
    limits: Limits,
) -> Iterator[tuple[list[int], int]]:
    """The best choice after each round and the work of that round, without end.

    The neighbourhood grows where it was decided, and shrinks where it was not.
    """
    rng = Random(seed)
    best = completed(g, pick)
    cost, size = dag_cost(g, best), FIRST
    visits = [0 if len(nodes) > 1 else -1 for nodes in g.of]
    while True:
        used = needed(g, best)
        open_ = [c for c in sorted(used) if visits[c] >= 0]
        if not open_:
            return
        least = min(visits[c] for c in open_)
        start = rng.choice([c for c in open_ if visits[c] == least])
        free = _ball(g, best, used, start, size, rng)
        for c in free:
            visits[c] += visits[c] >= 0
        found, decided, work, nodes = _decide(g, best, free, limits)
        if dag_cost(g, found) < cost:
            best = completed(g, found)
            cost = dag_cost(g, best)
        if decided and limits.work is not None:
            work = min(work, limits.work)  # looks at easy ones take little time
        yield best, work + nodes // SHRINK + len(g.owner) // PASS
        size = _next(size, decided, work, limits)


def _next(size: int, decided: bool, work: int, limits: Limits) -> int:
    """Twice as large where that was easy, less where it was too much."""
    if not decided:
        return max(LEAST, size // 2)
    easy = limits.work is not None and work * EASY < limits.work
    return min(MOST, 2 * size if easy else size * 5 // 4)


def completed(g: Graph, pick: Sequence[int]) -> list[int]:
    """The choice with nodes for all classes: those that are cheapest beside it."""
    used = needed(g, pick)
    order, beside = by_trees(g, frozenset(used))
    out = list(pick)
    for c in order:
        out[c] = beside[c]
    return out


def _ball(
    g: Graph, pick: Sequence[int], used: set[int], start: int, size: int, rng: Random
) -> set[int]:
    """Classes around one, until `size` of them have a choice.

    A class that is used goes only if all leave that hold it: these are near it.  One
    that is not comes if any of its users takes it.
    """
    seen, todo, count = {start}, deque([start]), 0
    while todo and count < size:
        c = todo.popleft()
        count += len(g.of[c]) > 1
        near = [d for n in g.of[c] for d in g.kids[n]]
        users = g.users[c]
        if c in used:
            users = [u for u in users if pick[g.owner[u]] == u]
        near += [g.owner[u] for u in users]
        if len(near) > NEIGHBOURS:
            near = rng.sample(near, NEIGHBOURS)
        for d in near:
            if d not in seen:
                seen.add(d)
                todo.append(d)
    return seen.difference(todo)


def _decide(
    g: Graph,
    pick: Sequence[int],
    free: set[int],
    limits: Limits,
) -> tuple[list[int], bool, int, int]:
    """The best choice that differs in `free` alone, if it is certain, work, nodes."""
    small = _narrowed(g, pick, free)
    core = reduced(small, small.cost, ROUNDS)
    chosen: list[int] = []
    decided, work = True, 0
    if core.graph.of:
        at = {n: m for m, n in enumerate(small.index)}
        now = [at[pick[c]] for c in small.name]
        proof = prove(core.graph, projected(small, core, now), limits)
        chosen, decided, work = proof.pick, proof.optimal, proof.work
    out = list(pick)
    for c, n in enumerate(settled(small, core, chosen)):
        if n >= 0:
            out[small.name[c]] = small.index[n]
    return out, decided, work, len(small.owner)


def _narrowed(g: Graph, pick: Sequence[int], free: set[int]) -> Graph:
    """What may change if classes in `free` may change their node, and what that needs.

    What the roots need without passing a free class is paid anyway; it is left out,
    except where it needs a free class, and so could close a cycle.
    """
    paid = _without(g, pick, free)
    above = _above(g, pick, free)
    starts = {d for c in paid for d in g.kids[pick[c]]}.union(g.roots) & free
    nodes: dict[int, list[int]] = {}
    todo = sorted(starts)
    while todo:
        c = todo.pop()
        if c not in nodes and (c in above or c not in paid):
            own = g.of[c] if c in free else ()
            nodes[c] = [n for n in own if n != pick[c]] + [pick[c]]
            todo += [d for n in nodes[c] for d in g.kids[n] if d not in nodes]
    name = sorted(nodes)
    number = {c: k for k, c in enumerate(name)}
    of: list[list[int]] = [[] for _ in name]
    users: list[list[int]] = [[] for _ in name]
    roots = sorted(number[c] for c in starts)
    small = Graph(name, [], [], [], [], of, users, roots)
    for k, c in enumerate(name):
        for n in nodes[c]:
            m = len(small.owner)
            small.index.append(n)
            small.owner.append(k)
            small.cost.append(0.0 if c in paid else g.cost[n])
            small.kids.append(tuple([number[d] for d in g.kids[n] if d in number]))
            of[k].append(m)
            for d in small.kids[m]:
                users[d].append(m)
    return small


def _without(g: Graph, pick: Sequence[int], free: set[int]) -> set[int]:
    """What the roots need without passing a free class."""
    seen = {r for r in g.roots if r not in free}
    todo = list(seen)
    while todo:
        for d in g.kids[pick[todo.pop()]]:
            if d not in seen and d not in free:
                seen.add(d)
                todo.append(d)
    return seen


def _above(g: Graph, pick: Sequence[int], free: set[int]) -> set[int]:
    """The free classes and what needs one by the nodes picked."""
    seen, todo = set(free), list(free)
    while todo:
        for u in g.users[todo.pop()]:
            o = g.owner[u]
            if pick[o] == u and o not in seen:
                seen.add(o)
                todo.append(o)
    return seen
