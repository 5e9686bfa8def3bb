"""What is known before the model runs: the arrays of constant classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.ir.scalars import Array
from rewrite.extract.dag.postorder import postorder

from .cover import Cover


def values(
    t: Cover, wanted: Iterable[int], data: Mapping[str, Array]
) -> dict[int, Array]:
    """The arrays of constant classes, in their own types, as the model has them."""
    out: dict[int, Array] = {}
    rest: list[int] = []
    for c in wanted:
        result = _stored(t, c, data)
        if result is None:
            rest.append(c)
        else:
            out[c] = result
    if not rest:
        return out
    b = Builder("constants")
    where: dict[int, int] = {}
    for c in postorder(rest, lambda c: operands(t, c)):
        node, result = t.cells[c].constant, _stored(t, c, data)
        if result is not None:
            where[c] = b.array(result)
        elif node is not None:
            where[c] = b.add(node.op, [where[a] for a in node.args], node.attrs)
    with np.errstate(all="ignore"):
        made = evaluate(b.build({str(c): where[c] for c in rest}), {})
    return out | {int(c): a for c, a in made.items()}


def operands(t: Cover, c: int) -> tuple[int, ...]:
    """The classes that a constant is computed from."""
    node = t.cells[c].constant
    return node.args if node is not None else ()


def _stored(t: Cover, c: int, data: Mapping[str, Array]) -> Array | None:
    node = t.cells[c].constant
    return data[node.attrs[0]] if node and node.op == "data" else t.cells[c].array
