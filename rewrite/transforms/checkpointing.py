"""`checkpoint`: what derivatives of a function need, they compute again.

Barriers stand around a checkpointed function: those of key 2k + 1 before region k,
those of key 2k + 2 behind it.  They say which nodes belong to it after whatever
transform (`regions`).  Where a graph is linearized they go; the way back computes a
region once more from its entries, behind barriers of key 0, without which the e-graph
would see that it has these values already (`Again`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rewrite.egraph.ir.graph import Graph, Node

from ..xp.staging import arguments, emit, filled, replay, stage
from ..xp.tracer import Scope, Tracer, current, lift
from .transformed import transformed
from .trees import tensors

AGAIN = 0


def checkpoint(f: Callable[..., Any]) -> Any:
    """`f`; derivatives of it keep its arguments and compute the rest again.

    That takes less memory and more time: see docs/transforms.md.
    """

    def law(f: Callable[..., Any], args: Sequence[Any], kw: Mapping[str, Any]) -> Any:
        named = arguments(f, args, kw)
        staged = stage(f, named, tuple(kw))
        given = {k: v for n, x in named.items() for k, v in tensors(x, n).items()}
        key = 2 * _region() + 1
        before = {
            k: emit("barrier", (key,), lift(v))
            for k, v in {**given, **staged.around}.items()
        }
        made = replay(staged.graph, before)
        behind = {
            k: emit("barrier", (key + 1,), x)
            for k, i in staged.graph.outputs
            if (x := made[i]) is not None
        }
        return filled(staged.result, behind)

    return transformed(law, f)


def _region() -> int:
    """A number that no other region of the whole trace has."""
    scope = current()
    assert isinstance(scope, Scope)
    scope = scope.outermost
    scope.regions += 1
    return scope.regions - 1


def begins(node: Node, region: int) -> bool:
    return node.op == "barrier" and node.attrs[0] == 2 * region + 1


def is_mark(node: Node) -> bool:
    """Whether a node says where a region begins or ends."""
    return node.op == "barrier" and node.attrs[0] != AGAIN


def regions(graph: Graph) -> dict[int, int]:
    """The region of each node that is in one: of several, the one around the others."""
    marks = [(i, n.attrs[0]) for i, n in enumerate(graph.nodes) if is_mark(n)]
    found: dict[int, int] = {}
    for k in sorted({(key - 1) // 2 for _, key in marks}, reverse=True):
        inside = {i for i, key in marks if key == 2 * k + 1}
        ends = {i for i, key in marks if key == 2 * k + 2}
        for i, n in enumerate(graph.nodes):  # what depends on an entry
            if i not in ends and not inside.isdisjoint(n.args):
                inside.add(i)
        needed = {a for i in ends for a in graph.nodes[i].args}
        for i in sorted(inside, reverse=True):  # and is needed at an end
            if i in needed:
                found[i] = k
                needed.update(graph.nodes[i].args)
    return found


class Again:
    """What a region computes, computed from its entries once more."""

    def __init__(self, entries: Sequence[Tracer]) -> None:
        self._made: dict[int, Tracer] = {}
        self._entries, self._seen = {x.node: x for x in entries}, set[int]()

    def __call__(self, x: Tracer) -> Tracer:
        nodes = x.builder.nodes
        for n in self._new(x):
            if n in self._entries:
                self._made[n] = emit("barrier", (AGAIN,), lift(self._entries[n]))
            elif any(a in self._made for a in nodes[n].args):
                args = [self._now(Tracer(x.builder, a)) for a in nodes[n].args]
                self._made[n] = emit(nodes[n].op, nodes[n].attrs, *args)
        return self._now(x)

    def _now(self, x: Tracer) -> Tracer:
        return self._made[x.node] if x.node in self._made else lift(x)

    def _new(self, x: Tracer) -> list[int]:
        """What `x` is computed from that was not met before, in order."""
        todo, new = [x.node], set[int]()
        while todo:
            n = todo.pop()
            if n not in new and n not in self._seen:
                new.add(n)
                if n not in self._entries:
                    todo.extend(x.builder.nodes[n].args)
        self._seen |= new
        return sorted(new)


__all__ = ["Again", "begins", "checkpoint", "is_mark", "regions"]
