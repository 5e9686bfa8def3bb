"""Streams whose stretches warps multiply: weights for a few tokens.

Each warp holds what its threads read of the stream, made elements of two bytes, as the
left side of its instructions, and the rows that meet it as the right one: neither goes
through shared memory.  A thread has neighbours of what is summed (`fragments.Quads`).
A factor that is the same all along a stretch multiplies what the stretch comes to.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from ....egraph.ir.dtypes import F32, DType
from ....egraph.rules.tables import widens
from ....extract.schedule.kernel import Kernel, bits
from ...axes import ceil_div, numel
from ...choice import Domains, Holes, hole
from ...families.nests.values import convert
from ...fragments import COLUMNS, HALVES, WARP
from ...loops import Lit, Op, Var
from ...model import DeviceModel
from ...targets.layouts import names_in
from ...targets.unpacking import most_held
from .. import ir
from ..ir import Digit, Grid, Layout, Map, Mma, Place, Tile, TileProgram, Update, var
from ..shapes.bounds import moved_and_work
from ..small import WHOLES, digits_of
from .stream import EACH, Stream
from .streams import Blocks, Streams, StreamWriter, Unfit

QUAD = 4  # threads that have neighbours of what is summed
HIGH = 4  # rows of the stream that a thread has
HELD = 128  # words of a tile that a thread may have at once
TEAM = 512
# Words of a thread, among them two sums of what stretches have a factor for, with which
# two teams of so many fit a unit; else half as many threads read twice as much at once
# (8192 x 8192, H100: int4 by 4 rows 19.0 us and 25.7, by 16 rows 31.0 and 20.8).
ROOM = 40


class WarpWriter(StreamWriter):
    """`sides`: the tiles that are multiplied."""

    sides: tuple[Tile, Tile]

    def take(self, e: int, acc: Tile) -> None:
        """The stretch of a turn."""
        inner = bits(self.stretch)
        if acc.dtype is not F32:
            raise Unfit(f"sums of {acc.dtype}")
        if self.overhang(bits(self.stream.along) | bits(tuple(self.turning))):
            raise Unfit("a turn goes beyond the end")
        every = self._factors(self.kernel.exprs[e].args[0])
        near = [f for f in every if self.kernel.free[f] & inner]
        far = [f for f in every if f not in near]
        left, right = self._sides(near)
        body = self.scopes[-1].body
        into = acc
        if far:
            into = Tile(self.fresh("p"), F32, acc.axes)
            body.append(Map(into, Lit(0.0, F32), True))
        over = self.axes(inner)
        body.append(Mma(into.name, var(left), var(right), over, 1))
        if far:
            by = self._product(far, F32)
            body.append(Update(acc.name, Op("fma", (var(into), by, var(acc)), F32)))
        self.sides = left, right

    def _sides(self, near: list[int]) -> tuple[Tile, Tile]:
        """What meets, rounded to what it is anyway."""
        s, free = self.stream, self.kernel.free
        inner, few, own = bits(self.stretch), bits(s.few), bits(s.own)
        left = [f for f in near if free[f] & own and not free[f] & few]
        right = [f for f in near if free[f] & few and not free[f] & own]
        if [len(left), len(right)] != [1, 1] or len(near) != 2:
            raise Unfit("its factors are no two sides")
        if any(inner & ~free[f] for f in near):
            raise Unfit("a side is the same along some of what is summed")
        of, to = (self.kernel.exprs[self._plain(f)].dtype for f in (*left, *right))
        if to not in HALVES or of not in (to, *WHOLES):
            raise Unfit(f"sides of {of} and {to}")
        return self._held(left[0], to), self._held(right[0], to)

    def _plain(self, e: int) -> int:
        """Before it was widened: of the least type that has all its values."""
        exprs = self.kernel.exprs
        while exprs[e].op == "cast" and widens(
            exprs[exprs[e].args[0]].dtype, exprs[e].dtype
        ):
            (e,) = exprs[e].args
        return e

    def _held(self, e: int, of: DType) -> Tile:
        """Small integers as they are, where the target unpacks them."""
        whole = self.value(self._plain(e))
        small = digits_of(whole) is not None
        value = Op("cast", (whole,), F32) if small else convert(self.value(e), F32)
        body = self.scopes[-1].body
        axes = self.axes(self.kernel.free[e])
        if not isinstance(value, Var):
            made = Tile(self.fresh("v"), F32, axes)
            body.append(Map(made, value))
            value = var(made)
        held = Tile(self.fresh("h"), of, axes)
        body.append(Map(held, value))
        return held

    def run(self) -> Grid:
        if len(self.kernel.reductions) > 1:
            raise Unfit("several sums")
        grid = super().run()
        left, right = self.sides
        mine = self._reached(grid, left), self._reached(grid, right)
        others = {n for s in ir.walk(grid.body) for v in ir.values(s)
                  for n in names_in(v) if not self._bound(s) & (mine[0] | mine[1])
                  and not isinstance(s, Mma)}  # fmt: skip
        if mine[0] & mine[1] or others & (mine[0] | mine[1]):
            raise Unfit("what a side is made of is used otherwise, too")
        layouts = dict.fromkeys(mine[0], self._side(0))
        layouts |= dict.fromkeys(mine[1], self._side(1))

        def laid(t: Tile) -> Tile:
            return replace(t, layout=layouts.get(t.name, ()))

        def change(s: ir.Stmt) -> ir.Stmt:
            body = tuple(map(change, ir.body_of(s)))
            return ir.rebuilt(s, tile=laid, body=lambda _: body)

        return replace(grid, body=tuple(map(change, grid.body)))

    def _bound(self, s: ir.Stmt) -> set[str]:
        tile = ir.bound(s)
        return {tile.name} if tile else set()

    def _reached(self, grid: Grid, side: Tile) -> set[str]:
        """The tiles along axes that a side is made of."""
        names = {side.name}
        for s in reversed([*ir.walk(grid.body)]):
            tile = ir.bound(s)
            if tile is not None and tile.name in names:
                names |= {n for v in ir.values(s) for n in names_in(v)}
        tiles = (ir.bound(s) for s in ir.walk(grid.body))
        return {t.name for t in tiles if t and t.axes and t.name in names}

    # ---- layouts

    def _around(self) -> Layout:
        """Warps: along what is summed, and across."""
        names = {a: p.name for a, p in self.points}
        own = names[self.stream.own[-1]]
        turning = (Digit(names[a], "thread", self.threads[a])
                   for a in self.turning if a in names)  # fmt: skip
        return (*turning, Digit(own, "thread", self.blocks.across))

    def _side(self, right: int) -> Layout:
        """Of the stream's rows, or of those that meet them."""
        names, s = {a: p.name for a, p in self.points}, self.stream
        rows = names[s.few[0] if right else s.own[-1]]
        held = _columns(self.blocks.few) if right else self._high
        run = names[s.stretch]
        more = (Digit(names[a], "register", self.kernel.extents[a])
                for a in self.stretch[1:] if a in names)  # fmt: skip
        made = (
            *self._around(), Digit(rows, "register", held),
            Digit(rows, "thread", COLUMNS),
            Digit(run, "register", self.blocks.stretch // (QUAD * EACH)),
            Digit(run, "thread", QUAD), *more, Digit(run, "lane", EACH),
        )  # fmt: skip
        return tuple(d for d in made if d.size > 1)

    @property
    def _high(self) -> int:
        return self.blocks.rows // COLUMNS

    def _layout(self) -> Layout:
        """Of the sums."""
        names, s = {a: p.name for a, p in self.points}, self.stream
        rows, few = names[s.own[-1]], names[s.few[0]]
        place: Place = "register"
        made = (
            *self._around(), Digit(rows, place, self._high),
            Digit(few, place, _columns(self.blocks.few)),
            Digit(rows, "thread", COLUMNS), Digit(few, "thread", COLUMNS // 2),
            Digit(few, place, 2),
            *(Digit(names[a], place, self.block(a))
              for a in self.stretch if a in names),
        )  # fmt: skip
        return tuple(d for d in made if d.size > 1)


def _columns(few: int) -> int:
    """Instructions for as many rows as meet the stream."""
    return ceil_div(few, COLUMNS)


@dataclass(frozen=True)
class StreamedByWarps(Streams):
    writer = WarpWriter
    name: str = "tilestreams"

    def floor(self, kernel: Kernel, model: DeviceModel) -> float:
        """All moves once; what is summed, warps multiply."""
        moved, _ = moved_and_work(kernel)
        return model.launch + model.moving(moved) if model.matrix else inf

    def domains(self, kernel: Kernel, model: DeviceModel) -> Domains:
        return {"team": (128, 256, 512), "across": (1, 2, 4), "rows": (2, 4, 8),
                "deep": (1, 2)}  # fmt: skip

    def blocks(
        self, kernel: Kernel, s: Stream, model: DeviceModel, holes: Holes
    ) -> Blocks | str:
        """As many warps along what is summed as a team has."""
        if not model.matrix:
            return "the device has no such instructions"
        if len(s.few) != 1 or s.lies != s.stretch:
            return "its rows do not lie along what is summed, or one row meets them"
        mine = tuple(a for a in s.along if kernel.free[s.load] >> a & 1)
        others = numel(kernel.extents, s.along) // numel(kernel.extents, mine)
        own, few = kernel.extents[s.own[-1]], kernel.extents[s.few[0]]
        units = max(model.units // 2, 1)
        tiles = ceil_div(own, HIGH * COLUMNS) * numel(kernel.extents, s.own[:-1])
        high = hole(holes, "rows", HIGH if tiles >= units else HIGH // 2)
        held = high * EACH // 4 + _columns(few) * (
            2 * high * min(others, 2) + EACH * others // 2
        )
        fits = held <= ROOM
        twice = not fits and kernel.extents[s.stretch] % (2 * QUAD * EACH) == 0
        deep = hole(holes, "deep", 1 + twice)
        stretch = QUAD * EACH * deep
        if kernel.extents[s.stretch] % stretch:
            return "no stretches of a warp"
        across = hole(holes, "across", 1)
        team = hole(holes, "team", TEAM if fits else TEAM // 2)
        warps = min(team, model.largest) // WARP // across
        stretches = numel(kernel.extents, mine) // stretch
        along = max(warps, 1)
        while along > 1 and stretches % along:
            along //= 2
        return Blocks(high * COLUMNS, across, along, stretch, few, WARP)

    def fits(self, program: TileProgram, model: DeviceModel) -> TileProgram | str:
        held = max(map(most_held, program.body))
        return "a thread would hold too much" if held > HELD else program


BY_WARPS = StreamedByWarps()
