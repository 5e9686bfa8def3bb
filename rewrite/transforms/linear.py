"""A linear map between tensors, as a pair of functions: itself and its transpose.

The derivative of an op with respect to one operand is a linear map that depends on the
operands' values (its *residuals*).  Tangents go through it forwards, cotangents
backwards; both are array code, so that they can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from rewrite.egraph.ir.graph import Graph, Node

from ..xp.tracer import Tracer, lift


@dataclass(frozen=True, slots=True)
class Linear:
    """`forward(tangent, *residuals)` and its transpose `backward`."""

    forward: Callable[..., Tracer]
    backward: Callable[..., Tracer]
    residuals: tuple[Tracer, ...] = ()

    def push(self, tangent: Tracer) -> Tracer:
        return self.forward(tangent, *map(lift, self.residuals))

    def pull(
        self, cotangent: Tracer, found: Callable[[Tracer], Tracer] = lift
    ) -> Tracer:
        """`found` says where a residual is found, or how it is made again."""
        return self.backward(cotangent, *map(found, self.residuals))


type Map = Callable[[Tracer], Tracer]
type MapBy = Callable[[Tracer, Tracer], Tracer]


def linear(forward: Map, backward: Map) -> Linear:
    return Linear(forward, backward)


def linear_by(residual: Tracer, forward: MapBy, backward: MapBy) -> Linear:
    """Both ways with `residual` as the second argument."""
    return Linear(forward, backward, (residual,))


SAME = linear(lambda t: t, lambda t: t)
NEGATED = linear(lambda t: -t, lambda t: -t)


def scale(by: Tracer) -> Linear:
    """t -> t · by, element by element: its own transpose."""
    return linear_by(by, lambda t, by: t * by, lambda t, by: t * by)


def total(terms: Sequence[Tracer]) -> Tracer:
    found = terms[0]
    for t in terms[1:]:
        found = found + t
    return found


# The maps of an op, one for each operand; None: the result does not vary with it.
type Rule = Callable[[Node, Sequence[Tracer], Tracer], Sequence[Linear | None]]

type Values = Mapping[str, Tracer]
type Found = Callable[[Tracer], Tracer]


class Linearized(Protocol):
    """A graph at its inputs: values and linear maps, by label."""

    @property
    def values(self) -> Values: ...
    def push(self, tangents: Values) -> dict[str, Tracer]: ...
    def pull(self, cotangents: Values) -> dict[str, Tracer]: ...


type Linearize = Callable[[Graph, Values, Container[str]], Linearized]


class Several(Protocol):
    """A linear map from several operands, known by place, at once."""

    def push(self, tangents: Mapping[int, Tracer]) -> Tracer: ...

    def pull(
        self, cotangent: Tracer, wanted: Collection[int], found: Found = lift
    ) -> dict[int, Tracer]:
        """Cotangents of the operands `wanted`."""
        ...


__all__ = [
    "NEGATED", "SAME", "Found", "Linear", "Linearize", "Linearized", "Map", "Rule",
    "Several", "Values", "linear", "linear_by", "scale", "total",
]  # fmt: skip
