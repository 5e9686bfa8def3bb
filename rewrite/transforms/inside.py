"""Rounds of loops and sides of branches in the making: a transform of a loop is a loop
of other rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rewrite.egraph.ir.dims import Dim, numel
from rewrite.egraph.looping.build import Arm, Round, add_branch, add_loop
from rewrite.egraph.looping.flow import Flow

from ..xp.functions.manipulation import reshape, slice_axis
from ..xp.tracer import Scope, Tracer, current, lift, tracing, wrap

# What makes the results of one side, by its number.
type Made = Callable[[int], Sequence[Tracer]]


def runs_of(flow: Flow, args: Sequence[Tracer]) -> Dim | None:
    return flow.runs([a.shape for a in args])


def parts_of(flow: Flow, flat: Tracer, runs: Dim | None) -> list[Tracer]:
    """The results of a call, which lie one after the other."""
    starts, shapes = flow.starts(runs), flow.shapes(runs)
    return [
        reshape(slice_axis(flat, 0, start, numel(shape)), shape)
        for start, shape in zip(starts, shapes, strict=False)
    ]


def branch(test: Tracer, name: str, made: Made) -> list[Tracer]:
    """The results of one side or the other, in the current builder; what they read of
    the trace around them they `lift`."""
    arms = [_arm(name, made, k) for k in (0, 1)]
    nodes = add_branch(current(), lift(test).node, (arms[0], arms[1]))
    return [wrap(i) for i in nodes]


def _arm(name: str, made: Made, k: int) -> Arm:
    scope = Scope(name, current())
    with tracing(scope):
        results = [x.node for x in made(k)]
    given = [(here.node, there.node) for _, there, here in scope.received.values()]
    return Arm(scope, given, results)


class Inside:
    """A round in the making, in a builder of its own."""

    def __init__(self, name: str) -> None:
        self.b = Scope(name, current())
        self._carries: list[tuple[int, int]] = []
        self._sequences: list[tuple[int, int]] = []
        self._same: list[tuple[int, int]] = []
        self.carried: list[Tracer] = []  # what each carry becomes, to be filled in
        self.stacked: list[Tracer] = []

    def carry(self, label: str, start: Tracer) -> Tracer:
        return self._given(self._carries, label, start, start.shape)

    def entry(self, label: str, x: Tracer) -> Tracer:
        """That of this round, of a sequence."""
        return self._given(self._sequences, label, x, x.shape[1:])

    def same(self, label: str, x: Tracer) -> Tracer:
        return self._given(self._same, label, x, x.shape)

    def _given(
        self, of: list[tuple[int, int]], label: str, x: Tracer, shape: Sequence[Dim]
    ) -> Tracer:
        taken = {n.attrs[0] for n in self.b.nodes if n.op == "input"}
        while label in taken:  # in a derivative of a derivative
            label += "'"
        node = self.b.input(label, x.dtype, shape)
        of.append((node, x.node))
        return Tracer(self.b, node)

    def close(self, reverse: bool) -> tuple[list[Tracer], list[Tracer]]:
        """The last of each carry, and the stacks, in the current builder."""
        of = Round(
            self.b, self._carries, self._sequences, self._same,
            [x.node for x in self.carried], [x.node for x in self.stacked],
        )  # fmt: skip
        made = [wrap(i) for i in add_loop(current(), of, reverse)]
        return made[: len(self.carried)], made[len(self.carried) :]


__all__ = ["Inside", "branch", "parts_of", "runs_of"]
