"""Chosen terms, an op over classes each, and what kinds of ops there are."""

from __future__ import annotations

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


class Untraceable(Exception):
    """These values cannot share a kernel; says why."""


__all__ = [
    "ELEMENTWISE", "FOLDS", "HOST", "LEAVES", "READS", "SORTS", "VARYING", "VIEWS",
    "Term", "Terms", "Untraceable",
]  # fmt: skip
