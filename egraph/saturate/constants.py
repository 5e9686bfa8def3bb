"""Values of the nodes that no input has a part in, computed when they are asked for."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..ir.graph import Graph, Node
from ..ir.ops import TABLE, Array, having

LIMIT = 1 << 22  # elements; an array of the graph's own may have any number
OPEN = having("varying")


class Constants:
    """The constant nodes of a graph without macros."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.known: list[bool] = []
        for node in graph.nodes:
            self.known.append(self._is_known(node))
        self._values: dict[int, Array] = {}

    def _is_known(self, node: Node) -> bool:
        if node.op == "data":
            return node.attrs[0] in self.graph.data
        if node.op in OPEN or node.op not in TABLE or not _small(node):
            return False
        return all(self.known[a] and _small(self.graph.nodes[a]) for a in node.args)

    def value(self, i: int) -> Array | None:
        """The value of node i, or None where it is not constant or too large."""
        if not self.known[i]:
            return None
        todo = [i]
        while todo:
            k = todo[-1]
            missing = [a for a in self.graph.nodes[k].args if a not in self._values]
            todo.extend(missing)
            if not missing:
                todo.pop()
                self._values.setdefault(k, self._value(self.graph.nodes[k]))
        return self._values[i]

    def _value(self, node: Node) -> Array:
        if node.op == "data":
            return self.graph.data[node.attrs[0]]
        args = [self._values[a] for a in node.args]
        return TABLE[node.op].numpy(args, node.attrs, node.type)


def _small(node: Node) -> bool:
    return count(node.shape) <= LIMIT


def count(sizes: Sequence[object]) -> float:
    """How many entries, or inf where a size is a symbol and none is 0."""
    if 0 in sizes:
        return 0
    fixed = [n for n in sizes if isinstance(n, int)]
    return math.prod(fixed) if len(fixed) == len(sizes) else math.inf
