"""Values of all nodes of a graph at once, in the precision that a question needs.

*own*: each op rounds to its dtype, as `strict` runs.  *working*: narrow floats are
computed in f32 and rounded where kernels store them: after reductions, contractions and
casts.  *exact*: every float in the widest type of the machine, what others are measured
against, with more digits where that does not decide (`truth.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ..ir.dtypes import F32, DType
from ..ir.evaluate import apply, opened
from ..ir.graph import Graph, Node
from ..ir.ops import Array, TensorType
from ..ir.scalars import BY_NAME

type Mode = Literal["own", "working", "exact"]

WIDEST = DType("wide", "float", 128, np.dtype(np.longdouble))
NOISE = 16  # ulp of the widest type that a value may be off by, after a few operations
# Opcodes that round nothing.
KEPT = frozenset(name for name, s in BY_NAME.items() if s.picks or s.whole)
STORED = frozenset(("reduce", "scan", "contract", "cast", "const", "input", "data"))


class Oracle:
    """A graph without symbols or host functions, its macros opened once."""

    def __init__(self, graph: Graph) -> None:
        inner, self.where = opened(graph)
        live = inner.live
        self.nodes = [n if i in live else None for i, n in enumerate(inner.nodes)]
        self.inputs = inner.inputs
        self.data = inner.data

    def values(self, inputs: Mapping[str, Array], mode: Mode) -> list[Array | None]:
        """The value of each node of the graph given; narrow floats at their dtype."""
        env: list[Array | None] = []
        with np.errstate(all="ignore"):
            for node in self.nodes:
                got = None if node is None else self._value(node, env, inputs, mode)
                env.append(got)
            return self._stored(env, mode)

    def noisy(self, inputs: Mapping[str, Array], seed: int) -> list[Array | None]:
        """Exact values with each rounding moved at random: how well are they known?"""
        env: list[Array | None] = []
        rng = np.random.default_rng(seed)
        with np.errstate(all="ignore"):
            for node in self.nodes:
                got = None if node is None else self._value(node, env, inputs, "exact")
                if got is not None and node is not None and _rounds(node):
                    size = NOISE * rng.uniform(-1, 1, got.shape).astype(WIDEST.numpy)
                    got = got + got * size * _unit(node)
                env.append(got)
        return [env[i] for i in self.where]

    def _stored(self, env: Sequence[Array | None], mode: Mode) -> list[Array | None]:
        out: list[Array | None] = []
        for i in self.where:
            node, value = self.nodes[i], env[i]
            if mode == "working" and node is not None and value is not None:
                value = _cast(value, node.dtype.numpy)
            out.append(value)
        return out

    def _value(
        self,
        node: Node,
        env: list[Array | None],
        inputs: Mapping[str, Array],
        mode: Mode,
    ) -> Array:
        if node.op == "input":
            value = inputs[node.attrs[0]]
        elif node.op == "data":
            value = self.data[node.attrs[0]]
        else:
            args = [a for i in node.args if (a := env[i]) is not None]
            if node.op in ("un", "bin"):
                # NumPy's loops over strides may round exp and its like otherwise.
                args = [np.asarray(a, order="C") for a in args]
            value = self._apply(node, args, mode)
        return _held(value, node, mode)

    def _apply(self, node: Node, args: list[Array], mode: Mode) -> Array:
        if node.op == "bitcast":
            kinds = [self._node(i).dtype.numpy for i in node.args]
            args = [_cast(a, k) for a, k in zip(args, kinds, strict=True)]
            return apply(node.op, args, node.attrs, node.type)
        if mode == "exact" and node.op == "cast" and node.dtype.is_float:
            return args[0]
        if node.op == "cast" and node.dtype.is_int and args[0].dtype.kind not in "iub":
            return _whole(args[0], node.dtype)
        if node.op == "contract":
            return _contract(args, node, _type(node, mode))
        return apply(node.op, args, node.attrs, _type(node, mode))

    def _node(self, i: int) -> Node:
        node = self.nodes[i]
        assert node is not None, "an operand of a live node is live"
        return node


def _rounds(node: Node) -> bool:
    if not node.dtype.is_float:
        return False
    if node.op in ("un", "bin"):
        return node.attrs[0] not in KEPT
    return node.op in ("reduce", "scan", "contract")


def _unit(node: Node) -> Any:
    """How exact an operation is in the widest type; erf is one of f64."""
    name = node.attrs[0] if node.op == "un" else ""
    known = BY_NAME.get(name)
    by_erf = name == "erf" or (known is not None and "erf" in str(known.expansion))
    return np.finfo(np.float64 if by_erf else WIDEST.numpy).eps


def _whole(value: Array, to: DType) -> Array:
    """As the table has it, but for what it leaves open, which differs from one loop of
    NumPy's to another: what is out of range wraps as integers do, NaN gives 0."""
    plain = value.astype(np.longdouble)
    whole = np.where(np.isfinite(plain), np.trunc(plain), 0)
    unsigned = np.dtype(f"u{to.itemsize}")
    return np.mod(whole, np.longdouble(2) ** to.bits).astype(unsigned).view(to.numpy)


def _contract(args: list[Array], node: Node, out: TensorType) -> Array:
    """Products, then their sum: no library's fused multiply-add makes a side better."""
    full, mask, acc = node.attrs
    wide = max(acc.numpy, args[0].dtype, key=lambda d: d.itemsize)
    product = np.broadcast_to(args[0].astype(wide) * args[1].astype(wide), full)
    return apply("reduce", [product], ("sum", mask, acc), out)


def _type(node: Node, mode: Mode) -> TensorType:
    if not node.dtype.is_float or mode == "own":
        return node.type
    if mode == "exact":
        return TensorType(WIDEST, node.shape)
    stored = node.op in STORED or node.dtype.bits >= 32
    return node.type if stored else TensorType(F32, node.shape)


def _held(value: Array, node: Node, mode: Mode) -> Array:
    """The value in the type that it is computed on in."""
    if not node.dtype.is_float or mode == "own":
        return value
    if mode == "exact":
        return _cast(value, WIDEST.numpy)
    if node.dtype.bits >= 32:
        return value
    if node.op in STORED:
        value = _cast(value, node.dtype.numpy)
    return _cast(value, F32.numpy)


def _cast(value: Array, to: np.dtype[Any]) -> Array:
    return value if value.dtype is to else value.astype(to, copy=False)


__all__ = ["Mode", "Oracle"]
