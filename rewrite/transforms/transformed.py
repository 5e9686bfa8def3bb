"""What a transform returns: a function that is the transform of another.

In a trace it adds nodes to it.  Outside of one it gives arrays, computed by the
reference evaluator; `rewrite.jit` of it compiles it, and the transform of a jitted
function is jitted.  What the inner function captures is found through `__around__`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..jitted import Jit
from ..xp.staging import at_once

type Law = Callable[[Callable[..., Any], Sequence[Any], Mapping[str, Any]], Any]


class Transformed:
    """`law(f, arguments, keywords)` as a function."""

    def __init__(self, law: Law, f: Callable[..., Any]) -> None:
        functools.update_wrapper(self, f)
        self.law, self.f = law, f

    @staticmethod
    def __around__(made: Transformed, f: Callable[..., Any]) -> Transformed:
        """The same of another function."""
        return Transformed(made.law, f)

    def __call__(self, /, *args: Any, **keywords: Any) -> Any:
        return at_once(self.law)(self.f, args, keywords)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


def transformed(law: Law, f: Callable[..., Any]) -> Any:
    if isinstance(f, Jit):
        return f.of(Transformed(law, f.f))
    if not callable(f):
        raise TypeError(f"a function was expected, found {type(f).__name__}")
    return Transformed(law, f)


__all__ = ["Law", "Transformed", "transformed"]
