"""Checks that a function keeps the rules of the loop IR (`loops.py`)."""

from __future__ import annotations

from ..loops import Function
from .kinds import Kinds
from .places import Places
from .types import Types
from .walk import Fault


class VerifyError(ValueError):
    """A function that breaks the rules of the loop IR: a fault of what made it."""


def faults(function: Function) -> tuple[Fault, ...]:
    """Every broken rule.  Loops and places are looked at only where types are right."""
    result = Types(function).run()
    if not result:
        result = [*Kinds(function).run(), *Places(function).run()]
    return tuple(dict.fromkeys(result))


def verify(function: Function) -> Function:
    """The function, unless it breaks a rule."""
    result = faults(function)
    if result:
        raise VerifyError("\n".join(map(str, result)))
    return function


__all__ = ["Fault", "VerifyError", "faults", "verify"]
