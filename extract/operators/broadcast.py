"""Operands of elementwise operators that broadcast by themselves, as NumPy's do."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from .cover import Cover


def operands(t: Cover, c: int) -> list[int]:
    """Classes that broadcast to class `c`, the smallest first."""
    result = [c]
    number = t.number(c)
    if number is not None:
        return [t.full(number, t.type(c).dtype), c]
    for node in t.cells[c].terms:
        if node.op == "expand" and t.shape(node.args[0]) != t.shape(c):
            result += operands(t, node.args[0])
    if len(result) == 1 and not t.cells[c].constant:
        return result
    out: dict[int, None] = {}
    for d in result:
        out.update(dict.fromkeys((_bare(t, d), d)))
    return sorted(out, key=lambda d: (math.prod(t.shape(d)), len(t.shape(d)), d))[:3]


def _bare(t: Cover, c: int) -> int:
    """The class without leading axes of size 1."""
    shape = t.shape(c)
    start = next((i for i, d in enumerate(shape) if d != 1), max(len(shape) - 1, 0))
    if t.cells[c].constant:
        return t.reshaped(c, shape[start:])
    members = t.members(c)
    return min(
        (m for s, m in members.items() if s == shape[len(shape) - len(s) :]
         and all(d == 1 for d in shape[: len(shape) - len(s)])),
        key=lambda m: len(t.shape(m)),
    )  # fmt: skip


def spread(
    t: Cover, c: int, op: str, args: Sequence[int], shape: tuple[int, ...]
) -> None:
    """`op` of operands that broadcast to `shape`."""
    for combination in itertools.product(*(operands(t, a) for a in args)):
        shapes = [t.shape(a) for a in combination]
        if np.broadcast_shapes(*shapes) == shape:
            t.way(c, op, combination)
