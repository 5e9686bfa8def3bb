"""Rounds of loops in the making: a transform of a loop is a loop of other rounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.graph import Node
from rewrite.egraph.looping.build import Round, add_loop
from rewrite.egraph.looping.loop import Loop

from ..xp.tracer import Scope, Tracer, current, wrap


def loop_of(node: Node, calls: Mapping[str, Callable[..., object]]) -> Loop | None:
    made = calls.get(node.attrs[0]) if node.op == "call" else None
    return made if isinstance(made, Loop) else None


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


__all__ = ["Inside", "loop_of"]
