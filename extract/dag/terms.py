"""E-graphs as plain data, and the part of one that finite terms can use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

DOMINATORS = 32  # most nodes of a class with which another one is compared


@dataclass(frozen=True, slots=True)
class Node:
    cost: float  # >= 0, finite
    children: tuple[int, ...]  # classes; may repeat


@dataclass(frozen=True, slots=True)
class Problem:
    classes: tuple[tuple[Node, ...], ...]  # a class may be empty: it cannot be made
    roots: tuple[int, ...]


class Infeasible(ValueError):
    """A root that no finite term makes."""

    def __init__(self, root: int) -> None:
        self.root = root
        self.reason = (
            "no finite term makes this class; it, or a class below it, "
            "needs a node whose children can all be made"
        )
        super().__init__(f"root {root}: {self.reason}")


@dataclass(frozen=True, slots=True)
class Graph:
    """The live part, numbered anew; nodes by (class, index)."""

    name: list[int]  # class -> its number in the problem
    index: list[int]  # node -> its index in its class of the problem
    owner: list[int]  # node -> its class
    cost: list[float]
    kids: list[tuple[int, ...]]  # node -> its children, each once, ascending
    of: list[list[int]]  # class -> its nodes, at least one
    users: list[list[int]]  # class -> the nodes that have it as a child
    roots: list[int]


def live_part(problem: Problem) -> Graph:
    """What finite terms of the roots can use, without nodes that cannot help."""
    _check(problem)
    made = _makeable(problem)
    for r in problem.roots:
        if r not in made:
            raise Infeasible(r)
    live: dict[int, list[tuple[int, tuple[int, ...]]]] = {}
    todo = list(problem.roots)
    while todo:
        c = todo.pop()
        if c not in live:
            live[c] = _undominated(c, problem.classes[c], made)
            todo += [d for _, kids in live[c] for d in kids]
    return _numbered(problem, live)


def _check(problem: Problem) -> None:
    size = len(problem.classes)
    for c, nodes in enumerate(problem.classes):
        for i, node in enumerate(nodes):
            if not 0 <= node.cost < math.inf:
                raise ValueError(
                    f"class {c}, node {i}: the cost is {node.cost}; it must be finite "
                    "and not negative"
                )
            for d in node.children:
                if not 0 <= d < size:
                    raise ValueError(
                        f"class {c}, node {i}: child {d} is none of the {size} classes"
                    )
    for r in problem.roots:
        if not 0 <= r < size:
            raise ValueError(f"root {r} is none of the {size} classes")


def _makeable(problem: Problem) -> set[int]:
    """The classes of which there is a finite term."""
    users: list[list[tuple[int, list[int]]]] = [[] for _ in problem.classes]
    todo: list[int] = []
    for c, nodes in enumerate(problem.classes):
        for node in nodes:
            kids = set(node.children)
            left = [len(kids)]
            for d in kids:
                users[d].append((c, left))
            if not kids:
                todo.append(c)
    made = set[int]()
    while todo:
        c = todo.pop()
        if c in made:
            continue
        made.add(c)
        for user, left in users[c]:
            left[0] -= 1
            if not left[0]:
                todo.append(user)
    return made


def _undominated(
    c: int, nodes: Sequence[Node], made: set[int]
) -> list[tuple[int, tuple[int, ...]]]:
    """(index, children) without nodes whose children and cost exceed another's.

    Dropping them is safe: the other node serves in any acyclic choice.
    """
    usable: list[tuple[float, int, int, frozenset[int]]] = []
    for i, node in enumerate(nodes):
        kids = frozenset(node.children)
        if c not in kids and kids <= made:
            usable.append((node.cost, len(kids), i, kids))
    kept: list[tuple[int, frozenset[int]]] = []
    for _, _, i, kids in sorted(usable, key=lambda u: u[:3]):
        if not any(other <= kids for _, other in kept[:DOMINATORS]):
            kept.append((i, kids))
    return [(i, tuple(sorted(kids))) for i, kids in sorted(kept, key=lambda k: k[0])]


def _numbered(
    problem: Problem, live: dict[int, list[tuple[int, tuple[int, ...]]]]
) -> Graph:
    name = sorted(live)
    number = {c: k for k, c in enumerate(name)}
    of: list[list[int]] = [[] for _ in name]
    users: list[list[int]] = [[] for _ in name]
    roots = sorted({number[r] for r in problem.roots})
    g = Graph(name, [], [], [], [], of, users, roots)
    for c, old in enumerate(name):
        for i, children in live[old]:
            n = len(g.owner)
            g.index.append(i)
            g.owner.append(c)
            g.cost.append(problem.classes[old][i].cost)
            g.kids.append(tuple([number[d] for d in children]))
            of[c].append(n)
            for d in g.kids[n]:
                users[d].append(n)
    return g


def restricted(g: Graph, classes: Sequence[int]) -> Graph:
    """Classes (ascending) that need no others; names and indices are those in `g`."""
    return _part(g, classes, [True] * len(g.owner))


def _part(g: Graph, classes: Sequence[int], keep: Sequence[bool]) -> Graph:
    number = {c: k for k, c in enumerate(classes)}
    roots = [number[r] for r in g.roots if r in number]
    of: list[list[int]] = [[] for _ in classes]
    users: list[list[int]] = [[] for _ in classes]
    part = Graph(list(classes), [], [], [], [], of, users, roots)
    for k, c in enumerate(classes):
        for n in g.of[c]:
            if not keep[n]:
                continue
            m = len(part.owner)
            part.index.append(n)
            part.owner.append(k)
            part.cost.append(g.cost[n])
            part.kids.append(tuple([number[d] for d in g.kids[n]]))
            of[k].append(m)
            for d in part.kids[m]:
                users[d].append(m)
    return part


def thinned(g: Graph, keep: Sequence[bool]) -> Graph:
    """What terms of the roots can use of the nodes kept; they suffice for one."""
    left = [len(kids) for kids in g.kids]
    todo = [n for n, k in enumerate(left) if not k and keep[n]]
    made, usable = set[int](), [False] * len(left)
    while todo:
        n = todo.pop()
        usable[n] = True
        if g.owner[n] in made:
            continue
        made.add(g.owner[n])
        for u in g.users[g.owner[n]]:
            left[u] -= 1
            if not left[u] and keep[u]:
                todo.append(u)
    classes, reach = set(g.roots), list(g.roots)
    for c in reach:
        for n in g.of[c]:
            if usable[n]:
                new = [d for d in g.kids[n] if d not in classes]
                classes.update(new)
                reach += new
    return _part(g, sorted(classes), usable)
