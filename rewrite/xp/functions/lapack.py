"""Functions of matrices that the host computes, by NumPy's LAPACK.

A `Lapack` is the host function of a `call` node, and data: bundles hold it by name.
It takes matrices along any axes in front, so `vmap` puts one more there, and it depends
on its operands alone, so equal calls are one.  A call gives one array: several results
of a matrix are *packed*, one after the other along the last axis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Literal

import numpy as np

from rewrite.egraph.ir.dims import Dim, numel
from rewrite.egraph.ir.dtypes import DType
from rewrite.egraph.ir.graph import Graph, Node
from rewrite.egraph.ir.scalars import Array

from ..pair import joined
from ..tracer import Tracer, current, wrap
from .manipulation import reshape, slice_axis


@dataclass(frozen=True, slots=True)
class Lapack:
    """A function of `KNOWN`, with what else it is given."""

    name: str
    options: tuple[bool | str, ...] = ()

    def __call__(self, *arrays: Array) -> Array:
        return KNOWN[self.name](*arrays, *self.options)

    @property
    def target(self) -> str:
        return " ".join((f"linalg.{self.name}", *map(str, self.options)))


def call(
    f: Lapack, args: Sequence[Tracer], shape: Sequence[Dim], dtype: DType | None = None
) -> Tracer:
    """A call in the current builder; of the operands' dtype, if no other is said."""
    b = current()
    b.calls[f.target] = f
    attrs = f.target, 0, dtype or args[0].dtype, tuple(shape)
    return wrap(b.add("call", [a.node for a in args], attrs))


def lapack_of(node: Node, calls: Mapping[str, Callable[..., object]]) -> Lapack | None:
    made = calls.get(node.attrs[0]) if node.op == "call" else None
    return made if isinstance(made, Lapack) else None


def with_lapack(graph: Graph) -> Graph:
    """The graph, which a text was, with the functions that its calls name."""
    every = {f.target: f for name in KNOWN for f in _forms(name)}
    called = {n.attrs[0] for n in graph.nodes if n.op == "call"}
    found = {k: every[k] for k in called & every.keys() - graph.calls.keys()}
    return replace(graph, calls={**graph.calls, **found}) if found else graph


def _forms(name: str) -> list[Lapack]:
    """With each option."""
    match name.removeprefix(OF_PAIRS):
        case "qr":
            return [Lapack(name, (mode,)) for mode in ("reduced", "complete")]
        case "svd":
            return [Lapack(name, (full,)) for full in (False, True)]
        case _:
            return [Lapack(name)]


def unpacked(x: Tracer, *shapes: Sequence[Dim]) -> list[Tracer]:
    """The parts of what is packed, of these shapes behind the axes in front."""
    parts: list[Tracer] = []
    at: Dim = 0
    for shape in shapes:
        size = numel(shape)
        part = slice_axis(x, x.ndim - 1, at, size)
        parts.append(reshape(part, (*x.shape[:-1], *shape)))
        at = at + size
    return parts


def _packed(*parts: Array, inner: Sequence[int]) -> Array:
    """Arrays whose last axes, `inner` of each, are flattened and joined."""
    flat: list[Array] = []
    for part, rank in zip(parts, inner, strict=True):
        front = part.shape[: part.ndim - rank]
        flat.append(part.reshape(*front, prod(part.shape[part.ndim - rank :])))
    return np.concatenate(flat, axis=-1)


def _slogdet(a: Array) -> Array:
    return np.stack(np.linalg.slogdet(a), axis=-1)


def _eigh(a: Array) -> Array:
    return _packed(*np.linalg.eigh(a), inner=(1, 2))


def _qr(a: Array, mode: Literal["reduced", "complete"]) -> Array:
    return _packed(*np.linalg.qr(a, mode), inner=(2, 2))


def _svd(a: Array, full: bool) -> Array:
    return _packed(*np.linalg.svd(a, full_matrices=full), inner=(2, 1, 2))


def _pinv(a: Array, rtol: Array) -> Array:
    return np.linalg.pinv(a, rtol=rtol)


def _cofactor(a: Array) -> Array:
    """The slope of the determinant, also where that is 0: with a = u s v,
    det(u) det(v) u c v, of which c has the products of the other singular values."""
    u, s, v = np.linalg.svd(a)
    n = s.shape[-1]
    others = np.where(np.eye(n, dtype=bool), 1, s[..., None, :]).prod(axis=-1)
    sign = np.linalg.det(u) * np.linalg.det(v)
    return (u * (sign[..., None] * others)[..., None, :]) @ v


OF_PAIRS = "complex "  # before the name of a function of real and imaginary parts


def _of_pairs(f: Callable[..., Any], *inner: int, count: int = 1) -> Callable[..., Any]:
    """`f` of `count` complex matrices, given by their parts; the parts of its results,
    whose own ranks are `inner`, are packed."""

    def g(*given: Any) -> Array:
        parts, options = given[: 2 * count], given[2 * count :]
        made: Any = f(*map(joined, parts[::2], parts[1::2]), *options)
        return _parts(made if len(inner) > 1 else [made], inner)

    return g


def _parts(results: Sequence[Array], inner: Sequence[int]) -> Array:
    each = [p for x in results for p in (x.real, x.imag)]
    return _packed(*each, inner=[k for k in inner for _ in range(2)])


def _eig(a: Array) -> Array:
    return _parts(np.linalg.eig(a), (1, 2))


def _eigvals(a: Array) -> Array:
    return _parts([np.linalg.eigvals(a)], (1,))


def _svd_of(a: Array, full: bool) -> Any:
    return np.linalg.svd(a, full_matrices=full)


_COMPLEX: dict[str, Callable[..., Any]] = {
    "cholesky": _of_pairs(np.linalg.cholesky, 2), "det": _of_pairs(np.linalg.det, 0),
    "eig": _of_pairs(np.linalg.eig, 1, 2), "eigh": _of_pairs(np.linalg.eigh, 1, 2),
    "eigvals": _of_pairs(np.linalg.eigvals, 1),
    "eigvalsh": _of_pairs(np.linalg.eigvalsh, 1), "inv": _of_pairs(np.linalg.inv, 2),
    "pinv": _of_pairs(_pinv, 2), "qr": _of_pairs(np.linalg.qr, 2, 2),
    "slogdet": _of_pairs(np.linalg.slogdet, 0, 0),
    "solve": _of_pairs(np.linalg.solve, 2, count=2),
    "svd": _of_pairs(_svd_of, 2, 1, 2), "svdvals": _of_pairs(np.linalg.svdvals, 1),
}  # fmt: skip
KNOWN: dict[str, Callable[..., Any]] = {
    **{f"{OF_PAIRS}{name}": f for name, f in _COMPLEX.items()},
    "eig": _eig, "eigvals": _eigvals,
    "cholesky": np.linalg.cholesky, "cofactor": _cofactor, "det": np.linalg.det,
    "eigh": _eigh, "eigvalsh": np.linalg.eigvalsh, "inv": np.linalg.inv, "pinv": _pinv,
    "qr": _qr, "slogdet": _slogdet, "solve": np.linalg.solve, "svd": _svd,
    "svdvals": np.linalg.svdvals,
}  # fmt: skip

__all__ = [
    "KNOWN",
    "OF_PAIRS",
    "Lapack",
    "call",
    "lapack_of",
    "unpacked",
    "with_lapack",
]
