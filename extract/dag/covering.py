"""Choices as set covers whose sets share costs.

A root with several nodes is a row.  A node of it, with a term for what it needs, is an
option: it costs the nodes of the term, its items, each paid once by all.  Items that
are used for one row alone are the option's own cost; others are bought by switches,
which may have items in common.  A row is covered where all switches of an option are
on.  A class below that may be made in several ways gives several options.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from .components import strong
from .greedy import by_trees, dag_cost, needed
from .terms import Graph

HALF = 0.5  # of the classes with a choice, rows at least
WIDE = 6  # items of all options at most, for each node of the graph
TERMS = 8  # most options of one node

type Items = frozenset[int]  # nodes of the graph


@dataclass(frozen=True, slots=True)
class Option:
    switches: list[int]
    cost: float  # of its own


@dataclass(frozen=True, slots=True)
class Cover:
    rows: list[list[Option]]
    switches: list[list[int]]  # the items that each buys
    cost: list[float]  # of items
    node: list[int]  # of the graph, item by item
    paid: list[int]  # nodes that other roots take


def chosen(g: Graph, pick: Sequence[int], cover: Cover, on: Iterable[int]) -> list[int]:
    """The cheapest terms beside what the switches bought; `pick` where that is less."""
    cost = list(g.cost)
    items = [cover.node[i] for s in on for i in cover.switches[s]]
    for n in (*cover.paid, *items):
        cost[n] = 0.0
    found = by_trees(g, cost=cost)[1]
    return min(list(pick), found, key=lambda pick: dag_cost(g, pick))


def bought(g: Graph, pick: Sequence[int], cover: Cover) -> list[int]:
    """The switches of which the choice pays all items."""
    paid = {pick[c] for c in needed(g, pick)}
    return [
        s
        for s, items in enumerate(cover.switches)
        if paid.issuperset([cover.node[i] for i in items])
    ]


def as_cover(g: Graph, pick: Sequence[int]) -> Cover | None:
    """The cover; None where it says little of the graph, or would be large."""
    several = [c for c, nodes in enumerate(g.of) if len(nodes) > 1]
    rows = [r for r in g.roots if len(g.of[r]) > 1]
    if not rows or len(rows) < HALF * len(several):
        return None
    reader = _Reader(g, pick, rows)
    found = reader.options()
    if found is None:
        return None
    return _cover(g, found, sorted([pick[c] for c in reader.paid]))


class _Reader:
    """The terms of each row, as sets of items."""

    def __init__(self, g: Graph, pick: Sequence[int], rows: list[int]) -> None:
        self.g, self.pick, self.rows = g, pick, rows
        self.varied = set(rows)
        part = strong(range(len(g.of)), self._below)
        sizes = [0] * len(g.of)
        for k in part.values():
            sizes[k] += 1
        self.cyclic = [sizes[part[c]] > 1 for c in range(len(g.of))]
        self.paid = set[int]()  # classes that other roots need
        todo = [r for r in g.roots if r not in self.varied]
        while todo:
            c = todo.pop()
            if c not in self.paid:
                self.paid.add(c)
                todo += g.kids[pick[c]]

    def _below(self, c: int) -> list[int]:
        return sorted({d for n in self.g.of[c] for d in self.g.kids[n]})

    def options(self) -> list[list[Items]] | None:
        """Those of each row; None: too many, or rows need each other."""
        room = WIDE * len(self.g.owner)
        if self.paid & self.varied:
            return None
        found: list[list[Items]] = []
        for r in self.rows:
            own: dict[Items, None] = {}
            for n in self.g.of[r]:
                for term in self._terms(n):
                    room -= len(term)
                    if room < 0 or not self.varied.isdisjoint(term):
                        return None
                    nodes = (n, *term.values())
                    own[frozenset(m for m in nodes if self.g.cost[m] > 0)] = None
            found.append(list(own))
        return found

    def _terms(self, n: int) -> Iterator[dict[int, int]]:
        """Class -> node for what `n` needs, the nodes picked first.

        Classes on cycles keep theirs: so no term is cyclic.
        """
        g, paid, room = self.g, self.paid, TERMS - 1
        todo: list[tuple[dict[int, int], list[int]]] = [({}, list(g.kids[n]))]
        while todo:
            term, left = todo.pop()
            while left:
                c = left.pop()
                if c in term or c in paid:
                    continue
                others = [m for m in g.of[c] if m != self.pick[c]]
                if c not in self.varied and not self.cyclic[c] and len(others) <= room:
                    room -= len(others)
                    todo += [({**term, c: m}, [*left, *g.kids[m]]) for m in others]
                term[c] = self.pick[c]
                if c not in self.varied:
                    left += g.kids[term[c]]
            yield term


def _cover(g: Graph, rows: list[list[Items]], paid: list[int]) -> Cover:
    """Items that are never bought but together are one switch."""
    shared = _shared(rows)
    options = [[option & shared for option in own] for own in rows]
    with_: dict[int, Items] = {}  # item -> what all options with it have
    for option in (option for own in options for option in own):
        for i in option:
            with_[i] = with_[i] & option if i in with_ else option
    item = {n: k for k, n in enumerate(sorted(shared))}
    number: dict[int, int] = {}
    made: list[list[Option]] = []
    for own, reduced in zip(rows, options, strict=True):
        made.append([])
        for whole, option in zip(own, reduced, strict=True):
            cost = sum([g.cost[n] for n in sorted(whole - option)])
            leads = _leads(option, with_)
            switches = [number.setdefault(i, len(number)) for i in leads]
            made[-1].append(Option(switches, cost))
    sets = [[item[n] for n in sorted(with_[i])] for i in number]
    return Cover(made, sets, [g.cost[n] for n in item], list(item), paid)


def _shared(rows: list[list[Items]]) -> Items:
    """The items of more than one row."""
    once, more = set[int](), set[int]()
    for own in rows:
        every = frozenset[int]().union(*own)
        more |= once & every
        once |= every
    return frozenset(more)


def _leads(option: Items, with_: dict[int, Items]) -> Iterator[int]:
    """Items that bring all others of the option along."""
    got = set[int]()
    for i in sorted(option, key=lambda i: (-len(with_[i]), i)):
        if i not in got:
            got |= with_[i]
            yield i
