"""What stands where in a pattern: its fields by kind, its tensors."""

from __future__ import annotations

from collections.abc import Iterator

from ..ir.constructors import SIGNATURES
from .sexpr import Atom, Expr, Form


def fields(e: Form) -> Iterator[tuple[str, Expr]]:
    """The operands of a term, each with its kind (`SIGNATURES`)."""
    return zip(SIGNATURES[e.head], e.args, strict=True)


def tensors(e: Expr) -> frozenset[str]:
    """The variables of a pattern that stand for tensors."""
    if isinstance(e, Atom):
        return frozenset([e.text])
    below = (tensors(a) for kind, a in fields(e) if kind == "t")
    return frozenset[str]().union(*below)


__all__ = ["fields", "tensors"]
