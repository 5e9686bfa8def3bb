"""A program as people write it, its inputs and the work of its best known form."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np

from rewrite.egraph.ir.dtypes import F32, I64, DType
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.ir.ops import TensorType
from rewrite.egraph.ir.scalars import Array
from rewrite.egraph.rules.ruleset import PRECISIONS, Precision
from rewrite.extract.schedule.assemble import concrete

type Kind = Literal["normal", "positive", "stochastic", "index"]


@dataclass(frozen=True)
class Draw:
    """An input: its shape and how it is drawn.

    normal: of mean 0 and variance 1; positive: between 0.5 and 1.5; stochastic:
    positive, columns sum to 1; index: integers below `below`.
    """

    shape: tuple[int, ...]
    kind: Kind = "normal"
    below: int = 0

    @property
    def dtype(self) -> DType:
        return I64 if self.kind == "index" else F32

    def array(self, rng: np.random.Generator) -> Array:
        if self.kind == "index":
            return rng.integers(0, self.below, self.shape)
        if self.kind == "normal":
            return rng.standard_normal(self.shape, np.float32)
        x = rng.random(self.shape, np.float32) + np.float32(0.5)
        return x / x.sum(0) if self.kind == "stochastic" else x


def normal(*shape: int) -> Draw:
    return Draw(shape)


def positive(*shape: int) -> Draw:
    return Draw(shape, "positive")


def stochastic(*shape: int) -> Draw:
    return Draw(shape, "stochastic")


def index(count: int, below: int) -> Draw:
    return Draw((count,), "index", below)


@dataclass(frozen=True)
class Program:
    """`f(xp, *inputs)` is written once, for any array namespace.

    `flops` is what the best form that we know costs at a size, counted as
    `lower/costs.py` counts: two for each term of a sum of products, more for what is
    no product or sum.  `growth` says the same in a word.  That form goes over its
    inputs so many times (`passes`): three products with one matrix read it three times.

    Where that form rests on laws that `default` leaves out, `option` is the first
    precision that has them, and `stable` what the best form without them costs.
    """

    f: Callable[..., Any]
    inputs: Callable[[int], tuple[Draw, ...]]
    flops: Callable[[int], float]
    growth: str
    passes: int = 1
    option: Precision = "default"
    stable: Callable[[int], float] | None = None

    def best(self, n: int, precision: Precision) -> float:
        """The flops of the best form that a precision allows."""
        reached = PRECISIONS.index(precision) >= PRECISIONS.index(self.option)
        return (self.flops if reached or self.stable is None else self.stable)(n)

    @property
    def name(self) -> str:
        return self.f.__name__

    def graph(self, n: int) -> Graph:
        from rewrite import xp

        types = [TensorType(d.dtype, d.shape) for d in self.inputs(n)]
        return xp.trace(lambda *a: self.f(xp, *a), *types, name=self.name,
                        names=[f"x{i}" for i in range(len(types))])  # fmt: skip

    def arrays(self, n: int, seed: int = 0) -> tuple[Array, ...]:
        rng = np.random.default_rng(seed)
        return tuple(d.array(rng) for d in self.inputs(n))

    def moved(self, n: int) -> int:
        """Bytes of the inputs, as often as the best form reads them, and outputs."""
        graph = self.graph(n)
        outputs = [graph.nodes[i].type for _, i in graph.outputs]
        read = sum(_bytes(x.type) for x in graph.inputs)
        return self.passes * read + sum(map(_bytes, outputs))


def _bytes(t: TensorType) -> int:
    return prod(concrete(t)) * t.dtype.itemsize


class Collection:
    """Programs by name, those of a file in their order."""

    def __init__(self) -> None:
        self.programs: dict[str, Program] = {}

    def __call__(
        self,
        inputs: Callable[[int], Iterable[Draw]],
        flops: Callable[[int], float],
        growth: str,
        passes: int = 1,
        option: Precision = "default",
        stable: Callable[[int], float] | None = None,
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorates the function of a program."""

        def add(f: Callable[..., Any]) -> Callable[..., Any]:
            assert f.__name__ not in self.programs, f.__name__
            self.programs[f.__name__] = Program(
                f, lambda n: tuple(inputs(n)), flops, growth, passes, option, stable
            )
            return f

        return add


program = Collection()
