"""Choices as set covers, and local search on these with weights on the rows.

A root with several nodes is a row.  A node of it stands for the set of all that it
costs (a *column*: items, each paid once), and covers each row of which it makes a node
free.  So columns may share what they cost.  Other classes keep the node that they have.

The search is that of Gao, Weise & Li (2015): columns leave that cost much for the
weight of the rows that they alone cover; rows that are left uncovered are covered by
other columns and gain weight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from .greedy import dag_cost
from .terms import Graph

HALF = 0.5  # of the classes with a choice, rows at least
WIDE = 4  # items of all columns at most, for each node of the graph
SAMPLE = 40  # columns of which the best leaves
IDLE = 3  # a share of the work that may be of no use in a row
OFTEN = 256  # steps between looks at the clock
LEAST = 1e-12  # of the mean cost of items: columns that cost less are free


@dataclass(frozen=True, slots=True)
class Cover:
    rows: list[list[int]]  # row -> the columns that cover it
    columns: list[list[int]]  # column -> the rows it covers
    items: list[list[int]]  # column -> what it costs
    cost: list[float]  # of items
    makers: list[list[tuple[int, int]]]  # row -> its nodes, each with its column


def walked(
    g: Graph, pick: Sequence[int], cover: Cover, work: int,
    expired: Callable[[], bool],
) -> list[int]:  # fmt: skip
    """`pick`, or a better choice that differs in the roots alone, by its cover.

    `work` is of rows that columns cover, for each time that one comes or leaves.
    """
    used = {k for own in cover.makers for n, k in own if pick[g.owner[n]] == n}
    walk = _Walk(cover, sorted(used), work, expired)
    bought = {i for k in walk.search() for i in cover.items[k]}
    found = list(pick)
    for own in cover.makers:
        n = next(n for n, k in own if bought.issuperset(cover.items[k]))
        found[g.owner[n]] = n
    return min(list(pick), found, key=lambda pick: dag_cost(g, pick))


def as_cover(g: Graph, pick: Sequence[int]) -> Cover | None:
    """The cover; None where it says little of the graph, or would be large."""
    chosen = [c for c, nodes in enumerate(g.of) if len(nodes) > 1]
    rows = [r for r in g.roots if len(g.of[r]) > 1]
    if not rows or len(rows) < HALF * len(chosen):
        return None
    return _Reader(g, pick, rows).cover()


class _Reader:
    """What each node of a row costs: items are nodes of the graph."""

    def __init__(self, g: Graph, pick: Sequence[int], rows: list[int]) -> None:
        self.g, self.pick, self.rows = g, pick, rows
        self.varied = set(rows)
        self.paid = set[int]()  # classes that other roots need
        for r in g.roots:
            if r not in self.varied:
                self.paid |= {r, *self._below(g.kids[pick[r]])}

    def cover(self) -> Cover | None:
        columns: dict[frozenset[int], int] = {}
        nodes: list[list[tuple[int, int]]] = []
        room = WIDE * len(self.g.owner)
        if self.paid & self.varied:
            return None
        for r in self.rows:
            own: list[tuple[int, int]] = []
            for n in self.g.of[r]:
                below = self._below(self.g.kids[n])
                room -= len(below)
                if room < 0 or below & self.varied:
                    return None  # too large, or a cycle
                items = frozenset(self._items(n, below))
                own.append((n, columns.setdefault(items, len(columns))))
            nodes.append(own)
        return _cover(self.g, list(columns), nodes)

    def _below(self, start: Sequence[int]) -> set[int]:
        """The classes that are needed; behind a row none are looked for."""
        seen, todo = set(start) - self.paid, list(start)
        while todo:
            c = todo.pop()
            if c not in self.varied and c not in self.paid:
                new = [d for d in self.g.kids[self.pick[c]] if d not in seen]
                seen.update(new)
                todo += new
        return seen - self.paid

    def _items(self, n: int, below: set[int]) -> Iterator[int]:
        for m in (n, *[self.pick[c] for c in below]):
            if self.g.cost[m] > 0:
                yield m


def _cover(
    g: Graph, columns: list[frozenset[int]], makers: list[list[tuple[int, int]]]
) -> Cover:
    """Items numbered; a column also covers the rows of those it contains."""
    number: dict[int, int] = {}
    items = [[number.setdefault(i, len(number)) for i in sorted(k)] for k in columns]
    own: list[list[int]] = [[] for _ in columns]
    for r, nodes in enumerate(makers):
        for k in {k for _, k in nodes}:
            own[k].append(r)
    covers = [sorted({r for j in js for r in own[j]}) for js in _contained(items)]
    rows: list[list[int]] = [[] for _ in makers]
    for k, rs in enumerate(covers):
        for r in rs:
            rows[r].append(k)
    return Cover(rows, covers, items, [g.cost[n] for n in number], makers)


def _contained(items: list[list[int]]) -> Iterator[list[int]]:
    """The columns within each column, itself among them."""
    sets = [set(own) for own in items]
    often: dict[int, int] = {}
    for own in items:
        for i in own:
            often[i] = often.get(i, 0) + 1
    by_rarest: dict[int, list[int]] = {-1: []}
    for k, own in enumerate(items):
        rarest = min(own, key=lambda i: (often[i], i), default=-1)
        by_rarest.setdefault(rarest, []).append(k)
    for own in items:
        near = [j for i in (-1, *own) for j in by_rarest.get(i, ())]
        yield [j for j in near if sets[j].issubset(own)]


class _Walk:
    """The columns that are in, kept with what one more or one less would change.

    `score` is the weight of the rows that a column would cover anew, or alone covers;
    `price` what it would cost, or what its leaving would save.  `of_row` and `of_item`
    add up the columns in: where there is one, that is the one.
    """

    def __init__(
        self, cover: Cover, start: list[int], work: int, expired: Callable[[], bool]
    ) -> None:
        rows, columns, cost = cover.rows, cover.columns, cover.cost
        self.cover, self.work, self.expired = cover, work, expired
        self.holders: list[list[int]] = [[] for _ in cost]
        for k, items in enumerate(cover.items):
            for i in items:
                self.holders[i].append(k)
        self.shared = [
            [i for i in own if len(self.holders[i]) > 1] for own in cover.items
        ]
        self.price = [sum([cost[i] for i in own]) for own in cover.items]
        self.free = LEAST * sum(cost) / max(1, len(cost))
        self.score = [len(own) for own in columns]
        self.weight, self.count, self.of_row = ([k] * len(rows) for k in (1, 0, 0))
        self.refs, self.of_item = [0] * len(cost), [0] * len(cost)
        self.stamp = [0] * len(columns)
        self.moved = [True] * len(columns)  # a row near by changed since it left
        self.place = [-1] * len(columns)  # in `inside`, -1: out
        self.inside: list[int] = []
        self.open = list(range(len(rows)))
        self.at = list(range(len(rows)))  # row -> where in `open`
        self.total = 0.0
        for k in start:
            self._enter(k)

    def search(self) -> list[int]:
        """The columns of the best cover."""
        rng, last, step, idle = Random(0), -1, 0, self.work // IDLE
        best, least, end = list(self.inside), self.total, self.work - idle
        while self.work > max(0, end) and self.inside:
            step += 1
            if not step % OFTEN and self.expired():
                break
            while not self.open and self.inside:
                if self.total < least - self.free:
                    best, least = list(self.inside), self.total
                    end = self.work - idle
                self._leave(self._leaver(rng, -1), step)
            if self.inside:
                self._leave(self._leaver(rng, last), step)
            last = self._repaired(rng, least, step)
            for r in self.open:
                self.weight[r] += 1
                for k in self.cover.rows[r]:
                    self.score[k] += 1
        return best

    def _repaired(self, rng: Random, limit: float, step: int) -> int:
        """Covers open rows while that stays below the limit; the last that came."""
        last = -1
        while self.open:
            row = self.cover.rows[self.open[int(rng.random() * len(self.open))]]
            k = self._comer(row)
            if self.total + self.price[k] >= limit - self.free:
                break
            self._enter(k)
            self.stamp[k] = step
            last = k
        return last

    def _leaver(self, rng: Random, kept: int) -> int:
        """The column that covers least alone for what it saves, of a sample."""
        inside, score, price = self.inside, self.score, self.price
        stamp, free, size = self.stamp, self.free, len(inside)
        best, least = inside[0], float("inf")
        some = inside
        if size > SAMPLE:
            some = [inside[int(rng.random() * size)] for _ in range(SAMPLE)]
        for k in some:
            value = score[k] / max(price[k], free)
            if k != kept and (value, stamp[k]) < (least, stamp[best]):
                best, least = k, value
        return best

    def _comer(self, row: list[int]) -> int:
        """The column that covers most for what it costs, of those not just gone."""
        score, price, stamp, free = self.score, self.price, self.stamp, self.free
        some = [k for k in row if self.moved[k]]
        if not some:
            return min(row, key=stamp.__getitem__)
        return max(some, key=lambda k: (score[k] / max(price[k], free), -stamp[k]))

    # ---- one column

    def _enter(self, k: int) -> None:
        rows, score, weight, count = (
            self.cover.rows, self.score, self.weight, self.count
        )  # fmt: skip
        self.place[k] = len(self.inside)
        self.inside.append(k)
        self.total += self.price[k]
        alone = 0
        for r in self.cover.columns[k]:
            before = count[r]
            count[r] += 1
            self.of_row[r] += k
            if not before:
                alone += weight[r]
                self._settle(r, -weight[r], rows[r])
                _take_out(self.open, self.at, r)
            elif before == 1:
                score[self.of_row[r] - k] -= weight[r]
        score[k] = alone
        self.work -= len(self.cover.columns[k])
        for i in self.shared[k]:
            self.refs[i] += 1
            self.of_item[i] += k
            self._reprice(k, i, self.refs[i] - 1, -self.cover.cost[i])

    def _leave(self, k: int, step: int) -> None:
        rows, score, weight, count = (
            self.cover.rows, self.score, self.weight, self.count
        )  # fmt: skip
        _take_out(self.inside, self.place, k)
        self.place[k] = -1
        self.total -= self.price[k]
        anew = 0
        for r in self.cover.columns[k]:
            count[r] -= 1
            self.of_row[r] -= k
            if not count[r]:
                anew += weight[r]
                self._settle(r, weight[r], rows[r])
                self.at[r] = len(self.open)
                self.open.append(r)
            elif count[r] == 1:
                score[self.of_row[r]] += weight[r]
        score[k] = anew
        self.work -= len(self.cover.columns[k])
        for i in self.shared[k]:
            self.refs[i] -= 1
            self.of_item[i] -= k
            self._reprice(k, i, self.refs[i], self.cover.cost[i])
        self.moved[k], self.stamp[k] = False, step

    def _settle(self, r: int, weight: int, row: list[int]) -> None:
        """A row was covered or laid open: what its columns would gain by it."""
        score, moved = self.score, self.moved
        for k in row:
            score[k] += weight
            moved[k] = True

    def _reprice(self, k: int, i: int, others: int, change: float) -> None:
        """An item was bought or given back by `k`, and by `others` not."""
        if not others:
            for j in self.holders[i]:
                self.price[j] += change
            self.price[k] -= change
            self.work -= len(self.holders[i])
        elif others == 1:
            other = self.of_item[i] - (k if change < 0 else 0)
            self.price[other] += change


def _take_out(some: list[int], place: list[int], x: int) -> None:
    """`x` out of a list in no order, whose places are kept."""
    at, last = place[x], some.pop()
    if last != x:
        some[at] = last
        place[last] = at
