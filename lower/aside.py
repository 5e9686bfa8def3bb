"""What runs beside a group of threads, for the interpreter of loops: it fills places of
rings as early as rings let it, and what it copies arrives as late as it may."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..egraph.ir.scalars import Array
from .evaluate import Trap
from .loops import Tensor

type Turn = tuple[str, int]  # of a ring


# Turn, array and place, corner, tensor.
type Half = tuple[Turn, str, int, tuple[int, ...], Tensor]


class Moved(NamedTuple):
    """Elements on their way to a part of an array."""

    to: Array
    value: Array


@dataclass(slots=True)
class _Ring:
    """Turns that are begun, the last one that is there, and those that are free."""

    places: int
    begun: int = 0
    freed: int = 0
    late: dict[int, list[Moved]] = field(default_factory=dict[int, list[Moved]])


@dataclass(slots=True)
class Aside:
    rings: dict[str, _Ring] = field(default_factory=dict[str, _Ring])
    runs: Generator[tuple[str, Any]] | None = None
    next: Turn | None = None
    # Buffers, places there, parts of shared arrays, and which of their elements.
    sent: list[tuple[Array, Array, Array, Array]] = field(
        default_factory=list[tuple[Array, Array, Array, Array]]
    )
    halves: list[Half] = field(default_factory=list["Half"])  # that it brings of boxes

    def ring(self, name: str, places: int) -> None:
        self.rings.setdefault(name, _Ring(places))

    def start(self, runs: Generator[tuple[str, Any]]) -> None:
        self.runs = runs
        self.advance()
        self.go_on()

    def advance(self) -> None:
        assert self.runs is not None
        met = next(self.runs, None)
        self.next = None if met is None else met[1]

    def go_on(self) -> None:
        """Up to a place that is not free."""
        while self.next is not None:
            name, turn = self.next
            ring = self.rings[name]
            if turn != ring.begun:
                raise Trap(f"turn {turn} of {name!r} is filled after {ring.begun - 1}")
            if turn >= ring.freed + ring.places:
                return
            ring.begun += 1
            self.advance()

    def fill(self, name: str, turn: int, moved: list[Moved]) -> None:
        """The places hold garbage from now on."""
        for m in moved:
            m.to.view(f"u{m.to.itemsize}")[...] = 0xA5A5A5A5 >> (32 - 8 * m.to.itemsize)
        self.rings[name].late[turn] = moved

    def full(self, name: str, turn: int) -> None:
        ring = self.rings[name]
        if not ring.freed <= turn < ring.begun:
            raise Trap(f"turn {turn} of {name!r} is waited for, and nothing fills it")
        for m in ring.late.pop(turn, ()):
            m.to[...] = m.value

    def free(self, name: str, turn: int) -> None:
        ring = self.rings[name]
        if turn != ring.freed or turn in ring.late or turn >= ring.begun:
            raise Trap(f"turn {turn} of {name!r} is free after {ring.freed - 1}")
        ring.freed += 1
        self.go_on()

    def send(
        self, tensor: Tensor, first: tuple[int, ...], whole: Array,
        corners: Sequence[tuple[int, int]], pieces: Array, buffer: Array,
        turned: bool,
    ) -> None:  # fmt: skip
        """Parts of a product to a warp's pieces in turn; from there to the buffer as
        late as may be."""
        (row,) = (d for d, n in enumerate(tensor.sizes) if d and n > 1)
        for q, (i, j) in enumerate(corners):
            piece = pieces[q % len(pieces)]
            self.land(piece)
            if turned:
                i, j = j, i
            part = whole[i : i + tensor.sizes[row], j : j + tensor.sizes[0]]
            piece[...] = part.ravel().astype(piece.dtype)
            to = [*first]
            to[0] += int(j)
            to[row] += int(i)
            places, there = tensor.places(tuple(to))
            self.sent.append((buffer, places[there], piece, there))

    def land(self, piece: Array | None = None) -> None:
        """What was sent from a piece is in its buffer, or all that was sent."""
        left: list[tuple[Array, Array, Array, Array]] = []
        for sent in self.sent:
            buffer, places, part, there = sent
            if piece is None or np.shares_memory(piece, part):
                buffer[places] = part[there]
            else:
                left.append(sent)
        self.sent = left

    def end(self) -> None:
        self.land()
        if self.next is not None:
            raise Trap(f"a group ends, and turn {self.next[1]} is never filled")
        for name, ring in self.rings.items():
            if ring.late:
                raise Trap(f"a group ends while places of {name!r} are filled")
