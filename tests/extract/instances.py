"""Instances of extraction by family, size and seed; the same ones in every process.

Sizes are numbers of nodes, met within a few per cent.  `FAMILIES` holds those that need
no engine; `from_rules` saturates a graph of the replay set by our own rules.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from random import Random

from rewrite.extract.dag.dag import Node, Problem

type Family = Callable[[int, Random], Problem]
type Classes = list[tuple[Node, ...]]


def leaf(cost: float) -> tuple[Node, ...]:
    return (Node(cost, ()),)


def shuffled(p: Problem, rng: Random) -> Problem:
    """The same problem with classes and nodes in another order."""
    to = list(range(len(p.classes)))
    rng.shuffle(to)
    classes: Classes = [()] * len(to)
    for c, nodes in enumerate(p.classes):
        moved = [Node(n.cost, tuple(to[d] for d in n.children)) for n in nodes]
        rng.shuffle(moved)
        classes[to[c]] = tuple(moved)
    return Problem(tuple(classes), tuple(to[r] for r in p.roots))


def random(size: int, rng: Random, back: float = 0.0) -> Problem:
    """Nodes on classes near by, a few far off; `back`: children that may be above."""
    classes: Classes = [leaf(float(rng.randint(1, 20))) for _ in range(4)]
    count = max(8, round(size / 2.5))
    while len(classes) < count:
        c = len(classes)
        nodes: list[Node] = []
        for _ in range(rng.randint(1, 4)):
            kids: list[int] = []
            for _ in range(rng.randint(1, 3)):
                far = min(c, 40 if rng.random() < 0.9 else c)
                kids.append(c - rng.randint(1, far))
                if rng.random() < back:
                    kids[-1] = min(count - 1, c + rng.randint(0, 20))
            nodes.append(Node(float(rng.randint(0, 20)), tuple(kids)))
        if rng.random() < 0.1 or all(max(n.children) >= c for n in nodes):
            nodes.append(Node(float(rng.randint(10, 60)), ()))
        classes.append(tuple(nodes))
    roots = {count - 1, *(rng.randrange(count // 2, count) for _ in range(3))}
    return Problem(tuple(classes), tuple(sorted(roots)))


def cyclic(size: int, rng: Random) -> Problem:
    return random(size, rng, back=0.3)


def chain(size: int, rng: Random) -> Problem:
    """A long chain; some steps may skip ahead by way of helpers used far apart."""
    helpers = list(range(max(1, size // 100)))
    classes: Classes = [leaf(float(rng.randint(5, 30))) for _ in helpers]
    classes.append(leaf(1.0))
    while sum(map(len, classes[-1:])) and len(classes) * 2.5 < size:
        c = len(classes)
        nodes = [Node(float(rng.randint(2, 9)), (c - 1,))]
        if rng.random() < 0.8:
            helper = rng.choice(helpers)
            nodes.append(Node(float(rng.randint(0, 4)), (c - 1, helper)))
        if rng.random() < 0.7:
            back = max(len(helpers), c - rng.randint(2, 4))
            nodes.append(Node(float(rng.randint(4, 20)), (back,)))
        classes.append(tuple(nodes))
    return Problem(tuple(classes), (len(classes) - 1,))


def grid(size: int, rng: Random) -> Problem:
    """Class (i, j) from its neighbours above, to the left, or both."""
    side = max(2, round(math.sqrt(size / 3)))
    classes: Classes = []
    for i in range(side):
        for j in range(side):
            c = len(classes)
            if i == 0 or j == 0:
                classes.append(leaf(float(rng.randint(1, 9))))
                continue
            up, left, both = c - side, c - 1, (c - side, c - 1)
            nodes = [Node(float(rng.randint(1, 9)), (k,)) for k in (up, left)]
            nodes.append(Node(float(rng.randint(0, 5)), both))
            classes.append(tuple(nodes))
    roots = [side * side - 1, *rng.sample(range(side * side // 2, side * side), side)]
    return Problem(tuple(classes), tuple(sorted(set(roots))))


def diamond(size: int, rng: Random) -> Problem:
    """Layers in which each class uses two of the layer below: trees are of size 2^n."""
    width = 6
    classes: Classes = [leaf(float(rng.randint(1, 9))) for _ in range(width)]
    while len(classes) * 3 < size:
        base = len(classes) - width
        for _ in range(width):
            pairs = [rng.sample(range(base, base + width), 2) for _ in range(3)]
            classes.append(
                tuple(Node(float(rng.randint(0, 9)), tuple(pair)) for pair in pairs)
            )
    return Problem(tuple(classes), (len(classes) - 1, len(classes) - 2))


def cover(size: int, rng: Random) -> Problem:
    """Set cover: an element is made by any of the sets that hold it; a set costs."""
    sets = max(3, size // 8)
    elements = max(3, round((size - sets) / 4))
    classes: Classes = [leaf(float(rng.randint(4, 12))) for _ in range(sets)]
    for _ in range(elements):
        holds = rng.sample(range(sets), min(sets, rng.randint(3, 5)))
        classes.append(tuple(Node(0.0, (s,)) for s in sorted(holds)))
    classes.append((Node(1.0, tuple(range(sets, sets + elements))),))
    return Problem(tuple(classes), (len(classes) - 1,))


def covers(size: int, rng: Random) -> Problem:
    """Many small set covers, some of whose sets a neighbour may use too."""
    classes: Classes = []
    tops: list[int] = []
    before: list[int] = []
    while sum(map(len, classes)) < size:
        first = len(classes)
        sets = list(range(first, first + 8))
        classes += [leaf(float(rng.randint(3, 9))) for _ in sets]
        known = sets + before[-2:]
        parts = list(range(len(classes), len(classes) + 12))
        for _ in parts:
            holds = sorted(rng.sample(known, 3))
            classes.append(tuple(Node(0.0, (s,)) for s in holds))
        tops.append(len(classes))
        classes.append((Node(1.0, tuple(parts)),))
        before = sets
    classes.append((Node(0.0, tuple(tops)),))
    return Problem(tuple(classes), (len(classes) - 1,))


def kits(size: int, rng: Random) -> Problem:
    """Set cover with shared costs: kits need tools, and some elements two of them.

    A kit may come in a second form that needs other tools.
    """
    tools = [leaf(float(rng.randint(2, 9))) for _ in range(max(3, size // 10))]
    classes: Classes = list(tools)
    first, count = len(classes), max(4, size // 8)
    for _ in range(count):
        forms = 1 + (rng.random() < 0.1)
        classes.append(tuple(
            Node(float(rng.randint(1, 8)), tuple(rng.sample(range(first), 2)))
            for _ in range(forms)
        ))  # fmt: skip
    elements: list[int] = []
    left = size - sum(map(len, classes))
    while left > 0:
        nodes: list[Node] = []
        for _ in range(rng.randint(2, 4)):
            both = 1 + (rng.random() < 0.2)
            kids = rng.sample(range(first, first + count), both)
            nodes.append(Node(float(rng.choice((0, 0, 1))), tuple(kids)))
        elements.append(len(classes))
        classes.append(tuple(nodes))
        left -= len(nodes)
    classes.append((Node(0.0, tuple(elements)),))
    return Problem(tuple(classes), (len(classes) - 1,))


def joined(size: int, rng: Random) -> Problem:
    """Layers of products of one input, each by itself or out of a wide one."""
    classes: Classes = [leaf(0.0)]
    last = 0
    while len(classes) * 2 < size:
        parts, wide = rng.randint(2, 5), len(classes)
        classes.append((Node(float(rng.randint(4, 16)), (last,)),))
        outs: list[int] = []
        for _ in range(parts):
            classes.append((Node(0.0, (wide,)),))
            alone = Node(float(rng.randint(2, 5)), (last,))
            outs.append(len(classes))
            classes.append((alone, Node(0.0, (outs[-1] - 1,))))
        last = len(classes)
        classes.append((Node(1.0, tuple(outs)),))
    return Problem(tuple(classes), (last,))


def loops(size: int, rng: Random) -> Problem:
    """Rings whose classes make each other for little; a ring needs one way in."""
    classes: Classes = []
    rings: list[list[int]] = []
    while sum(map(len, classes)) < size:
        n = rng.randint(3, 9)
        ring = [len(classes) + k for k in range(n)]
        for k, c in enumerate(ring):
            nodes = [Node(float(rng.randint(0, 3)), (ring[k - 1],))]
            if rng.random() < 0.6:
                nodes.append(Node(float(rng.randint(0, 3)), (ring[(k + 1) % n],)))
            if rings and rng.random() < 0.8:
                below = rng.choice(rng.choice(rings[-20:]))
                nodes.append(Node(float(rng.randint(1, 9)), (below,)))
            if not rings or k == 0 or rng.random() < 0.2:
                nodes.append(Node(float(rng.randint(9, 30)), ()))
            if rng.random() < 0.5:
                pair = (ring[k - 1], rng.choice(ring))
                nodes.append(Node(0.0, pair) if c not in pair else Node(5.0, ()))
            classes.append(tuple(nodes))
        rings.append(ring)
    roots = [rng.choice(ring) for ring in rings[-30:]]
    return Problem(tuple(classes), tuple(roots))


def dense(size: int, rng: Random) -> Problem:
    """Few classes of many nodes, on cycles, as rules of arithmetic leave them."""
    classes: Classes = [leaf(float(rng.randint(1, 4))) for _ in range(3)]
    count = max(7, round(math.sqrt(size) * 2))
    each = max(2, round(size / count))
    while len(classes) < count:
        c = len(classes)
        nodes = [
            Node(float(rng.choice((1, 1, 4, 16))), tuple(rng.choices(range(c), k=2)))
        ]
        for _ in range(rng.randint(each // 2, each + each // 2)):
            kids = rng.choices(range(count), k=rng.randint(1, 3))
            nodes.append(Node(float(rng.choice((1, 1, 4, 16, 64))), tuple(kids)))
        classes.append(tuple(nodes))
    return Problem(tuple(classes), tuple(range(count - 3, count)))


def merged(size: int, rng: Random) -> Problem:
    """Products of one operand: each alone, or half of a pair, which makes both.

    A pair is joined from the two and split into them: a cycle, as tensor rules leave.
    """
    classes: Classes = [leaf(1.0)]
    layer = [0]
    while sum(map(len, classes)) < size:
        source, count = rng.choice(layer), rng.randint(3, 6)
        first = len(classes)
        alone = [float(rng.randint(4, 9)) for _ in range(count)]
        pairs = [(a, b) for a in range(count) for b in range(a) if rng.random() < 0.6]
        own = [[Node(cost, (source,))] for cost in alone]
        for k, (a, b) in enumerate(pairs):
            for x in (a, b):
                own[x].append(Node(1.0, (first + count + k,)))
        classes += [tuple(nodes) for nodes in own]
        for a, b in pairs:
            product = max(alone[a], alone[b]) + rng.randint(0, 3)
            joined = Node(2.0, (first + a, first + b))
            classes.append((Node(product, (source,)), joined))
        layer = [len(classes)]
        classes.append((Node(1.0, tuple(range(first, first + count))),))
    return Problem(tuple(classes), tuple(layer))


def sums(size: int, rng: Random) -> Problem:
    """Sums of runs of terms, in any order of addition; wide sums cost more."""
    terms = max(4, round((6 * size / 3) ** (1 / 3)))
    width = min(terms, 12)
    terms = max(terms, round(size / 60)) if terms > width else terms
    classes: Classes = []
    number: dict[tuple[int, int], int] = {}
    for length in range(1, width + 1):
        for i in range(terms - length + 1):
            number[i, length] = len(classes)
            cost = float(length + rng.randint(1, 6))
            halves = [
                (number[i, k], number[i + k, length - k]) for k in range(1, length)
            ]
            kept = [pair for pair in halves if rng.random() < 0.8] or halves
            classes.append(tuple(Node(cost + rng.randint(0, 2), p) for p in kept)
                           or leaf(cost))  # fmt: skip
    wanted = [n for (_, length), n in number.items() if length > max(2, width // 3)]
    roots = rng.sample(wanted, max(1, len(wanted) // 8))
    return Problem(tuple(classes), tuple(sorted(roots)))


FAMILIES: dict[str, Family] = {
    "random": random, "cyclic": cyclic, "chain": chain, "grid": grid,
    "diamond": diamond, "cover": cover, "covers": covers, "kits": kits,
    "joined": joined, "loops": loops, "dense": dense, "merged": merged, "sums": sums,
}  # fmt: skip


def instance(family: str, size: int, seed: int = 0) -> Problem:
    """The instance by name; its classes stand in no helpful order."""
    rng = Random(f"{family} {size} {seed}")
    return shuffled(FAMILIES[family](size, rng), rng)


def small(rng: Random) -> Problem:
    """Of 3 to 12 classes: cycles, several roots, empty classes, zero costs, repeats."""
    n = rng.randint(3, 12)
    back, leaves = rng.choice([0, 0.1, 0.3]), rng.choice([0.1, 0.3])
    zero, empty = rng.choice([0, 0.25, 0.5]), rng.choice([0, 0.1])
    most, arity = rng.randint(1, 4), rng.randint(1, 3)

    def node(c: int) -> Node:
        if c == 0 or rng.random() < leaves:
            return Node(float(rng.randint(1, 24)), ())
        kids = [
            rng.randrange(n if rng.random() < back else c)
            for _ in range(rng.randint(1, arity))
        ]
        cost = 0.0 if rng.random() < zero else float(rng.randint(1, 12))
        return Node(cost, tuple(kids))

    classes = [
        tuple([node(c) for _ in range(rng.randint(1, most))])
        if rng.random() >= empty
        else ()
        for c in range(n)
    ]
    roots = [rng.randrange(n // 2, n) for _ in range(rng.randint(1, 3))]
    return Problem(tuple(classes), tuple(roots))


def glued(parts: Sequence[Problem], rng: Random) -> Problem:
    """All of them below one root, on numbers in no order: the optima add up."""
    classes: Classes = []
    roots: list[int] = []
    for p in parts:
        base = len(classes)
        roots += [base + r for r in p.roots]
        classes += [
            tuple(Node(n.cost, tuple(base + d for d in n.children)) for n in nodes)
            for nodes in p.classes
        ]
    classes.append((Node(0.0, tuple(roots)),))
    return shuffled(Problem(tuple(classes), (len(classes) - 1,)), rng)


def from_rules(model: str) -> Problem:
    """A captured graph, saturated by our rules; an e-node costs 1000 and its elements.

    Sizes are those the capture was replayed with, moved to primes.
    """
    import rewrite.onnx
    from rewrite.egraph.ir.graph import substitute, witness
    from rewrite.egraph.rules.rulefile import load_rules
    from rewrite.egraph.saturate.saturate import saturate
    from tests.replay.weights import fill, load, metadata

    captured = fill(load(model))
    hints = {k[5:]: int(v) for k, v in metadata(captured).items() if k[:5] == "size:"}
    graph = rewrite.onnx.load(captured)
    graph = substitute(graph, witness(graph, {s: hints[s] for s in graph.symbols}))
    found = saturate(graph, load_rules())
    classes = [
        tuple(Node(_price(n.op, t.shape), n.args) for n in nodes)
        for nodes, t in zip(found.classes, found.types, strict=True)
    ]
    return Problem(tuple(classes), tuple(sorted(set(found.outputs))))


def _price(op: str, shape: Sequence[object]) -> float:
    if op in ("input", "const", "data", "iota"):
        return 0.0
    return 1000.0 + math.prod([n for n in shape if isinstance(n, int)])


def to_json(p: Problem) -> str:
    """As egraph-serialize has it; a class without nodes gets one that is subsumed."""
    first = [f"{c}.0" for c in range(len(p.classes))]
    nodes: dict[str, dict[str, object]] = {}
    for c, own in enumerate(p.classes):
        for i, n in enumerate(own):
            nodes[f"{c}.{i}"] = {
                "op": f"f{len(n.children)}",
                "children": [first[d] for d in n.children],
                "eclass": str(c),
                "cost": n.cost,
            }
        if not own:
            nodes[first[c]] = {"op": "gone", "eclass": str(c), "subsumed": True}
    return json.dumps({"nodes": nodes, "root_eclasses": [str(r) for r in p.roots]})
