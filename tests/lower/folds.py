"""Kernels that the fold family takes, and some that look alike and must be refused.

Scores are far from 0 and a mask's early blocks are empty, so that a correction that is
wrong shows, or one formed as a quotient of exponentials.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rewrite.egraph.ir.dtypes import F32, F64, I32, DType
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.ir.scalars import Array
from rewrite.extract.schedule.kernel import Kernel

from .harness import buffers_for, kernel_of

type Score = Callable[[Builder, int], int]  # of scores [heads, rows, places]


def plain(b: Builder, s: int) -> int:
    return s


def bias(b: Builder, s: int) -> int:
    return b.bin("add", s, b.input("bias", b.type(s).dtype, b.type(s).shape))


def alibi(b: Builder, s: int) -> int:
    t = b.type(s)
    slope = b.expand(b.input("slope", t.dtype, (t.shape[0], 1, 1)), t.shape)
    return b.bin("add", s, b.bin("mul", slope, _distance(b, s)))


def _distance(b: Builder, s: int) -> int:
    t = b.type(s)
    row, place = b.iota(1, I32, t.shape), b.iota(2, I32, t.shape)
    return b.add("cast", (b.bin("sub", place, row),), (t.dtype,))


def soft_cap(b: Builder, s: int) -> int:
    t = b.type(s)
    cap = b.const(30.0, t.dtype, t.shape)
    return b.bin("mul", b.un("tanh", b.bin("div", s, cap)), cap)


def _masked(b: Builder, s: int, keep: int, value: float) -> int:
    t = b.type(s)
    return b.select(keep, s, b.const(value, t.dtype, t.shape))


def causal(b: Builder, s: int) -> int:
    shape = b.type(s).shape
    keep = b.bin("le", b.iota(2, I32, shape), b.iota(1, I32, shape))
    return _masked(b, s, keep, -np.inf)


def window(b: Builder, s: int) -> int:
    """Places near the row's own: early blocks are empty for late rows."""
    shape = b.type(s).shape
    near = b.bin(
        "le", b.un("abs", _distance(b, s)), b.const(3.0, b.type(s).dtype, shape)
    )
    return _masked(b, s, near, -np.inf)


def lowest(b: Builder, s: int) -> int:
    shape = b.type(s).shape
    keep = b.bin("le", b.iota(2, I32, shape), b.iota(1, I32, shape))
    return _masked(b, s, keep, float(np.finfo(b.type(s).dtype.numpy).min))


def attend(
    score: Score, sizes: tuple[int, int, int, int, int], dtype: DType = F32,
    late: bool = False,
) -> Kernel:  # fmt: skip
    """heads, rows, places, width of a key, width of a value; `late`: divided last."""
    h, s, t, d, e = sizes
    b = Builder()
    q, k = b.input("q", dtype, (h, s, d)), b.input("k", dtype, (h, t, d))
    v = b.input("v", dtype, (h, t, e))
    x = b.matmul(q, b.permute(k, (0, 2, 1)))
    x = score(b, b.bin("mul", x, b.const(25.0, dtype, b.type(x).shape)))
    p, total = weights(b, x)
    if late:
        y = b.matmul(p, v)
        return kernel_of(b, [b.bin("div", *b.broadcast(y, total))])
    return kernel_of(b, [b.matmul(b.bin("div", *b.broadcast(p, total)), v)])


def weights(b: Builder, x: int) -> tuple[int, int]:
    """exp(x - max x) and its sums along the last axis."""
    axis = [b.type(x).rank - 1]
    m = b.reduce("max", x, axis)
    p = b.un("exp", b.bin("sub", *b.broadcast(x, m)))
    return p, b.reduce("sum", p, axis)


def grouped() -> Kernel:
    """Two query heads to a head of keys and values."""
    b = Builder()
    q = b.input("q", F32, (2, 2, 7, 8))
    k, v = b.input("k", F32, (2, 1, 30, 8)), b.input("v", F32, (2, 1, 30, 5))
    k, v = (b.expand(a, (2, 2, *b.type(a).shape[2:])) for a in (k, v))
    p, total = weights(b, b.matmul(q, b.permute(k, (0, 1, 3, 2))))
    y = b.bin("div", *b.broadcast(b.matmul(p, v), total))
    gate = b.un("sigmoid", b.input("g", F32, (2, 2, 7, 5)))
    return kernel_of(b, [b.bin("mul", y, gate)])


def decode() -> Kernel:
    return attend(plain, (3, 1, 600, 16, 16))


def stored_scores() -> Kernel:
    """The scores come from memory."""
    b = Builder()
    x, v = b.input("x", F32, (2, 9, 300)), b.input("v", F32, (2, 300, 20))
    p, total = weights(b, x)
    return kernel_of(b, [b.matmul(b.bin("div", *b.broadcast(p, total)), v)])


def log_sum_exp() -> Kernel:
    b = Builder()
    x = b.input("x", F32, (5, 700))
    m = b.reduce("max", x, [1])
    _, total = weights(b, x)
    return kernel_of(b, [b.bin("add", m, b.un("log", total))])


def of_a_product() -> Kernel:
    """The log-sum-exp of logits that are never stored, and their maximum."""
    b = Builder()
    x = b.matmul(b.input("x", F32, (40, 24)), b.input("w", F32, (24, 530)))
    m = b.reduce("max", x, [1])
    _, total = weights(b, x)
    return kernel_of(b, [b.bin("add", m, b.un("log", total)), m])


def _centred(b: Builder, x: int) -> int:
    """x less its mean along the last axis, far from 0."""
    t = b.type(x)
    far = b.bin("add", x, b.const(1000.0, t.dtype, t.shape))
    total = b.reduce("sum", far, [t.rank - 1])
    n = b.const(1 / t.shape[-1], t.dtype, b.type(total).shape)
    return b.bin("sub", *b.broadcast(far, b.bin("mul", total, n)))


def variance() -> Kernel:
    b = Builder()
    d = _centred(b, b.input("x", F32, (3, 900)))
    return kernel_of(b, [b.reduce("sum", b.un("square", d), [1])])


def covariance() -> Kernel:
    b = Builder()
    x, y = (_centred(b, b.input(n, F64, (4, 700))) for n in "xy")
    return kernel_of(b, [b.reduce("sum", b.bin("mul", x, y), [1])])


def entropy() -> Kernel:
    b = Builder()
    return _entropy(b, b.input("x", F32, (5, 700)))


def entropy_of_a_product() -> Kernel:
    b = Builder()
    return _entropy(
        b, b.matmul(b.input("x", F32, (9, 24)), b.input("w", F32, (24, 70)))
    )


def _entropy(b: Builder, x: int) -> Kernel:
    """log Σ eˢ - Σ eˢ s / Σ eˢ with s = x - max x."""
    p, total = weights(b, x)
    s = b.bin("sub", *b.broadcast(x, b.reduce("max", x, [1])))
    mean = b.bin("div", b.reduce("sum", b.bin("mul", p, s), [1]), total)
    return kernel_of(b, [b.bin("sub", b.un("log", total), mean)])


FOLDS: dict[str, Callable[[], Kernel]] = {
    **{
        f.__name__: lambda f=f: attend(f, (2, 13, 270, 8, 12))
        for f in (plain, bias, alibi, soft_cap, causal, window, lowest)
    },
    "late": lambda: attend(plain, (1, 50, 100, 33, 9), late=True),
    "f64": lambda: attend(causal, (1, 20, 150, 4, 6), F64),
    "deep": lambda: attend(plain, (1, 9, 40, 300, 600)),
    "even": lambda: attend(causal, (1, 64, 128, 16, 16)),
    "many_rows": lambda: attend(causal, (1, 260, 260, 5, 3)),
    **{
        f.__name__: f
        for f in (
            grouped,
            decode,
            stored_scores,
            log_sum_exp,
            of_a_product,
            variance,
            covariance,
            entropy,
            entropy_of_a_product,
        )
    },
}


# ---- refused ----


def _row(b: Builder) -> tuple[int, int]:
    x = b.input("x", F32, (4, 50))
    return b.broadcast(x, b.reduce("max", x, [1]))


def squashed() -> Kernel:
    """Σ sigmoid(x - m): a sigmoid of a shift does not split."""
    b = Builder()
    return kernel_of(b, [b.reduce("sum", b.un("sigmoid", b.bin("sub", *_row(b))), [1])])


def clipped() -> Kernel:
    """Σ max(x - m, -1): neither does a bound."""
    b = Builder()
    d = b.bin("sub", *_row(b))
    low = b.const(-1.0, F32, b.type(d).shape)
    return kernel_of(b, [b.reduce("sum", b.bin("max", d, low), [1])])


def chosen_by_the_running() -> Kernel:
    """A test on a running value: what was chosen stays chosen."""
    b = Builder()
    x, m = _row(b)
    zero = b.const(0.0, F32, b.type(x).shape)
    top = b.select(b.bin("eq", x, m), x, zero)
    return kernel_of(b, [b.reduce("sum", top, [1])])


def stored_weights() -> Kernel:
    """The weights themselves are wanted: they change until the pass is over."""
    b = Builder()
    x = b.input("x", F32, (4, 50))
    p, total = weights(b, x)
    return kernel_of(b, [b.bin("div", *b.broadcast(p, total))])


def skewness() -> Kernel:
    """Three differences: its vector would be too long."""
    b = Builder()
    d = _centred(b, b.input("x", F32, (3, 90)))
    cube = b.bin("mul", b.un("square", d), d)
    return kernel_of(b, [b.reduce("sum", cube, [1])])


REFUSED: dict[str, Callable[[], Kernel]] = {
    f.__name__: f
    for f in (squashed, clipped, chosen_by_the_running, stored_weights, skewness)
}


def far_buffers(kernel: Kernel) -> list[Array]:
    """Reads with an offset: scores of some hundreds, of either sign."""
    held = buffers_for(kernel)
    for a in held[: min(2, kernel.reads)]:
        if a.dtype.kind == "f":
            a += np.asarray(3.0, a.dtype)
    return held
