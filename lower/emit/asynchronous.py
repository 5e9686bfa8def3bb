"""What goes on while threads do something else, in CUDA C++: asynchronous copies,
products of warps, and rings that a thread beside the group fills."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..fragments import FOUR, HIGH, WARP
from ..loops import (
    Array,
    AsyncCopy,
    Await,
    Beside,
    Commit,
    Fill,
    For,
    Free,
    Full,
    Mma,
    Pack,
    Regroup,
    Ring,
    Send,
    Settle,
    Stmt,
    paired,
)
from ..walking import bodies
from . import mma, rings, wgmma
from .cfamily import Asynchronous, Printer
from .expressions import Scope, name_of
from .layout import bare

FEW = 4  # values of a thread that a row has


@dataclass(slots=True)
class AsynchronousPrinter(Printer):
    """`threads`: the group size of the kernel in print; `groups`: whether it has
    products of groups of warps."""

    threads: int = 1
    groups: bool = False
    own: tuple[Stmt, ...] = ()  # its statements, outer before inner
    meeting: str = ""  # where its group meets
    places: dict[str, int] = field(default_factory=dict[str, int])  # of its rings
    turns: dict[int, bool] = field(default_factory=dict[int, bool])
    sizes: dict[str, int] = field(default_factory=dict[str, int])  # of its arrays

    def taken(self, body: Sequence[Stmt]) -> dict[int, bool]:
        """By identity products with which a group's turn begins or ends."""
        every = [tuple(body)]
        every += [inner for s in self.own for inner in bodies(s)]
        groups = self.threads // (FOUR * WARP)
        pairs = [p for b in every if (p := wgmma.in_turns(b, groups)) is not None]
        return {id(s): first for p in pairs
                for s, first in zip(p, (True, False), strict=True)}  # fmt: skip

    def rarely(self, body: Sequence[Stmt]) -> Sequence[str]:
        much = any(isinstance(s, For) and s.kind == "unroll" for s in body)
        return ('asm volatile("");',) if self.groups and much else ()

    def asynchronous(self, stmt: Asynchronous, scope: Scope) -> list[str]:
        if not self.dialect.asynchronous:
            return Printer.asynchronous(self, stmt, scope)
        self.helpers.setdefault("mma", mma.HELPERS)
        match stmt:
            case AsyncCopy():
                return [self.copied(stmt, scope)]
            case Regroup(to, source, mid, last):
                name = "rw_regroup"
                self.helpers.setdefault(name, mma.REGROUP)
                many = next(
                    a.size for a in self.own if isinstance(a, Array) and a.name == to
                )
                args = f"{name_of(to)}, {name_of(source)}"
                return [f"{name}<{many}, {mid}, {last}>({args});"]
            case Commit():
                return ["rw_commit();"]
            case Await(pending, left):
                barrier = self.meeting
                met = wgmma.meets(barrier, left) if self.groups else [barrier]
                return [f"rw_await<{pending}>();", *met]
            case Settle(left, sums, made):
                self.helpers.setdefault("wgmma", wgmma.HELPERS)
                lines = [f"rw_group_wait<{left}>();"]
                for i, s in enumerate((*made, *sums)):
                    name, text = wgmma.settled(self.sizes[s])
                    self.helpers.setdefault(name, text)
                    at = i if i < len(made) else len(lines)
                    lines.insert(at, f"{name}({name_of(s)});")
                few = [s for s in made if self.sizes[s] <= FEW]
                told = [f"{name_of(s)}[{i}]" for s in few for i in range(self.sizes[s])]
                if told:
                    self.helpers.setdefault("beside", wgmma.BESIDE)
                    lines.insert(len(made), f"rw_beside({' + '.join(told)});")
                return lines
            case Pack(to, source, bits) if bits:
                self.helpers.setdefault("bits", wgmma.BITS)
                name, text = wgmma.unpacked(scope.arrays[to], stmt)
                self.helpers.setdefault(name, text)
                words, view = self.sizes[source] // 4, f"(const u32 *){name_of(source)}"
                return [f"{name}<{words}>({name_of(to)}, {view});"]
            case Pack(to, source):
                name, text = wgmma.packed(scope.arrays[to])
                self.helpers.setdefault(name, text)
                count = self.sizes[source] // 2
                return [f"{name}<{count}>({name_of(to)}, {name_of(source)});"]
            case Mma(own=True, warps=1):
                return mma.by_quads(stmt, scope)
            case Mma():
                at = tuple(bare(self.index(x.at, scope)) for x in (stmt.a, stmt.b))
                if stmt.warps == 1:
                    return mma.product(stmt, self.threads, at, scope)
                return self.by_groups(stmt, at, scope)

    def by_groups(self, stmt: Mma, at: tuple[str, ...], scope: Scope) -> list[str]:
        left = None if stmt.own else stmt.a.down == 1
        of = scope.arrays[stmt.a.array]
        right = stmt.b.down != 1
        name, text = wgmma.instruction(stmt.n // stmt.across, of, left, right)
        self.helpers.setdefault("wgmma", wgmma.HELPERS)
        self.helpers.setdefault(name, text)
        if stmt.own:
            high = stmt.m // (self.threads // WARP // FOUR // stmt.across) // HIGH
            words = high * stmt.k * of.itemsize // 8
            self.helpers.setdefault(*wgmma.kept(words, of))
            if not stmt.fresh:
                self.helpers.setdefault(*wgmma.settled(high * stmt.n // 2))
        if stmt.fresh:
            many = stmt.n // stmt.across
            self.helpers.setdefault(*wgmma.instruction(many, of, left, right, True))
        lines = wgmma.product(stmt, self.threads, at, scope, name)
        if id(stmt) in self.turns:
            self.helpers.setdefault("turns", wgmma.TURNS)
            groups = self.threads // (FOUR * WARP)
            first, call = self.turns[id(stmt)], f"<{groups}>(rw_thread / 128);"
            lines.insert(
                0 if first else len(lines), f"rw_{'take' if first else 'next'}{call}"
            )
        return lines

    def of_rings(
        self, stmt: Ring | Beside | Fill | Full | Free | Send, scope: Scope, depth: int
    ) -> list[str]:
        if not self.dialect.asynchronous:
            return Printer.of_rings(self, stmt, scope, depth)
        self.helpers.setdefault("mma", mma.HELPERS)
        self.helpers.setdefault("rings", rings.HELPERS)
        pad = "  " * depth
        match stmt:
            case Ring(name, places):
                readers = self.threads // WARP
                if name in paired(self.own):
                    self.helpers.setdefault("pairs", rings.PAIRS)
                    readers *= 2
                call = f"rw_ring({name_of(name)}, {places}, {readers});"
                return [f"{pad}if (rw_thread == 0) {call}"]
            case Beside():
                return self.beside(stmt, scope, depth)
            case Fill():
                return [pad + x for x in self.fill(stmt, scope)]
            case Send():
                self.helpers.setdefault("wgmma", wgmma.HELPERS)
                self.helpers.setdefault("sends", rings.SENDS)
                name, text = rings.send_helper(len(stmt.box.corner))
                self.helpers.setdefault(name, text)
                at = bare(self.index(stmt.box.at, scope))
                corner = [bare(self.index(x, scope)) for x in stmt.box.corner]
                number = rings.tensors(self.own).index(rings.told(stmt.box))
                of = scope.arrays[stmt.box.array]
                each = self.threads // WARP * stmt.box.size
                held = self.sizes[stmt.box.array] // each
                lines = rings.sent(stmt, self.threads, at, corner, number, of, held)
                return [pad + x for x in lines]
            case Full(ring, turn) | Free(ring, turn):
                word = "full" if isinstance(stmt, Full) else "free"
                if word == "free" and ring in paired(self.own):
                    word = "free_both"
                call = f"rw_{word}<{self.places[ring]}>({name_of(ring)}, "
                lines = [f"{pad}{call}{bare(self.index(turn, scope))});"]
                if isinstance(stmt, Free) and self.groups:
                    lines.insert(0, f"{pad}rw_group_wait<{stmt.products}>();")
                return lines

    def beside(self, s: Beside, scope: Scope, depth: int) -> list[str]:
        pad = "  " * depth
        sends = any(isinstance(x, Send) for x in self.own)
        few, more = rings.shares(self.threads, s)
        groups = self.threads // (FOUR * WARP)
        begin = f"if (rw_thread / 128 == {groups - 1}) rw_next<{groups}>({groups - 1});"
        one = f"if (rw_thread == {self.threads}) {{"
        pairs = bool(paired(self.own))
        return [
            pad + ("rw_meet_both();" if pairs else self.dialect.barrier),
            f"{pad}if (rw_thread >= {self.threads}) {{",
            f"{pad}  {few}",
            f"{pad}  {one}",
            *self.block(s.aside, scope, depth + 2),
            f"{pad}  }}",
            f"{pad}}} else {{",
            f"{pad}  {more}",
            *([f"{pad}  {begin}"] if self.turns else []),
            *self.block(s.body, scope, depth + 1),
            *([f"{pad}  rw_sent<0>();"] if sends else []),
            pad + "}",
            *([pad + "rw_meet_both();"] if pairs else []),  # none ends before the other
        ]

    def fill(self, s: Fill, scope: Scope) -> list[str]:
        ring, places = name_of(s.ring), self.places[s.ring]
        turn = bare(self.index(s.turn, scope))
        every = rings.tensors(self.own)
        told = rings.nbytes(s.boxes, scope.arrays)
        lines = [f"{{ const u32 rw_turn = {turn};"]
        lines.append(f"  rw_fill<{places}>({ring}, rw_turn, {told});")
        for b in s.boxes:
            rank = len(b.tensor.sizes)
            name, text = rings.box_helper(rank)
            if b.tensor.windows is not None:
                name, text = rings.windows_helper(rank)
            if b.both:
                name, text = rings.half_helper(rank, *rings.half(b))
            self.helpers.setdefault(name, text)
            to = f"&{name_of(b.array)}[{bare(self.index(b.at, scope))}]"
            corner = ", ".join(bare(self.index(x, scope)) for x in b.corner)
            map_ = f"&rw_tensor{every.index(rings.told(b))}"
            full = f"{ring} + rw_turn % {places}"
            lines.append(f"  {name}({to}, {map_}, {full}, {corner});")
        return [*lines, "}"]

    def barrier(self) -> list[str]:
        return wgmma.meets(self.meeting) if self.groups else [self.meeting]

    def loop(self, loop: For, scope: Scope, depth: int) -> list[str]:
        lines = Printer.loop(self, loop, scope, depth)
        if self.groups and wgmma.goes_on(loop.body):
            lines.append("  " * depth + "rw_group_wait<0>();")
        return lines

    def copied(self, stmt: AsyncCopy, scope: Scope) -> str:
        index = bare(self.swizzled(stmt.array, self.index(stmt.index, scope), scope))
        to, source = name_of(stmt.array), name_of(stmt.source)
        at = bare(self.index(stmt.at, scope))
        nbytes = stmt.lanes * scope.arrays[stmt.source].itemsize
        test = "1" if stmt.where is None else bare(self.value(stmt.where, scope))
        return f"rw_copy<{nbytes}>(&{to}[{index}], {source}, {at}, {test});"
