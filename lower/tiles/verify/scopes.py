"""Rules of what is seen where: what runs ahead is of another turn, and shared tiles are
for products."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ....egraph.ir.dtypes import compute
from ...loops import Var
from .. import ir
from ..ir import Ahead, Copy, Load, Loop, Map, Mma, Stmt, Tile, held_left


class Scopes(ABC):
    """`early`: tiles of what runs ahead; `around`: loops and the like, outermost
    first."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.tiles: dict[str, Tile] = {}
        self.mutable: set[str] = set()
        self.early: set[str] = set()
        self.around: list[Stmt] = []

    @abstractmethod
    def fault(self, text: str) -> None: ...

    @abstractmethod
    def statement(self, s: Stmt) -> None: ...

    def directly_in_loop(self) -> bool:
        return bool(self.around) and isinstance(self.around[-1], Loop)

    def run_ahead(self, s: Ahead, body: tuple[Stmt, ...]) -> None:
        """Its tiles are in scope for the rest of the loop."""
        if not self.directly_in_loop():
            self.fault("something runs ahead of no loop")
        self.around.append(s)
        for x in body:
            if not isinstance(x, Load | Map | Copy):
                self.fault(f"a {type(x).__name__} runs ahead")
            self.statement(x)
            self.early |= {t.name for t in ir.seen_after(x)}
        self.around.pop()

    def multiply(self, s: Mma) -> None:
        out = self.tiles.get(s.name)
        if out is None or s.name not in self.mutable:
            self.fault(f"products are added to {s.name!r}, which is no mutable tile")
            return
        sides = [self.tiles.get(x.name) for x in (s.left, s.right) if type(x) is Var]
        held = [t for t in sides if t is not None and held_left(t)]
        if len(held) == 2 and s.warps == 1:
            self.by_warps(s, out, *held)
            return
        tiles = [
            t for i, t in enumerate(sides)
            if t is not None and (t.space == "shared" or (i == 0 and held_left(t)))
        ]  # fmt: skip
        if len(tiles) != 2 or len(s.over) != 1 or set(s.over) & set(out.axes):
            self.fault(
                f"{s.name!r}: the factors are no shared tiles, summed over one axis"
            )
            return
        a, b = ({*t.axes} for t in tiles)
        if a & b != {*s.over} or a | b != {*out.axes, *s.over} or len(a) + len(b) != 4:
            self.fault(f"{s.name!r}: the axes are those of no product")
        if (
            out.dtype is not compute(tiles[0].dtype)
            or tiles[0].dtype is not tiles[1].dtype
        ):
            kinds = ", ".join(str(t.dtype) for t in (out, *tiles))
            self.fault(f"{s.name!r}: a product of {kinds}")

    def by_warps(self, s: Mma, out: Tile, a: Tile, b: Tile) -> None:
        """Of sides in registers."""
        left, right, sums = ({*t.axes} for t in (a, b, out))
        over, both = {*s.over}, left & right & sums
        own = left - over - both, right - over - both
        one = all(len(x) == 1 for x in own)
        whole = over <= left & right and sums == own[0] | own[1] | both
        if not one or not whole or over & sums or not over:
            self.fault(f"{s.name!r}: the axes are those of no product")
        if a.dtype is not b.dtype or out.dtype is not compute(a.dtype):
            self.fault(f"{s.name!r}: a product of {out.dtype}, {a.dtype}, {b.dtype}")

    def seen(self, name: str) -> None:
        """What runs ahead is of another turn; shared tiles are for products alone."""
        product = bool(self.around) and isinstance(self.around[-1], Mma | Copy)
        ahead = bool(self.around) and isinstance(self.around[-1], Ahead)
        tile = self.tiles[name]
        if (tile.space == "shared" or held_left(tile)) != product:
            self.fault(
                f"{name!r} is read where it cannot be: products read shared tiles"
            )
        elif name in self.early and not ahead and not product:
            self.fault(f"{name!r} runs ahead, and is used by what does not")
