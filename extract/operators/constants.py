"""What is known before the program runs: the arrays of constant classes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import numpy as np

from ...egraph.ir.evaluate import evaluate
from ...egraph.ir.graph import Builder
from ...egraph.ir.scalars import Array
from ..dag.postorder import postorder
from .cover import Cell, Cover


def values(
    t: Cover, wanted: Iterable[int], data: Mapping[str, Array]
) -> dict[int, Array]:
    """The arrays of constant classes, in their own types, as the program has them."""
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


def store(t: Cover, always: float, growth: float) -> None:
    """Constants may be stored up to `always` bytes, and where that takes no more than
    `growth` times the bytes that they are computed from."""
    constant = [c for c, cell in enumerate(t.cells) if cell.constant is not None]
    below: dict[int, float] = {}  # bytes of the arrays that a class is computed from
    for c in postorder(constant, lambda c: operands(t, c)):
        cell = t.cells[c]
        assert cell.constant is not None
        stored, size = cell.constant.op == "data", _bytes(cell)
        below[c] = size if stored else sum(below[a] for a in cell.constant.args)
        if stored or size <= max(always, growth * below[c]):
            t.way(c, "constant", ())


def _bytes(cell: Cell) -> float:
    assert cell.type is not None, "constants are tensors"
    shape = cast(Sequence[int], cell.type.shape)  # at the witness
    return math.prod(shape) * cell.type.dtype.itemsize
