"""A law: a program as people write it, and the same in its best order of growth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np

from rewrite import xp
from rewrite.egraph.ir.dtypes import BOOL, F32, I64
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.ir.ops import TensorType
from rewrite.egraph.ir.scalars import Array

type Code = Callable[..., Any]

FEW, VOCABULARY = 8, 64


def sizes(n: int) -> dict[str, int]:
    """n is what grows; m its root; k is few; v is the range of indices."""
    return {"n": n, "m": isqrt(n), "k": FEW, "v": VOCABULARY, "1": 1, "3": 3}


@dataclass(frozen=True)
class Law:
    """`inputs` are words: a letter for each axis (`sizes`) behind a mark of a kind."""

    name: str
    inputs: str
    written: Code
    better: Code

    def types(self, n: int) -> list[TensorType]:
        dtypes = {"?": BOOL, "#": I64}
        return [
            TensorType(dtypes.get(word[0], F32), self.shape(word, n))
            for word in self.inputs.split()
        ]

    @staticmethod
    def shape(word: str, n: int) -> tuple[int, ...]:
        return tuple(sizes(n)[axis] for axis in word.lstrip("+?#"))

    def graph(self, code: Code, n: int) -> Graph:
        names = [f"x{i}" for i in range(len(self.inputs.split()))]
        return xp.trace(code, *self.types(n), name="law", names=names)

    def arrays(self, n: int) -> dict[str, Array]:
        rng = np.random.default_rng(0)
        return {
            f"x{i}": drawn(word[0], self.shape(word, n), rng)
            for i, word in enumerate(self.inputs.split())
        }

    @property
    def id(self) -> str:
        return self.name.replace(" ", "-")


# Behind nothing: normal; "+": between 0.5 and 1.5; "?": flags; "#": indices.
def drawn(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    match kind:
        case "#":
            return rng.integers(0, VOCABULARY, shape)
        case "?":
            return rng.random(shape) < 0.5
        case "+":
            return rng.random(shape, np.float32) + np.float32(0.5)
        case _:
            return rng.standard_normal(shape, np.float32)
