"""The tile IR: what one instance of a grid does, whole tiles at a time.

A *tile* is an array over some of the points of its grid, named by axes: values over
different axes meet by name, and broadcast along the axes that they lack.  Scalars are
expressions of the loop IR (`lower/loops.py`) in which a variable is an axis (where the
point stands) or a tile (its value there); they are in their compute type, a store
rounds.  Regions are index expressions over axes, so a gathered one is a region, too.

Statements declare their fields with a role; walkers, printer, parser, verifier,
interpreter and price read that, and know of a statement no more than they must.
`SYNTAX` is its text form: words, `{field}`, and `?` before what may be left out.

Tiles in shared space are for products.  They are made in an `Ahead` of a loop, some
turns before the one that multiplies them, and copies to them are asynchronous: what is
read must have been waited for.  One that is copied before all loops, or brought by
threads beside the team, is there for all turns.  For products, too, are tiles of two
bytes in registers: left sides that threads hold, rounded from a tile that lies alike.

A target adds what the first half says nothing of: threads of an instance (`team`), and
layouts, of a grid for all its tiles and of a tile for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from functools import cache
from typing import Any, ClassVar, Literal, NamedTuple

from ...egraph.ir.dtypes import BF16, F16, I32, DType
from ..loops import Ex, Param, Var

type Role = Literal[
    "tile",  # binds a tile, for the statements that follow
    "axes",  # binds axes, for the body
    "names",  # of axes in scope
    "changes",  # a mutable tile, by name
    "value", "index", "test",  # expressions; tests are bool
    "reads", "writes",  # a buffer, by name
    "body", "number", "word", "layout",
]  # fmt: skip
type Space = Literal["register", "shared", "held"]  # held: as a left side
type Place = Literal["register", "thread", "lane"]  # lane: within one wide access


class Axis(NamedTuple):
    """0 <= name < extent; in a loop, by steps."""

    name: str
    extent: int


class Digit(NamedTuple):
    """A part of an axis: `size` values, and where they lie."""

    axis: str
    place: Place
    size: int


type Layout = tuple[Digit, ...]  # of each axis the high digits first


@dataclass(frozen=True, slots=True)
class Tile:
    name: str
    dtype: DType  # a compute type, in shared space any; of a left side its own
    axes: tuple[str, ...]  # in shared space the last one lies side by side
    layout: Layout = ()  # empty: that of the grid; of a shared tile: who fills it
    space: Space = "register"


def _is(role: Role) -> Mapping[str, Role]:
    return {"role": role}


TILE, AXES, NAMES, CHANGES = _is("tile"), _is("axes"), _is("names"), _is("changes")
VALUE, INDEX, TEST = _is("value"), _is("index"), _is("test")
READS, WRITES, BODY = _is("reads"), _is("writes"), _is("body")
NUMBER, WORD, LAYOUT = _is("number"), _is("word"), _is("layout")


@dataclass(frozen=True, slots=True)
class Grid:
    """Independent instances, one for each point of `axes`, the last one fastest; each
    has tiles over `points`.  Grids run one after the other."""

    SYNTAX: ClassVar[str] = (
        "grid {axes} ?over {points} ?team {team} ?resident {resident} "
        "?together {together} ?laid {layout} {body}"
    )
    axes: tuple[Axis, ...] = field(metadata=AXES)
    points: tuple[Axis, ...] = field(metadata=AXES)
    body: tuple[Stmt, ...] = field(metadata=BODY)
    team: int = field(metadata=NUMBER, default=0)  # threads; 0: as the target likes
    layout: Layout = field(metadata=LAYOUT, default=())
    # So many teams, each of which takes every so many-th instance; 0: one for each.
    resident: int = field(metadata=NUMBER, default=0)
    # So many teams side by side (two, or 0) bring at once what all of them want.
    together: int = field(metadata=NUMBER, default=0)


@dataclass(frozen=True, slots=True)
class Loop:
    """In order, for 0, step, 2 * step, ... below the axis's extent.

    Each shared tile is a ring of `stages`: the turns take one after the other.  Turns
    where the test fails, which is of axes alone, are left out; of a ring that threads
    beside the team fill, nothing is copied for them."""

    SYNTAX: ClassVar[str] = (
        "loop {axes} by {step} ?stages {stages} ?where {where} {body}"
    )
    axes: tuple[Axis, ...] = field(metadata=AXES)  # one
    step: int = field(metadata=NUMBER)
    body: tuple[Stmt, ...] = field(metadata=BODY)
    stages: int = field(metadata=NUMBER, default=1)
    where: Ex | None = field(metadata=TEST, default=None)


@dataclass(frozen=True, slots=True)
class Ahead:
    """Of a loop with stages, for the turn that is `stages` - 1 later; also before the
    first turn, for those that come until then.  Its copies to shared tiles are one
    group; where it has any, there is a group also for turns that do not come.

    With so many threads `beside` the team it is theirs: they have the engine for copies
    bring the tiles as early as their places are free, also those of the team's next
    instance."""

    SYNTAX: ClassVar[str] = "ahead ?beside {beside} {body}"
    body: tuple[Stmt, ...] = field(metadata=BODY)
    beside: int = field(metadata=NUMBER, default=0)


@dataclass(frozen=True, slots=True)
class Full:
    """Until all that threads beside the team copy for this turn is there."""

    SYNTAX: ClassVar[str] = "full"


@dataclass(frozen=True, slots=True)
class Release:
    """The products of the turn so many turns `back` are done, and its places free; at
    the end of the loop, those of all turns."""

    SYNTAX: ClassVar[str] = "release {back}"
    back: int = field(metadata=NUMBER)


@dataclass(frozen=True, slots=True)
class Wait:
    """Until all groups of copies have arrived but the `pending` latest ones, and all
    products that go on by themselves are done but so many.  Threads of the instance
    meet: what they read before may be overwritten after."""

    SYNTAX: ClassVar[str] = "wait {pending} ?products {products}"
    pending: int = field(metadata=NUMBER)
    products: int = field(metadata=NUMBER, default=0)


@dataclass(frozen=True, slots=True)
class Mma:
    """A mutable tile plus the products of two shared ones, summed over an axis; the
    left one may be in registers, rounded.  An instruction of several warps goes on, to
    a `Wait`, a `Settle` or the end of the loop.

    By one warp, both may be in registers.  Such products may be summed over several
    axes, and be many at once: one for each point of axes that sides and sums have."""

    SYNTAX: ClassVar[str] = (
        "mma {name} by {left} and {right} over {over} ?warps {warps}"
    )
    name: str = field(metadata=CHANGES)
    left: Ex = field(metadata=VALUE)
    right: Ex = field(metadata=VALUE)
    over: tuple[str, ...] = field(metadata=NAMES)  # one, of shared tiles
    warps: int = field(metadata=NUMBER, default=0)  # of an instruction; 0: by threads


@dataclass(frozen=True, slots=True)
class Settle:
    """All products are done but so many: others' sums may be read, and what they
    multiplied may change."""

    SYNTAX: ClassVar[str] = "settle {left}"
    left: int = field(metadata=NUMBER)


@dataclass(frozen=True, slots=True)
class Load:
    """Elements of a buffer; 0, and no access, where the test fails.  To a shared tile
    they are copied as they are stored, asynchronously."""

    SYNTAX: ClassVar[str] = "{tile} = load {buffer} [ {index} ] ?where {where}"
    tile: Tile = field(metadata=TILE)
    buffer: str = field(metadata=READS)
    index: Ex = field(metadata=INDEX)
    where: Ex | None = field(metadata=TEST, default=None)


@dataclass(frozen=True, slots=True)
class Map:
    """A value at each point of the tile; a mutable one may be changed by `Update`."""

    SYNTAX: ClassVar[str] = "?mutable {mutable} {tile} = {value}"
    tile: Tile = field(metadata=TILE)
    value: Ex = field(metadata=VALUE)
    mutable: bool = field(metadata=WORD, default=False)


@dataclass(frozen=True, slots=True)
class Update:
    """A new value at each point where the test holds."""

    SYNTAX: ClassVar[str] = "update {name} = {value} ?where {where}"
    name: str = field(metadata=CHANGES)
    value: Ex = field(metadata=VALUE)
    where: Ex | None = field(metadata=TEST, default=None)


@dataclass(frozen=True, slots=True)
class Reduce:
    """`value` over `over`, along which the tile does not vary, by an entry of
    `MONOIDS`; only points where the test holds are taken in."""

    SYNTAX: ClassVar[str] = (
        "{tile} = reduce {monoid} {value} over {over} ?where {where}"
    )
    tile: Tile = field(metadata=TILE)
    monoid: str = field(metadata=WORD)
    value: Ex = field(metadata=VALUE)
    over: tuple[str, ...] = field(metadata=NAMES)
    where: Ex | None = field(metadata=TEST, default=None)


@dataclass(frozen=True, slots=True)
class Copy:
    """The same values in another layout or space: explicit, so that it has a price."""

    SYNTAX: ClassVar[str] = "{tile} = copy {value}"
    tile: Tile = field(metadata=TILE)
    value: Ex = field(metadata=VALUE)  # the tile as it was


@dataclass(frozen=True, slots=True)
class Store:
    """A value for each point of `over`, where the test holds.

    With pieces, `through` so many of shared memory for each warp: it rounds them there,
    and the engine for copies stores them while the team goes on."""

    SYNTAX: ClassVar[str] = (
        "store {buffer} [ {index} ] = {value} ?over {over} ?where {where} "
        "?through {through}"
    )
    buffer: str = field(metadata=WRITES)
    index: Ex = field(metadata=INDEX)
    value: Ex = field(metadata=VALUE)
    over: tuple[str, ...] = field(metadata=NAMES, default=())
    where: Ex | None = field(metadata=TEST, default=None)
    through: int = field(metadata=NUMBER, default=0)


type Stmt = (
    Grid | Loop | Ahead | Full | Release | Wait | Mma | Settle | Load | Map | Update
    | Reduce | Copy | Store
)  # fmt: skip
KINDS = (
    Grid, Loop, Ahead, Full, Release, Wait, Mma, Settle, Load, Map, Update, Reduce,
    Copy, Store,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TileProgram:
    """Grids in order; `index` is the type of axes.  `scratch` lives across grids."""

    name: str
    params: tuple[Param, ...]
    body: tuple[Grid, ...]
    scratch: tuple[Param, ...] = ()
    index: DType = I32

    @property
    def buffers(self) -> dict[str, Param]:
        return {p.name: p for p in (*self.params, *self.scratch)}


# ---- ways through programs, by role


@cache
def roles(kind: type[Any]) -> tuple[tuple[str, Role], ...]:
    """The fields of a statement and their roles, in order."""
    every: tuple[Field[Any], ...] = fields(kind)
    return tuple((f.name, f.metadata["role"]) for f in every)


@cache
def _fields(kind: type[Any], *wanted: Role) -> tuple[str, ...]:
    return tuple(name for name, r in roles(kind) if r in wanted)


def parts(s: Stmt, *wanted: Role) -> Iterator[Any]:
    """What a statement has in these roles, if anything."""
    for name in _fields(type(s), *wanted):
        value = getattr(s, name)
        if value is not None:
            yield value


def body_of(s: Stmt) -> tuple[Stmt, ...]:
    for name in _fields(type(s), "body"):
        return getattr(s, name)
    return ()


def bound(s: Stmt) -> Tile | None:
    """The tile that a statement binds."""
    for name in _fields(type(s), "tile"):
        return getattr(s, name)
    return None


def seen_after(s: Stmt) -> Iterator[Tile]:
    """The tiles that a statement binds for those that follow it."""
    if isinstance(s, Ahead):
        for inner in s.body:
            yield from seen_after(inner)
    tile = bound(s)
    if tile is not None:
        yield tile


def values(s: Stmt) -> Iterator[Ex]:
    """The expressions that a statement itself evaluates."""
    return parts(s, "value", "index", "test")


def walk(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Every statement, outer before inner."""
    for s in body:
        yield s
        inner = body_of(s)
        if inner:
            yield from walk(inner)


def rebuilt(s: Stmt, **by_role: Callable[[Any], Any]) -> Stmt:
    """A statement with what it has in each role changed."""
    new: dict[str, Any] = {}
    for name, r in roles(type(s)):
        value = getattr(s, name)
        if r in by_role and value is not None:
            new[name] = by_role[r](value)
    return replace(s, **new) if new else s


def held_left(tile: Tile) -> bool:
    """Whether it is a left side in registers, rounded."""
    rounded = tile.space == "register" and tile.dtype in (BF16, F16)
    return rounded or tile.space == "held"


def extents(*groups: tuple[Axis, ...]) -> dict[str, int]:
    return {a.name: a.extent for axes in groups for a in axes}


def var(tile: Tile) -> Var:
    return Var(tile.name, tile.dtype)
