"""A jaxpr as one list of equations: calls inlined, dead equations dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .library import Aval, Equation, Jaxpr, inlined, is_literal, opened


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """What an equation takes or gives; known where it is a literal or a constant."""

    aval: Aval
    known: Any = None


@dataclass(frozen=True, slots=True)
class Step:
    equation: Equation
    operands: tuple[Value, ...]
    results: tuple[Value, ...]

    @property
    def name(self) -> str:
        return self.equation.primitive.name


@dataclass(frozen=True)
class Flat:
    inputs: tuple[Value, ...]
    steps: tuple[Step, ...]
    outputs: tuple[Value, ...]


def flatten(jaxpr: Jaxpr) -> Flat:
    inner, consts = opened(jaxpr)
    inputs = tuple(Value(v.aval) for v in inner.invars)
    steps: list[Step] = []
    outputs = _run(inner, consts, inputs, steps)
    return Flat(inputs, _live(steps, outputs), outputs)


def _run(
    jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Value], steps: list[Step]
) -> tuple[Value, ...]:
    scope: dict[Any, Value] = dict(zip(jaxpr.invars, args, strict=True))
    for v, c in zip(jaxpr.constvars, consts, strict=True):
        scope[v] = Value(v.aval, c)

    def of(atom: Any) -> Value:
        return Value(atom.aval, atom.val) if is_literal(atom) else scope[atom]

    for eqn in jaxpr.eqns:
        operands = tuple(map(of, eqn.invars))
        called = inlined(eqn)
        if called is None:
            results = tuple(Value(v.aval) for v in eqn.outvars)
            steps.append(Step(eqn, operands, results))
        else:
            results = _run(*opened(called), operands, steps)
        scope.update(zip(eqn.outvars, results, strict=True))
    return tuple(map(of, jaxpr.outvars))


def _live(steps: Sequence[Step], outputs: Sequence[Value]) -> tuple[Step, ...]:
    wanted, kept = set(outputs), list[Step]()
    for step in reversed(steps):
        if wanted.intersection(step.results):
            kept.append(step)
            wanted.update(step.operands)
    return tuple(reversed(kept))
