"""What holds of each row of a tensor: along the axes of a mask, one entry at least.

These are questions, answered by walking up from the tensor asked about; a row without
entries is never asked about.  They follow masks: softmax(scores + mask) is finite where
each row of the mask has a finite entry, whatever the scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from ..ir.dims import Shape
from ..ir.graph import Graph, Node
from ..ir.ops import Array, axes
from ..ir.ranges import INF, RISING, Range, binary, converted, limits, rising
from .constants import Constants, count

type Mask = tuple[int, ...]
type What = Literal["finite", "true", "false"]

DEPTH = 64  # how far a question is followed


class Rows:
    """Answers for the nodes whose ranges are known so far."""

    def __init__(self, graph: Graph, ranges: Sequence[Range]) -> None:
        self.nodes, self.ranges = graph.nodes, ranges
        self.constants = Constants(graph)
        self._memo: dict[tuple[int, Mask, What], bool] = {}

    # -- some entry of each row is finite, or true, or false --

    def some(self, i: int, mask: Mask, what: What, depth: int = 0) -> bool:
        key = (i, mask, what)
        if key not in self._memo:
            self._memo[key] = depth < DEPTH and self._some(i, mask, what, depth + 1)
        return self._memo[key]

    def _some(self, i: int, mask: Mask, what: What, depth: int) -> bool:
        node = self.nodes[i]
        if what == "finite" and self.ranges[i].finite:
            return True
        value = self.constants.value(i)
        if value is not None:
            return bool(_holds(value, what).any(axis=axes(mask)).all())
        moved = self._moved(node, mask)
        if moved is not None:
            return self.some(*moved, what, depth)
        match node.op:
            case "un" | "bin" | "select" | "cast" if what == "finite":
                return self._some_finite(node, mask, depth)
            case "un" if node.attrs[0] == "not":
                other: What = "false" if what == "true" else "true"
                return self.some(node.args[0], mask, other, depth)
            case "bin" if node.attrs[0] == ("or" if what == "true" else "and"):
                return any(self.some(a, mask, what, depth) for a in node.args)
            case "concat":
                return self._some_part(node, mask, what, depth)
            case "pad":
                return self._some_padded(node, mask, what, depth)
            case _:
                return False

    def _some_finite(self, node: Node, mask: Mask, depth: int) -> bool:
        """An op keeps a finite entry where its other operands are finite there."""

        def some(i: int, what: What = "finite") -> bool:
            return self.some(i, mask, what, depth)

        r, args = self.ranges, node.args
        match (node.op, *node.attrs):
            case ("un", "neg" | "abs"):
                return some(args[0])
            case ("cast", t):
                return r[args[0]].reach <= limits(t).largest and some(args[0])
            case ("select",):
                c, x, y = args
                first = r[x].finite and some(c, "true")
                return first or (r[y].finite and some(c, "false"))
            case ("bin", "add" | "sub" | "mul" as op):
                pairs = zip(args, reversed(args), strict=True)
                x, y = (r[a].finite_part for a in args)
                fits = binary(op, x, y, node.dtype).finite
                return fits and any(r[a].finite and some(b) for a, b in pairs)
            case ("bin", "max"):
                pairs = zip(args, reversed(args), strict=True)
                return any(some(a) and not (r[b].nan or r[b].above) for a, b in pairs)
            case _:
                return False

    def _some_part(self, node: Node, mask: Mask, what: What, depth: int) -> bool:
        result = (
            self._has_rows(a, mask) and self.some(a, mask, what, depth)
            for a in node.args
        )
        return any(result) if mask[node.attrs[0]] else all(result)

    def _some_padded(self, node: Node, mask: Mask, what: What, depth: int) -> bool:
        (x,), (low, high, value) = node.args, node.attrs
        pads = zip(low, high, mask, strict=True)
        within = all(m or (a, b) == (0, 0) for a, b, m in pads)
        fits = bool(_holds(np.asarray(value), what))
        old = self._has_rows(x, mask) and self.some(x, mask, what, depth)
        return old and (within or fits)

    def _has_rows(self, i: int, mask: Mask) -> bool:
        """Whether the rows of a part certainly have entries."""
        return 0 < count(_masked(self.nodes[i].shape, mask)) < INF

    # -- the greatest entry of each row is at least --

    def peak(self, i: int, mask: Mask, depth: int = 0) -> float:
        """Each row has a NaN or an entry not below this."""
        least = self.ranges[i].low
        return max(least, self._peak(i, mask, depth + 1)) if depth < DEPTH else least

    def _peak(self, i: int, mask: Mask, depth: int) -> float:
        node = self.nodes[i]
        moved = self._moved(node, mask)
        if moved is not None:
            return self.peak(*moved, depth)
        if not node.dtype.is_float:
            return -INF
        match (node.op, *node.attrs):
            case ("un", op) if op in RISING:
                return rising(op, self.peak(node.args[0], mask, depth), node.dtype)
            case ("cast", t) if (source := self.nodes[node.args[0]].dtype).is_float:
                top = Range(self.peak(node.args[0], mask, depth))
                return converted(top, source, t).low
            case ("bin", "sub"):
                folded = self.shifted(node)
                return 0.0 if folded and all(map(int.__ge__, mask, folded)) else -INF
            case ("bin", "max"):
                return max(self.peak(a, mask, depth) for a in node.args)
            case ("bin", "mul"):
                pairs = zip(node.args, reversed(node.args), strict=True)
                return max(
                    (self._scaled_peak(a, self.ranges[b], mask, depth)
                     for a, b in pairs if self.ranges[b].low > 0),
                    default=-INF,
                )  # fmt: skip
            case _:
                return -INF

    def _scaled_peak(self, i: int, by: Range, mask: Mask, depth: int) -> float:
        top = Range(self.peak(i, mask, depth))
        return binary("mul", top, by, self.nodes[i].dtype).low

    def shifted(self, node: Node) -> Mask | None:
        """The mask of x - max(x), the maximum taken over it; None for all else."""
        if (node.op, *node.attrs) != ("bin", "sub"):
            return None
        x, k = node.args
        if self.nodes[k].op == "expand":
            (k,) = self.nodes[k].args
        shape = self.nodes[k].shape
        while self.nodes[k].op == "reshape":
            (k,) = self.nodes[k].args
        top = self.nodes[k]
        same = top.op == "reduce" and top.args == (x,) and top.shape == shape
        return top.attr("mask") if same and top.attr("monoid") == "max" else None

    # -- movement --

    def _moved(self, node: Node, mask: Mask) -> tuple[int, Mask] | None:
        """The tensor and mask whose rows are those of a movement op, if that is so."""
        match node.op:
            case "expand":
                return node.args[0], mask
            case "permute":
                places = zip(node.attrs[0], mask, strict=True)
                return node.args[0], tuple(m for _, m in sorted(places))
            case "reshape":
                (x,) = node.args
                result = reshaped(self.nodes[x].shape, node.shape, mask)
                return None if result is None else (x, result)
            case "slice":
                (x,), (_, _, step) = node.args, node.attrs
                sizes = zip(self.nodes[x].shape, node.shape, step, mask, strict=True)
                kept = all(not m or (a == b and abs(s) == 1) for a, b, s, m in sizes)
                return (x, mask) if kept else None
            case _:
                return None


def reshaped(before: Shape, after: Shape, mask: Mask) -> Mask | None:
    """The mask over `before` of the same rows; None where it cuts through an axis.

    Equal sizes are paired from both ends, axes of size 1 aside; what is left between
    is one group, folded as a whole or not at all.
    """
    a = [i for i, d in enumerate(before) if d != 1]
    b = [i for i, d in enumerate(after) if d != 1]
    out = [0] * len(before)
    for end in (0, -1):
        while a and b and before[a[end]] == after[b[end]]:
            out[a.pop(end)] = mask[b.pop(end)]
    folded = {mask[i] for i in b}
    if len(folded) > 1 or (a and not b):
        return None
    for i in a:
        out[i] = folded.copy().pop()
    return tuple(out)


def _masked(shape: Shape, mask: Mask) -> list[object]:
    return [d for d, m in zip(shape, mask, strict=True) if m]


def _holds(value: Array, what: What) -> Array:
    if what == "finite":
        return np.asarray(np.isfinite(value))
    return np.asarray(value, bool) == (what == "true")
