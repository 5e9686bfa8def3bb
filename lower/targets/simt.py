"""The target `simt`, for every GPU: threads with registers, and memory that they share.

`scheduled` chooses a team and layouts: points along the axis that most bytes lie along
go to neighbouring threads, several at once where memory allows wide accesses; what lies
along another axis is read or stored as it lies and copied through shared memory.
`lowered` writes each statement as loops of the threads (`threads.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import NamedTuple

from ..loops import Function, Var
from ..model import DeviceModel
from ..passes.barriers import barriers
from ..tiles import ir
from ..tiles.ir import Copy, Grid, Layout, Load, Map, Stmt, Store, Tile, TileProgram
from .layouts import Access, Scene, accesses, of_axes, product, scene, spread
from .threads import GridWriter

LANES = 8  # of one access, at most
WORTH = 8  # points along an axis for which a copy in shared memory pays


class Simt(NamedTuple):
    """What the target knows of a device."""

    wide: int  # bytes that a thread reads or stores at once; 0: one element
    team: int  # threads of a group
    largest: int
    asynchronous: bool = False  # it copies to shared memory while threads go on

    @classmethod
    def of(cls, model: DeviceModel) -> Simt:
        return cls(model.wide, model.group, model.largest, model.matrix > 0)


def scheduled(program: TileProgram, device: Simt) -> TileProgram:
    """With teams, layouts and the copies between them."""
    sizes = {b.name: b.dtype.itemsize for b in program.buffers.values()}
    grids = tuple(_Schedule(g, sizes, device).run() for g in program.body)
    return replace(program, body=grids)


class _Schedule:
    def __init__(self, grid: Grid, sizes: Mapping[str, int], device: Simt) -> None:
        self.grid, self.device = grid, device
        self.scene: Scene = scene(grid)
        self.extents = ir.extents(grid.points)
        self.accesses = list(accesses(grid, sizes))

    def run(self) -> Grid:
        """Threads go to what is stored before they go to what is summed."""
        grid = self.grid
        stored = {a for s in grid.body if isinstance(s, Store) for a in s.over}
        points = tuple(sorted(grid.points, key=lambda p: p.name in stored))
        if not points:
            return replace(grid, team=1)
        last = self.main_axis()
        lanes = self.lanes(last)
        team = min(grid.team or self.device.team, self.device.largest)
        layout = spread(points, last, lanes, team)
        others = {
            axis: spread(points, axis, self.lanes(axis), team)
            for axis in self.extents
            if axis != last
        }
        threads = product(layout, "thread")
        fits = {a: x for a, x in others.items() if product(x, "thread") == threads}
        body = self.turned(grid.body, last, fits)
        return replace(grid, body=body, team=threads, layout=layout)

    def weight(self, x: Access) -> int:
        return prod(self.extents[a] for a in x.axes) * x.itemsize * x.inside

    def main_axis(self) -> str:
        """The axis that most bytes lie along; stores decide between equals."""
        total = {p.name: 0 for p in self.grid.points}
        for x in self.accesses:
            for axis in x.axes:
                if self.scene.along(x.stmt.index, axis) == 1:
                    total[axis] += 2 * self.weight(x) + isinstance(x.stmt, Store)
        return max(total, key=lambda a: (total[a], list(total).index(a)))

    def lanes(self, axis: str) -> int:
        """So many that accesses along `axis` can all be wide, but for small ones."""
        mine = [
            x for x in self.accesses
            if axis in x.axes and self.scene.along(x.stmt.index, axis) == 1
        ]  # fmt: skip
        if not mine or not self.device.wide:
            return 1
        least = max(map(self.weight, mine)) // 4
        mine = [x for x in mine if self.weight(x) >= least]
        lanes = min(LANES, self.device.wide // min(x.itemsize for x in mine))
        while lanes > 1 and not all(self.wide(x, axis, lanes) for x in mine):
            lanes //= 2
        return max(lanes, 1)

    def wide(self, x: Access, axis: str, lanes: int) -> bool:
        if self.extents[axis] % lanes:
            return False
        return self.scene.even(x.stmt.index, x.stmt.where, axis, lanes)

    def turned(
        self, body: tuple[Stmt, ...], last: str, others: Mapping[str, Layout]
    ) -> tuple[Stmt, ...]:
        """Loads and stores along another axis than the last one, in their own layout,
        with a copy beside."""
        out: list[Stmt] = []
        for s in body:
            axis = self.across(s, last, others)
            match s:
                case Load(tile) if axis:
                    raw = replace(tile, name=f"{tile.name}t", layout=others[axis])
                    out += [replace(s, tile=raw), Copy(tile, ir.var(raw))]
                case Store(value=value) if axis:
                    made = Tile(f"t{len(out)}{s.buffer}", value.dtype, s.over)
                    turned = replace(made, name=f"{made.name}t", layout=others[axis])
                    out += [Map(made, value), Copy(turned, ir.var(made))]
                    out.append(replace(s, value=ir.var(turned)))
                case _:
                    inner = self.turned(ir.body_of(s), last, others)
                    out.append(ir.rebuilt(s, body=lambda _, inner=inner: inner))
        return tuple(out)

    def across(self, s: Stmt, last: str, others: Mapping[str, Layout]) -> str | None:
        """The axis along which an access lies, if that is another one."""
        if not isinstance(s, Load | Store):
            return None
        axes = s.tile.axes if isinstance(s, Load) else s.over
        if last not in axes or self.scene.along(s.index, last) in (0, 1):
            return None
        long = (a for a in axes if min(self.extents[a], self.extents[last]) >= WORTH)
        lies = (a for a in long if a in others and self.scene.along(s.index, a) == 1)
        return next(lies, None)


def shared_bytes(program: TileProgram) -> int:
    """Of the grid that takes most."""
    return max((GridWriter(g, program).shared_bytes() for g in program.body), default=0)


def registers(program: TileProgram) -> int:
    """Elements that a thread holds at once, at most."""
    most = 0
    for g in program.body:
        tiles = [t for s in ir.walk(g.body) if (t := ir.bound(s)) is not None]
        for t in tiles:
            layout = of_axes(t.layout or g.layout, t.axes)
            most = max(most, product(layout, "register", "lane"))
    return most


def lowered(program: TileProgram) -> Function:
    """Of a scheduled program."""
    writers = [GridWriter(g, program) for g in program.body]
    body = tuple(s for w in writers for s in w.run())
    threads = max((g.team for g in program.body), default=1)
    made = Function(program.name, program.params, body, program.scratch, threads)
    return barriers(made)


__all__ = ["Simt", "Var", "lowered", "registers", "scheduled", "shared_bytes"]
