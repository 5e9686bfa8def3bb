"""Columns: the optimum of small regions agrees with brute force, and computes right."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from zlib import crc32

import pytest

from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.evaluate import expand_macros
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import saturate
from rewrite.extract.dag.exact import available
from rewrite.extract.schedule.assemble import build_kernel
from rewrite.extract.schedule.chosen import HOST, VIEWS, Untraceable
from rewrite.extract.schedule.climb import choose
from rewrite.extract.schedule.kernel import Cost, Kernel, KernelCost
from rewrite.extract.schedule.space import Space, own_space
from rewrite.fuzz.graphs import random_graph

from .optimum.columns import (
    READ,
    Column,
    Formed,
    Limits,
    Shape,
    enumerated,
)
from .optimum.rebuilt import rebuilt
from .optimum.selection import optimum, select
from .standin import cost
from .test_search import check

pytestmark = pytest.mark.skipif(not available(), reason="HiGHS is an optional package")


class Lottery:
    """A price that follows nothing but the kernel's text and a seed: every kind of
    kernel is the cheapest now and then."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def __call__(self, kernel: Kernel) -> Cost | None:
        drawn = crc32(f"{self.seed} {kernel}".encode())
        if drawn % 11 == 0:
            return None
        seconds = 1.0 + drawn % 1000 * len(kernel.exprs)
        return Cost(seconds, 0, 0, 0, 0, "drawn")


def saturated(graph: Graph) -> Space:
    found = saturate(graph, load_rules())
    return Space(found.classes, found.types, found.outputs, dict(found.choice))


# ---- brute force


def partitions(items: Sequence[int]) -> Iterator[list[list[int]]]:
    if not items:
        yield []
        return
    for rest in partitions(items[1:]):
        yield [[items[0]], *rest]
        for k, block in enumerate(rest):
            yield [*rest[:k], [items[0], *block], *rest[k + 1 :]]


class Brute:
    """The least over all sets of stored values, partitions of them and forms."""

    def __init__(self, space: Space, price: KernelCost) -> None:
        self.space, self.price, self.shape = space, price, Shape(space)
        self.memo: dict[object, dict[frozenset[int], float]] = {}

    def run(self) -> float:
        inner = [
            c
            for c, ns in enumerate(self.space.classes)
            if self.shape.leaf[c] is None and any(n.op not in VIEWS for n in ns)
        ]
        inner = [c for c in inner if c not in self.shape.roots]
        best = math.inf
        for bits in product((False, True), repeat=len(inner)):
            extra = [c for c, b in zip(inner, bits, strict=True) if b]
            stored = [*self.shape.roots, *extra]
            for blocks in partitions(stored):
                if max(map(len, blocks)) <= 3:
                    best = min(best, self.cheapest(blocks, frozenset(extra)))
        return best

    def cheapest(self, blocks: list[list[int]], extra: frozenset[int]) -> float:
        """Over what each block may read."""
        stored = frozenset(c for b in blocks for c in b)
        ways = [self.ways(tuple(sorted(b)), stored) for b in blocks]
        best = math.inf
        for reads in product(*ways):
            if not extra <= frozenset[int]().union(*reads):
                continue
            total = sum(w[r] for w, r in zip(ways, reads, strict=True))
            if total < best and self.ordered(blocks, reads):
                best = total
        return best

    def ordered(self, blocks: list[list[int]], reads: Sequence[frozenset[int]]) -> bool:
        done, left = set[int](), list(range(len(blocks)))
        while left:
            ready = [k for k in left if reads[k] <= done]
            if not ready:
                return False
            done.update(c for k in ready for c in blocks[k])
            left = [k for k in left if k not in ready]
        return True

    def ways(
        self, block: tuple[int, ...], stored: frozenset[int]
    ) -> dict[frozenset[int], float]:
        """By what a kernel for the block reads, the least price."""
        if (block, stored) in self.memo:
            return self.memo[block, stored]
        options: list[list[int]] = []
        for c, ns in enumerate(self.space.classes):
            leaf = self.shape.leaf[c]
            free = [i for i, n in enumerate(ns) if n.op not in HOST]
            if c in stored and c not in block:
                free.append(READ)
            options.append(free if leaf is None else [leaf])
        found: dict[frozenset[int], float] = {}
        for picks in product(*options):
            form = dict(enumerate(picks))
            if self.cyclic(block, form):
                continue
            made = self.priced(block, form)
            if made is not None:
                reads, seconds = made
                found[reads] = min(found.get(reads, math.inf), seconds)
        self.memo[block, stored] = found
        return found

    def cyclic(self, block: Sequence[int], form: dict[int, int]) -> bool:
        state: dict[int, int] = {}

        def visit(c: int) -> bool:
            if form[c] == READ or state.get(c) == 2:
                return False
            if state.get(c) == 1:
                return True
            state[c] = 1
            found = any(map(visit, self.space.classes[c][form[c]].args))
            state[c] = 2
            return found

        return any(map(visit, block))

    def priced(
        self, block: Sequence[int], form: dict[int, int]
    ) -> tuple[frozenset[int], float] | None:
        terms = Formed(self.shape, form)
        read = {c for c, i in form.items() if i == READ}
        try:
            traced = build_kernel(terms, block, read)
            parts = [build_kernel(terms, [r], read) for r in block]
        except Untraceable:
            return None
        cones = [{*p.members, *p.reads} for p in parts]
        for _ in cones:
            for a, b in pairwise(range(len(cones))):
                if cones[a] & cones[b]:
                    cones[a] = cones[b] = cones[a] | cones[b]
            cones.reverse()
        price = self.price(traced.kernel)
        if price is None or any(c != cones[0] for c in cones):
            return None
        reads = frozenset(c for c in traced.reads if not self.shape.given[c])
        return reads, price.seconds


def softmax() -> Graph:
    b = Builder()
    x = b.input("x", F32, (4, 6))
    e = b.un("exp", x)
    total = b.expand(b.reduce("sum", e, [1]), (4, 6))
    return b.build([b.bin("div", e, total), b.un("neg", total)])


def diamond() -> Graph:
    b = Builder()
    x, y = b.input("x", F32, (4, 6)), b.input("y", F32, (4, 6))
    z = b.bin("mul", x, y)
    return b.build([b.un("exp", z), b.un("tanh", b.bin("add", z, y))])


def rewritten() -> tuple[Graph, Space]:
    """-(x + x) and (x + x) y, of which rules know some forms."""
    b = Builder()
    x, y = b.input("x", F32, (4, 6)), b.input("y", F32, (4, 6))
    z = b.bin("add", x, x)
    graph = b.build([b.un("neg", z), b.bin("mul", z, y)])
    return graph, saturated(graph)


SPACES = {
    "softmax": own_space(softmax(), {}),
    "diamond": own_space(diamond(), {}),
    "rewritten": rewritten()[1],
}


@pytest.mark.parametrize("name", SPACES)
def test_equals_brute_force_at_any_prices(name: str) -> None:
    space = SPACES[name]
    several = 0
    for seed in range(8):
        found = enumerated(space, Lottery(seed), Limits())
        assert found.complete
        best = select(Shape(space).roots, found.columns)
        want = Brute(space, Lottery(seed)).run()
        if best is None:
            assert want == math.inf
            continue
        assert best.optimal
        assert best.seconds == pytest.approx(want)
        several += len(best.columns) > 1
    assert several


def repeated(columns: Sequence[Column]) -> int:
    """Classes that two kernels compute."""
    inside = [c for k in columns for c, i in k.form.items() if i != READ]
    return len(inside) - len(set(inside))


def exact_graphs(seeds: range) -> Iterator[tuple[Graph, Space]]:
    for seed in seeds:
        graph = expand_macros(random_graph(seed, "exact", 6))
        if not any(n.op in HOST for n in graph.nodes):
            yield graph, saturated(graph)


def test_never_worse_than_the_moves() -> None:
    proved = 0
    for _, space in exact_graphs(range(12)):
        choice = choose(space, cost, 40)
        best = optimum(space, cost, choice, Limits(400))
        assert best.seconds <= choice.seconds * (1 + 1e-9)
        proved += best.proved
    assert proved >= 3


@pytest.mark.sweep(2)
@pytest.mark.parametrize("seed", range(4))
def test_the_schedule_computes_the_same(seed: int) -> None:
    """At drawn prices, so that values are computed twice, stored and shared oddly."""
    price, twice = Lottery(seed), 0
    for graph, space in exact_graphs(range(12)):
        found = enumerated(space, price, Limits(300, 2))
        best = select(Shape(space).roots, found.columns)
        if best is not None:
            check(*rebuilt(graph, space, best.columns))
            twice += repeated(best.columns)
    assert twice


def test_what_is_cut_claims_nothing() -> None:
    graph, space = rewritten()
    choice = choose(space, cost, 40)
    best = optimum(space, cost, choice, Limits(5))
    assert not best.proved
    assert best.seconds <= choice.seconds
    check(*rebuilt(graph, space, best.columns))
    few = enumerated(space, cost, Limits(ops=1, outputs=1))
    assert few.ops == (1,)


def column(roots: tuple[int, ...], reads: tuple[int, ...], seconds: float) -> Column:
    return Column(roots, frozenset(reads), seconds, dict.fromkeys(roots, 0))


def test_kernels_that_wait_for_each_other_are_cut() -> None:
    """1 and 2 in one kernel, 3 and 4 in another, would be cheapest."""
    circle = [column((1, 2), (3,), 1.0), column((3, 4), (1,), 1.0)]
    apart = [
        column((1,), (), 2.0), column((2,), (3,), 2.0), column((3,), (1,), 2.0),
        column((4,), (1,), 2.0),
    ]  # fmt: skip
    best = select((2, 4), circle + apart)
    assert best is not None
    assert best.optimal
    assert [k.roots for k in best.columns] == [(1,), (3, 4), (2,)]


def test_nothing_is_stored_in_vain() -> None:
    best = select((1,), [column((1, 2), (), 1.0), column((1,), (), 2.0)])
    assert best is not None
    assert best.seconds == 2.0


def test_what_cannot_be_made_is_no_schedule() -> None:
    assert select((1,), [column((1,), (2,), 1.0)]) is None
