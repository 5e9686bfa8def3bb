"""How a user speaks of the nodes of a graph: by name, or by `%12` as text prints it."""

from __future__ import annotations

import difflib

from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.ir.printable import printable
from rewrite.egraph.ir.text import node_lines


class Unknown(ValueError):
    """A word for which there is nothing; the message has close matches."""


def labels(graph: Graph) -> list[str]:
    """What stands for each node in the graph's text."""
    return [line.split(" ", 1)[0].rstrip(":") for line in node_lines(graph, inline=0)]


def node_called(graph: Graph, word: str) -> int:
    """The node of this name, label or output."""
    known: dict[str, int] = {}
    for i, (node, label) in enumerate(zip(graph.nodes, labels(graph), strict=True)):
        for name in (node.name, label, f"%{i}"):
            if name:
                known.setdefault(name, i)
    for name, i in graph.outputs:
        known.setdefault(name, i)
    if word not in known:
        raise Unknown(f"no node is called {word!r}; {close(word, list(known))}")
    return known[word]


def close(word: str, known: list[str]) -> str:
    """Words that may have been meant."""
    result = difflib.get_close_matches(word, known, 4, 0.5)
    result = result or [k for k in known if word.lower() in k.lower()][:4]
    if result:
        return f"did you mean {', '.join(map(printable, result))}?"
    more = " …" if len(known) > 6 else ""
    return f"known are {', '.join(map(printable, known[:6]))}{more}"
