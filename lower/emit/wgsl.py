"""WGSL: the loop IR for WebGPU.

WGSL computes in f32, i32, u32 and bool, and where the device has them in i64 and u64;
integers of under 32 bits are kept in 32.  Elements of under 32 bits are packed into
words as the host has them; a store to one changes its bits of the word by atomics, so
that threads may write neighbours.  All bindings are read-write: WebGPU forbids one
dispatch to read and write a buffer through different kinds of binding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...egraph.ir.dtypes import BOOL
from ...egraph.ir.scalars import MONOIDS
from ..device import DeviceError, Grid, KernelSource
from ..loops import (
    Array,
    Assign,
    AsyncCopy,
    Await,
    Barrier,
    Beside,
    Commit,
    Fetch,
    Fill,
    For,
    Free,
    Full,
    Function,
    Gemm,
    GroupReduce,
    If,
    Let,
    Mma,
    Pack,
    Param,
    Regroup,
    Ring,
    Send,
    Settle,
    Sort,
    Stmt,
    Store,
)
from ..walking import trips, walk
from .convert import FORMATS
from .kernels import SHARED_ALIGN
from .layout import LEGEND, bare, comment
from .stages import Stage, halving, stages
from .wgsl_values import (
    HEADER,
    ZERO,
    Place,
    Values,
    cell,
    held,
    name_of,
    one_lane,
    packed,
)

GRID_GROUP = 64  # threads that share the points of a grid
MAX_GROUPS = 65535  # in one dimension of a dispatch
UNROLL_LIMIT = 256  # statements
BARRIER = ("workgroupBarrier();", "storageBarrier();")


def source(functions: Sequence[Function]) -> KernelSource:
    printer = Printer()
    texts: list[str] = []
    launches: dict[str, tuple[Grid, ...]] = {}
    for function in functions:
        if function.name in launches:
            raise DeviceError(f"two functions are called {function.name!r}")
        texts += [comment(function), *printer.bindings(function)]
        made = [printer.kernel(function, s) for s in stages(function)]
        texts += [text for text, _ in made]
        launches[function.name] = tuple(launch for _, launch in made)
    text = "\n".join((*printer.helpers.values(), LEGEND, *texts))
    zero = f"var<private> {ZERO}: u32;\n" if ZERO in text else ""
    text = f"{HEADER}{zero}\n{text}"
    return KernelSource(text, launches)


def dispatch_size(groups: int) -> tuple[int, int]:
    """Groups in x and y; the last row may be ragged."""
    x = min(groups, MAX_GROUPS)
    return x, -(-groups // x)


@dataclass(slots=True)
class Printer(Values):
    """`stage` and `threads`: the kernel in print and its group size."""

    stage: str = ""
    threads: int = 1

    def bindings(self, function: Function) -> list[str]:
        self.places = {}
        lines: list[str] = []
        for i, p in enumerate((*function.params, *function.scratch)):
            name = f"{function.name}_{name_of(p.name)}"
            self.places[p.name] = Place(name, p.dtype, packed(p.dtype))
            atomic = packed(p.dtype) and p.writable
            bits = "atomic<u32>" if atomic else "u32"
            word = bits if packed(p.dtype) else cell(p.dtype)
            kind = f"var<storage, read_write> {name}: array<{word}>;"
            lines.append(f"@group(0) @binding({i}) {kind}")
            if packed(p.dtype):
                lines += _accessors(name, p)
        return [*lines, ""]

    def kernel(self, function: Function, stage: Stage) -> tuple[str, Grid]:
        block = stage.kind == "block"
        sizes = {"block": function.threads, "single": 1}
        self.threads = sizes.get(stage.kind, GRID_GROUP)
        self.stage = stage.name
        groups = -(-stage.points // (1 if block else self.threads))
        shared, nbytes = self.shared_arrays(stage)
        body = self.block(stage.body, 1)
        if any(ZERO in line for line in body):
            body = [f"  {ZERO} = rw_group.z;", *body]
        lines = [
            *shared,
            f"@compute @workgroup_size({self.threads})",
            f"fn {stage.name}(@builtin(workgroup_id) rw_group: vec3<u32>,",
            "    @builtin(local_invocation_index) rw_local: u32) {",
            f"  let rw_number = rw_group.y * {dispatch_size(max(groups, 1))[0]}u"
            " + rw_group.x;",
            *self.position(stage, groups),
            *body,
            "}",
            "",
        ]
        launch = Grid(stage.name, groups, self.threads, nbytes)
        return "\n".join(lines), launch

    def position(self, stage: Stage, groups: int) -> list[str]:
        if stage.kind == "block":
            lines = [
                "  let rw_thread = i32(rw_local);",
                f"  if (rw_number >= {groups}u) {{ return; }}",
                "  let rw_point = i32(rw_number);",
            ]
        else:
            lines = [
                f"  let rw_item = rw_number * {self.threads}u + rw_local;",
                f"  if (rw_item >= {stage.points}u) {{ return; }}",
                "  let rw_point = i32(rw_item);",
            ]
        for loop, text in stage.coordinates:
            lines.append(f"  let {name_of(loop.var.name)} = {text};")
        return lines

    def shared_arrays(self, stage: Stage) -> tuple[list[str], int]:
        wanted: dict[str, tuple[str, int, int]] = {}
        for stmt in walk(stage.body):
            if isinstance(stmt, Array) and stmt.space == "shared":
                name = f"{stage.name}_{name_of(stmt.name)}"
                self.places[stmt.name] = Place(name, stmt.dtype)
                entry = (cell(stmt.dtype), max(stmt.size, 1), stmt.dtype.itemsize)
            elif isinstance(stmt, GroupReduce):
                name = self.buffer(stmt)
                entry = (held(stmt.var.dtype), self.threads, stmt.var.dtype.itemsize)
            else:
                continue
            if wanted.setdefault(name, entry) != entry:
                raise DeviceError(f"{stage.name}: two shared arrays called {name!r}")
        lines = [
            f"var<workgroup> {name}: array<{t}, {n}>;"
            for name, (t, n, _) in wanted.items()
        ]
        sizes = (max(each, 4) * n for _, n, each in wanted.values())
        return lines, sum(-(-x // SHARED_ALIGN) * SHARED_ALIGN for x in sizes)

    # ---- statements

    def block(self, body: tuple[Stmt, ...], depth: int) -> list[str]:
        lines: list[str] = []
        for stmt in body:
            lines += self.statement(stmt, depth)
        return lines

    def statement(self, stmt: Stmt, depth: int) -> list[str]:
        pad = "  " * depth
        match stmt:
            case Let(var=var, value=value, mutable=mutable):
                word = "var" if mutable else "let"
                kind = held(var.dtype)
                text = bare(self.value(value))
                return [f"{pad}{word} {name_of(var.name)}: {kind} = {text};"]
            case Assign(var=var, value=value):
                return [f"{pad}{name_of(var.name)} = {bare(self.value(value))};"]
            case Array(space="shared"):
                return []  # declared above the kernel
            case Array(name=name, dtype=dtype, size=size):
                self.places[name] = Place(name_of(name), dtype)
                return [
                    f"{pad}var {name_of(name)}: array<{cell(dtype)}, {max(size, 1)}>;"
                ]
            case Store():
                return [pad + self.store(stmt)]
            case If(cond=cond, body=body):
                head = f"{pad}if ({bare(self.value(cond))}) {{"
                return [head, *self.block(body, depth + 1), pad + "}"]
            case For():
                return self.loop(stmt, depth)
            case Fetch():
                return []
            case Barrier():
                return [pad + x for x in BARRIER]
            case GroupReduce():
                return [pad + x for x in self.group_reduce(stmt)]
            case (
                AsyncCopy() | Commit() | Await() | Mma() | Regroup() | Settle() | Pack()
                | Ring() | Beside() | Fill() | Full() | Free() | Send()
            ):  # fmt: skip
                raise DeviceError(f"WGSL has no {type(stmt).__name__}")
            case Sort():
                raise DeviceError("WGSL has no library of sorts")
            case Gemm():
                raise DeviceError("WGSL has no library of products")

    def loop(self, loop: For, depth: int) -> list[str]:
        pad, name = "  " * depth, name_of(loop.var.name)
        size = sum(1 for _ in walk(loop.body)) * trips(loop)
        if loop.kind == "unroll" and size <= UNROLL_LIMIT:
            lines: list[str] = []
            for i in range(0, loop.extent, loop.step):
                lines.append(f"{pad}{{ let {name}: {loop.var.dtype} = {i};")
                lines += [*self.block(loop.body, depth + 1), pad + "}"]
            return lines
        start, step = "0", loop.step
        if loop.kind == "thread":
            start = f"rw_thread * {loop.step}" if loop.step > 1 else "rw_thread"
            step = loop.step * self.threads
        head = (
            f"for (var {name}: {loop.var.dtype} = {start}; {name} < {loop.extent}; "
            f"{name} += {step}) {{"
        )
        return [pad + head, *self.block(loop.body, depth + 1), pad + "}"]

    def store(self, stmt: Store) -> str:
        one_lane(stmt.lanes)
        place, index = self.places[stmt.array], self.value(stmt.index)
        value = self.value(stmt.value)
        if place.packed or place.dtype is BOOL or place.dtype in FORMATS:
            value = self.encoded(place.dtype, value)
        if place.packed:
            return f"{place.name}_put({index}, {value});"
        return f"{place.name}[{bare(index)}] = {bare(value)};"

    def group_reduce(self, stmt: GroupReduce) -> list[str]:
        v, buffer = name_of(stmt.var.name), self.buffer(stmt)
        first, fits, begin = halving(stmt, self.threads)
        mine, other = f"{buffer}[rw_thread]", f"{buffer}[rw_thread + rw_s]"
        dtype, op = stmt.var.dtype, MONOIDS[stmt.monoid].op
        both = self.opcode(op, (dtype, dtype), [mine, other])
        both = self.rounded(both, dtype)
        return [
            f"{mine} = {v};",
            "workgroupBarrier();",
            f"for (var rw_s = {first}; rw_s > 0; rw_s >>= 1u) {{",
            f"  if ({fits}) {{",
            f"    {mine} = {both};",
            "  }",
            "  workgroupBarrier();",
            "}",
            f"{v} = {buffer}[{begin}];",
            "workgroupBarrier();",
        ]

    def buffer(self, stmt: GroupReduce) -> str:
        return f"{self.stage}_reduce_{name_of(stmt.var.name)}"


def _accessors(name: str, p: Param) -> list[str]:
    """Functions that read and write one packed element, as the low bits of a u32."""
    bits = p.dtype.bits
    per, mask = 32 // bits, (1 << bits) - 1
    word, shift = f"u32(i) / {per}u", f"(u32(i) % {per}u) * {bits}u"
    text = f"atomicLoad(&{name}[{word}])" if p.writable else f"{name}[{word}]"
    lines = [
        f"fn {name}_get(i: i32) -> u32 {{ return ({text} >> ({shift})) & {mask}u; }}"
    ]
    if p.writable:
        lines += [
            f"fn {name}_put(i: i32, v: u32) {{",
            f"  let s = {shift};",
            f"  atomicAnd(&{name}[{word}], ~({mask}u << s));",
            f"  atomicOr(&{name}[{word}], v << s);",
            "}",
        ]
    return lines
