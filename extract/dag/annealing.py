"""Simulated annealing on covers (Kirkpatrick, Gelatt & Vecchi 1983), many at a time.

Switches that share neither a row nor an item do not feel each other.  They are coloured
so that those of a colour are such (Welsh & Powell 1967): they are tried as one, and
exactly as if one by one (as in chromatic Gibbs sampling; Gonzalez et al. 2011).  A row
that is not covered costs its cheapest option: so all states are choices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from .covering import Cover

HOT, COLD = 0.2, 0.05  # temperatures, of the mean price of a switch
COLOUR = 3_000  # work of a colour beside its entries
ENTRIES = 40  # most of all colours, for each option

type Ints = NDArray[np.int64]
type Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Colour:
    """Switches that do not feel each other, and the rows and items of each.

    No row is met twice, and no item.  Rows stand with all their options.
    """

    switches: Ints
    of_row: Ints  # row -> place of its switch
    first: Ints  # row -> place of its first option
    most: Floats  # that a row may cost
    options: Ints
    own: Floats  # option -> its own cost
    mine: Ints  # places of the options that need the switch
    of_mine: Ints  # the place of that
    items: Ints
    of_item: Ints
    price: Floats  # of items


def annealed(
    cover: Cover, start: Sequence[int], work: int, done: Callable[[], float]
) -> list[int]:
    """The switches of the best state; in the first one those of `start` are on.

    `work` is entries that are looked at; `done` is the share of the time that is gone.
    """
    rows = _Rows(cover)
    if not cover.switches or rows.entries > ENTRIES * len(rows.option):
        return list(start)
    state = _State(cover, rows, start)
    best, least = state.on.copy(), state.total
    prices = [sum([cover.cost[i] for i in items]) for items in cover.switches]
    hot, rng = HOT * float(np.mean(prices)), np.random.default_rng(0)
    steps = work // (rows.entries + COLOUR * len(state.colours))
    for step in range(steps):
        share = max(step / steps, done())
        if share >= 1:
            break
        state.sweep(hot * (COLD / HOT) ** share, rng)
        if state.total < least:
            best, least = state.on.copy(), state.total
    return np.flatnonzero(best).tolist()


class _Rows:
    """Options numbered row by row, and which switches are in which row."""

    def __init__(self, cover: Cover) -> None:
        self.option = list(chain(*cover.rows))
        ends = np.cumsum([0, *map(len, cover.rows)]).tolist()
        self.span = [range(a, b) for a, b in pairwise(ends)]
        self.of: list[list[int]] = [[] for _ in cover.switches]  # switch -> rows
        self.switches = [
            sorted({s for option in own for s in option.switches}) for own in cover.rows
        ]
        for r, switches in enumerate(self.switches):
            for s in switches:
                self.of[s].append(r)
        self.entries = sum(map(len, cover.switches))
        self.entries += sum(len(self.span[r]) for rows in self.of for r in rows)

    def colours(self, cover: Cover) -> list[list[int]]:
        """The switches by colour; those with most neighbours choose theirs first."""
        sharing: list[list[int]] = [[] for _ in cover.cost]
        for s, items in enumerate(cover.switches):
            for i in items:
                sharing[i].append(s)
        near: list[set[int]] = [set() for _ in cover.switches]
        for group in (*self.switches, *sharing):
            for s in group:
                near[s].update(group)
        colour = [-1] * len(near)
        found: list[list[int]] = []
        for s in sorted(range(len(near)), key=lambda s: (-len(near[s]), s)):
            taken = {colour[t] for t in near[s]}
            colour[s] = next(k for k in range(len(near)) if k not in taken)
            if colour[s] == len(found):
                found.append([])
            found[colour[s]].append(s)
        return found


class _State:
    """Which switches are on, and what that costs."""

    def __init__(self, cover: Cover, rows: _Rows, start: Sequence[int]) -> None:
        self.on = np.zeros(len(cover.switches), bool)
        self.on[list(start)] = True
        self.missing = np.array(  # option -> its switches that are off
            [sum([not self.on[s] for s in o.switches]) for o in rows.option], np.int64
        )
        self.refs = np.zeros(len(cover.cost), np.int64)  # item -> switches on
        for s in start:
            self.refs[cover.switches[s]] += 1
        dearest = _dearest(cover)
        self.colours = [
            _colour(cover, rows, dearest, group) for group in rows.colours(cover)
        ]
        bought = [c for c, k in zip(cover.cost, self.refs, strict=True) if k]
        self.total = math.fsum(bought) + math.fsum(
            min([most, *[rows.option[o].cost for o in own if not self.missing[o]]])
            for most, own in zip(dearest, rows.span, strict=True)
        )

    def sweep(self, temperature: float, rng: np.random.Generator) -> None:
        """Tries each switch once."""
        for k in self.colours:
            on = self.on[k.switches]
            change = np.where(on, -1.0, 1.0) * self._worth(k, on)
            flip = change < temperature * rng.standard_exponential(len(on))
            if flip.any():
                self._flip(k, on, flip)
                self.total += float(np.sum(change[flip]))

    def _worth(self, k: Colour, on: NDArray[np.bool_]) -> Floats:
        """What each switch of a colour costs more than it saves, were it on."""
        left = self.missing[k.options]  # without the switch itself
        left[k.mine] -= ~on[k.of_mine]
        cost = np.where(left == 0, k.own, np.inf)
        with_ = np.minimum(np.minimum.reduceat(cost, k.first), k.most)
        cost[k.mine] = np.inf
        without = np.minimum(np.minimum.reduceat(cost, k.first), k.most)
        alone = self.refs[k.items] == on[k.of_item]  # nothing else buys the item
        bought = np.where(alone, k.price, 0.0)
        paid = np.bincount(k.of_item, bought, len(on))
        return paid - np.bincount(k.of_row, without - with_, len(on))

    def _flip(self, k: Colour, on: NDArray[np.bool_], flip: NDArray[np.bool_]) -> None:
        by = np.where(on, -1, 1)
        self.on[k.switches[flip]] ^= True
        met = flip[k.of_mine]
        self.missing[k.options[k.mine[met]]] -= by[k.of_mine[met]]
        met = flip[k.of_item]
        self.refs[k.items[met]] += by[k.of_item[met]]


def _dearest(cover: Cover) -> list[float]:
    """What each row costs where all of it must be bought: its cheapest option."""
    found: list[float] = []
    for own in cover.rows:
        items = [{i for s in o.switches for i in cover.switches[s]} for o in own]
        bought = [sum([cover.cost[i] for i in sorted(some)]) for some in items]
        found.append(min([o.cost + c for o, c in zip(own, bought, strict=True)]))
    return found


def _colour(cover: Cover, rows: _Rows, most: list[float], group: list[int]) -> Colour:
    met = [(place, r) for place, s in enumerate(group) for r in rows.of[s]]
    options = [(place, o) for place, r in met for o in rows.span[r]]
    mine = [
        (at, place)
        for at, (place, o) in enumerate(options)
        if group[place] in rows.option[o].switches
    ]
    items = [(place, i) for place, s in enumerate(group) for i in cover.switches[s]]
    sizes = [len(rows.span[r]) for _, r in met]
    return Colour(
        np.array(group, np.int64),
        np.array([place for place, _ in met], np.int64),
        np.cumsum([0, *sizes[:-1]]),
        np.array([most[r] for _, r in met]),
        np.array([o for _, o in options], np.int64),
        np.array([rows.option[o].cost for _, o in options]),
        np.array([at for at, _ in mine], np.int64),
        np.array([place for _, place in mine], np.int64),
        np.array([i for _, i in items], np.int64),
        np.array([place for place, _ in items], np.int64),
        np.array([cover.cost[i] for _, i in items]),
    )
