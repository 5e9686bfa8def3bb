"""What the statements of one thread do: closures over an environment of names.

Arrays start as garbage; every access is checked against its array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..egraph.ir.dtypes import BF16, BOOL, F16, compute
from ..egraph.ir.indexing import positions
from ..egraph.ir.scalars import Array
from .evaluate import Env, Trap, Values
from .loops import Array as ArrayDecl
from .loops import (
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
    Lit,
    Matrix,
    Mma,
    Pack,
    Regroup,
    Ring,
    Row,
    Send,
    Settle,
    Sort,
    Stmt,
    Store,
    Var,
)  # fmt: skip

type Run = Callable[[Env], None]

THREAD = "thread number"  # names in an environment that no variable has
SHARED = "shared arrays"
COPIES = "copies under way, by group"
ASIDE = "what runs beside the group"


def garbage(dtype: np.dtype[Any], size: int) -> Array:
    return np.frombuffer(b"\xa5" * (dtype.itemsize * size), dtype).copy()


class Statements(Values):
    """Of a function whose groups have so many threads."""

    def __init__(self, threads: int, readonly: frozenset[str]) -> None:
        self.threads, self.readonly = threads, readonly
        self.grouped = False

    def body(self, body: Sequence[Stmt]) -> Run:
        steps = [self.stmt(s) for s in body]

        def every(env: Env) -> None:
            for s in steps:
                s(env)

        return steps[0] if len(steps) == 1 else every

    def stmt(self, s: Stmt) -> Run:
        match s:
            case For():
                return self.loop(s)
            case Let(var, value) | Assign(var, value):
                return self.assign(var, value)
            case ArrayDecl():
                return self.declare(s)
            case Store():
                return self.store(s)
            case If(cond, inner):
                test, then = self.ex(cond), self.body(inner)
                return lambda env: then(env) if test(env) else None
            case Fetch():
                return lambda env: None
            case Gemm():
                return self.gemm(s)
            case Sort():
                return self.sort(s)
            case AsyncCopy():
                return self.copy(s)
            case Commit():
                return lambda env: env[COPIES].append([])
            case Ring(name, places):
                return lambda env: env[ASIDE].ring(name, places)
            case Pack(to, source, bits, more, run) if bits:

                def unpack(env: Env) -> None:
                    held = env[source].reshape(-1, 1, run)
                    if bits < 8:
                        low = np.arange(0, 8, bits, dtype=held.dtype)[:, None]
                        held = held >> low & ((1 << bits) - 1)
                    whole = held.astype(np.float32).ravel() + more
                    env[to][:] = whole.astype(env[to].dtype)

                return unpack
            case Pack(to, source):

                def pack(env: Env) -> None:
                    env[to][:] = env[source].astype(env[to].dtype)

                return pack
            case (
                Barrier() | GroupReduce() | Await() | Mma() | Regroup()
                | Beside() | Fill() | Full() | Free() | Send() | Settle()
            ):  # fmt: skip
                raise Trap("threads meet outside a group")

    def gemm(self, s: Gemm) -> Run:
        """The product of matrices that lie in arrays."""
        places = [self.ex(x.at) for x, _, _ in s.matrices]

        def run(env: Env) -> None:
            views: list[Array] = []
            for (x, rows, columns), place in zip(s.matrices, places, strict=True):
                at = int(place(env))
                views.append(self.view(x, env[x.array], at, rows, columns))
            wide = np.result_type(views[0], np.float32)
            views[0][...] = views[1].astype(wide) @ views[2].astype(wide)

        return run

    def sort(self, s: Sort) -> Run:
        """By the meaning of the op."""
        places = [self.ex(x.at) for x, _ in s.rows]

        def run(env: Env) -> None:
            out, source = (
                self.row(x, n, env[x.array], int(place(env)))
                for (x, n), place in zip(s.rows, places, strict=True)
            )
            made = positions(source, 0, s.descending, s.count)
            out[...] = (made if s.places else source[made]).astype(out.dtype)

        return run

    def row(self, x: Row, n: int, flat: Array, at: int) -> Array:
        if at < 0 or at + (n - 1) * x.step >= flat.size:
            raise Trap(f"a sort reaches beyond {x.array!r}")
        return flat[at : at + (n - 1) * x.step + 1 : x.step]

    def view(self, x: Matrix, flat: Array, at: int, rows: int, columns: int) -> Array:
        if at < 0 or at + x.span(rows, columns) > flat.size:
            raise Trap(f"a product reaches beyond {x.array!r}")
        steps = tuple(d * flat.itemsize for d in (x.down, x.across))
        return as_strided(flat[at:], (rows, columns), steps)

    def panels(self, x: Matrix, flat: Array, at: int, rows: int, columns: int) -> Array:
        if at < 0 or at + x.span(rows, columns) > flat.size:
            raise Trap(f"a product reaches beyond {x.array!r}")
        i, j = np.ogrid[:rows, :columns]
        return flat[at + x.place(i, j)]

    def copy(self, s: AsyncCopy) -> Run:
        """The place is garbage until the copy has to be there."""
        to = self.place(s.array, s.index, s.lanes)
        source = self.place(s.source, s.at, s.lanes)
        test = self.ex(s.where or Lit(True, BOOL))

        def copy(env: Env) -> None:
            target, place = env[s.array], to(env)
            value = np.zeros(s.lanes, target.dtype)
            if test(env):
                value = np.array(env[s.source][source(env)])
            target[place] = garbage(target.dtype, s.lanes)
            env[COPIES][-1].append((target, place, value))

        return copy

    def loop(self, s: For) -> Run:
        inner, name, to = self.body(s.body), s.var.name, s.var.dtype.numpy.type
        dealt = s.kind == "thread"
        if dealt != (self.grouped and dealt):
            raise Trap("a thread loop outside a block loop")
        if s.kind in ("grid", "block") and self.grouped:
            raise Trap(f"a {s.kind} loop inside a group")
        turns, threads = [to(i) for i in range(0, s.extent, s.step)], self.threads

        def loop(env: Env) -> None:
            for i in turns[env[THREAD] :: threads] if dealt else turns:
                env[name] = i
                inner(env)

        return loop

    def assign(self, var: Var, value: Ex) -> Run:
        make, name, want = self.ex(value), var.name, var.dtype.numpy
        lanes = var.lanes

        def assign(env: Env) -> None:
            v = make(env)
            kind = v.dtype
            if (kind is not want and kind != want) or v.size != lanes:
                expected = f"{name}: {lanes} x {want} expected"
                raise Trap(f"{expected}, found {v.size} x {v.dtype}")
            env[name] = v

        return assign

    def declare(self, s: ArrayDecl) -> Run:
        packed = s.dtype in (F16, BF16)
        if compute(s.dtype) is not s.dtype and s.space != "shared" and not packed:
            raise Trap(f"array {s.name} has the storage type {s.dtype}")
        dtype, size, name = s.dtype.numpy, s.size, s.name
        if s.space == "shared" and not self.grouped:
            raise Trap(f"shared array {name} outside a block loop")

        def local(env: Env) -> None:
            env[name] = garbage(dtype, size)

        def shared(env: Env) -> None:
            env[name] = env[SHARED].setdefault(name, garbage(dtype, size))

        return local if s.space == "local" else shared

    def store(self, s: Store) -> Run:
        if s.array in self.readonly:
            raise Trap(f"a store to the read-only buffer {s.array}")
        place, value = self.place(s.array, s.index, s.lanes), self.ex(s.value)

        def store(env: Env) -> None:
            env[s.array][place(env)] = value(env)

        return store
