"""What an op is: its entry, the table, and the checks that type rules share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from . import dims
from .dims import MAX_RANK, MAX_SIZE, Shape
from .dtypes import DType
from .scalars import Array

type AttrKind = Literal[
    "str", "int", "float", "dtype", "ints", "mask", "dim", "shape", "value"
]
type Attrs = tuple[Any, ...]
type Trait = Literal[
    "leaf",  # has no operands, and needs no host
    "read",  # lies in memory before anything runs
    "host",  # run by the host: no kernel computes it
    "varying",  # may differ from run to run of one program
    "view",  # moves elements and computes none
    "pointwise",  # computes each element of the result from those at its place
]


class OpError(ValueError):
    """Operands or attributes that an op does not take."""


@dataclass(frozen=True, slots=True)
class TensorType:
    """Element type and shape; prints as `f32[b, 128]`."""

    dtype: DType
    shape: Shape

    @property
    def rank(self) -> int:
        return len(self.shape)

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


type Types = Sequence[TensorType]


@dataclass(frozen=True, slots=True)
class Op:
    """One tensor op.  Attributes are positional, named and typed by `attrs`."""

    name: str
    arity: int | None  # None: any number, at least one
    attrs: tuple[tuple[str, AttrKind], ...]
    infer: Callable[[Types, Attrs], TensorType]
    # (operands, attributes, type of the result at concrete sizes) -> value
    numpy: Callable[[Sequence[Array], Attrs, TensorType], Array]
    traits: frozenset[Trait] = frozenset()

    @property
    def view(self) -> bool:
        return "view" in self.traits


TABLE: dict[str, Op] = {}


def define(
    name: str,
    arity: int | None,
    attrs: str,
    infer: Callable[[Types, Attrs], TensorType],
    numpy: Callable[[Sequence[Array], Attrs, TensorType], Array],
    *traits: Trait,
) -> None:
    """Adds an entry; `attrs` reads `"name:kind name:kind"`."""
    pairs = cast(
        "tuple[tuple[str, AttrKind], ...]",
        tuple(tuple(a.split(":")) for a in attrs.split()),
    )
    TABLE[name] = Op(name, arity, pairs, infer, numpy, frozenset(traits))


def having(trait: Trait) -> frozenset[str]:
    """The ops of a trait, by name."""
    return frozenset(op.name for op in TABLE.values() if trait in op.traits)


def check(ok: bool, message: str, *of: Any) -> None:
    """`message.format(*of)`, put together only where it is said."""
    if not ok:
        raise OpError(message.format(*of) if of else message)


def check_type(t: TensorType) -> TensorType:
    """The limits that every result obeys; asked of every node, so no word too soon."""
    if t.rank > MAX_RANK:
        raise OpError(f"rank {t.rank} is over the limit of {MAX_RANK}")
    known = [d for d in t.shape if isinstance(d, int)]
    for d in known:
        if not 0 <= d < MAX_SIZE:
            raise OpError(f"size {d} is outside 0 .. 2**62")
    if math.prod(known) >= MAX_SIZE:
        raise OpError(f"{t} has 2**62 elements or more")
    return t


def axes(mask: Sequence[int]) -> tuple[int, ...]:
    return tuple(i for i, m in enumerate(mask) if m)


def masked_shape(shape: Shape, mask: Sequence[int]) -> Shape:
    """`shape` with size 1 where the mask is set."""
    return tuple(1 if m else d for d, m in zip(shape, mask, strict=True))


def check_mask(mask: Sequence[int], rank: int) -> None:
    if len(mask) != rank or any(m not in (0, 1) for m in mask):
        raise OpError(f"a 0/1 mask of length {rank} was expected, found {list(mask)}")


def check_axis(axis: int, rank: int) -> None:
    check(0 <= axis < rank, f"axis {axis} is outside 0 .. {rank - 1}")


def sizes(shape: Shape) -> tuple[int, ...]:
    return dims.bind_shape(shape, {})
