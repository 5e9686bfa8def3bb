"""Statements of the loop IR as C, OpenCL C or CUDA C++ text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...egraph.ir.dtypes import F32, F64, I64, U32, DType
from ..device import DeviceError
from ..loops import (
    Array,
    Assign,
    AsyncCopy,
    Await,
    Barrier,
    Beside,
    Commit,
    Ex,
    Fetch,
    Fill,
    For,
    Free,
    Full,
    Gemm,
    GroupReduce,
    If,
    Let,
    Mma,
    Pack,
    Regroup,
    Ring,
    Send,
    Settle,
    Sort,
    Stmt,
    Store,
    Var,
)  # fmt: skip
from ..orders import kind_of
from ..walking import trips, walk
from .convert import FORMATS
from .expressions import Expressions, Scope, name_of
from .lanes import stored
from .layout import bare
from .stages import carries
from .streams import STREAMED, streaming

UNROLL_LIMIT = 1024  # statements; more is left to the compiler
type Asynchronous = (
    AsyncCopy | Commit | Await | Mma | Regroup | Settle | Pack
)  # fmt: skip

TLS_BYTES = 16384  # a larger local array leaves the stack


@dataclass(slots=True)
class Printer(Expressions):
    """Prints for one dialect; kernels for devices with groups extend it."""

    def block(self, body: tuple[Stmt, ...], scope: Scope, depth: int) -> list[str]:
        lines: list[str] = []
        pad = "  " * depth
        for stmt in body:
            match stmt:
                case Let(var=var, value=value):
                    lines.append(pad + self.let(stmt, scope))
                    if var.name in self.index_only:
                        wide = self.dialect.index is not None
                        scope = scope.with_index(var.name, scope.divisor(value), wide)
                case Array():
                    lines += [pad + x for x in self.array(stmt)]
                    scope = scope.with_array(stmt.name, stmt.dtype, stmt.swizzle)
                case For():
                    lines += self.loop(stmt, scope, depth)
                case If(cond=cond, body=inner):
                    lines.append(f"{pad}if ({bare(self.value(cond, scope))}) {{")
                    lines += [f"{pad}  {x}" for x in self.rarely(inner)]
                    lines += [*self.block(inner, scope, depth + 1), pad + "}"]
                case Assign(var=var, value=value):
                    text = bare(self.value(value, scope))
                    lines.append(f"{pad}{name_of(var.name)} = {text};")
                case Store():
                    lines.append(pad + self.store(stmt, scope))
                case Fetch():
                    lines += [pad + x for x in self.fetch(stmt, scope)]
                case Barrier():
                    lines += [pad + x for x in self.barrier()]
                case GroupReduce():
                    lines += [pad + x for x in self.group_reduce(stmt)]
                case (
                    AsyncCopy() | Commit() | Await() | Mma() | Regroup() | Settle()
                    | Pack()
                ):  # fmt: skip
                    lines += [pad + x for x in self.asynchronous(stmt, scope)]
                case Ring() | Beside() | Fill() | Full() | Free() | Send():
                    lines += self.of_rings(stmt, scope, depth)
                case Sort():
                    lines.append(pad + self.sort(stmt, scope))
                case Gemm():
                    lines.append(pad + self.gemm(stmt, scope))
        return lines

    def let(self, stmt: Let, scope: Scope) -> str:
        var, name = stmt.var, name_of(stmt.var.name)
        held = stmt.held and self.dialect.hold
        const = "" if stmt.mutable or held else "const "
        if var.name in self.index_only:
            kind = self.dialect.index or var.dtype
            return f"const {kind} {name} = {bare(self.index(stmt.value, scope))};"
        kind = self.type(var.dtype, var.lanes)
        kept = " " + self.dialect.hold.format(a=name) if held else ""
        return f"{const}{kind} {name} = {bare(self.value(stmt.value, scope))};{kept}"

    def array(self, stmt: Array) -> list[str]:
        t, name, size = stored(stmt.dtype), name_of(stmt.name), max(stmt.size, 1)
        if stmt.space == "shared" and self.dialect.shared:
            return []  # declared at the top of the kernel
        if self.dialect.name != "C":
            return [f"{self.dialect.local}{t} {name}[{size}];"]
        big = stmt.size * stmt.dtype.itemsize > TLS_BYTES
        place = "static _Thread_local " if big else ""
        return [f"{place}{t} {name}[{size}] __attribute__((aligned(64)));"]

    def loop(self, loop: For, scope: Scope, depth: int) -> list[str]:
        pad, name = "  " * depth, name_of(loop.var.name)
        kind = self.dialect.index or loop.var.dtype
        wide = self.dialect.index is not None
        inner = scope.with_index(loop.var.name, loop.step, wide)
        count = trips(loop)
        if loop.kind == "unroll":
            statements = sum(1 for _ in walk(loop.body))
            most = UNROLL_LIMIT if self.dialect.expands else statements
            if count * statements <= most:
                lines: list[str] = []
                for i in range(0, loop.extent, loop.step):
                    lines.append(f"{pad}{{ const {kind} {name} = {i};")
                    lines += [*self.block(loop.body, inner, depth + 1), pad + "}"]
                return lines
        past = streaming(loop, scope.arrays) if self.dialect.stream else None
        if past is not None:
            return [pad + x for x in self.past_caches(loop, *past, scope)]
        head = self.loop_head(loop, kind, name)
        body = self.block(loop.body, inner, depth + 1)
        pragma = self.pragma(loop, count)
        return [*([pad + pragma] if pragma else []), pad + head, *body, pad + "}"]

    def past_caches(
        self, loop: For, store: Store, first: Ex, scope: Scope
    ) -> list[str]:
        """Parts that begin with a line of memory are made on chip and stored past the
        caches; what lies before the first and after the last, as always."""
        self.helpers.setdefault("rw_past", self.dialect.stream)
        name, n = name_of(loop.var.name), loop.extent
        line, turn = name_of("rw_line"), name_of("rw_turn")
        t = stored(scope.arrays[store.array])
        part = STREAMED // scope.arrays[store.array].itemsize
        to = f"{name_of(store.array)} + {self.index(first, scope)}"
        made = tuple(
            replace(s, array="rw_line", index=Var("rw_turn", I64)) if s is store else s
            for s in loop.body
        )
        inner = scope.with_index(loop.var.name, loop.step, wide=True)
        own = inner.with_index("rw_turn", 1, wide=True)
        own = own.with_array("rw_line", scope.arrays[store.array])
        return [
            "{",
            f"  const i64 rw_first = rw_edge({to}, sizeof({t}), {n});",
            f"  const i64 rw_last = {n} - ({n} - rw_first) % {part};",
            f"  for (i64 rw_p = rw_first; rw_p < rw_last; rw_p += {part}) {{",
            f"    {t} {line}[{part}] __attribute__((aligned(64)));",
            f"    {self.dialect.simd}",
            f"    for (i64 {turn} = 0; {turn} < {part}; {turn}++) {{",
            f"      const i64 {name} = rw_p + {turn};",
            *self.block(made, own, 3),
            "    }",
            f"    rw_past({to} + rw_p, {line});",
            "  }",
            "  for (i64 rw_p = 0; rw_p < 2; rw_p++) {",
            f"    const i64 rw_n = rw_p ? {n} : rw_first;",
            f"    {self.dialect.simd}",
            f"    for (i64 {name} = rw_p ? rw_last : 0; {name} < rw_n; {name}++) {{",
            *self.block(loop.body, inner, 3),
            "    }",
            "  }",
            "}",
        ]

    def loop_head(self, loop: For, kind: DType, name: str) -> str:
        start, step = "0", f"{name} += {loop.step}"
        if loop.kind == "thread" and self.dialect.shared:
            start = f"rw_thread * {loop.step}" if loop.step > 1 else "rw_thread"
            step = f"{name} += rw_threads * {loop.step}"
            if loop.step == 1:
                step = f"{name} += rw_threads"
        elif loop.step == 1:
            step = f"{name}++"
        return f"for ({kind} {name} = {start}; {name} < {loop.extent}; {step}) {{"

    def pragma(self, loop: For, count: int) -> str:
        if loop.kind == "unroll":
            return self.dialect.unroll.format(n=count)
        wide = count >= self.dialect.simd_trips
        if loop.kind == "simd" and wide and not carries(loop):
            return self.dialect.simd
        return ""

    def store(self, stmt: Store, scope: Scope) -> str:
        dtype = scope.arrays[stmt.array]
        array, index = name_of(stmt.array), self.index(stmt.index, scope)
        index = self.swizzled(stmt.array, index, scope)
        value = self.value(stmt.value, scope)
        n = stmt.lanes
        if dtype in FORMATS:
            value = self.call(f"encode_{dtype}", (F32,), [value], U32, n)
            value = self.convert_lanes(value, "u32", stored(dtype), n)
        if n == 1:
            return f"{array}[{bare(index)}] = {bare(value)};"
        fits = self.fits(stmt, scope)
        return self.store_lanes(array, index, value, stored(dtype), n, fits)

    def fetch(self, stmt: Fetch, scope: Scope) -> list[str]:
        if not self.dialect.fetch:
            return []
        array, index = name_of(stmt.array), bare(self.index(stmt.index, scope))
        return [self.dialect.fetch.format(a=array, i=index, w=int(stmt.write))]

    def sort(self, stmt: Sort, scope: Scope) -> str:
        """A call of `backends/native/orders.c`."""
        if self.dialect.name != "C":
            raise DeviceError(f"{self.dialect.name} has no library of sorts")
        out, source = (
            f"{name_of(x.array)} + {self.index(x.at, scope)}, {x.step}"
            for x, _ in stmt.rows
        )
        width = scope.arrays[stmt.out.array].itemsize if stmt.places else 0
        kind = kind_of(scope.arrays[stmt.source.array])
        return (f"rw_order({kind}, {source}, {stmt.n}, {stmt.count}, "
                f"{int(stmt.descending)}, {width}, {out}, {name_of(stmt.work)}, "
                f"{stmt.parts});")  # fmt: skip

    def gemm(self, stmt: Gemm, scope: Scope) -> str:
        """A call of the host's library, by the arguments of `cblas_sgemm`."""
        if self.dialect.name != "C":
            raise DeviceError(f"{self.dialect.name} has no library of products")
        kinds = {scope.arrays[x.array] for x, _, _ in stmt.matrices}
        if not kinds <= {F32, F64}:
            raise DeviceError("the host's library multiplies f32 and f64 alone")
        double = kinds == {F64}
        places: list[tuple[str, str, int]] = []
        for x, _, _ in stmt.matrices:
            plain = x.across == 1
            where = f"{name_of(x.array)} + {self.index(x.at, scope)}"
            turn = "RW_AS_IT_IS" if plain else "RW_TURNED"
            places.append((turn, where, x.down if plain else x.across))
        (_, out, ldc), (ta, a, lda), (tb, b, ldb) = places
        call = "rw_dgemm" if double else "rw_sgemm"
        return (f"{call}(RW_ROWS, {ta}, {tb}, {stmt.m}, {stmt.n}, {stmt.k}, 1, "
                f"{a}, {lda}, {b}, {ldb}, 0, {out}, {ldc});")  # fmt: skip

    def rarely(self, body: Sequence[Stmt]) -> Sequence[str]:
        """What keeps a compiler from computing a body where its test fails, too."""
        return ()

    def asynchronous(self, stmt: Asynchronous, scope: Scope) -> list[str]:
        raise DeviceError(f"{self.dialect.name} has no {type(stmt).__name__}")

    def of_rings(
        self, stmt: Ring | Beside | Fill | Full | Free | Send, scope: Scope, depth: int
    ) -> list[str]:
        raise DeviceError(f"{self.dialect.name} has no {type(stmt).__name__}")

    def barrier(self) -> list[str]:
        return [self.dialect.barrier] if self.dialect.barrier else []

    def group_reduce(self, stmt: GroupReduce) -> list[str]:
        """On one thread the value is the total already; kernels override this."""
        return []
