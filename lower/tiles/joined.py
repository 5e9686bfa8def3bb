"""What parts of a pass left of its states, as one, by the law by which turns of a pass
are: each part's states are put right to those of the row, and added."""

from __future__ import annotations

from dataclasses import replace

from ...egraph.ir.dtypes import F32, DType
from ...extract.schedule.kernel import bits
from ..families.nests.plan import each, reach
from ..loops import Ex, Lit, Param
from .attends import LEFT, Attention, place, rows_of
from .folds import FoldWriter
from .ir import Grid, Load, Tile
from .values import Tiling


class JoinWriter(FoldWriter):
    """Writes one grid: of each row all parts, and all columns, at once."""

    def __init__(
        self, made: Attention, parts: int, team: int, strict: bool,
        buffers: tuple[Param, ...], index: DType,
    ) -> None:  # fmt: skip
        a = made
        extents = list(a.kernel.extents)
        for x in (a.j, *(i.k for i in a.inner)):
            extents[x] = 1  # nothing here varies along them
        kernel = replace(a.kernel, extents=(*extents, parts))
        part = len(extents)
        columns = [w.e for w in a.wide]
        grid = {x: 1 for o in kernel.outputs for x in o.axes if x not in columns}
        grid |= dict.fromkeys(rows_of(a), 1)
        super().__init__(
            kernel, a.states, (part, part), Tiling(grid, None, team), strict, buffers,
            index,
        )  # fmt: skip
        self.made, self.parts = made, parts
        self.beneath = bits(tuple(s.root for s in a.states))
        self.standing = {s.root for s in a.states if not a.runs(s)}
        if (part, parts) not in [(x, p.extent) for x, p in self.points]:
            raise AssertionError("a pass in one part")

    def run(self) -> Grid:
        accs = {s.root: self._left(n) for n, s in enumerate(self.states)}
        self._fetch(self.facts.stored)
        self._finished(accs)
        self.outputs()
        return self.as_grid()

    def _left(self, n: int) -> Tile:
        s = self.states[n]
        at = place(self.made, n, self.where, self.where[self.outer], self.parts)
        tile = Tile(self.fresh("x"), F32, self._kept(s, True))
        self.scopes[0].body.append(Load(tile, f"{LEFT}{n}", at))
        return tile

    def _read(self, root: int, held: Ex, outer: bool = True) -> Ex:
        if root in self.standing:
            return Lit(1, held.dtype)
        return super()._read(root, held, outer)

    def _fetch(self, targets: int) -> None:
        """But for what states are made of."""
        for e in each(reach(self.facts, targets, self.beneath) & self.facts.loads):
            if not self.facts.args[e]:
                self.value(e)
