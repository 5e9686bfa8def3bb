"""What holds of every graph, asked when one is made, whoever makes it.

A name stands for one thing: two arrays of one label would be one buffer, of the size of
either.  An array is what its node says, for kernels read as much as that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .node import Alias, GraphError, Node
from .ops import Array

LABELLED = {"input": "inputs", "data": "arrays"}


def check_order(nodes: Sequence[Node], outputs: Sequence[tuple[str, int]]) -> None:
    for i, node in enumerate(nodes):
        for a in node.args:
            if not 0 <= a < i:
                at = f"{node.name or f'%{i}'} = {node.op}"
                raise GraphError(f"{at}: operand {a} is not an earlier node")
    for label, i in outputs:
        if not 0 <= i < len(nodes):
            raise GraphError(f"output {label!r} names node {i}, which is not there")


def check_labels(nodes: Sequence[Node], outputs: Sequence[tuple[str, int]]) -> None:
    for op, plural in LABELLED.items():
        for label, i, j in repeated(n.attrs[0] if n.op == op else None for n in nodes):
            raise GraphError(
                f"there are two {plural} called {label!r}: nodes {i} and {j}"
            )
    for label, i, j in repeated(label for label, _ in outputs):
        raise GraphError(f"there are two outputs called {label!r}: {i} and {j}")


def repeated(names: Iterable[str | None]) -> Iterable[tuple[str, int, int]]:
    """Each name that comes again: where it came first, and where again."""
    first: dict[str, int] = {}
    for i, name in enumerate(names):
        if name is not None and first.setdefault(name, i) != i:
            yield name, first[name], i


def check_data(nodes: Sequence[Node], data: Mapping[str, Array]) -> None:
    """Of the arrays that are there."""
    for node in nodes:
        array = data.get(node.attrs[0]) if node.op == "data" else None
        if array is None:
            continue
        if array.shape != node.shape or array.dtype != node.dtype.numpy:
            result = f"{array.dtype}{list(array.shape)}"
            raise GraphError(
                f"array {node.attrs[0]!r}: {node.type} expected, found {result}"
            )


def check_aliases(
    nodes: Sequence[Node],
    outputs: Sequence[tuple[str, int]],
    aliases: Sequence[Alias],
) -> None:
    """An output lies on one input at most; on an input must lie one output at most."""
    if not aliases:
        return
    made = {label: nodes[i].type for label, i in outputs}
    given = {n.attrs[0]: n.type for n in nodes if n.op == "input"}
    for a in aliases:
        if a.output not in made or a.input not in given:
            raise GraphError(f"alias {a.output} <- {a.input}: no such pair")
        if made[a.output] != given[a.input]:
            raise GraphError(
                f"alias {a.output} <- {a.input}: "
                f"{made[a.output]} cannot lie on {given[a.input]}"
            )
    for name, _, _ in repeated(a.input if a.kind == "must" else None for a in aliases):
        raise GraphError(f"two outputs must lie on input {name!r}: keep one")
    for name, _, _ in repeated(a.output for a in aliases):
        raise GraphError(f"output {name!r} has two aliases: keep one")


__all__ = [
    "check_aliases", "check_data", "check_labels", "check_order", "repeated"
]  # fmt: skip
