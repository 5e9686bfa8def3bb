"""Derivatives of branches: a branch again, of sides that are linearized."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from rewrite.egraph.looping.branch import Branch

from ..xp.functions.creation import zeros_like
from ..xp.functions.manipulation import concat, reshape
from ..xp.tracer import Tracer, lift
from .inside import branch, parts_of, runs_of
from .linear import Found, Linearize


@dataclass(frozen=True, slots=True)
class Sides:
    """The linear map from all operands of a branch, whose sides are computed again."""

    branch: Branch
    args: Sequence[Tracer]
    linearize: Linearize

    def push(self, tangents: Mapping[int, Tracer]) -> Tracer:
        """`tangents` by operand."""

        def side(k: int) -> Sequence[Tracer]:
            places = self._places(k)
            along = {n: lift(tangents[p]) for n, p in places.items() if p in tangents}
            values = {n: lift(self.args[p]) for n, p in places.items()}
            linear = self.linearize(self.branch.bodies[k], values, along.keys())
            made = linear.push(along)
            return [
                made[label] if label in made else zeros_like(linear.values[label])
                for label, _ in self.branch.bodies[k].outputs
            ]

        parts = branch(self.args[0], self._name, side)
        return concat([reshape(x, (-1,)) for x in parts], axis=0)

    def pull(
        self, cotangent: Tracer, wanted: Collection[int], found: Found = lift
    ) -> dict[int, Tracer]:
        """Cotangents of the operands `wanted`."""
        args, order = [found(a) for a in self.args], list(wanted)
        parts = parts_of(self.branch, cotangent, runs_of(self.branch, args))

        def side(k: int) -> Sequence[Tracer]:
            places, body = self._places(k), self.branch.bodies[k]
            labels = {p: n for n, p in places.items() if p in wanted}
            values = {n: lift(args[p]) for n, p in places.items()}
            linear = self.linearize(body, values, set(labels.values()))
            given = {
                label: lift(part)
                for (label, _), part in zip(body.outputs, parts, strict=True)
            }
            back = linear.pull(given)
            return [
                back[labels[p]] if labels.get(p) in back else zeros_like(lift(args[p]))
                for p in order
            ]

        return dict(zip(order, branch(args[0], self._name, side), strict=True))

    @property
    def _name(self) -> str:
        return self.branch.if_true.name

    def _places(self, k: int) -> dict[str, int]:
        """The operands of a side by the labels of its inputs."""
        labels = [n.attrs[0] for n in self.branch.inputs_of(k)]
        return dict(zip(labels, self.branch.given(k), strict=True))


__all__ = ["Sides"]
