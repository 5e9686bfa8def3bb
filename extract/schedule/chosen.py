"""Chosen terms, an op over classes each, and what kinds of ops there are."""

from __future__ import annotations

from typing import Any, Protocol

from ...egraph.ir.ops import TensorType, having

LEAVES, READS, HOST = having("leaf"), having("read"), having("host")
VARYING, VIEWS, ELEMENTWISE = having("varying"), having("view"), having("pointwise")


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
