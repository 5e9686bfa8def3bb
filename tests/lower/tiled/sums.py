"""Kernels that are passes without running values: gradients of attention, and other
products one side of which is computed from products."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from rewrite.egraph.ir.dtypes import BF16, F16, F32, I32, DType
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import normalise

from ..folds import Score, bias, plain, soft_cap, weights, window
from ..harness import kernel_of

KINDS = ("values", "keys", "both", "queries")
STATISTICS = ("largest", "total", "sums")
SIZES = (8, 64, 72, 130, 200)


def causal(b: Builder, s: int, turned: bool = False) -> int:
    shape = b.type(s).shape
    query, key = (b.iota(a, I32, shape) for a in ((2, 1) if turned else (1, 2)))
    keep = b.bin("le", key, query)
    return b.select(keep, s, b.const(-np.inf, b.type(s).dtype, shape))


def behind(b: Builder, s: int) -> int:
    return causal(b, s, True)


SCORES: tuple[Score, ...] = (plain, bias, soft_cap, window, causal, behind)


def gradients(
    kinds: Sequence[str], score: Score, sizes: tuple[int, int, int, int],
    dtype: DType = BF16, rounded: bool = False, quotient: bool = False,
) -> Kernel:  # fmt: skip
    """heads, queries, keys, width; of `values` and `keys` scores lie (key, query), of
    `queries` (query, key).  `rounded`: all is of the type of what is stored;
    `quotient`: weights are divided by what each query's come to."""
    h, n, m, d = sizes
    b, of = Builder(), dtype if rounded else F32
    q, do = (b.input(x, dtype, (h, n, d)) for x in ("q", "do"))
    k, v = (b.input(x, dtype, (h, m, d)) for x in "kv")
    turned = "queries" not in kinds
    shape = (h, m, n) if turned else (h, n, m)

    def product(x: int, y: int) -> int:
        x, y = (y, x) if turned else (x, y)
        return b.matmul(b.cast(x, of), b.permute(b.cast(y, of), (0, 2, 1)))

    def vector(name: str) -> int:
        x = b.input(name, of, (h, 1, n) if turned else (h, n, 1))
        return b.expand(x, shape)

    x = product(q, k)
    x = score(b, b.bin("mul", x, b.const(0.1, of, b.type(x).shape)))
    p = b.un("exp", b.bin("sub", x, vector("l")))
    if quotient:
        p = b.bin("div", p, b.un("exp", vector("t")))
    outs = [b.matmul(b.cast(p, dtype), do)] if {*kinds} & {"values", "both"} else []
    if kinds[0] != "values":
        x = b.bin("mul", p, b.bin("sub", product(do, v), vector("d")))
        outs.append(b.matmul(b.cast(x, dtype), q if turned else k))
    return normalise(kernel_of(b, outs))


def statistics(
    kind: str, score: Score, sizes: tuple[int, int, int, int], dtype: DType = BF16
) -> Kernel:
    """Of rows of scores that nothing stores: the `largest`; it and the `total` of what
    exponentials come to; the row sums D of weights times their gradients."""
    h, n, m, d = sizes
    b = Builder()
    q, do = (b.input(x, dtype, (h, n, d)) for x in ("q", "do"))
    k, v = (b.input(x, dtype, (h, m, d)) for x in "kv")

    def product(x: int, y: int) -> int:
        return b.matmul(b.cast(x, F32), b.permute(b.cast(y, F32), (0, 2, 1)))

    x = product(q, k)
    x = score(b, b.bin("mul", x, b.const(0.1, F32, b.type(x).shape)))
    if kind == "largest":
        return normalise(kernel_of(b, [b.reduce("max", x, [2])]))
    if kind == "total":
        _, total = weights(b, x)
        return normalise(kernel_of(b, [b.reduce("max", x, [2]), total]))
    of_rows = [b.input(name, F32, (h, n, 1)) for name in "ml"]
    largest, total = (b.expand(y, b.type(x).shape) for y in of_rows)
    p = b.bin("div", b.un("exp", b.bin("sub", x, largest)), b.un("exp", total))
    x = b.bin("mul", p, product(do, v))
    return normalise(kernel_of(b, [b.reduce("sum", x, [2])]))


def perceptron(dtype: DType, sizes: tuple[int, int, int, int], gated: bool) -> Kernel:
    """relu(X A) B, or (X A) * relu(X C) B, whose hidden values nothing stores."""
    rows, inner, hidden, columns = sizes
    b = Builder()
    x = b.input("x", dtype, (rows, inner))
    y = b.un("relu", b.matmul(x, b.input("a", dtype, (inner, hidden))))
    if gated:
        y = b.bin("mul", y, b.matmul(x, b.input("c", dtype, (inner, hidden))))
    return normalise(
        kernel_of(b, [b.matmul(y, b.input("b", dtype, (hidden, columns)))])
    )


def drawn(seed: int) -> Kernel:
    rng = random.Random(seed)
    dtype = rng.choice((BF16, F16))
    if rng.random() < 0.15:
        sizes = (rng.choice(SIZES), 64, rng.choice(SIZES), 72)
        return perceptron(dtype, sizes, rng.random() < 0.5)
    heads, d = rng.choice((1, 2, 3)), rng.choice((8, 64, 80, 128))
    sizes = heads, rng.choice(SIZES), rng.choice(SIZES), d
    if rng.random() < 0.25:
        scores = (plain, bias, soft_cap, causal)  # of which each row has some
        return statistics(rng.choice(STATISTICS), rng.choice(scores), sizes, dtype)
    rounded, quotient = rng.random() < 0.3, rng.random() < 0.3
    kinds = [rng.choice(KINDS)]
    return gradients(kinds, rng.choice(SCORES), sizes, dtype, rounded, quotient)
