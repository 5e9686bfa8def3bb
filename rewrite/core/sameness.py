"""Whether two graphs at known sizes compute the same, whatever nodes are called.

Equal nodes count once, and what is one constant all over counts as that: the number of
elements of an axis is a constant where its size is known, and a sum of ones where that
is a symbol.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np

from rewrite.egraph.ir.evaluate import apply
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.ir.node import Node
from rewrite.egraph.ir.ops import TensorType
from rewrite.egraph.ir.scalars import Array
from rewrite.egraph.ir.table import having, sizes

ONE_TO_ONE = having("pointwise")
REARRANGED = frozenset({"reshape", "permute", "expand", "slice", "window"})


def same(a: Graph, b: Graph) -> bool:
    """Graphs without symbols; inputs, data and outputs have the same names."""
    ours, theirs = dict(a.outputs), dict(b.outputs)
    if (list(ours), a.aliases) != (list(theirs), b.aliases):
        return False
    if a.data.keys() != b.data.keys():
        return False
    known: dict[Hashable, int] = {}
    left, right = _classes(a, known), _classes(b, known)
    return all(left[i] == right[theirs[k]] for k, i in ours.items()) and all(
        np.array_equal(x, b.data[k]) for k, x in a.data.items()
    )


def _classes(graph: Graph, known: dict[Hashable, int]) -> list[int]:
    """A number for each node, the same for nodes that compute the same."""
    result: list[int] = []
    everywhere: list[Array | None] = []  # the one element that a node consists of
    for node in graph.nodes:
        args = [everywhere[i] for i in node.args]
        value = _everywhere(node, args, [graph.nodes[i] for i in node.args])
        everywhere.append(value)
        form = (
            (node.op, tuple(result[i] for i in node.args), repr(node.attrs), node.type)
            if value is None
            else ("const", value.tobytes(), node.type)
        )
        result.append(known.setdefault(form, len(known)))
    return result


def _everywhere(node: Node, args: list[Array | None], of: list[Node]) -> Array | None:
    scalar = TensorType(node.dtype, ())
    if node.op == "const":
        return apply("const", [], (*node.attrs[:2], ()), scalar)
    given = [a for a in args if a is not None]
    if not given or len(given) < len(args):
        return None
    if node.op in REARRANGED:
        return given[0]
    if node.op in ONE_TO_ONE:
        return np.asarray(apply(node.op, given, node.attrs, scalar))
    if node.op == "reduce" and node.attrs[0] == "sum":
        count = math.prod(sizes(of[0].shape)) // max(math.prod(sizes(node.shape)), 1)
        return np.asarray(_times(given[0], count), node.dtype.numpy)
    return None


def _times(value: Array, count: int) -> Any:
    return value * count if value.dtype.kind in "iu" else float(value) * count


__all__ = ["same"]
