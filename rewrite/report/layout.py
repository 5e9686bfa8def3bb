"""Layered drawing of directed acyclic graphs (Sugiyama, Tagawa, Toda 1981).

Ranks by longest path, order within a rank by barycentres, and x positions as the least
squares to the neighbours' means that keep the boxes apart (pool adjacent violators).
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

H_GAP, V_GAP = 16.0, 26.0
_ORDER_SWEEPS, _PLACE_SWEEPS = 12, 9

type Size = tuple[float, float]
type Point = tuple[float, float]
type Edge = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Layout:
    """Centres of the boxes, points of each edge from box to box, and the extent."""

    centres: tuple[Point, ...]
    routes: tuple[tuple[Point, ...], ...]
    width: float
    height: float


@dataclass
class _Layers:
    """Boxes and the bends of long edges, by rank; `up` and `down` are neighbours."""

    width: list[float]
    rank: list[int]
    rows: list[list[int]]
    up: dict[int, list[int]]
    down: dict[int, list[int]]
    chains: list[list[int]]  # per edge, with its ends


def layout(sizes: Sequence[Size], edges: Sequence[Edge]) -> Layout:
    """Places boxes, numbered in topological order, so that edges lead downwards."""
    if not sizes:
        return Layout((), (), 0, 0)
    layers = _layers(sizes, edges)
    _order(layers)
    x = _place(layers)
    y = _heights(layers, sizes)
    left = min(x[i] - w / 2 for i, w in enumerate(layers.width))
    x = [v - left for v in x]
    centres = tuple((x[i], y[layers.rank[i]]) for i in range(len(sizes)))
    routes = tuple(_route(chain, layers, x, y, sizes) for chain in layers.chains)
    width = max(x[i] + w / 2 for i, w in enumerate(layers.width))
    last = max(h for i, (_, h) in enumerate(sizes) if layers.rank[i] == len(y) - 1)
    return Layout(centres, routes, width, y[-1] + last / 2)


def ranks(count: int, edges: Sequence[Edge]) -> list[int]:
    """Longest paths from the sources; trees over sources move down to their user.

    So a weight, or a mask made of counters, stands beside its use and not at the top.
    """
    before, after = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    for u, v in edges:
        before[v].append(u)
        after[u].append(v)
    rank = [0] * count
    loose = [True] * count
    for v in range(count):
        rank[v] = max((rank[u] + 1 for u in before[v]), default=0)
        own = all(len(after[u]) == 1 or not before[u] for u in before[v])
        loose[v] = (own or len(before[v]) == 1) and all(loose[u] for u in before[v])
    for v in reversed(range(count)):
        if loose[v] and after[v]:
            rank[v] = min(rank[w] for w in after[v]) - 1
    low = min(rank, default=0)
    return [r - low for r in rank]


def _layers(sizes: Sequence[Size], edges: Sequence[Edge]) -> _Layers:
    rank = ranks(len(sizes), edges)
    width = [w for w, _ in sizes]
    up, down = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    chains: list[list[int]] = []
    for u, v in edges:
        chain = [u]
        for r in range(rank[u] + 1, rank[v]):
            chain.append(len(rank))
            rank.append(r)
            width.append(4.0)
        chain.append(v)
        for a, b in pairwise(chain):
            down[a].append(b)
            up[b].append(a)
        chains.append(chain)
    rows: list[list[int]] = [[] for _ in range(max(rank) + 1)]
    for i in _depth_first(rank, up):
        rows[rank[i]].append(i)
    return _Layers(width, rank, rows, up, down, chains)


def _depth_first(rank: Sequence[int], up: dict[int, list[int]]) -> list[int]:
    """All boxes, operands before users and beside each other: a good first order."""
    seen: set[int] = set()
    order: list[int] = []
    for root in sorted(range(len(rank)), key=lambda i: -rank[i]):
        todo = [root]
        while todo:
            i = todo.pop()
            if i not in seen:
                seen.add(i)
                order.append(i)
                todo.extend(reversed(up[i]))
    return order


def _order(layers: _Layers) -> None:
    """Barycentre sweeps; the order with the fewest crossings stays."""
    best, fewest = [list(row) for row in layers.rows], _crossings(layers)
    for sweep in range(_ORDER_SWEEPS):
        if fewest == 0:
            break
        _sweep(layers, downwards=sweep % 2 == 0)
        crossings = _crossings(layers)
        if crossings < fewest:
            best, fewest = [list(row) for row in layers.rows], crossings
    layers.rows = best


def _sweep(layers: _Layers, downwards: bool) -> None:
    near = layers.up if downwards else layers.down
    rows = layers.rows if downwards else layers.rows[::-1]
    position = {i: float(p) for row in layers.rows for p, i in enumerate(row)}

    def barycentre(i: int) -> float:
        return (
            sum(position[j] for j in near[i]) / len(near[i]) if near[i] else position[i]
        )

    for row in rows[1:]:
        row.sort(key=barycentre)
        position.update((i, float(p)) for p, i in enumerate(row))


def _crossings(layers: _Layers) -> int:
    """Pairs of edges between neighbouring ranks that cross, by insertion."""
    total = 0
    for row, below in pairwise(layers.rows):
        position = {i: p for p, i in enumerate(below)}
        ends: list[int] = []
        for i in row:
            targets = sorted(position[j] for j in layers.down[i])
            total += sum(len(ends) - bisect_right(ends, t) for t in targets)
            for t in targets:
                insort(ends, t)
    return total


def _place(layers: _Layers) -> list[float]:
    x = [0.0] * len(layers.rank)
    for row in layers.rows:
        _separate(row, layers.width, x, [0.0] * len(row), [1.0] * len(row))
    for sweep in range(_PLACE_SWEEPS):
        downwards = sweep % 2 == 0  # the last one too: a chain hangs straight
        near = layers.up if downwards else layers.down
        for row in layers.rows if downwards else reversed(layers.rows):
            wanted = [
                sum(x[j] for j in near[i]) / len(near[i]) if near[i] else x[i]
                for i in row
            ]
            weight = [1.0 + 3.0 * (layers.width[i] < 5) for i in row]  # straight bends
            _separate(row, layers.width, x, wanted, weight)
    return x


def _separate(
    row: Sequence[int], width: Sequence[float], x: list[float],
    wanted: Sequence[float], weight: Sequence[float],
) -> None:  # fmt: skip
    """The weighted least-squares positions near `wanted` with the gaps kept."""
    offset, at = 0.0, list[float]()
    for k, i in enumerate(row):
        if k:
            offset += (width[row[k - 1]] + width[i]) / 2 + H_GAP
        at.append(offset)
    blocks: list[tuple[float, float, int]] = []  # mean, weight, boxes
    for k in range(len(row)):
        mean, mass, count = wanted[k] - at[k], weight[k], 1
        while blocks and blocks[-1][0] > mean:
            m, w, c = blocks.pop()
            mean, mass, count = (m * w + mean * mass) / (w + mass), w + mass, c + count
        blocks.append((mean, mass, count))
    k = 0
    for mean, _, count in blocks:
        for i in row[k : k + count]:
            x[i] = mean + at[k]
            k += 1


def _heights(layers: _Layers, sizes: Sequence[Size]) -> list[float]:
    """The middle of each rank."""
    tallest = [0.0] * len(layers.rows)
    for i, (_, h) in enumerate(sizes):
        tallest[layers.rank[i]] = max(tallest[layers.rank[i]], h)
    y, top = list[float](), 0.0
    for h in tallest:
        y.append(top + h / 2)
        top += h + V_GAP
    return y


def _route(
    chain: Sequence[int], layers: _Layers, x: Sequence[float], y: Sequence[float],
    sizes: Sequence[Size],
) -> tuple[Point, ...]:  # fmt: skip
    first, *middle, last = chain
    start = (x[first], y[layers.rank[first]] + sizes[first][1] / 2)
    end = (x[last], y[layers.rank[last]] - sizes[last][1] / 2)
    return (start, *((x[i], y[layers.rank[i]]) for i in middle), end)
