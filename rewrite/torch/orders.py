"""Values in the order in which PyTorch lays out their axes.

A tensor whose axes lie in another order than they are numbered in, such as an image
whose channels come last, enters a graph as an array in order and a permutation of it.
What is computed of it is computed in that order, too, and then permuted: so it is
stored as PyTorch would store it, and not turned for those who read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.ir.ops import ELEMENTWISE
from rewrite.egraph.ir.table import Attrs

from .arrays import inverse

type Order = tuple[int, ...]


class OrderedBuilder(Builder):
    """A builder that moves permutations behind the ops that follow them."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._lies: dict[int, tuple[int, Order]] = {}  # (array, permutation), by node

    def lying(self, array: int, order: Order) -> int:
        """An array whose axes are `order`, as it lies, by their numbers."""
        return self._turned(array, inverse(order))

    def ordered(self, node: int, order: Order) -> int:
        """The same value; what is computed of it lies in this order."""
        return self._turned(super().permute(node, order), inverse(order))

    def _turned(self, array: int, perm: Order) -> int:
        if perm == tuple(range(len(perm))):
            return array
        node = super().add("permute", (array,), (perm,))
        self._lies[node] = array, perm
        return node

    def add(
        self, op: str, args: Sequence[int] = (), attrs: Attrs = (), name: str = "",
        share: bool = True,
    ) -> int:  # fmt: skip
        found = next((self._lies[a] for a in args if a in self._lies), None)
        made = found and self._behind(op, args, attrs, *found)
        return super().add(op, args, attrs, name, share) if made is None else made

    def _behind(
        self, op: str, args: Sequence[int], attrs: Attrs, array: int, perm: Order
    ) -> int | None:
        """The op on arrays as they lie, then the permutation; None where it is none
        that takes axes in any order."""
        if op in ELEMENTWISE:
            made = super().add(op, [self._as(a, perm) for a in args], attrs)
            return self._turned(made, perm)
        if op == "conv" and args[0] in self._lies:
            return self.ordered(super().add(op, args, attrs), inverse(perm))
        if op == "permute":
            axes: Order = attrs[0]
            whole = tuple(perm[i] for i in axes)
            same = whole == tuple(range(len(whole)))
            return array if same else super().add(op, (array,), (whole,))
        if op == "reshape":
            return self._without_ones(args[0], attrs[0], array, perm)
        moved = _MOVED.get(op)
        if moved is None:
            return None
        made = super().add(op, (array,), moved(attrs, inverse(perm)))
        more = len(self.shape(made)) - len(perm)
        return self._turned(made, (*perm, *range(len(perm), len(perm) + more)))

    def _without_ones(
        self, a: int, shape: Sequence[Dim], array: int, perm: Order
    ) -> int | None:
        """A reshape that only leaves out axes of one element; another one is none that
        takes axes in any order."""
        kept: list[int] = []
        for j, n in enumerate(self.shape(a)):
            if len(kept) < len(shape) and shape[len(kept)] == n:
                kept.append(j)
            elif n != 1:
                return None
        if len(kept) < len(shape):
            return None
        lie = sorted(perm[j] for j in kept)
        sizes = self.shape(array)
        made = super().add("reshape", (array,), (tuple(sizes[i] for i in lie),))
        return self._turned(made, tuple(lie.index(perm[j]) for j in kept))

    def _as(self, a: int, perm: Order) -> int:
        """An operand with its axes in the order of the array."""
        array, own = self._lies.get(a, (a, None))
        return array if own == perm else super().permute(a, inverse(perm))


def _each(attrs: Attrs, at: Order) -> Attrs:
    """Attributes that have an entry for each axis."""

    def moved(x: Any) -> Any:
        if not isinstance(x, tuple):
            return x
        entries = cast(tuple[Any, ...], x)
        return tuple(entries[i] for i in at)

    return tuple(map(moved, attrs))


def _first(attrs: Attrs, at: Order) -> Attrs:
    """Attributes of which the first is an axis."""
    return (at.index(attrs[0]), *attrs[1:])


# By op: its attributes, where axis i of the array is axis `at[i]` of the value.
_MOVED: dict[str, Any] = {
    "pad": _each, "slice": _each, "reduce": _each, "expand": _each, "window": _first,
}  # fmt: skip
