"""A node of the tensor graph, and the aliases between outputs and inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from .dims import Shape
from .dtypes import DType
from .macros import MACROS
from .ops import LEAVES, TABLE, Attrs, TensorType


class GraphError(ValueError):
    """A graph that is not well formed; the message names the node."""


@dataclass(frozen=True, slots=True)
class Node:
    """One op applied to earlier nodes.  `name` is the user's word for it, or ""."""

    op: str
    args: tuple[int, ...]
    attrs: Attrs
    type: TensorType
    name: str = ""

    @property
    def shape(self) -> Shape:
        return self.type.shape

    @property
    def dtype(self) -> DType:
        return self.type.dtype

    @property
    def opcode(self) -> str:
        """What the node is called in text: elementwise ops by what they compute."""
        return self.attrs[0] if self.op in ("un", "bin") else self.op

    @property
    def is_leaf(self) -> bool:
        return self.op in LEAVES

    def attr(self, name: str) -> Any:
        names = [n for n, _ in attr_kinds(self.op)]
        return self.attrs[names.index(name)]


@dataclass(frozen=True, slots=True)
class Alias:
    """Output `output` shall (must) or can (may) occupy the memory of input `input`."""

    output: str
    input: str
    kind: Literal["must", "may"] = "may"


def plain(attrs: Any) -> Any:
    """Attributes whose numbers are Python's own: NumPy's print and hash otherwise."""
    if type(attrs) is tuple:
        return tuple(map(plain, cast(Attrs, attrs)))
    return cast(Any, attrs).item() if isinstance(attrs, np.generic) else attrs


def attr_kinds(op: str) -> tuple[tuple[str, str], ...]:
    return TABLE[op].attrs if op in TABLE else MACROS[op].attrs


def known_op(op: str) -> bool:
    return op in TABLE or op in MACROS
