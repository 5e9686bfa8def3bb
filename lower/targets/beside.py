"""Grids whose rings threads beside the team fill, as loops.

The engine brings the boxes of each ring's turns, instance after instance; the team goes
through the same instances, and turns are counted on from one to the next.
"""

from __future__ import annotations

from functools import cached_property
from math import prod

from ...egraph.ir.dtypes import BOOL
from ..axes import ceil_div
from ..families.nests.values import add, divide, mul
from ..fragments import ROWS, WARP
from ..loops import (
    PANEL,
    Array,
    Assign,
    Beside,
    Ex,
    Fill,
    For,
    Free,
    If,
    Let,
    Lit,
    Op,
    Ring,
    Send,
    Stmt,
    Tensor,
    Var,
)
from ..loops import Box as Brought
from ..loops import Full as Arrived
from ..tiles import ir
from ..tiles.ir import Ahead, Full, Load, Loop, Release, Store
from ..tiles.rings import MIXED, is_beside, is_common, products_left
from .boxes import sent
from .layouts import names_in
from .multiply import Multiplying
from .quads import lying
from .windows import panels_of

BARRIER = 8  # bytes; a place of a ring has two
KEPT = 2  # places of what holds for an instance: the next one's is brought meanwhile


class Besides(Multiplying):
    """`counts`: by loop the name of its ring; `sends`: by buffer the array that
    it is sent from; `alive`: by loop the number of its turn, where some are left out;
    `before`: how many instances the team has done; `team_number`:
    which of the resident ones it is."""

    def __init__(self, grid: ir.Grid, program: ir.TileProgram) -> None:
        super().__init__(grid, program)
        self.besides = [s for s in grid.body if isinstance(s, Loop) and is_beside(s)]
        self.counts: dict[str, str] = {}
        self.sends: dict[str, str] = {}
        self.alive: dict[str, Var] = {}
        self.kept = [s for s in grid.body if isinstance(s, Load)
                     and s.tile.space == "shared"]  # fmt: skip
        self.instance = Var("", self.index)  # how many this team, or who fills, had
        self.before: Ex = self.zero
        self.team_number = self.fresh("p") if self.besides else ""
        self.kept_at: Ex | None = None  # None: who fills says where
        if self.besides and self.teams < self.instances:
            self.before = Var(self.fresh("w"), self.index)

    def team_and_beside(self) -> tuple[Stmt, ...]:
        """All that a team does, and who fills its rings."""
        head = self.inside()
        for s in self.besides:
            for t in (t for x in s.body for t in ir.seen_after(x)):
                if t.space == "shared":
                    self.declare_ring(t, s.stages)
            self.counts[s.axes[0].name] = name = self.fresh("r")
            self.emit(Ring(name, s.stages))
        for s in self.kept:
            self.declare_ring(s.tile, KEPT)
            self.counts[s.tile.name] = name = self.fresh("r")
            self.emit(Ring(name, KEPT))
        for s in self.sent:
            self.sends[s.buffer] = name = self.fresh("o")
            kind = self.buffers[s.buffer].dtype
            self.emit(Array(name, kind, self.pieces(s), "shared", self.mixed(s)))
        self.out.pop()
        parts: list[tuple[Stmt, ...]] = []
        counters: list[tuple[Stmt, ...]] = []
        for fills in (True, False):
            for s in (s for s in self.besides if s.where is not None):
                self.alive[s.axes[0].name] = Var(self.fresh("n"), self.index)
            numbers = [*self.alive.values()]
            if self.kept:
                self.instance = Var(self.fresh("n"), self.index)
                numbers.append(self.instance)
            counters.append(tuple(Let(v, self.zero, True) for v in numbers))
            inner = self.inside()
            if fills:
                for s in self.kept:
                    self.slot = self.place_kept()
                    boxes = tuple(self.boxes(s))
                    self.emit(Fill(self.counts[s.tile.name], self.instance, boxes))
                for s in self.besides:
                    self.filled(s)
            else:
                self.body(self.grid.body)
            if self.kept:
                more = Op("add", (self.instance, self.number(1)), self.index)
                self.emit(Assign(self.instance, more))
            self.out.pop()
            parts.append(tuple(inner))
        threads = next(x.beside for x in self.besides[0].body if isinstance(x, Ahead))
        if self.teams >= self.instances:
            aside, own = ((*c, *p) for c, p in zip(counters, parts, strict=True))
            fork = Beside(threads, aside, own)
            return self.instances_of((*head, fork))
        aside, own = ((*c, self.in_turns(p))
                      for c, p in zip(counters, parts, strict=True))  # fmt: skip
        group = Var(self.team_number, self.index)
        whole = (*head, Beside(threads, aside, own))
        return (For(group, self.teams, "block", whole),)

    # ---- instances

    @property
    def instances(self) -> int:
        return prod(a.extent for a in self.grid.axes)

    @property
    def teams(self) -> int:
        return min(self.grid.resident or self.instances, self.instances)

    def instances_of(self, nest: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        axes = self.grid.axes or (ir.Axis(self.team_number, 1),)
        for a in reversed(axes):
            nest = (For(Var(a.name, self.index), a.extent, "block", nest),)
        return nest

    def number_of(self, before: Ex, team: Ex) -> Ex:
        """Of a team's next instance.  Where turns are left out the last instances come
        first, which of a causal mask have the most, and teams take them to and fro:
        their shares are alike."""
        if not any(s.where is not None for s in self.besides):
            return add(mul(before, self.teams), team)
        back = Op("sub", (self.number(self.teams - 1), team), self.index)
        heat, turn = (divide(before, self.rounds, x) for x in (False, True))
        odd = Op("eq", (divide(add(heat, turn), 2, True), self.number(1)), BOOL)
        place = add(mul(turn, self.teams), Op("select", (odd, back, team), self.index))
        of = add(mul(heat, self.alike), place)
        last = Op("sub", (self.number(self.instances - 1), of), self.index)
        beyond = Op("le", (self.number(self.alike), place), BOOL)
        return Op("select", (beyond, self.number(-1), last), self.index)

    @property
    def alike(self) -> int:
        """Instances in a row of which tests know apart: those along the axes from the
        first one that a test names."""
        named = {n for s in self.besides if s.where is not None
                 for n in names_in(s.where)}  # fmt: skip
        axes = self.grid.axes
        first = next((i for i, a in enumerate(axes) if a.name in named), 0)
        return prod(a.extent for a in axes[first:])

    @property
    def rounds(self) -> int:
        """In which teams take as many; a team's shares of each are about the same."""
        return -(-self.alike // self.teams)

    def in_turns(self, body: tuple[Stmt, ...]) -> Stmt:
        """A team's instances, one after the other."""
        assert isinstance(self.before, Var)
        number = Var(self.fresh("g"), self.index)
        of = self.number_of(self.before, Var(self.team_number, self.index))
        lets: list[Stmt] = []
        left: Ex = number
        for a in reversed(self.grid.axes):
            at = divide(left, a.extent, True) if a is not self.grid.axes[0] else left
            lets.append(Let(Var(a.name, self.index), at))
            left = divide(left, a.extent, False)
        inner: tuple[Stmt, ...] = (*lets, *body)
        some = any(s.where is not None for s in self.besides)
        turns = -(-self.instances // self.teams)
        if some:
            turns = self.instances // self.alike * self.rounds
        if turns * self.teams > self.instances:
            test = Op("lt", (number, self.number(self.instances)), BOOL)
            if some:
                test = Op("le", (self.zero, number), BOOL)
            inner = (If(test, inner),)
        return For(self.before, turns, "serial", (Let(number, of), *inner))

    # ---- what holds for an instance

    def place_kept(self) -> Ex:
        return self.let(divide(self.instance, KEPT, True), "n")

    def arrived(self, s: Load) -> None:
        self.emit(Arrived(self.counts[s.tile.name], self.instance))
        self.kept_at = self.place_kept()

    def begin(self, t: ir.Tile) -> Ex:
        if t.name in {s.tile.name for s in self.kept} and self.kept_at is not None:
            return mul(self.kept_at, self.ring_size(t))
        return super().begin(t)

    # ---- turns

    def turns_of(self, s: Loop) -> int:
        return -(-s.axes[0].extent // s.step)

    def counted(self, s: Loop) -> Ex:
        """The number of a loop's turn, over all instances."""
        if s.where is not None:
            return self.alive[s.axes[0].name]
        var = Var(s.axes[0].name, self.index)
        here = divide(var, s.step, False)
        return self.let(add(mul(self.before, self.turns_of(s)), here), "n")

    def filled(self, s: Loop) -> None:
        (axis,) = s.axes
        inner = self.inside()
        turn = self.counted(s)
        self.slot = self.let(divide(turn, s.stages, True), "n")
        loads = [x for a in s.body if isinstance(a, Ahead) for x in a.body]
        boxes = [b for x in loads for b in self.boxes(x)]
        self.emit(Fill(self.counts[axis.name], turn, tuple(boxes)))
        self.out.pop()
        inner = self.where_alive(s, inner)
        var = Var(axis.name, self.index)
        self.emit(For(var, axis.extent, "serial", tuple(inner), s.step))

    def where_alive(self, s: Loop, body: list[Stmt]) -> list[Stmt]:
        """Turns that are left out are not counted."""
        if s.where is None:
            return body
        number = self.alive[s.axes[0].name]
        more = Op("add", (number, self.number(1)), self.index)
        return [If(s.where, (*body, Assign(number, more)))]

    def boxes(self, s: ir.Stmt) -> list[Brought]:
        """One for each panel of a tile."""
        assert isinstance(s, Load)
        made = panels_of(s, self.scene, self.buffers[s.buffer])
        assert not isinstance(made, str), made
        t = s.tile
        out: list[Brought] = []
        both = self.grid.together > 0 and is_common(self.grid, s)
        tensor = made.tensor if both else self.wanted(s, made.tensor)
        for p, corner in enumerate(made.corners):
            if self.is_beyond(s, tensor, corner) and not both:
                continue
            at = add(mul(self.slot, self.ring_size(t)),
                     self.number(p * self.apart(t)))  # fmt: skip
            out.append(Brought(self.rings[t.name], at, tensor, corner, both))
        return out

    def wanted(self, s: Load, tensor: Tensor) -> Tensor:
        """Without rows beyond the end."""
        if not self.makes_its_own(s, 0, tensor):
            return tensor
        rows = self.extents[s.tile.axes[0]]
        few = (
            min(n, ceil_div(there, MIXED) * MIXED) if n == rows else n
            for n, there in zip(tensor.sizes[1:], tensor.extents[1:], strict=True)
        )
        return tensor._replace(sizes=(tensor.sizes[0], *few))

    def is_beyond(self, s: Load, tensor: Tensor, corner: tuple[Ex, ...]) -> bool:
        """Whether all of a panel is, of a side that lies across."""
        first = corner[0]
        beyond = isinstance(first, Lit) and first.value >= tensor.extents[0]
        return beyond and self.makes_its_own(s, 1, tensor)

    def makes_its_own(self, s: Load, axis: int, tensor: Tensor) -> bool:
        """Whether a place along a tile's axis makes places of its own of the product:
        those of one beyond the end are stored nowhere."""
        plain = len(s.tile.axes) == 2 and not tensor.windows
        return plain and s.tile.axes[axis] not in self.summed

    @cached_property
    def summed(self) -> frozenset[str]:
        """The axes along which anything is added up, or else reduced."""
        over: set[str] = set()
        for x in ir.walk(self.grid.body):
            if isinstance(x, ir.Mma):
                over.update(x.over)
            elif isinstance(x, ir.Reduce):
                over.update(self.extents)
        return frozenset(over)

    def beside_loop(self, s: Loop) -> None:
        """The team's part: what it waits for, and what it is done with."""
        (axis,) = s.axes
        ring, turns = self.counts[axis.name], self.turns_of(s)
        (release,) = (x for x in s.body if isinstance(x, Release))
        left = products_left(s, release)
        inner = self.inside()
        var = Var(axis.name, self.index)
        turn = self.counted(s)
        self.slot = self.let(divide(turn, s.stages, True), "n")
        plain: list[ir.Stmt] = []  # statements that may be one nest
        for x in (*s.body, None):
            if x is not None and not isinstance(x, Ahead | Full | Release):
                plain.append(x)
                continue
            self.body(tuple(plain))
            plain.clear()
            match x:
                case Full():
                    self.emit(Arrived(ring, turn))
                case Release(0):
                    self.emit(Free(ring, turn, left))
                case Release(back):
                    then = Op("sub", (turn, self.number(back)), self.index)
                    test = Op("le", (self.number(back * s.step), var), BOOL)
                    self.emit(If(test, (Free(ring, then, left),)))
                case _:
                    pass
        self.out.pop()
        inner = self.where_alive(s, inner)
        self.emit(For(var, axis.extent, "serial", tuple(inner), s.step))
        end = mul(self.before, turns)
        for k in range(max(turns - release.back, 0), turns):
            self.emit(Free(ring, add(end, self.number(k)), 0))
        if s is self.besides[-1]:
            for x in self.kept:
                self.emit(Free(self.counts[x.tile.name], self.instance, 0))

    def send(self, s: Store) -> None:
        """By each warp its rows, piece by piece."""
        assert isinstance(s.value, Var)
        buffer = self.buffers[s.buffer]
        made = sent(s, self.scene, buffer)
        assert not isinstance(made, str), made
        tensor, corner = made
        found = lying(self.grid, s.over, self.layout_of(s))
        held = self.held[s.value.name]
        assert isinstance(held, str) and found is not None
        across, turned = found
        wide, rows = (ROWS, PANEL) if turned else (PANEL, ROWS)
        sizes = tuple(rows if n > 1 else 1 for n in tensor.sizes[1:])
        tensor = tensor._replace(sizes=(wide, *sizes))
        m, n = (self.extents[a] for a in (s.over[::-1] if turned else s.over))
        box = Brought(self.sends[s.buffer], self.zero, tensor, corner)
        self.emit(Send(m, n, across, held, box, turned))

    def mixed(self, s: Store) -> int:
        """Elements of a row of its pieces."""
        found = lying(self.grid, s.over, self.layout_of(s))
        return ROWS if found and found[1] else PANEL

    @property
    def sent(self) -> list[Store]:
        return [s for s in self.grid.body if isinstance(s, Store) and s.through]

    def pieces(self, s: Store) -> int:
        """Elements of shared memory that a store goes through."""
        return self.grid.team // WARP * s.through * ROWS * PANEL

    def more_bytes(self) -> int:
        """Of barriers, and of what is sent."""
        sizes = [self.pieces(s) * self.buffers[s.buffer].dtype.itemsize
                 for s in self.sent]  # fmt: skip
        kept = sum(KEPT * (self.ring_size(s.tile) * s.tile.dtype.itemsize + 2 * BARRIER)
                   for s in self.kept)  # fmt: skip
        rings = sum(2 * s.stages * BARRIER for s in self.besides)
        return sum(sizes) + rings + kept
