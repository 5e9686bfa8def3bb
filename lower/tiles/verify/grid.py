"""Statements of a grid: names are bound once and before they are used, and each takes
and gives what the tile IR says."""

from __future__ import annotations

from math import prod

from ....egraph.ir.dtypes import BOOL, compute
from ....egraph.ir.scalars import MONOIDS
from ...intervals import Interval
from ...loops import Ex, Param, Var
from ...targets.boxes import sent
from ...targets.layouts import of_axes, product
from ...targets.quads import lying, warp_product
from ...targets.windows import panels_of
from .. import ir
from ..ir import (
    Ahead,
    Axis,
    Copy,
    Full,
    Grid,
    Load,
    Loop,
    Map,
    Mma,
    Reduce,
    Release,
    Settle,
    Stmt,
    Store,
    Tile,
    TileProgram,
    Update,
    Wait,
    held_left,
)
from ..rings import is_beside, ring_faults, together_faults
from ..text import WORDS
from .places import Places

REGISTERS = 255  # elements of one tile that a thread can name


class GridCheck(Places):
    def __init__(self, program: TileProgram, grid: Grid) -> None:
        super().__init__(program, grid)
        self.used: set[str] = set()
        self.looped = False  # whether a loop has begun
        self.stored = {n for s in ir.walk(grid.body) for n in ir.parts(s, "writes")}

    def fault(self, text: str) -> None:
        self.found.append(f"{self.program.name}: {text}")

    def run(self) -> list[str]:
        for axis in (*self.grid.axes, *self.grid.points):
            self.bind_axis(axis, 1)
        if any(a.extent == 0 for a in (*self.grid.axes, *self.grid.points)):
            return self.found  # nothing runs
        self.body(self.grid.body)
        if self.grid.resident < 0:
            self.fault(f"{self.grid.resident} resident teams")
        for text in together_faults(self.grid):
            self.fault(text)
        if self.grid.layout:
            self.laid(self.grid.layout, "the grid", self.points)
        return self.found

    # ---- names

    def name(self, name: str) -> None:
        if name in self.used or name in self.program.buffers:
            self.fault(f"{name!r} is bound twice")
        if name in WORDS:
            self.fault(f"{name!r} is a word of the language")
        self.used.add(name)

    def bind_axis(self, a: Axis, step: int) -> None:
        self.name(a.name)
        if a.extent < 0 or step < 1:
            self.fault(f"axis {a.name!r} runs over {a.extent} by {step}")
        last = max(a.extent - 1, 0) // max(step, 1) * step
        self.axes[a.name] = Interval(0, last)

    def bind(self, tile: Tile, rounded: bool = False, lasts: bool = False) -> None:
        self.name(tile.name)
        if not set(tile.axes) <= self.points:
            self.fault(f"tile {tile.name!r} over {tile.axes}, which are no points")
        ahead = bool(self.around) and isinstance(self.around[-1], Ahead)
        if tile.space == "shared" and not ahead and not lasts:
            self.fault(f"shared tile {tile.name!r} outside of what runs ahead")
        other = compute(tile.dtype) is not tile.dtype
        if other and not rounded and tile.space == "register":
            self.fault(f"tile {tile.name!r} has the storage type {tile.dtype}")
        if tile.layout:
            self.laid(tile.layout, f"tile {tile.name!r}", set(tile.axes))
        held = of_axes(tile.layout or self.grid.layout, tile.axes)
        if (ahead or lasts) and tile.space == "shared" and not tile.layout:
            held = ()  # it goes through no thread
        if (n := product(held, "register", "lane")) > REGISTERS:
            self.fault(f"tile {tile.name!r} has a thread hold {n} elements")
        self.tiles[tile.name] = tile

    def laid(self, layout: ir.Layout, what: str, axes: set[str]) -> None:
        sizes = ir.extents(self.grid.points)
        for axis, n in ((a, n) for a, n in sizes.items() if a in axes):
            count = prod(d.size for d in layout if d.axis == axis)
            if count < n:
                self.fault(f"{what} lays out {count} points of {n} along {axis!r}")
        if not {d.axis for d in layout} <= set(sizes):
            self.fault(f"{what} lays out axes that are no points")
        threads = prod(d.size for d in layout if d.place == "thread")
        if threads != self.grid.team:
            self.fault(f"{what} takes {threads} threads of a team of {self.grid.team}")

    # ---- statements

    def body(self, body: tuple[Stmt, ...]) -> None:
        outside = self.tiles.copy()
        for s in body:
            self.statement(s)
        self.tiles = outside

    def statement(self, s: Stmt) -> None:
        product = isinstance(s, Mma) or (isinstance(s, Copy) and self.reads_shared(s))
        if product:
            self.around.append(s)
        for x in () if isinstance(s, Loop) else ir.values(s):
            self.typed(x)
        if product:
            self.around.pop()
        for x in ir.parts(s, "test"):
            if x.dtype is not BOOL:
                self.fault(f"a test of {x.dtype}")
        match s:
            case Grid():
                self.fault("a grid inside of a grid")
            case Loop(axes, step, body, _, where):
                self.around.append(s)
                self.looped = True
                if where is not None and not is_beside(s):
                    self.fault("turns of the team's own ring are left out")
                self.loop(axes, step, body, where)
                self.around.pop()
                self.found += [f"{self.program.name}: {x}" for x in ring_faults(s)]
            case Ahead(body):
                self.run_ahead(s, body)
            case Settle(left):
                if left < 0:
                    self.fault(f"all products are done but {left}")
            case Full() | Release():
                if not self.directly_in_loop() or any(
                    n < 0 for n in ir.parts(s, "number")
                ):
                    self.fault(f"a {type(s).__name__.lower()} where no ring is")
            case Wait(pending, products):
                if min(pending, products) < 0 or not self.directly_in_loop():
                    self.fault(f"a wait for all but {pending}, in no loop")
            case Mma():
                before = len(self.found)
                self.multiply(s)
                if self.grid.layout and len(self.found) == before:
                    self.in_fragments(s)
            case Load():
                self.load(s)
            case Map(tile, value, mutable):
                self.rounds(tile, value)
                if mutable:
                    self.mutable.add(tile.name)
            case Update(name, value, where):
                self.update(name, value, where)
            case Reduce():
                self.reduce(s)
            case Copy(tile, value):
                old = self.tiles.get(value.name) if isinstance(value, Var) else None
                kinds = tile.dtype, compute(tile.dtype) if tile.space == "shared" else 0
                same = old is not None and old.dtype in kinds
                if not same or old is None or {*old.axes} != {*tile.axes}:
                    self.fault(f"{tile.name!r} is no copy of a tile like it")
            case Store():
                self.store(s)
        tile = ir.bound(s)
        if tile is not None:
            first = not self.around and not self.looped
            lasts = isinstance(s, Copy | Load) and first
            self.bind(tile, isinstance(s, Map) and held_left(tile), lasts)

    def in_fragments(self, s: Mma) -> None:
        """Sides that warps hold, as their instructions take them."""
        a, b = (self.tiles[x.name] for x in (s.left, s.right) if isinstance(x, Var))
        if held_left(a) and held_left(b):
            made = warp_product(self.grid, a, b, self.tiles[s.name], s.over)
            if isinstance(made, str):
                self.fault(made)

    def reads_shared(self, s: Copy) -> bool:
        """Whether it takes what lies there to registers."""
        old = self.tiles.get(s.value.name) if isinstance(s.value, Var) else None
        own = s.tile.space == "register" and old is not None and old.space == "shared"
        return own or s.tile.space == "held"

    def loop(
        self, axes: tuple[Axis, ...], step: int, body: tuple[Stmt, ...],
        where: Ex | None,
    ) -> None:  # fmt: skip
        if len(axes) != 1:
            self.fault("a loop over other than one axis")
            return
        self.bind_axis(axes[0], step)
        self.loops.append(axes[0].name)
        if where is not None:
            self.typed(where)
            self.fits(where, (), BOOL, f"the test of {axes[0].name}")
        outside = self.tiles.copy()
        for s in body:  # a product reads what runs ahead of it, further down as well
            self.tiles |= {t.name: t for t in ir.seen_after(s) if t.space == "shared"}
        if axes[0].extent:
            self.body(body)
        self.tiles = outside
        self.loops.pop()
        del self.axes[axes[0].name]
        self.used.discard(axes[0].name)  # the next loop may run along the same axis

    def update(self, name: str, value: Ex, where: Ex | None) -> None:
        tile = self.tiles.get(name)
        if tile is None or name not in self.mutable:
            self.fault(f"an update of {name!r}, which is no mutable tile in scope")
            return
        self.rounds(tile, value)
        if where is not None:
            self.fits(where, tile.axes, BOOL, f"the test of {name}")
        if where is not None and held_left(tile):
            self.fault(f"{name!r} is rounded at some points")

    def rounds(self, tile: Tile, value: Ex) -> None:
        """A new value, which is a tile that lies alike where it is rounded."""
        self.fits(value, tile.axes, compute(tile.dtype), tile.name)
        if not held_left(tile):
            return
        old = self.tiles.get(value.name) if isinstance(value, Var) else None
        if old is None or (old.axes, old.layout) != (tile.axes, tile.layout):
            self.fault(f"{tile.name!r} is not rounded from a tile that lies alike")

    def reduce(self, s: Reduce) -> None:
        if s.monoid not in MONOIDS or not MONOIDS[s.monoid].takes(s.tile.dtype):
            self.fault(f"no monoid of {s.tile.dtype}: {s.monoid!r}")
        if set(s.over) & set(s.tile.axes) or not set(s.over) <= self.points:
            self.fault(f"{s.tile.name!r} is reduced over {s.over}")
        axes = (*s.tile.axes, *s.over)
        self.fits(s.value, axes, s.tile.dtype, s.tile.name)
        if s.where is not None:
            self.fits(s.where, axes, BOOL, f"the test of {s.tile.name}")

    def load(self, s: Load) -> None:
        buffer = self.program.buffers.get(s.buffer)
        if buffer is None:
            self.fault(f"a load from {s.buffer!r}, which is no buffer")
            return
        if s.buffer in self.stored:
            self.fault(f"a grid reads {s.buffer!r}, which it stores to")
        held = s.tile.dtype if s.tile.space == "shared" else compute(buffer.dtype)
        if held is not s.tile.dtype or (
            s.tile.space == "shared" and held is not buffer.dtype
        ):
            self.fault(f"{s.tile.name!r} is {s.tile.dtype}, {s.buffer} {buffer.dtype}")
        self.region(s.buffer, buffer.size, s.index, s.where, s.tile.axes)
        last = self.around[-1] if self.around else None
        lasts = s.tile.space == "shared" and last is None
        beside = any(isinstance(x, Loop) and is_beside(x) for x in self.grid.body)
        if lasts and self.grid.layout and not beside:
            self.fault(f"nobody brings {s.tile.name}")
        if (isinstance(last, Ahead) and last.beside) or (lasts and self.grid.layout):
            made = panels_of(s, self.scene, buffer)
            if isinstance(made, str):
                self.fault(
                    f"the engine for copies does not bring {s.tile.name}: {made}"
                )

    def store(self, s: Store) -> None:
        buffer = self.program.buffers.get(s.buffer)
        if buffer is None or not buffer.writable:
            self.fault(f"a store to {s.buffer!r}, which is no buffer to write")
            return
        if not set(s.over) <= self.points:
            self.fault(f"a store over {s.over}, which are no points")
        self.fits(s.value, s.over, compute(buffer.dtype), f"a store to {s.buffer}")
        self.region(s.buffer, buffer.size, s.index, s.where, s.over)
        self.apart(s)
        if s.through:
            self.sent(s, buffer)

    def sent(self, s: Store, buffer: Param) -> None:
        made = sent(s, self.scene, buffer)
        if self.loops:
            self.fault(f"{s.buffer!r} is stored by the engine for copies in a loop")
        if isinstance(made, str):
            self.fault(f"the engine for copies does not store {s.buffer!r}: {made}")
        elif self.grid.layout and not isinstance(s.value, Var):
            self.fault(f"what {s.buffer!r} takes is sent while it is computed")
        elif self.grid.layout and lying(self.grid, s.over, self.laid_as(s)) is None:
            self.fault(f"what {s.buffer!r} takes is not as instructions leave it")

    def laid_as(self, s: Store) -> ir.Layout:
        held = self.tiles.get(s.value.name) if isinstance(s.value, Var) else None
        return (held.layout if held else ()) or self.grid.layout
