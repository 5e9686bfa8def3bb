"""Sums of products of which one side is large and read once: a stream, such as the
weights of a layer for a few tokens.

Each instance has a block of the stream's own axis and all of the few rows that meet it.
Of what is summed a thread has a stretch in each turn: what the stream's elements come
to is computed once for all rows, and a factor that is the same all along the stretch (a
scale of a block of weights) multiplies what the stretch comes to.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

from ....egraph.ir.dtypes import F32, DType, compute
from ....extract.schedule.kernel import Kernel, bits, factors
from ...axes import ceil_div, numel
from ...choice import Domains, Holes, hole
from ...families.nests.index_types import index_type
from ...families.nests.values import convert, identity
from ...families.nests.writer import parameters
from ...fragments import HALVES
from ...loops import Ex, Op, Param
from ...model import DeviceModel
from ...targets.layouts import product, up
from .. import ir
from ..build import Writer
from ..family import Tiled, fitting
from ..folds import divided
from ..ir import Digit, Grid, Map, Place, Reduce, Tile, TileProgram, Update, var
from ..values import Tiling
from .stream import EACH, Stream, stream_of

SUMS = 32  # of a thread, at most
ASKED = 64  # elements of the few rows that a thread asks for at once
FEW = 4  # rows of the stream that a thread has, where one meets it
TEAM = 512
ACROSS = 4  # threads along rows; where these lie side by side: a sector of memory
DEEP = 2  # turns at least, of which the next one is asked for early by other threads


class Blocks(NamedTuple):
    """Of an instance: rows of the stream that a thread has, threads along them and
    along what is summed, and elements of a stretch."""

    rows: int
    across: int
    along: int
    stretch: int
    few: int  # rows that meet it
    near: int = 1  # threads that have a row and a stretch among them

    @property
    def team(self) -> int:
        return self.across * self.along * self.near


class StreamWriter(Writer):
    def __init__(
        self, kernel: Kernel, stream: Stream, outer: int, blocks: Blocks, strict: bool,
        buffers: tuple[Param, ...], index: DType,
    ) -> None:  # fmt: skip
        """`outer`: the axis of stretches."""
        s, self.blocks = stream, blocks
        grid = dict.fromkeys(s.own, 1) | {s.own[-1]: blocks.rows * blocks.across}
        grid |= {a: blocks.few for a in s.few if kernel.extents[a] > blocks.few}
        inner = kernel.axes_of(bits(s.along) & ~kernel.free[s.load])
        self.stretch = (s.stretch, *inner)
        turning = [a for a in (*s.along, outer) if a not in self.stretch]
        turning.sort(key=lambda a: a == outer)
        self.threads, left = dict[int, int](), blocks.along
        for a in reversed(turning):
            self.threads[a] = min(left, up(kernel.extents[a]))
            left = max(left // self.threads[a], 1)
        loop = turning[0]
        self.stream, self.turning = s, turning
        tiling = Tiling(grid, (loop, self.threads[loop]), blocks.team)
        super().__init__(kernel, tiling, buffers, strict, index)
        # Those of the same block of the stream side by side: one reads it for all.
        self.grid.sort(key=lambda g: g.name in {f"g{a}" for a in s.few})

    def run(self) -> Grid:
        self._fetch(self.facts.stored)
        sums = self.kernel.reductions
        accs = {e: self._sum(e) for e in sums}
        with self._turn(bits(tuple(self.kernel.exprs[e].args[0] for e in sums))):
            for e in sums:
                self.take(e, accs[e])
        for e in sums:
            self.finish(e, accs[e])
        self.outputs()
        return self.as_grid(self._layout())

    def _sum(self, e: int) -> Tile:
        """What each thread has so far."""
        acc = self.kernel.exprs[e].attr[2]
        free = self.kernel.free[e] | bits(tuple(self.turning))
        tile = Tile(self.fresh("a"), compute(acc), self.axes(free))
        self.scopes[-1].body.append(Map(tile, identity("sum", acc), True))
        return tile

    def take(self, e: int, acc: Tile) -> None:
        """The stretch of a turn."""
        x, inner = self.kernel.exprs[e], bits(self.stretch)
        kind = compute(x.attr[2])
        every = self._factors(x.args[0])
        near = [f for f in every if self.kernel.free[f] & inner]
        far = [] if len(near) == len(every) or not near else [
            f for f in every if f not in near
        ]  # fmt: skip
        term = self._term(near if far else list(every), kind)
        got = Tile(self.fresh("r"), kind, acc.axes)
        over = self.axes(inner)
        test = self.overhang(bits(self.stream.along) | bits(tuple(self.turning)))
        body = self.scopes[-1].body
        body.append(Reduce(got, "sum", term, over, test))
        by = self._product(far, kind) if far else None
        new = (Op("add", (var(acc), var(got)), kind) if by is None
               else Op("fma", (var(got), by, var(acc)), kind))  # fmt: skip
        body.append(Update(acc.name, new))

    def _factors(self, e: int) -> tuple[int, ...]:
        """Also of what is widened only, which is not rounded before."""
        x = self.kernel.exprs[e]
        if x.op == "cast" and not self.strict and x.dtype is F32:
            (inner,) = x.args
            own = self.kernel.exprs[inner]
            if own.op == "mul" and own.dtype in HALVES:
                return self._factors(inner)
        if x.op != "mul":
            return (e,)
        if len(factors(self.kernel, e, self.strict)) == 1:
            return (e,)
        left, right = x.args
        return (*self._factors(left), *self._factors(right))

    def _term(self, terms: list[int], kind: DType) -> Ex:
        """What all rows have in common is computed once."""
        few = bits(self.stream.few)
        own = [f for f in terms if not self.kernel.free[f] & few]
        rest = [f for f in terms if f not in own]
        if not rest or not own:
            return self._product(terms, kind)
        free = 0
        for f in own:
            free |= self.kernel.free[f]
        once = self.name(self._product(own, kind), free)
        return Op("mul", (once, self._product(rest, kind)), kind)

    def _product(self, terms: list[int], kind: DType) -> Ex:
        first, *more = (convert(self.value(f), kind) for f in terms)
        for m in more:
            first = Op("mul", (first, m), kind)
        return first

    def _layout(self) -> ir.Layout:
        """Neighbours in memory go to neighbouring threads; rows that meet the stream
        are the innermost loop but for lanes, so that its elements are read once."""
        s, b = self.stream, self.blocks
        last = s.own[-1]
        names = {a: p.name for a, p in self.points}
        turning = [a for a in self.turning if a in names]
        left = [Digit(names[a], "register", ceil_div(self.block(a), self.threads[a]))
                for a in turning]  # fmt: skip
        sums = [Digit(names[a], "thread", self.threads[a]) for a in turning]
        few = [Digit(names[a], "register", self.block(a))
               for a in s.few if a in names]  # fmt: skip
        more = [Digit(names[a], "register", self.kernel.extents[a])
                for a in self.stretch[1:] if a in names]  # fmt: skip
        stretch = names[s.stretch]
        held: Place = "lane" if s.lies == last else "register"
        across = [Digit(names[last], "thread", b.across)] if last in names else []
        rows = [Digit(names[last], held, b.rows)] if last in names else []
        if s.lies == last:
            made = [
                *left,
                *sums,
                *across,
                *more,
                Digit(stretch, "register", b.stretch),
                *few,
                *rows,
            ]
        else:
            made = [
                *left,
                *rows,
                *across,
                *sums,
                *more,
                *few,
                Digit(stretch, "lane", b.stretch),
            ]
        return tuple(d for d in made if d.size > 1)


class Unfit(Exception):
    """Why a stream cannot be written so."""


class Streams(Tiled):
    """A way to share streams out: `blocks` of an instance, and what `writer` makes of
    them where it `fits`."""

    writer: ClassVar[type[StreamWriter]]

    @abstractmethod
    def blocks(
        self, kernel: Kernel, s: Stream, model: DeviceModel, holes: Holes
    ) -> Blocks | str: ...

    @abstractmethod
    def fits(self, program: TileProgram, model: DeviceModel) -> TileProgram | str: ...

    def accepts(self, kernel: Kernel) -> str | None:
        if reason := super().accepts(kernel):
            return reason
        made = stream_of(kernel)
        return made if isinstance(made, str) else None

    def program(
        self, kernel: Kernel, model: DeviceModel, holes: Holes, strict: bool = False,
        buffers: tuple[Param, ...] = (),
    ) -> TileProgram | str:  # fmt: skip
        buffers = buffers or parameters(kernel)
        return _program(self, kernel, model, holes, strict, buffers)


@lru_cache(maxsize=2048)
def _program(
    family: Streams, kernel: Kernel, model: DeviceModel, holes: Holes, strict: bool,
    buffers: tuple[Param, ...],
) -> TileProgram | str:  # fmt: skip
    s = stream_of(kernel)
    if isinstance(s, str):
        return s
    if not model.wide:
        return "the device reads one element at a time"
    blocks = family.blocks(kernel, s, model, holes)
    if isinstance(blocks, str):
        return blocks
    split, outer = divided(kernel, s.stretch, blocks.stretch)
    index = index_type(kernel, buffers)
    try:
        grid = family.writer(split, s, outer, blocks, strict, buffers, index).run()
    except Unfit as reason:
        return str(reason)
    if product(grid.layout, "thread") != grid.team:
        return "its sums are shorter than a team"
    return family.fits(TileProgram("f", buffers, (grid,), (), index), model)


@dataclass(frozen=True)
class Streamed(Streams):
    writer = StreamWriter
    name: str = "tilestream"

    def domains(self, kernel: Kernel, model: DeviceModel) -> Domains:
        few = (1, 2, 4, 8)
        return {"team": (128, 256, 512), "across": (*few, 16), "rows": few}

    def blocks(
        self, kernel: Kernel, s: Stream, model: DeviceModel, holes: Holes
    ) -> Blocks | str:
        """As many threads along what is summed as have some turns each."""
        mine = tuple(a for a in s.along if kernel.free[s.load] >> a & 1)
        own = kernel.extents[s.own[-1]]
        lying = s.lies == s.own[-1]
        team = min(hole(holes, "team", TEAM), model.largest)
        others = numel(kernel.extents, s.along) // numel(kernel.extents, mine)
        few = numel(kernel.extents, s.few)
        if len(s.few) == 1:
            few = min(few, ASKED // (EACH * others))
        stretch = EACH // others if lying and few > 1 else EACH
        stretches = numel(kernel.extents, mine) // stretch
        near = FEW if few == 1 else min(EACH // others, max(SUMS // few, 1))
        rows = hole(holes, "rows", EACH if lying else near)
        tiles = own // rows * numel(kernel.extents, s.own[:-1])
        wide = tiles >= 2 * ACROSS * model.units if lying else few > 1
        most = 2 * ACROSS if wide else ACROSS
        while most > 1 and 2 * tiles < most * model.units:
            most //= 2
        across = hole(holes, "across", most)
        across = min(across, up(ceil_div(own, rows)))
        along = min(team // across, up(stretches // DEEP + 1) // 2 or 1)
        if across * max(along, 1) > model.largest:
            return "the device has no such groups"
        return Blocks(min(rows, up(own)), across, max(along, 1), max(stretch, 1), few)

    def fits(self, program: TileProgram, model: DeviceModel) -> TileProgram | str:
        return fitting(program, model)


STREAMED = Streamed()
