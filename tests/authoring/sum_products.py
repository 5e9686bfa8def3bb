"""Random sum-product expressions, each in two forms that are equal by the laws of a
commutative semiring: what a calculus of contractions should bring together.

An expression is a sum over named axes of a product of factors, tensors that vary along
some of the axes.  A form of it is drawn: which two are multiplied next, in which order,
and where on the way each axis is summed, at any point above all factors that have it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.graph import Builder, Graph

SIZES = (2, 3, 4, 5)


@dataclass(frozen=True)
class Expression:
    """Σ over the axes that are not kept of the product of factors, axes by number."""

    factors: tuple[frozenset[int], ...]
    kept: frozenset[int]

    def __str__(self) -> str:
        def named(axes: frozenset[int]) -> str:
            return "".join("ijkl"[a] for a in sorted(axes))

        return f"{','.join(map(named, self.factors))}->{named(self.kept)}"


def expression(rng: random.Random, factors: int) -> Expression:
    """Each factor varies along one or two axes; any axis may be kept."""
    drawn = tuple(
        frozenset(rng.sample(range(len(SIZES)), rng.choice((1, 2, 2))))
        for _ in range(factors)
    )
    used = sorted(frozenset[int]().union(*drawn))
    return Expression(drawn, frozenset(a for a in used if rng.random() < 0.3))


def added(rng: random.Random, first: Expression) -> Expression:
    """Another term that keeps the same axes."""
    while True:
        other = expression(rng, len(first.factors))
        if first.kept <= frozenset[int]().union(*other.factors):
            return Expression(other.factors, first.kept)


type Part = tuple[int, frozenset[int], frozenset[int]]  # node, its axes, its factors


@dataclass
class Form:
    """One form of sums of expressions, drawn: with some axes summed early or late."""

    rng: random.Random
    builder: Builder

    def sum_of(
        self, terms: Sequence[Expression], inputs: Sequence[Sequence[int]]
    ) -> int:
        """All terms keep the same axes."""
        made = [self.product(e, x) for e, x in zip(terms, inputs, strict=True)]
        while len(made) > 1:
            self.rng.shuffle(made)
            x, y, *made = made
            made.append(self.builder.bin("add", *self.builder.broadcast(x, y)))
        return made[0]

    def product(self, e: Expression, inputs: Sequence[int]) -> int:
        parts: list[Part] = [
            self._summed(e, (inputs[k], axes, frozenset((k,))), late=True)
            for k, axes in enumerate(e.factors)
        ]
        while len(parts) > 1:
            self.rng.shuffle(parts)
            (x, ax, kx), (y, ay, ky), *parts = parts
            made = self.builder.bin("mul", *self.builder.broadcast(x, y))
            parts.append(self._summed(e, (made, ax | ay, kx | ky), late=bool(parts)))
        return parts[0][0]

    def _summed(self, e: Expression, part: Part, *, late: bool) -> Part:
        """Axes that no other factor has are summed: all, or some if that can wait."""
        node, axes, below = part
        others = (f for k, f in enumerate(e.factors) if k not in below)
        free = axes - e.kept - frozenset[int]().union(*others)
        late = late and len(e.factors) > 1
        now = [a for a in sorted(free) if not late or self.rng.random() < 0.6]
        if not now:
            return part
        return self.builder.reduce("sum", node, now), axes - frozenset(now), below


def form(seed: int, terms: Sequence[Expression]) -> Graph:
    """A form of the sum of `terms`, each of tensors of its own."""
    builder = Builder("form")
    inputs = [
        [builder.input(f"x{t}{k}", F32, _shape(f)) for k, f in enumerate(e.factors)]
        for t, e in enumerate(terms)
    ]
    made = Form(random.Random(seed), builder).sum_of(terms, inputs)
    return builder.build([made])


def _shape(axes: frozenset[int]) -> list[int]:
    return [n if a in axes else 1 for a, n in enumerate(SIZES)]
