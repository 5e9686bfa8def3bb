"""The shapes of tiles that families of products try."""

from __future__ import annotations

from typing import NamedTuple

from ...loops import ROW


class Never(str):
    """A reason for which no tile of a kind of shapes fits, whatever its size."""


type Kind = tuple[int, int, int]


class Shape(NamedTuple):
    """Of an instance's tile; `down` and `across`: warps of the team, or threads."""

    rows: int
    columns: int
    depth: int
    stages: int
    down: int
    across: int
    beside: int = 0  # threads that have the engine for copies bring tiles
    # Teams two by two have it bring at once what both want: 1, one under the other, the
    # right side; 2, abreast, the left one.
    pairs: int = 0
    # Whether the product's right side is the instructions' left one.
    turned: int = 0

    @property
    def each(self) -> tuple[int, int]:
        """Rows and columns of one of them."""
        return self.rows // self.down, self.columns // self.across

    @property
    def kind(self) -> Kind:
        """All but its size."""
        return self.beside, self.turned, self.pairs

    @property
    def itemsize(self) -> int:
        """Of the elements of which a panel is as deep."""
        return ROW // self.depth


BY_WARPS = (
    Shape(128, 256, 64, 3, 2, 4), Shape(128, 128, 64, 3, 2, 2),
    Shape(128, 128, 32, 4, 2, 2), Shape(128, 64, 64, 4, 2, 2),
    Shape(64, 128, 64, 4, 2, 2), Shape(64, 64, 64, 4, 2, 2),
    Shape(32, 128, 64, 4, 1, 4), Shape(32, 64, 64, 4, 1, 4),
    Shape(16, 64, 64, 4, 1, 4), Shape(64, 32, 64, 4, 4, 1), Shape(32, 32, 32, 3, 1, 2),
)  # fmt: skip
BY_GROUPS = (
    Shape(128, 256, 64, 4, 2, 1), Shape(256, 128, 64, 4, 2, 1),
    Shape(128, 128, 64, 3, 1, 1), Shape(128, 128, 64, 4, 2, 1),
    Shape(64, 256, 64, 4, 1, 1), Shape(64, 128, 64, 4, 1, 1),
    Shape(64, 64, 64, 4, 1, 1),
)  # fmt: skip
BY_ENGINE = (
    Shape(128, 256, 64, 4, 2, 1, 128), Shape(256, 128, 64, 4, 2, 1, 128),
    Shape(128, 192, 64, 4, 2, 1, 128), Shape(192, 192, 64, 3, 3, 1, 128),
    Shape(128, 128, 64, 6, 2, 1, 128), Shape(64, 256, 64, 4, 1, 1, 128),
    Shape(64, 128, 64, 8, 1, 1, 128), Shape(64, 64, 64, 12, 1, 1, 128),
    # Few columns: a turn is long enough where there are many rows of them.
    Shape(256, 64, 64, 5, 2, 1, 128), Shape(128, 64, 64, 8, 2, 1, 128),
    # Between them, for what would not come out even in rounds of others.
    Shape(256, 176, 64, 3, 2, 1, 128), Shape(256, 160, 64, 3, 2, 1, 128),
    Shape(128, 224, 64, 4, 2, 1, 128), Shape(128, 160, 64, 4, 2, 1, 128),
    # The other way round: what else is read at the end lies along rows of the result.
    Shape(128, 256, 64, 4, 2, 1, 128, turned=1),
    Shape(256, 128, 64, 4, 2, 1, 128, turned=1),
    Shape(256, 160, 64, 4, 2, 1, 128, turned=1),
    Shape(256, 152, 64, 4, 2, 1, 128, turned=1),
)  # fmt: skip
BY_WORDS = tuple(s._replace(depth=32) for s in BY_ENGINE)  # f32, of as many bytes
BY_BYTES = (  # each thread has sums of a turn besides
    Shape(128, 192, 128, 4, 2, 1, 128), Shape(128, 128, 128, 6, 2, 1, 128),
    Shape(64, 192, 128, 5, 1, 1, 128), Shape(64, 128, 128, 8, 1, 1, 128),
    Shape(64, 64, 128, 12, 1, 1, 128),
)  # fmt: skip
BY_MANY = (  # sums of a thread, which has many registers
    Shape(128, 256, 32, 2, 16, 16), Shape(256, 128, 16, 2, 16, 16),
    Shape(128, 256, 16, 2, 16, 16),
)  # fmt: skip
BY_THREADS = (
    Shape(128, 128, 16, 2, 16, 16), Shape(64, 64, 16, 2, 16, 16),
    Shape(32, 32, 16, 2, 8, 16), Shape(16, 16, 16, 2, 8, 8),
)  # fmt: skip
