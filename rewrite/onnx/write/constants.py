"""What is known before the model runs: the arrays of constant classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from rewrite.egraph.evaluate import evaluate
from rewrite.egraph.graph import Builder
from rewrite.egraph.scalars import Array

from .cover import Cover


def values(
    t: Cover, wanted: Iterable[int], data: Mapping[str, Array]
) -> dict[int, Array]:
    """The arrays of constant classes, in their own types, as the model has them."""
    out: dict[int, Array] = {}
    b = Builder("constants")
    where: dict[int, int] = {}

    def build(c: int) -> int:
        if c not in where:
            node = t.cells[c].constant
            if node is None or t.cells[c].array is not None:
                array = t.cells[c].array
                assert array is not None, "constants are terms or arrays"
                where[c] = b.array(array)
            elif node.op == "data":
                where[c] = b.array(data[node.attrs[0]])
            else:
                args = [build(a) for a in node.args]
                where[c] = b.add(node.op, args, node.attrs)
        return where[c]

    outputs: dict[str, int] = {}
    for c in wanted:
        node, array = t.cells[c].constant, t.cells[c].array
        if array is not None:
            out[c] = array
        elif node is not None and node.op == "data":
            out[c] = data[node.attrs[0]]
        else:
            outputs[str(c)] = build(c)
    if outputs:
        with np.errstate(all="ignore"):
            found = evaluate(b.build(outputs), {})
        out.update((int(c), a) for c, a in found.items())
    return out
