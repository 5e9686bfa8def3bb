"""Chosen columns as a graph: a value has a node for each kernel that computes it.

So that tests can run the schedules that `selection.py` chooses.
"""

from __future__ import annotations

from collections.abc import Sequence

from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.extract.dag.postorder import postorder
from rewrite.extract.schedule.space import Space

from .columns import READ, Column, Shape


def rebuilt(
    graph: Graph, space: Space, columns: Sequence[Column]
) -> tuple[Graph, tuple[tuple[int, ...], ...]]:
    """`graph` by these columns, producers first, and the nodes that each stores."""
    made = _Rebuilt(graph, space)
    groups = tuple(made.column(k) for k in columns)
    outputs = zip(graph.outputs, space.outputs, strict=True)
    return made.b.build({label: made.value(c) for (label, _), c in outputs}), groups


class _Rebuilt:
    def __init__(self, graph: Graph, space: Space) -> None:
        self.space, self.shape = space, Shape(space)
        self.b = Builder(graph.name)
        self.b.data, self.b.calls = dict(graph.data), dict(graph.calls)
        self.stored: dict[int, int] = {}  # class -> the node that is stored
        self.unscheduled: dict[int, int] = {}

    def column(self, k: Column) -> tuple[int, ...]:
        """The nodes of one kernel, none shared with another but what is stored."""
        local: dict[int, int] = {}

        def operands(c: int) -> tuple[int, ...]:
            i = k.form.get(c, READ)
            return () if i == READ else self.space.classes[c][i].args

        for c in postorder(k.roots, operands):
            i = k.form.get(c, READ)
            local[c] = self.value(c) if i == READ else self._add(c, i, local)
        self.stored.update((c, local[c]) for c in k.roots)
        return tuple(local[c] for c in k.roots)

    def value(self, c: int) -> int:
        """An input, a stored value, or one that is an operand but never looked at."""
        found = self.stored.get(c, self.unscheduled.get(c))
        if found is not None:
            return found
        default, leaf = self.shape.default, self.shape.leaf[c]
        need = postorder([c], lambda a: self.space.classes[a][default[a]].args)
        for a in need if leaf is None else [c]:
            if a not in self.stored and a not in self.unscheduled:
                i = self.shape.leaf[a]
                i = default[a] if i is None else i
                self.unscheduled[a] = self._add(a, i, self.stored | self.unscheduled)
        return self.unscheduled[c]

    def _add(self, c: int, i: int, where: dict[int, int]) -> int:
        node = self.space.classes[c][i]
        name = str(node.attrs[0]) if node.op == "input" else ""
        args = [where[a] for a in node.args]
        return self.b.add(node.op, args, node.attrs, name, share=False)
