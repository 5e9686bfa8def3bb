"""The terms with the least work: a start for the search where laws change the order of
growth.

A climb switches one class at a time, and from the product of four matrices to four
products with a vector none of its steps pays.  Here shared classes count once, whatever
a kernel would make of them; how they become kernels is left to the climb.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from ...egraph.ir.macros import MACROS
from ...egraph.ir.scalars import BY_NAME
from ...egraph.ir.table import TensorType
from ..dag.greedy import by_sets, needed
from ..dag.terms import Node, Problem, live_part
from .chosen import HOST, LEAVES, VIEWS, Term
from .space import HOST_SECONDS, Space

STEP = 1e-3  # of a scalar operation: of terms with equal work the smaller one
PRODUCT = 0.125  # of a scalar operation: products of tiles run several at once
CONSTANT = 1e-3  # of the work of what runs once, when a program is made
NEVER = 1e24  # no kernel computes a macro as such
RATE = 1e10  # scalar operations a second, to price what the host runs


def least(space: Space) -> tuple[dict[int, int], float]:
    """An e-node for each class that the outputs need, acyclic, and all their work."""
    classes = tuple(
        tuple(Node(work(space, c, n), n.args) for n in nodes)
        for c, nodes in enumerate(space.classes)
    )
    g = live_part(Problem(classes, space.outputs))
    pick = by_sets(g)
    used = needed(g, pick)
    return {g.name[c]: g.index[pick[c]] for c in used}, sum(
        g.cost[pick[c]] for c in used
    )


def total(space: Space, pick: Mapping[int, int]) -> float:
    """The work of the e-nodes of these classes."""
    return sum(work(space, c, space.classes[c][i]) for c, i in pick.items())


def work(space: Space, c: int, node: Term) -> float:
    """Scalar operations of one e-node of class `c`."""
    share = CONSTANT if c in space.constant else 1.0
    return STEP + share * _operations(node, space.types[c], space)


def _operations(node: Term, out: TensorType, space: Space) -> float:
    if node.op in LEAVES or node.op in VIEWS:
        return 0.0
    if node.op == "contract":
        return PRODUCT * prod(node.attrs[0])
    if node.op in MACROS:
        return NEVER
    if node.op in HOST:
        return HOST_SECONDS * RATE
    size = float(max(_size(out), *(_size(space.types[a]) for a in node.args), 1))
    return size * (BY_NAME[node.attrs[0]].flops if node.op in ("un", "bin") else 1)


def _size(t: TensorType) -> int:
    return prod(d for d in t.shape if isinstance(d, int))
