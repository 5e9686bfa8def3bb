"""What a reader of a primitive is given, and the table of readers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rewrite.egraph.ir.dtypes import DType
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.ir.ops import TensorType

type Shape = tuple[int, ...]


class Unread(Exception):
    """A form of a primitive that the graph has no nodes for; it stays as it is."""


@dataclass(frozen=True, slots=True)
class Site:
    """An equation: its operands as nodes, its parameters, the types of its results."""

    b: Builder
    operands: Sequence[int | None]
    params: dict[str, Any]
    results: Sequence[TensorType | None]

    def x(self, i: int = 0) -> int:
        node = self.operands[i]
        if node is None:
            raise Unread(f"operand {i} is no tensor of numbers")
        return node

    @property
    def xs(self) -> list[int]:
        return [self.x(i) for i in range(len(self.operands))]

    @property
    def out(self) -> TensorType:
        result = self.results[0]
        if result is None:
            raise Unread("the result is no tensor of numbers")
        return result

    @property
    def shape(self) -> Shape:
        return self.out.shape  # pyright: ignore[reportReturnType]  # jaxprs are concrete

    def sizes(self, i: int) -> Shape:
        return self.b.shape(i)  # pyright: ignore[reportReturnType]

    def dtype(self, i: int = 0) -> DType:
        return self.b.type(self.x(i)).dtype

    def want(self, ok: bool, why: str) -> None:
        if not ok:
            raise Unread(why)

    def spread(self) -> list[int]:
        """Operands at the result's shape: scalars and axes of size 1 broadcast."""
        return [self.full(x) for x in self.xs]

    def full(self, x: int) -> int:
        have = self.sizes(x)
        if not have:
            x = self.b.reshape(x, (1,) * len(self.shape))
        elif len(have) != len(self.shape):
            raise Unread("ranks differ")
        return self.b.expand(x, self.shape)


type Reader = Callable[[Site], int | list[int]]

READERS: dict[str, Reader] = {}


def primitive(*names: str) -> Callable[[Reader], Reader]:
    """Registers how primitives become nodes of a graph."""

    def register(f: Reader) -> Reader:
        for name in names:
            READERS[name] = f
        return f

    return register
