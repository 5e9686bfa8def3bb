"""The families of tile programs that multiply: by instructions of warps, where a device
has them for the elements, and by threads on any GPU."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import inf

from ...egraph.ir.dtypes import F32, DType
from ...extract.schedule.kernel import Kernel
from ..axes import ceil_div, coefficient, nested
from ..choice import Domains, Holes, hole
from ..families.folds.shared_tiles import SPEEDS
from ..families.nests.writer import parameters
from ..families.products.flat import flattened
from ..fragments import EIGHTS, FOUR, HALVES, WARP
from ..fragments import refusal as unfit
from ..loops import Param, panel
from ..model import DeviceModel, Parts, overlapped
from ..targets.layouts import of_axes, product, up
from ..targets.products import Threads, Units, Warps, scheduled_products
from ..targets.simt import Simt, shared_bytes
from . import ir
from .family import Tiled
from .ir import TileProgram
from .pricing.speeds import (
    MANY,
    OTHERS,
    REGISTERS,
    speed_of_groups,
    speed_of_threads,
    speed_of_turns,
    speed_of_warps,
)
from .products import Blocks, Sides, product_grid, sides_of
from .shapes.bounds import Need, need_of, parts_at_least
from .shapes.shape import (
    BY_BYTES,
    BY_ENGINE,
    BY_GROUPS,
    BY_MANY,
    BY_THREADS,
    BY_WARPS,
    BY_WORDS,
    Never,
    Shape,
)
from .shapes.tried import Tried

SIZES = (1, 2, 4)  # bytes of an element that instructions of groups multiply
HELD = 176  # elements that a thread may have in registers
BESIDE, FEW, MOST = 128, 40, 232  # threads that only copy, their registers, a team's
FEWER = 4  # shapes that are priced in pairs as well
GROUPS = (16, 8)  # rows of tiles side by side: the first that divides them


@dataclass(frozen=True)
class Multiplied(Tiled):
    """What both have in common."""

    @property
    @abstractmethod
    def kinds(self) -> tuple[DType, ...]:
        """The types whose elements it multiplies as they are; none: all, in their
        compute type."""

    @abstractmethod
    def shapes(self, model: DeviceModel) -> tuple[Shape, ...]: ...

    @abstractmethod
    def flat(self, kernel: Kernel) -> Kernel:
        """As a product of sides of two axes."""

    def suits(self, shape: Shape, sides: Sides) -> bool:
        """Whether it is for such elements."""
        return True

    def suited(self, kernel: Kernel, model: DeviceModel) -> tuple[Shape, ...]:
        sides = sides_of(self.flat(kernel), self.kinds)
        if isinstance(sides, str):
            return ()
        return tuple(s for s in self.shapes(model) if self.suits(s, sides))

    @abstractmethod
    def team(self, shape: Shape) -> int: ...

    @abstractmethod
    def units(self, shape: Shape) -> Units: ...

    @abstractmethod
    def refused(self, shape: Shape, model: DeviceModel) -> str | None: ...

    @abstractmethod
    def speed(self, shape: Shape, model: DeviceModel) -> float:
        """Multiply-adds a second, where all units are busy."""

    def accepts(self, kernel: Kernel) -> str | None:
        if not nested(kernel):
            return "its outputs run over different loops"
        made = sides_of(self.flat(kernel), self.kinds)
        return made if isinstance(made, str) else None

    def floor(self, kernel: Kernel, model: DeviceModel) -> float:
        """By the shape that takes least at least."""
        parts = self.least(kernel, model)
        return model.launch + overlapped(parts) if parts else inf

    def least(self, kernel: Kernel, model: DeviceModel) -> Parts | None:
        """What no program takes less than; None where there is none."""
        kernel = self.flat(kernel)
        sides = sides_of(kernel, self.kinds)
        if model.cpu_like or isinstance(sides, str):
            return None
        return next((parts for _, parts in _likely(self, kernel, sides, model)), None)

    def domains(self, kernel: Kernel, model: DeviceModel) -> Domains:
        shapes = self.suited(kernel, model)
        if not shapes:
            return {}
        names = Shape._fields
        found = {n: tuple(sorted({s[i] for s in shapes})) for i, n in enumerate(names)}
        pairs = (0, 1, 2) if any(s.beside for s in shapes) else (0,)
        return {**found, "pairs": pairs, "group": (1, 4, 8, 16)}

    def program(
        self, kernel: Kernel, model: DeviceModel, holes: Holes, strict: bool = False,
        buffers: tuple[Param, ...] = (),
    ) -> TileProgram | str:  # fmt: skip
        """`buffers`: those that the slots are, where not parameters of its own."""
        buffers = buffers or parameters(kernel)
        return _program(self, self.flat(kernel), model, holes, strict, buffers)


@lru_cache(maxsize=4096)
def _program(
    family: Multiplied, kernel: Kernel, model: DeviceModel, holes: Holes, strict: bool,
    buffers: tuple[Param, ...],
) -> TileProgram | str:  # fmt: skip
    """A scheduled program that fits the device, or why there is none."""
    sides = sides_of(kernel, family.kinds)
    if isinstance(sides, str):
        return sides
    own = _own_shape(family, kernel, model)
    if own is None:
        return "no tile fits the device"
    named = {n: v for n, v in holes if n in Shape._fields}
    if named.keys() - {"pairs", "turned"}:  # a tile of another size is by itself
        own = own._replace(pairs=0, turned=0)
    asked = own._replace(**named)
    if not family.suits(asked, sides):
        return "no ring of such tiles"
    sides = sides.turned if asked.turned else sides
    group = hole(holes, "group", _group(kernel.extents[sides.m], asked))
    return family.refused(asked, model) or _written(
        family, kernel, sides, asked, group, model, strict, buffers
    )


@lru_cache(maxsize=4096)
def _likely(
    family: Multiplied, kernel: Kernel, sides: Sides, model: DeviceModel
) -> tuple[tuple[Shape, Parts], ...]:
    """The shapes that fit, and what each takes at least, the quickest first."""
    made: list[tuple[Shape, Parts]] = []
    for s in family.shapes(model):
        if not family.suits(s, sides) or family.refused(s, model) is not None:
            continue
        own = need_of(kernel, sides.turned if s.turned else sides)
        fits = not own.computed if s.beside else own.held(s, family.team(s)) <= HELD
        if fits:
            made.append((s, _at_least(family, own, s, model)))
    return tuple(sorted(made, key=lambda x: overlapped(x[1])))


def _at_least(family: Multiplied, need: Need, s: Shape, model: DeviceModel) -> Parts:
    return parts_at_least(need, s, family.team(s), family.speed(s, model), model)


@lru_cache(maxsize=4096)
def _own_shape(family: Multiplied, kernel: Kernel, model: DeviceModel) -> Shape | None:
    """That with the least price; the best ones also in pairs."""
    sides = sides_of(kernel, family.kinds)
    assert not isinstance(sides, str), sides
    buffers = parameters(kernel)

    def own(s: Shape) -> Sides:
        return sides.turned if s.turned else sides

    def written(s: Shape) -> TileProgram | str:
        group = _group(kernel.extents[own(s).m], s)
        return _written(family, kernel, own(s), s, group, model, False, buffers)

    tried = Tried(model, written)
    for s, least in _likely(family, kernel, sides, model):
        tried.take(s, need_of(kernel, own(s)), least)
    for s in tried.in_order[:FEWER]:
        for t in (s._replace(pairs=n) for n in ((1, 2) if s.beside else ())):
            need = need_of(kernel, own(t))
            tried.take(t, need, _at_least(family, need, t, model))
    return next(iter(tried.in_order), None)


def _group(rows: int, s: Shape) -> int:
    tiles = ceil_div(rows, s.rows)
    return next((g for g in GROUPS if s.beside and tiles % g == 0), GROUPS[-1])


def _written(
    family: Multiplied, kernel: Kernel, sides: Sides, s: Shape, group: int,
    model: DeviceModel, strict: bool, buffers: tuple[Param, ...],
) -> TileProgram | str:  # fmt: skip
    if s.turned and sides.held:
        return Never("its right side does not lie along what is summed")
    if s.pairs == 2 and ceil_div(kernel.extents[sides.n], s.columns) % 2:
        return "not all tiles have one abreast"
    blocks = Blocks(
        s.rows, s.columns, s.depth, s.stages, group, family.team(s), s.pairs == 2
    )
    grid, index = product_grid(kernel, sides, blocks, strict, buffers)
    program = TileProgram("f", buffers, (grid,), (), index)
    units = family.units(s)
    if s.beside and isinstance(units, Warps):
        resident = max(model.units // 2, 1)
        units = units._replace(resident=resident, together=2 * (s.pairs > 0))
    made = scheduled_products(program, units, Simt.of(model))
    if isinstance(made, str):
        return made
    if shared_bytes(made) > model.shared and any(x.through for x in _stores(made)):
        made = scheduled_products(program, units._replace(pieces=1), Simt.of(model))
        assert not isinstance(made, str), made
    along = all(coefficient(o.offset, sides.n) == 1 for o in kernel.outputs)
    if s.turned and not along and not all(x.through for x in _stores(made)):
        return Never("a turned product that threads would store")
    if sum(held(made)) > HELD:
        return "a thread would hold too much"
    if shared_bytes(made) > max(model.shared, model.on_chip):
        return "a group of threads would share too much"
    return made


def _stores(program: TileProgram) -> Iterator[ir.Store]:
    every = (s for grid in program.body for s in ir.walk(grid.body))
    return (s for s in every if isinstance(s, ir.Store))


def held(program: TileProgram) -> Iterator[int]:
    """Elements of four bytes that a thread has of the sums and, all along, of what runs
    ahead."""
    for grid in program.body:
        tiles = [s.tile for s in grid.body if isinstance(s, ir.Map) and s.mutable]
        for s in ir.walk(grid.body):
            if isinstance(s, ir.Ahead):
                tiles += [x.tile for x in s.body if isinstance(x, ir.Load)]
        for t in tiles:
            if t.space == "register":
                layout = of_axes(t.layout or grid.layout, t.axes)
                words = max(t.dtype.itemsize // 4, 1)
                yield product(layout, "register", "lane") * words


@dataclass(frozen=True)
class ByWarps(Multiplied):
    """Of sides of two bytes, summed in f32."""

    name: str = "tilemma"

    @property
    def kinds(self) -> tuple[DType, ...]:
        return HALVES

    def flat(self, kernel: Kernel) -> Kernel:
        return flattened(kernel, True)

    def shapes(self, model: DeviceModel) -> tuple[Shape, ...]:
        return BY_WARPS if model.matrix else ()

    def team(self, shape: Shape) -> int:
        return shape.down * shape.across * WARP

    def units(self, shape: Shape) -> Units:
        return Warps(shape.across)

    def refused(self, shape: Shape, model: DeviceModel) -> str | None:
        s, team = shape, self.team(shape)
        if team > model.largest or not model.matrix:
            return "the device has no such groups"
        if s.stages < 2 or _odd(s[:3]):
            return "no ring of such tiles"
        return unfit(s.rows, s.columns, s.depth, team, s.across)

    def speed(self, shape: Shape, model: DeviceModel) -> float:
        return model.matrix * speed_of_warps(*shape.each)


@dataclass(frozen=True)
class ByGroups(Multiplied):
    """By instructions of four warps, which read both sides where they are shared."""

    name: str = "tilewgmma"

    @property
    def kinds(self) -> tuple[DType, ...]:
        return (*HALVES, *EIGHTS, F32)

    def flat(self, kernel: Kernel) -> Kernel:
        return flattened(kernel, True, True)

    def shapes(self, model: DeviceModel) -> tuple[Shape, ...]:
        every = (*BY_ENGINE, *BY_GROUPS, *BY_WORDS, *BY_BYTES)
        return every if model.grouped else ()

    def suits(self, shape: Shape, sides: Sides) -> bool:
        brought = shape.beside > 0 or not sides.along_k
        return brought and shape.depth == panel(sides.dtype)

    def team(self, shape: Shape) -> int:
        return shape.down * shape.across * WARP * FOUR

    def units(self, shape: Shape) -> Units:
        return Warps(shape.across, FOUR, shape.beside)

    def refused(self, shape: Shape, model: DeviceModel) -> str | None:
        s, team = shape, self.team(shape)
        if team + s.beside > model.largest or not model.grouped:
            return "the device has no such groups"
        even = s.beside == BESIDE or (not s.beside and not _odd(s[:3]))
        if s.stages < 2 or s.itemsize not in SIZES or not even:
            return "no ring of such tiles"
        room = min((REGISTERS - FEW * s.beside) // team, MOST if s.beside else 256)
        sums = s.rows * s.columns // team * (2 if s.itemsize == 1 else 1)
        if sums + OTHERS > room:
            return "a thread would hold too much"
        return unfit(s.rows, s.columns, s.depth, team, s.across, FOUR, s.depth)

    def speed(self, shape: Shape, model: DeviceModel) -> float:
        if shape.beside:
            macs = shape.rows * shape.columns * shape.depth
            return speed_of_turns(macs, shape.each[1], model, shape.itemsize)
        return model.grouped * speed_of_groups(shape.each[1])


@dataclass(frozen=True)
class ByThreads(Multiplied):
    """Each thread adds up products of its own, in f32."""

    name: str = "tilecontract"

    @property
    def kinds(self) -> tuple[DType, ...]:
        return ()

    def flat(self, kernel: Kernel) -> Kernel:
        return flattened(kernel)

    def shapes(self, model: DeviceModel) -> tuple[Shape, ...]:
        return (*BY_MANY, *BY_THREADS) if model.matrix else BY_THREADS

    def team(self, shape: Shape) -> int:
        return shape.down * shape.across

    def units(self, shape: Shape) -> Units:
        return Threads(*shape.each)

    def refused(self, shape: Shape, model: DeviceModel) -> str | None:
        s = shape
        if self.team(shape) > model.largest:
            return "the device has no such groups"
        height, width = s.each
        if (
            s.stages < 2
            or _odd(s[:6])
            or s.beside
            or height * width not in {*SPEEDS, *MANY}
        ):
            return "no ring of such tiles"
        return None

    def speed(self, shape: Shape, model: DeviceModel) -> float:
        height, width = shape.each
        return model.product * speed_of_threads(height * width, model)


def _odd(sizes: Iterable[int]) -> bool:
    return any(n < 1 or up(n) != n for n in sizes if n not in (3, 5, 6))


BY_GROUP = ByGroups()
BY_WARP = ByWarps()
BY_THREAD = ByThreads()
MULTIPLIED: tuple[Multiplied, ...] = (BY_GROUP, BY_WARP, BY_THREAD)
