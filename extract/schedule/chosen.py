"""Chosen terms, an op over classes each, and what kinds of ops there are."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any, Protocol

from ...egraph.ir.ops import (
    ELEMENTWISE,
    HOST,
    LEAVES,
    READS,
    SORTS,
    VARYING,
    VIEWS,
    TensorType,
)  # fmt: skip

FOLDS = frozenset(("reduce", "argreduce", "contract", "scan"))


class Term(Protocol):
    """A chosen node: an op over classes."""

    @property
    def op(self) -> str: ...
    @property
    def args(self) -> tuple[int, ...]: ...
    @property
    def attrs(self) -> tuple[Any, ...]: ...


class Terms(Protocol):
    """A choice of one node per class, at concrete sizes."""

    def node(self, c: int) -> Term: ...
    def type(self, c: int) -> TensorType: ...


def normal(terms: Terms, stored: Container[int], node: Term) -> tuple[Any, ...] | None:
    """The normal form of a node of which others are known to come to the same loops:
    sums of products, whose operands may be expanded before or in the sum, and reshapes
    of reshapes."""

    def below(a: int, op: str) -> int:
        while terms.node(a).op == op and a not in stored:
            (a,) = terms.node(a).args
        return a

    def product(shape: Any, rest: tuple[Any, ...], args: Iterable[int]) -> Any:
        return "contract", shape, *rest, sorted(below(a, "expand") for a in args)

    if node.op == "contract":
        return product(node.attrs[0], node.attrs[1:], node.args)
    if node.op == "reduce" and node.attrs[0] == "sum":
        (a,) = node.args
        inner = terms.node(a)
        if a not in stored and inner.op == "bin" and inner.attrs[0] == "mul":
            return product(terms.type(a).shape, node.attrs[1:], inner.args)
    if node.op == "reshape":
        return "reshape", below(node.args[0], "reshape")
    return None


class Untraceable(Exception):
    """These values cannot share a kernel; says why."""


__all__ = [
    "ELEMENTWISE", "FOLDS", "HOST", "LEAVES", "READS", "SORTS", "VARYING", "VIEWS",
    "Term", "Terms", "Untraceable", "normal",
]  # fmt: skip
