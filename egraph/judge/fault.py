"""A pair of terms that breaks what its rule claims, and how."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ..ir.ops import Array
from .instances import Pair
from .oracle import Mode

type Kind = Literal[
    "type", "term", "value", "error", "infinite", "overflow",
    "accumulator",
    "lost",
]  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """A pair that breaks the promise: the inputs, and what each side makes of them."""

    pair: Pair
    kind: Kind
    detail: str
    profile: str = ""
    mode: Mode = "own"
    inputs: dict[str, Array] = field(default_factory=dict[str, Array])
    left: Array | None = None
    right: Array | None = None
    at: tuple[int, ...] = ()  # the element that differs most


__all__ = ["Fault", "Kind"]
