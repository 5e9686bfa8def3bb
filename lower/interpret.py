"""A slow, exact interpreter of the loop IR over NumPy scalars: what a family means.

Threads of a group run as generators that meet at barriers, so that a missing barrier
shows as a wrong value and one that not all threads reach as an error.  Arrays start as
garbage, every access is checked against its array.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, cast

import numpy as np

from ..egraph.dtypes import BOOL, DType, compute
from ..egraph.scalars import BY_NAME, MONOIDS, Array
from .loops import (
    Array as ArrayDecl,
)
from .loops import (
    Assign,
    Barrier,
    Ex,
    For,
    Function,
    GroupReduce,
    If,
    Let,
    Lit,
    Load,
    Op,
    Stmt,
    Store,
    Var,
)  # fmt: skip

type Env = dict[str, Any]
type Meeting = tuple[str, Any]  # what a thread waits for, and what it brings


class Trap(RuntimeError):
    """A function that does what the loop IR forbids."""


def run(function: Function, buffers: Sequence[Array]) -> None:
    """Runs `function` on flat arrays, in parameter order."""
    for p, b in zip(function.params, buffers, strict=True):
        if b.shape != (p.size,) or b.dtype != p.dtype.numpy:
            raise Trap(
                f"{p.name}: {p.dtype}[{p.size}] expected, found {b.dtype}{b.shape}"
            )
    arrays = {p.name: b for p, b in zip(function.params, buffers, strict=True)}
    for p in function.scratch:
        arrays[p.name] = _garbage(p.dtype.numpy, p.size)
    readonly = frozenset(p.name for p in function.params if not p.writable)
    with np.errstate(all="ignore"):
        _Machine(function.threads, readonly).top(function.body, arrays)


def _garbage(dtype: np.dtype[Any], size: int) -> Array:
    return np.frombuffer(b"\xa5" * (dtype.itemsize * size), dtype).copy()


class _Machine:
    def __init__(self, threads: int, readonly: frozenset[str]) -> None:
        self.threads, self.readonly = threads, readonly

    # ---- who runs what ----

    def top(self, body: Sequence[Stmt], env: Env) -> None:
        for s in body:
            if isinstance(s, For) and s.kind == "block":
                for i in range(0, s.extent, s.step):
                    self.group(s, i, env)
            else:
                self.alone([s], env)

    def group(self, s: For, i: int, env: Env) -> None:
        """The body once by all threads, each advancing to the next meeting in turn."""
        shared: dict[str, Array] = {}
        runs = [
            self.body(s.body, {**env, s.var.name: _int(s.var.dtype, i)}, shared, t)
            for t in range(self.threads)
        ]
        while True:
            met = [next(r, None) for r in runs]
            if all(m is None for m in met):
                return
            kinds = {None if m is None else m[0] for m in met}
            if len(kinds) > 1:
                raise Trap(f"threads of a group part: {kinds}")
            self.reduce([m for m in met if m is not None])

    def reduce(self, met: list[Meeting]) -> None:
        kind = met[0][0]
        if not kind.startswith("reduce "):
            return
        monoid = MONOIDS[kind.split()[1]]
        total = met[0][1][0]
        for _, box in met[1:]:
            total = BY_NAME[monoid.op].numpy(total, box[0])[()]
        for _, box in met:
            box[0] = total

    def alone(self, body: Sequence[Stmt], env: Env) -> None:
        for _ in self.body(body, env, None, 0):
            raise Trap("a barrier outside a group")

    # ---- statements ----

    def body(
        self, body: Sequence[Stmt], env: Env, shared: dict[str, Array] | None, t: int
    ) -> Generator[Meeting]:
        for s in body:
            match s:
                case For():
                    yield from self.loop(s, env, shared, t)
                case Let(var, value) | Assign(var, value):
                    env[var.name] = self.typed(self.ex(value, env), var)
                case ArrayDecl():
                    env[s.name] = self.declare(s, shared)
                case Store():
                    self.store(s, env)
                case If(cond, inner):
                    if self.ex(cond, env):
                        yield from self.body(inner, env, shared, t)
                case Barrier():
                    yield ("barrier", None)
                case GroupReduce(var, monoid):
                    box = [env[var.name]]
                    yield (f"reduce {monoid} {var.name}", box)
                    env[var.name] = box[0]

    def loop(
        self, s: For, env: Env, shared: dict[str, Array] | None, t: int
    ) -> Generator[Meeting]:
        first, step = 0, s.step
        if s.kind == "thread":
            if shared is None:
                raise Trap("a thread loop outside a block loop")
            first, step = t * s.step, self.threads * s.step
        elif s.kind in ("grid", "block") and shared is not None:
            raise Trap(f"a {s.kind} loop inside a group")
        for i in range(first, s.extent, step):
            env[s.var.name] = _int(s.var.dtype, i)
            yield from self.body(s.body, env, shared, t)

    def declare(self, s: ArrayDecl, shared: dict[str, Array] | None) -> Array:
        if compute(s.dtype) is not s.dtype:
            raise Trap(f"array {s.name} has the storage type {s.dtype}")
        if s.space == "local":
            return _garbage(s.dtype.numpy, s.size)
        if shared is None:
            raise Trap(f"shared array {s.name} outside a block loop")
        return shared.setdefault(s.name, _garbage(s.dtype.numpy, s.size))

    def store(self, s: Store, env: Env) -> None:
        if s.array in self.readonly:
            raise Trap(f"a store to the read-only buffer {s.array}")
        array, at = env[s.array], self.place(s.array, s.index, s.lanes, env)
        value = np.asarray(self.ex(s.value, env)).astype(array.dtype)
        array[at] = value if s.lanes > 1 else value[()]

    def place(self, name: str, index: Ex, lanes: int, env: Env) -> Any:
        i = int(self.ex(index, env))
        if not 0 <= i <= len(env[name]) - lanes:
            raise Trap(f"{name}[{i}] of {len(env[name])} elements")
        return slice(i, i + lanes) if lanes > 1 else i

    def typed(self, value: Any, var: Var) -> Any:
        if np.asarray(value).dtype != var.dtype.numpy:
            raise Trap(
                f"{var.name}: {var.dtype} expected, found {np.asarray(value).dtype}"
            )
        return value

    # ---- expressions ----

    def ex(self, x: Ex, env: Env) -> Any:
        match x:
            case Lit(value, dtype):
                return dtype.numpy.type(value)
            case Var(name):
                return env[name]
            case Load():
                return self.load(x, env)
            case Op():
                return self.op(x, [self.ex(a, env) for a in x.args], env)

    def load(self, x: Load, env: Env) -> Any:
        value = env[x.array][self.place(x.array, x.index, x.lanes, env)]
        return value.astype(x.dtype.numpy)

    def op(self, x: Op, args: list[Any], env: Env) -> Any:
        to = x.dtype.numpy
        match x.op:
            case "cast":
                return _cast(args[0], x.dtype)
            case "select":  # a device may evaluate both sides, so both must be safe
                return args[1] if args[0] else args[2]
            case "bitcast":
                source = cast(Op, x.args[0]).dtype.numpy
                return _cast(np.asarray(args[0]).astype(source).view(to)[()], x.dtype)
            case "splat":
                return np.full(x.lanes, args[0])
            case "fma":
                a, b, c = (np.asarray(v, np.float64) for v in args)
                return np.asarray(a * b + c).astype(to)[()]
            case "idiv" | "imod":
                if args[0] < 0:
                    raise Trap(f"{x.op} of {args[0]}")
                divide = np.floor_divide if x.op == "idiv" else np.mod
                return divide(args[0], args[1])
            case _:
                out = BY_NAME[x.op].numpy(*args)
                want = BOOL.numpy if BY_NAME[x.op].gives_bool else to
                if out.dtype != want:
                    raise Trap(f"{x.op} gave {out.dtype}, {want} expected")
                return out[()]


def _int(dtype: DType, value: int) -> Any:
    return dtype.numpy.type(value)


def _cast(value: Any, dtype: DType) -> Any:
    """Rounded to `dtype`, in the type that computes it."""
    stored = np.asarray(value).astype(dtype.numpy)
    return stored.astype(compute(dtype).numpy)[()]
