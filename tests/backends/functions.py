"""Hand-written loop functions, one for each kind of statement, with their meaning."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rewrite.egraph.ir.dtypes import BF16, BOOL, F32, I32, DType
from rewrite.egraph.ir.scalars import Array as Tensor
from rewrite.lower.loops import (
    Array,
    Assign,
    Barrier,
    Ex,
    Fetch,
    For,
    Function,
    GroupReduce,
    If,
    Let,
    Lit,
    Load,
    Op,
    Param,
    Store,
    Var,
)

RNG = np.random.default_rng(7)


@dataclass(frozen=True)
class Case:
    """`meaning` maps the read arrays to what the written ones hold."""

    function: Function
    reads: tuple[Tensor, ...]
    meaning: Callable[..., tuple[Tensor, ...]]
    vectors: bool = False
    rtol: float = 1e-5


def i32(name: str) -> Var:
    return Var(name, I32)


def n(value: int) -> Lit:
    return Lit(value, I32)


def add(a: Ex, b: Ex) -> Op:
    return Op("add", (a, b), a.dtype, a.lanes if isinstance(a, Var | Load | Op) else 1)


def mul(a: Ex, b: Ex) -> Op:
    return Op("mul", (a, b), a.dtype)


def at(row: Ex, width: int, column: Ex) -> Op:
    return add(mul(row, n(width)), column)


def reads(name: str, size: int, dtype: DType = F32) -> Param:
    return Param(name, dtype, size, False)


def writes(name: str, size: int, dtype: DType = F32) -> Param:
    return Param(name, dtype, size, True)


def normal(*shape: int) -> Tensor:
    return RNG.standard_normal(shape).astype(np.float32)


def softmax_rows(rows: int = 37, width: int = 50) -> Case:
    """A row for each point: mutable scalars, a local array, serial and simd loops."""
    r, i, m, s = i32("r"), i32("i"), Var("m", F32), Var("s", F32)
    e = Var("e", F32)
    x = Load("x", at(r, width, i), F32)
    local = Load("row", i, F32)
    body = (
        Array("row", F32, width),
        Let(m, Lit(-np.inf, F32), mutable=True),
        For(i, width, "serial", (Assign(m, Op("max", (m, x), F32)),)),
        Let(s, Lit(0.0, F32), mutable=True),
        For(i, width, "serial", (
            Let(e, Op("exp", (Op("sub", (x, m), F32),), F32)),
            Store("row", i, e),
            Assign(s, add(s, e)),
        )),
        For(i, width, "simd", (
            Store("y", at(r, width, i), Op("div", (local, s), F32)),
        )),
    )  # fmt: skip
    size = rows * width
    f = Function(
        "softmax_rows", (reads("x", size), writes("y", size)),
        (For(r, rows, "grid", body),),
    )  # fmt: skip

    def meaning(x: Tensor) -> tuple[Tensor]:
        e = np.exp(x - x.max(1, keepdims=True))
        return (e / e.sum(1, keepdims=True),)

    return Case(f, (normal(rows, width),), meaning)


def norm_blocks(rows: int = 5, width: int = 300, threads: int = 64) -> Case:
    """A group for each row: thread loops, shared memory, barriers, both reductions."""
    b, i = i32("b"), i32("i")
    low, total = Var("low", F32), Var("total", F32)
    x, held = Load("x", at(b, width, i), F32), Load("tile", i, F32)
    last = Load("tile", Op("sub", (n(width - 1), i), I32), F32)
    body = (
        Array("tile", F32, width, "shared"),
        Let(low, Lit(np.inf, F32), mutable=True),
        For(i, width, "thread", (
            Store("tile", i, x),
            Assign(low, Op("min", (low, x), F32)),
        )),
        GroupReduce(low, "min"),
        Barrier(),
        Let(total, Lit(0.0, F32), mutable=True),
        For(i, width, "thread", (
            Assign(total, add(total, Op("sub", (held, low), F32))),
        )),
        GroupReduce(total, "sum"),
        For(i, width, "thread", (
            Store("y", at(b, width, i), Op("div", (last, total), F32)),
        )),
    )  # fmt: skip
    size = rows * width
    f = Function(
        f"norm_blocks_{threads}", (reads("x", size), writes("y", size)),
        (For(b, rows, "block", body),), threads=threads,
    )  # fmt: skip

    def meaning(x: Tensor) -> tuple[Tensor]:
        return (x[:, ::-1] / (x - x.min(1, keepdims=True)).sum(1, keepdims=True),)

    return Case(f, (normal(rows, width),), meaning, rtol=1e-4)


def two_steps(size: int = 1000, parts: int = 8) -> Case:
    """Scratch between two launches, then a statement outside of any grid; a top-level
    let that all of them read."""
    p, i, acc = i32("p"), i32("i"), Var("acc", F32)
    scale = Var("scale", F32)
    each = size // parts
    x = Load("x", at(p, each, i), F32)
    first = (
        Let(acc, Lit(0.0, F32), mutable=True),
        For(i, each, "serial", (Assign(acc, add(acc, mul(x, scale))),)),
        Store("partial", p, acc),
    )
    half = Op("mul", (Load("partial", p, F32), Lit(0.5, F32)), F32)
    body = (
        Let(scale, Load("k", n(0), F32)),
        For(p, parts, "grid", first),
        For(p, parts, "grid", (Store("y", add(p, n(1)), add(half, scale)),)),
        Store("y", n(0), scale),
    )
    f = Function(
        "two_steps", (reads("x", size), reads("k", 1), writes("y", parts + 1)),
        body, scratch=(writes("partial", parts),),
    )  # fmt: skip

    def meaning(x: Tensor, k: Tensor) -> tuple[Tensor]:
        sums = (x.reshape(parts, each) * k).sum(1) * 0.5 + k
        return (np.concatenate([k, sums]),)

    return Case(f, (normal(size), np.float32([1.5])), meaning, rtol=1e-4)


def guarded_transpose(rows: int = 7, columns: int = 12) -> Case:
    """A nest of grids with a step, index division, a guard, bool and bf16 results."""
    i, j, k = i32("i"), i32("j"), i32("k")
    flat = Var("flat", I32)
    row = Op("idiv", (flat, n(rows)), I32)
    column = Op("imod", (flat, n(rows)), I32)
    x = Load("x", at(column, columns, row), F32)
    body = (
        For(k, 4, "serial", (
            If(Op("lt", (add(j, k), n(rows)), BOOL), (
                Let(flat, at(i, rows, add(j, k))),
                Store("y", flat, x),
                Store("up", flat, Op("lt", (Lit(0.0, F32), x), BOOL)),
            )),
        )),
    )  # fmt: skip
    size = rows * columns
    nest = For(i, columns, "grid", (For(j, rows, "grid", body, step=4),))
    f = Function(
        "guarded_transpose",
        (reads("x", size), writes("y", size, BF16), writes("up", size, BOOL)), (nest,),
    )  # fmt: skip

    def meaning(x: Tensor) -> tuple[Tensor, Tensor]:
        t = np.ascontiguousarray(x.T)
        return t.astype(BF16.numpy), t > 0

    return Case(f, (normal(rows, columns),), meaning, rtol=0)


def tile_matmul(size: int = 32, lanes: int = 8) -> Case:
    """A register tile: unrolled loops, vectors, splat, fma, an accumulator array."""
    i, j, k, u, v = i32("i"), i32("j"), i32("k"), i32("u"), i32("v")
    rows, wide = 4, 2
    t, bv = Var("t", F32, lanes), Var("bv", F32, lanes)
    cell = at(u, wide * lanes, mul(v, n(lanes)))
    acc = Load("acc", cell, F32, lanes)
    a = Load("a", at(add(i, u), size, k), F32)
    b = Load("b", at(k, size, add(j, mul(v, n(lanes)))), F32, lanes)
    zero = Op("splat", (Lit(0.0, F32),), F32, lanes)
    spread = Op("splat", (a,), F32, lanes)

    def tile(*body):
        return For(u, rows, "unroll", (For(v, wide, "unroll", body),))

    relu = Op("max", (acc, zero), F32, lanes)
    out = at(add(i, u), size, add(j, mul(v, n(lanes))))
    body = (
        Array("acc", F32, rows * wide * lanes),
        tile(Store("acc", cell, zero, lanes)),
        For(k, size, "serial", (
            tile(
                Let(bv, b),
                Let(t, Op("fma", (spread, bv, acc), F32, lanes)),
                Store("acc", cell, t, lanes),
            ),
        )),
        tile(Store("c", out, relu, lanes)),
    )  # fmt: skip
    nest = For(i, size, "grid", (For(j, size, "grid", body, wide * lanes),), rows)
    area = size * size
    f = Function(
        "tile_matmul", (reads("a", area), reads("b", area), writes("c", area)), (nest,)
    )

    def meaning(a: Tensor, b: Tensor) -> tuple[Tensor]:
        return (np.maximum(a @ b, 0),)

    both = (normal(size, size), normal(size, size))
    return Case(f, both, meaning, vectors=True, rtol=1e-4)


def odd_lanes(size: int = 64) -> Case:
    """Vectors of a small float at indices that no vector access is aligned to."""
    i = i32("i")
    x = Load("x", add(i, n(1)), F32, 4)
    y = Op("exp", (Op("neg", (x,), F32, 4),), F32, 4)
    keep = Op("lt", (x, y), BOOL, 4)
    value = Op("select", (keep, y, x), F32, 4)
    f = Function(
        "odd_lanes", (reads("x", size + 1, BF16), writes("y", size + 1, BF16)),
        (
            Store("y", n(0), Lit(0.0, F32)),
            For(i, size, "grid", (Store("y", add(i, n(1)), value, 4),), step=4),
        ),
    )  # fmt: skip

    def meaning(x: Tensor) -> tuple[Tensor]:
        a = x.astype(np.float32)
        with np.errstate(over="ignore"):
            y = np.where(a < np.exp(-a), np.exp(-a), a)
        y[0] = 0
        return (y.astype(BF16.numpy),)

    return Case(f, (normal(size + 1).astype(BF16.numpy),), meaning, True, rtol=0.01)


def no_points() -> Case:
    """A nest without a point beside a buffer without an element."""
    i = i32("i")
    body = (
        For(i, 0, "grid", (Store("none", i, Load("x", i, F32)),)),
        For(i, 4, "grid", (Store("y", i, Load("x", i, F32)),)),
    )
    f = Function("no_points", (reads("x", 4), writes("none", 0), writes("y", 4)), body)
    return Case(f, (normal(4),), lambda x: (x[:0], x))


def asking(rows: int = 9, width: int = 40) -> Case:
    """Hints for the next row, which is outside at the end, and for what is written."""
    r, i, s = i32("r"), i32("i"), Var("s", F32)
    here, next_ = at(r, width, i), at(add(r, n(1)), width, i)
    body = (
        Let(s, Lit(0.0, F32), mutable=True),
        For(i, width, "serial", (
            Fetch("x", next_), Assign(s, add(s, Load("x", here, F32))),
        )),
        Fetch("y", r, True),
        Store("y", r, s),
    )  # fmt: skip
    f = Function(
        "asking", (reads("x", rows * width), writes("y", rows)),
        (For(r, rows, "grid", body),),
    )  # fmt: skip
    return Case(f, (normal(rows, width),), lambda x: (x.sum(1),))


def streaming(rows: int = 3, width: int = 1500) -> Case:
    """Rows that begin anywhere in a line of memory, and a result of small floats."""
    r, i, v = i32("r"), i32("i"), Var("v", F32)
    here = at(r, width, i)
    body = (
        Let(v, Op("mul", (Load("x", here, F32), Load("x", here, F32)), F32)),
        Store("y", here, v, stream=True),
        Store("z", here, add(v, v), stream=True),
    )
    f = Function(
        "streaming",
        (reads("x", rows * width), writes("y", rows * width),
         Param("z", BF16, rows * width, True)),
        (For(r, rows, "grid", (For(i, width, "simd", body),)),),
    )  # fmt: skip
    x = normal(rows, width)
    return Case(f, (x,), lambda x: (x * x, (2 * x * x).astype(BF16.numpy)), rtol=0.01)


CASES = (
    softmax_rows(), norm_blocks(), norm_blocks(threads=48), norm_blocks(threads=1),
    two_steps(), guarded_transpose(), tile_matmul(), odd_lanes(), no_points(),
    asking(), streaming(),
)  # fmt: skip
