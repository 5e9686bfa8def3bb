"""Values at chosen positions: a second, independent reading of the ops.

Where the evaluator computes whole arrays with NumPy's array functions, this one asks a
term for its values at a list of positions and follows index arithmetic down to the
inputs.  So one step of a proof is checked at full size, whatever the size, and the
shape arithmetic of rules is interpreted by code that the rules do not share.

Inputs are functions of the position: fixed pseudo-random values, equal for equal
inputs.  All floats are float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..ir.dtypes import DType
from ..ir.evaluate import expand_macros
from ..ir.graph import Graph, Node
from ..ir.indexing import SCATTER
from ..ir.macros import MACROS
from ..ir.ops import Array
from ..ir.scalars import BY_NAME, MONOIDS

# Positions: an integer array of shape [how many, rank].
type Positions = Array

LIMIT = 4_000_000  # positions asked of one node at once


class PointError(ValueError):
    """A term that has no pointwise reading."""


class TooLarge(PointError):
    """A term of which too many positions are asked."""


def sample(graph: Graph, node: int, count: int, seed: int = 0) -> Positions:
    """Random positions of a node; none if it is empty."""
    shape = _sizes(graph.nodes[node].shape)
    rng = np.random.default_rng(seed)
    if 0 in shape:
        return np.zeros((0, len(shape)), np.int64)
    columns = [rng.integers(0, n, count) for n in shape]
    return np.stack(columns, 1) if columns else np.zeros((1, 0), np.int64)


def _sizes(shape: Sequence[Any]) -> tuple[int, ...]:
    return tuple(int(n) for n in shape)


def _flat(at: Positions, shape: Sequence[int]) -> Array:
    """The row-major number of each position."""
    number = np.zeros(len(at), np.int64)
    for i, n in enumerate(shape):
        number = number * n + at[:, i]
    return number


def _unflat(number: Array, shape: Sequence[int]) -> Positions:
    columns: list[Array] = []
    for n in reversed(shape):
        columns.append(number % max(n, 1))
        number = number // max(n, 1)
    out = [*reversed(columns)]
    return np.stack(out, 1) if out else np.zeros((len(number), 0), np.int64)


@dataclass
class Points:
    """Reads the nodes of one graph, its macros expanded."""

    graph: Graph
    seed: int = 0
    tables: dict[int, Array] = field(default_factory=dict[int, Array])

    @staticmethod
    def of(graph: Graph) -> Points:
        macros = any(n.op in MACROS for n in graph.nodes)
        return Points(expand_macros(graph) if macros else graph)

    def at(self, i: int, where: Positions) -> Array:
        """The values of node i; positions asked for twice are computed once."""
        node = self.graph.nodes[i]
        if len(where) > LIMIT:
            raise TooLarge(f"{node.op}: {len(where)} positions are too many to check")
        method: Callable[[int, Node, Positions], Array] | None
        method = getattr(self, f"_{node.op}", None)
        if method is None:
            raise PointError(
                f"{node.op} has no pointwise reading (a method _{node.op} in "
                "egraph/proof/pointwise.py)"
            )
        if node.op not in ("reduce", "contract"):
            return method(i, node, where)
        shape = _sizes(node.shape)
        number, back = np.unique(_flat(where, shape), return_inverse=True)
        return method(i, node, _unflat(number, shape))[back]

    def shape(self, i: int) -> tuple[int, ...]:
        return _sizes(self.graph.nodes[i].shape)

    # -- leaves --

    def _input(self, i: int, node: Node, where: Positions) -> Array:
        if i not in self.tables:
            label = str(node.attrs[0]).encode()
            rng = np.random.default_rng([self.seed, *label])
            self.tables[i] = _values(node.dtype, rng)
        table = self.tables[i]
        return table[_flat(where, self.shape(i)) % len(table)]

    _data = _input

    def _const(self, i: int, node: Node, where: Positions) -> Array:
        return np.full(len(where), node.attrs[0], _wide(node.dtype))

    def _iota(self, i: int, node: Node, where: Positions) -> Array:
        return where[:, node.attrs[0]].astype(_wide(node.dtype))

    # -- elementwise --

    def _un(self, i: int, node: Node, where: Positions) -> Array:
        args = [self.at(a, where) for a in node.args]
        return BY_NAME[node.attrs[0]].numpy(*args).astype(_wide(node.dtype), copy=False)

    _bin = _un

    def _select(self, i: int, node: Node, where: Positions) -> Array:
        return np.where(*(self.at(a, where) for a in node.args))

    def _cast(self, i: int, node: Node, where: Positions) -> Array:
        with np.errstate(all="ignore"):
            return self.at(node.args[0], where).astype(_wide(node.dtype))

    def _bitcast(self, i: int, node: Node, where: Positions) -> Array:
        (a,) = node.args
        exact = self.at(a, where).astype(self.graph.nodes[a].dtype.numpy)
        return exact.view(node.dtype.numpy).astype(_wide(node.dtype))

    # -- movement --

    def _barrier(self, i: int, node: Node, where: Positions) -> Array:
        return self.at(node.args[0], where)

    def _reshape(self, i: int, node: Node, where: Positions) -> Array:
        (a,) = node.args
        return self.at(a, _unflat(_flat(where, self.shape(i)), self.shape(a)))

    def _permute(self, i: int, node: Node, where: Positions) -> Array:
        moved = np.empty_like(where)
        moved[:, list(node.attrs[0])] = where
        return self.at(node.args[0], moved)

    def _expand(self, i: int, node: Node, where: Positions) -> Array:
        kept = 1 - np.asarray(node.attrs[1], np.int64)
        return self.at(node.args[0], where * kept)

    def _pad(self, i: int, node: Node, where: Positions) -> Array:
        (a,), (low, _, value) = node.args, node.attrs
        inner = where - np.asarray(low, np.int64)
        size = np.asarray(self.shape(a), np.int64)
        inside = ((inner >= 0) & (inner < size)).all(axis=1)
        out = np.full(len(where), value, _wide(node.dtype))
        out[inside] = self.at(a, inner[inside])
        return out

    def _slice(self, i: int, node: Node, where: Positions) -> Array:
        start, _, step = (np.asarray(v, np.int64) for v in node.attrs)
        return self.at(node.args[0], start + where * step)

    def _window(self, i: int, node: Node, where: Positions) -> Array:
        axis, _, _, stride, dilation = node.attrs
        inner = where[:, :-1].copy()
        inner[:, axis] = where[:, axis] * stride + where[:, -1] * dilation
        return self.at(node.args[0], inner)

    def _concat(self, i: int, node: Node, where: Positions) -> Array:
        axis, start = int(node.attrs[0]), 0
        out = np.empty(len(where), _wide(node.dtype))
        for a in node.args:
            size = self.shape(a)[axis]
            here = (where[:, axis] >= start) & (where[:, axis] < start + size)
            shifted = where[here].copy()
            shifted[:, axis] -= start
            out[here] = self.at(a, shifted)
            start += size
        return out

    def _gather(self, i: int, node: Node, where: Positions) -> Array:
        (a, index), axis = node.args, int(node.attrs[0])
        n = self.shape(a)[axis]
        inner = where.copy()
        inner[:, axis] = np.clip(self.at(index, where).astype(np.int64), 0, n - 1)
        return self.at(a, inner) if n else np.zeros(len(where), _wide(node.dtype))

    def _scatter(self, i: int, node: Node, where: Positions) -> Array:
        """Each write along the axis in order, so that of several the last one stays."""
        (a, index, value), (mode, axis) = node.args, node.attrs
        writes = self.shape(index)[int(axis)]
        if len(where) * writes > LIMIT:
            raise TooLarge(f"a scatter of {writes} values is too large to check")
        out, there, combine = self.at(a, where), where.copy(), SCATTER[mode]
        for k in range(writes):
            there[:, axis] = k
            new = self.at(value, there)
            with np.errstate(all="ignore"):
                new = new if combine is None else combine(out, new)
            out = np.where(self.at(index, there) == where[:, axis], new, out)
        return out

    # -- folds --

    def _spread(
        self, where: Positions, full: Sequence[int], mask: Sequence[int]
    ) -> tuple[Positions, int]:
        """Each position with every index of the masked axes, and how many those are."""
        folded = [n for n, m in zip(full, mask, strict=True) if m]
        size = math.prod(folded)
        if len(where) * size > LIMIT:
            raise TooLarge(f"a fold over {size} elements is too large to check")
        inner = _unflat(np.arange(size), folded)
        out = np.repeat(where, len(inner), axis=0)
        out[:, [k for k, m in enumerate(mask) if m]] = np.tile(inner, (len(where), 1))
        return out, len(inner)

    def _reduce(self, i: int, node: Node, where: Positions) -> Array:
        (a,), (name, mask, _) = node.args, node.attrs
        spread, n = self._spread(where, self.shape(a), mask)
        monoid, values = MONOIDS[name], self.at(a, spread)
        start = np.asarray(monoid.identity(node.dtype), values.dtype)[()]
        with np.errstate(all="ignore"):
            rows = values.reshape(len(where), n)
            return monoid.reduce(rows, axis=1, initial=start, dtype=values.dtype)

    def _scan(self, i: int, node: Node, where: Positions) -> Array:
        """A fold over the axis, of which what lies behind is left out."""
        (a,), (name, axis, _) = node.args, node.attrs
        mask = [int(k == axis) for k in range(len(self.shape(a)))]
        spread, n = self._spread(where, self.shape(a), mask)
        monoid, values = MONOIDS[name], self.at(a, spread)
        start = np.asarray(monoid.identity(node.dtype), values.dtype)[()]
        before = spread[:, axis] <= np.repeat(where[:, axis], n)
        rows = np.where(before, values, start).reshape(len(where), n)
        with np.errstate(all="ignore"):
            return monoid.reduce(rows, axis=1, initial=start, dtype=values.dtype)

    def _sort(self, i: int, node: Node, where: Positions) -> Array:
        lines, order = self._ordered(node, where)
        return lines[np.arange(len(where)), order]

    def _argsort(self, i: int, node: Node, where: Positions) -> Array:
        return self._ordered(node, where)[1]

    def _argreduce(self, i: int, node: Node, where: Positions) -> Array:
        (a,), (kind, axis, _) = node.args, node.attrs
        mask = [int(k == axis) for k in range(len(self.shape(a)))]
        spread, _ = self._spread(where, self.shape(a), mask)
        lines = self.at(a, spread).reshape(len(where), -1)
        return (np.argmax if kind == "argmax" else np.argmin)(lines, axis=1)

    def _ordered(self, node: Node, where: Positions) -> tuple[Array, Array]:
        """The line of each position, and which of its elements comes there: NaN is
        greater than every number, and of equal elements the first comes first."""
        (a,), (axis, descending) = node.args, node.attrs[:2]
        mask = [int(k == axis) for k in range(len(self.shape(a)))]
        spread, n = self._spread(where, self.shape(a), mask)
        lines = self.at(a, spread).reshape(len(where), n)
        turned = lines[:, ::-1] if descending else lines
        order = np.argsort(turned, axis=1, kind="stable")
        if descending:
            order = n - 1 - order[:, ::-1]
        return lines, order[np.arange(len(where)), where[:, axis]]

    def _contract(self, i: int, node: Node, where: Positions) -> Array:
        full, mask, _ = node.attrs
        spread, n = self._spread(where, _sizes(full), mask)
        product = np.ones(len(spread), _wide(node.dtype))
        for a in node.args:
            kept = np.asarray(self.shape(a)) != 1
            product = product * self.at(a, spread * kept)
        return product.reshape(len(where), n).sum(axis=1, dtype=product.dtype)


def _wide(dtype: DType) -> Any:
    return np.float64 if dtype.is_float else dtype.numpy


def _values(dtype: DType, rng: np.random.Generator) -> Array:
    """A prime number of values, so that no axis has a period."""
    n = 4093
    if dtype.kind == "bool":
        return rng.random(n) < 0.5
    if dtype.is_int:
        return rng.integers(0 if dtype.kind == "uint" else -9, 9, n).astype(dtype.numpy)
    return rng.uniform(0.5, 2.0, n) * rng.choice((-1.0, 1.0), n)
