"""Finished work of one plan, kept: the plan, and its programs by size.

Arrays and host functions are the caller's: they are left out, and put back in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from rewrite.backends.store import Store, store
from rewrite.egraph.ir.graph import Graph
from rewrite.extract.schedule.part import Part
from rewrite.extract.schedule.plan import Plan
from rewrite.lower.choice import Choices, digest
from rewrite.lower.device import Caps, KernelSource
from rewrite.lower.program import Invoke, Program

from .frozen import FrozenError, freeze, thaw
from .identity import program_key


def plans() -> Store:
    return store("plans")


@dataclass(frozen=True, slots=True)
class Built:
    """A program, and the text of its functions, whose bodies are gone."""

    program: Program
    source: KernelSource
    used: tuple[tuple[str, str], ...] = ()  # kernels and how they were chosen to run


def used_by(program: Program, choices: Choices) -> tuple[tuple[str, str], ...]:
    """The choices that decide how a program is lowered, as text."""
    if not choices:
        return ()
    steps = (*program.once, *program.steps)
    met = {digest(s.kernel) for s in steps if isinstance(s, Invoke)}
    return tuple((k, str(choices[k])) for k in sorted(met) if k in choices)


class Kept(Protocol):
    """Where the finished programs of one plan are."""

    def built(
        self, sizes: Mapping[str, int], caps: Caps, choices: Choices
    ) -> Built | None: ...

    def keep_built(self, sizes: Mapping[str, int], caps: Caps, made: Built) -> None: ...


@dataclass(frozen=True, slots=True)
class Shelf:
    """What is kept of the plan called `key`."""

    store: Store
    key: str
    strict: bool

    def plan(self, source: Graph) -> Callable[[], Plan] | None:
        """The plan for this graph, read when it is asked for; None: there is none."""
        data = self.store.read(self.key)
        return None if data is None else lambda: dressed(thaw(data, own=True), source)

    def keep_plan(self, made: Plan) -> None:
        self.store.write(self.key, freeze(bare(made)))

    def built(
        self, sizes: Mapping[str, int], caps: Caps, choices: Choices
    ) -> Built | None:
        """The program for these sizes, if it was lowered as is chosen now."""
        data = self.store.read(program_key(self.key, sizes, caps, self.strict))
        if data is None:
            return None
        try:
            result = Built(*thaw(data, own=True))
        except (FrozenError, TypeError):  # whole, and yet nothing that can be used
            return None
        return result if result.used == used_by(result.program, choices) else None

    def keep_built(self, sizes: Mapping[str, int], caps: Caps, made: Built) -> None:
        key = program_key(self.key, sizes, caps, self.strict)
        self.store.write(key, freeze((made.program, made.source, made.used)))


def without_bodies(program: Program) -> Program:
    """The program, its functions told by name and parameters alone."""
    return replace(
        program, functions=tuple(replace(f, body=()) for f in program.functions)
    )


def bare(plan: Plan) -> Plan:
    return _with(plan, Graph((), ()))


def dressed(plan: Plan, source: Graph) -> Plan:
    """The plan with the arrays and host functions of the graph that it is for."""
    return _with(plan, source)


def _with(plan: Plan, of: Graph) -> Plan:
    def part(p: Part) -> Part:
        before, after = (replace(g, calls=of.calls) for g in (p.before, p.after))
        return replace(p, before=before, after=after)

    graph = replace(plan.graph, data=of.data, calls=of.calls)
    return replace(plan, graph=graph, parts=tuple(map(part, plan.parts)))


__all__ = [
    "Built", "Kept", "Shelf", "bare", "dressed", "plans", "used_by", "without_bodies"
]  # fmt: skip
