"""OpenCL C and CUDA C++: one kernel for each stage of a function.

The points of a grid are dealt to threads, those of a block nest to groups of threads,
in one dimension.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...egraph.ir.dtypes import U32, DType
from ...egraph.ir.scalars import MONOIDS
from ..device import DeviceError, Grid, KernelSource, Start
from ..fragments import FOUR, WARP
from ..loops import (
    Array,
    Beside,
    Fill,
    For,
    Function,
    GroupReduce,
    Let,
    Load,
    Mma,
    Pack,
    Param,
    Ring,
    Stmt,
    Store,
    paired,
)
from ..walking import walk
from . import rings, wgmma
from .asynchronous import AsynchronousPrinter
from .cfamily import Printer
from .dialects import Dialect
from .expressions import Scope, name_of
from .lanes import held, stored
from .layout import LEGEND, comment, headed
from .products import described, products
from .stages import Stage, halving, index_lets, stages

SHARED_ALIGN = 16  # bytes
AHEAD = 128  # statements of a thread's loop, written out
TURNS, MUCH = 32, 64  # of a loop of products, and statements of one

type GroupSize = Callable[[Stage], int]


def source(
    functions: Sequence[Function], dialect: Dialect, group_size: GroupSize
) -> KernelSource:
    """`group_size` says how many threads share the points of a grid."""
    printer = KernelPrinter(dialect)
    texts: list[str] = []
    launches: dict[str, tuple[Start, ...]] = {}
    for function in functions:
        if function.name in launches:
            raise DeviceError(f"two functions are called {function.name!r}")
        texts.append(comment(function))
        starts: list[Start] = []
        for stage in stages(function):
            if stage.kind == "library" and dialect.library:
                calls = products(function, stage)
                texts += [f"// {dialect.library}: {described(function, calls)}\n"]
                starts += calls
            else:
                text, launch = printer.kernel(function, stage, group_size)
                texts.append(text)
                starts.append(launch)
        launches[function.name] = tuple(starts)
    head = (dialect.header, *printer.helpers.values(), LEGEND)
    return KernelSource("\n".join((*head, *texts)), launches)


@dataclass(slots=True)
class KernelPrinter(AsynchronousPrinter):
    bytes: frozenset[str] = frozenset()  # its arrays that are unpacked
    once: frozenset[str] = frozenset()  # buffers of reductions that are filled once

    def kernel(
        self, function: Function, stage: Stage, group_size: GroupSize
    ) -> tuple[str, Grid]:
        params = (*function.params, *function.scratch)
        sizes = {"block": function.threads, "single": 1}
        self.threads = sizes.get(stage.kind) or group_size(stage)
        self.own = tuple(walk(stage.body))
        self.groups = any(isinstance(s, Mma) and s.warps == FOUR for s in self.own)
        self.once = _filled_once(stage.body)
        self.sizes = {s.name: s.size for s in self.own if isinstance(s, Array)}
        self.bytes = frozenset(
            s.source for s in self.own if isinstance(s, Pack) and s.bits
        )
        self.places = {s.name: s.places for s in self.own if isinstance(s, Ring)}
        beside = sum(s.threads for s in self.own if isinstance(s, Beside))
        self.meeting = self.dialect.barrier
        self.turns = self.taken(stage.body) if beside else {}
        if beside:
            self.meeting = f"rw_meet<{self.threads}>();"
        share = 1 if stage.kind == "block" else self.threads
        count = -(-stage.points // share)
        shared, nbytes = self.shared_arrays(stage)
        maps = rings.maps(self.own, params)
        launch = Grid(stage.name, count, self.threads + beside, nbytes, maps)
        self.index_only = index_lets(stage.body)
        scope = Scope({p.name: p.dtype for p in params})
        wide = self.dialect.index is not None
        for loop in stage.loops:
            scope = scope.with_index(loop.var.name, loop.step, wide)
        streams = any(isinstance(s, Mma) and s.own and s.warps == 1 for s in self.own)
        bound = str(launch.threads)
        if beside or streams:  # one group works while another one waits for memory
            bound += ", 1" if beside else ", 2"
        qualifiers = self.dialect.kernel.format(n=bound)
        if paired(self.own):
            qualifiers = qualifiers.replace("void ", "void __cluster_dims__(2, 1, 1) ")
        pointers = [self.pointer(p) for p in params]
        pointers += [f"const __grid_constant__ rw_tensor rw_tensor{i}"
                     for i in range(len(maps))]  # fmt: skip
        lines = [headed(f"{qualifiers} {stage.name}", pointers, " {")]
        lines += [f"  {self.dialect.begin}"] * bool(self.dialect.begin)
        lines += [*self.promises(params, stage), *shared]
        lines += self.position(stage, count)
        lines += self.block(stage.body, scope, 1)
        return "\n".join((*lines, "}", "")), launch

    def pointer(self, p: Param) -> str:
        const = "" if p.writable else "const "
        name = name_of(p.name)
        space = self.dialect.pointer
        restrict = "" if p.shared else f"{self.dialect.restrict} "
        return f"{space}{const}{stored(p.dtype)} *{restrict}{name}"

    def array(self, stmt: Array) -> list[str]:
        if stmt.space == "local" and stmt.dtype.itemsize == 2:
            return [f"u32 {name_of(stmt.name)}[{stmt.size // 2}];"]
        return Printer.array(self, stmt)

    def store(self, stmt: Store, scope: Scope) -> str:
        """Bytes that are unpacked two at a time are copied as words."""
        value, words = stmt.value, stmt.lanes // 4
        if stmt.array not in self.bytes or not isinstance(value, Load) or not words:
            return Printer.store(self, stmt, scope)
        if not self.fits(value, scope):
            return Printer.store(self, stmt, scope)
        v = self.type(U32, words)
        to, source = (
            f"({name_of(x.array)} + {self.index(x.index, scope)})"
            for x in (stmt, value)
        )
        return f"*({v} *){to} = *(const {v} *){source};"

    def promises(self, params: Sequence[Param], stage: Stage) -> list[str]:
        """Threads of a group may store several elements at once, if the compiler knows
        that they begin at multiples of 16 bytes, as buffers do (`Device.view`).  Not of
        what is read: rows that are read so wide spill registers."""
        if stage.kind != "block" or not self.dialect.promise:
            return []
        told: list[str] = []
        for p in (p for p in params if p.writable):
            t = f"{stored(p.dtype)} *"
            told.append(self.dialect.promise.format(name=name_of(p.name), t=t))
        return [f"  {line}" for line in told]

    def pragma(self, loop: For, count: int) -> str:
        """A thread asks for all that a short loop reads before it waits for any."""
        straight = all(isinstance(s, Let | Store) for s in loop.body)
        if loop.kind == "serial" and self.dialect.asynchronous and straight:
            # Operands of the next turns are on their way while this one multiplies.
            much = count <= TURNS and len(loop.body) >= MUCH
            return self.dialect.unroll.format(n=count) if much else ""
        if loop.kind != "thread":
            return Printer.pragma(self, loop, count)
        turns = count // self.threads
        short = turns > 1 and turns * sum(1 for _ in walk(loop.body)) <= AHEAD
        return self.dialect.unroll.format(n=turns) if short else ""

    def loop_head(self, loop: For, kind: DType, name: str) -> str:
        if loop.kind == "thread" and loop.extent == self.threads * loop.step:
            first = f"rw_thread * {loop.step}" if loop.step > 1 else "rw_thread"
            return f"{{ const {kind} {name} = {first};"
        return Printer.loop_head(self, loop, kind, name)

    def position(self, stage: Stage, count: int) -> list[str]:
        """The loop variables of this thread or group."""
        lines: list[str] = []
        if stage.kind == "block":
            lines += [f"  const i32 rw_thread = {self.dialect.thread};"]
            lines += [f"  const i32 rw_threads = {self.threads};"]
        if not stage.loops:
            return lines
        total = count if stage.kind == "block" else count * self.threads
        wide = "u64" if total > 1 << 31 else "u32"
        number = self.dialect.group if stage.kind == "block" else self.dialect.item
        if self.dialect.index:
            wide = str(self.dialect.index)
        lines.append(f"  const {wide} rw_point = ({wide}){number};")
        if stage.kind == "grid" and total > stage.points:
            lines.append(f"  if (rw_point >= {stage.points}) return;")
        for loop, text in stage.coordinates:
            kind = self.dialect.index or loop.var.dtype
            lines.append(f"  const {kind} {name_of(loop.var.name)} = {text};")
        return lines

    def shared_arrays(self, stage: Stage) -> tuple[list[str], int]:
        """Declarations of what the group shares, and its bytes; arrays of panels come
        first, at multiples of what is mixed, then others that boxes go to."""
        wanted: dict[str, tuple[str, int, int]] = {}
        mixed: set[str] = set()
        brought = {name_of(b.array) for s in walk(stage.body) if isinstance(s, Fill)
                   for b in s.boxes}  # fmt: skip
        for stmt in walk(stage.body):
            if isinstance(stmt, Array) and stmt.space == "shared":
                entry = (stored(stmt.dtype), stmt.dtype.itemsize, max(stmt.size, 1))
                name = name_of(stmt.name)
                mixed |= {name} if stmt.swizzle and self.groups else set()
            elif isinstance(stmt, GroupReduce):
                dtype = stmt.var.dtype
                entry = (_cell(dtype), max(dtype.itemsize, 4), self.cells(stmt))
                name = _buffer(stmt)
                if not entry[2]:
                    continue
            elif isinstance(stmt, Ring):
                name, entry = name_of(stmt.name), ("u64", 8, 2 * stmt.places)
            else:
                continue
            if wanted.setdefault(name, entry) != entry:
                raise DeviceError(f"{stage.name}: two shared arrays called {name!r}")
        block = self.dialect.shared_block
        if self.groups:  # a block of another name: all of one name are aligned alike
            block = block.replace("16", str(wgmma.ALIGN))
            block = block.replace("rw_shared", "rw_panels")
        lines = [f"  {block}"] if block and wanted else []
        offset = 0
        order = sorted(
            wanted.items(), key=lambda x: (x[0] not in mixed, x[0] not in brought)
        )
        for name, (t, itemsize, n) in order:
            align = rings.BOX if name in brought else SHARED_ALIGN
            align = wgmma.ALIGN if name in mixed else align
            form = self.dialect.shared
            form = form.replace("rw_shared", "rw_panels") if self.groups else form
            lines.append("  " + form.format(t=t, name=name, n=n, i=offset))
            offset += -(-n * itemsize // align) * align
        return lines, offset

    @property
    def by_warps(self) -> bool:
        return bool(self.dialect.shuffle) and self.threads % WARP == 0

    def cells(self, stmt: GroupReduce) -> int:
        """Values that a group's reduction keeps in shared memory."""
        if not self.by_warps:
            return self.threads
        return 0 if 0 < stmt.width <= WARP else self.threads // WARP

    def group_reduce(self, stmt: GroupReduce) -> list[str]:
        v, buffer = name_of(stmt.var.name), _buffer(stmt)
        if self.by_warps:
            return self.warp_reduce(stmt, v, buffer)
        first, fits, begin = halving(stmt, self.threads)
        pair = (f"{buffer}[rw_thread]", f"{buffer}[rw_thread + rw_s]")
        return [
            f"{buffer}[rw_thread] = {v};",
            self.meeting,
            f"for (i32 rw_s = {first}; rw_s > 0; rw_s >>= 1) {{",
            f"  if ({fits}) {buffer}[rw_thread] = {self.combine(stmt, *pair)};",
            f"  {self.meeting}",
            "}",
            f"{v} = {buffer}[{begin}];",
            *self.before_again(buffer),
        ]

    def before_again(self, buffer: str) -> list[str]:
        """What has to be read before others store the next there."""
        return [] if buffer in self.once else [self.meeting]

    def warp_reduce(self, stmt: GroupReduce, v: str, buffer: str) -> list[str]:
        t, cell = held(stmt.var.dtype), _cell(stmt.var.dtype)
        other = self.dialect.shuffle.format(a=f"({cell}){v}", n="rw_s")
        width = stmt.width or self.threads
        lines = [
            f"for (i32 rw_s = {min(width, WARP) // 2}; rw_s > 0; rw_s >>= 1)",
            f"  {v} = {self.combine(stmt, v, f'({t}){other}')};",
        ]
        if width <= WARP:
            return lines
        warps = width // WARP
        first, second, end = "0", "1", str(warps)
        if width < self.threads:
            first = f"rw_thread / {width} * {warps}"
            second, end = f"{first} + 1", f"{first} + {warps}"
        each = self.combine(stmt, v, f"({t}){buffer}[rw_w]")
        return [
            *lines,
            f"if (rw_thread % {WARP} == 0) {buffer}[rw_thread / {WARP}] = {v};",
            self.meeting,
            f"{v} = {buffer}[{first}];",
            f"for (i32 rw_w = {second}; rw_w < {end}; rw_w++) {v} = {each};",
            *self.before_again(buffer),
        ]

    def combine(self, stmt: GroupReduce, a: str, b: str) -> str:
        dtype = stmt.var.dtype
        op = MONOIDS[stmt.monoid].op
        return self.rounded(self.opcode(op, (dtype, dtype), dtype, [a, b], 1), dtype)


def _buffer(stmt: GroupReduce) -> str:
    return f"rw_reduce_{stmt.var.name}"


def _filled_once(body: tuple[Stmt, ...]) -> frozenset[str]:
    """Buffers of the reductions that stand outside of loops, each of its own name."""
    loops = (s for s in walk(body) if isinstance(s, For))
    looped = (s for x in loops for s in walk(x.body))
    again = [_buffer(s) for s in looped if isinstance(s, GroupReduce)]
    every = Counter(_buffer(s) for s in walk(body) if isinstance(s, GroupReduce))
    return frozenset(b for b, n in every.items() if n == 1 and b not in again)


def _cell(dtype: DType) -> str:
    """The type that crosses threads: shuffles want 32 bits or more."""
    return held(dtype) if dtype.is_float or dtype.bits >= 32 else "i32"
