"""Small kernels that between them meet everything a family must get right."""

from __future__ import annotations

from collections.abc import Callable

from rewrite.egraph.ir.dtypes import BF16, BOOL, F16, F32, F64, I8, I32, I64, U8, DType
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.kernel import Kernel

from .harness import kernel_of

CASES: dict[str, Callable[[], Kernel]] = {}
LARGE: dict[str, Callable[[], Kernel]] = {}  # several tiles and blocks of k


def case(make: Callable[[Builder], list[int]]) -> Callable[[Builder], list[int]]:
    def build() -> Kernel:
        b = Builder()
        return kernel_of(b, make(b))

    CASES[make.__name__] = build
    return make


def with_dtype(name: str, dtype: DType, make: Callable[[Builder, DType], list[int]]):
    def build() -> Kernel:
        b = Builder()
        return kernel_of(b, make(b, dtype))

    CASES[f"{name}_{dtype}"] = build


# ---- maps ----


@case
def gelu_chain(b: Builder) -> list[int]:
    x, s = b.input("x", F32, (9, 33)), b.input("s", F32, (1, 33))
    return [b.un("silu", b.un("gelu", b.bin("mul", *b.broadcast(x, s))))]


@case
def scalar(b: Builder) -> list[int]:
    return [b.un("exp", b.input("x", F32, ()))]


@case
def empty(b: Builder) -> list[int]:
    return [b.un("exp", b.input("x", F32, (0, 4)))]


@case
def maximum_of_nothing(b: Builder) -> list[int]:
    return [b.reduce("max", b.input("x", F32, (0, 4)), [0])]


@case
def padded_and_flipped(b: Builder) -> list[int]:
    p = b.pad(b.input("x", F32, (5, 7)), (2, 1), (0, 3), -1.5)
    return [b.slice(p, (6, 10), (7, 11), (-1, -1))]


@case
def concatenated(b: Builder) -> list[int]:
    x, y = b.input("x", F32, (3, 5)), b.input("y", F32, (3, 70))
    return [b.un("neg", b.concat([x, y, x], 1))]


@case
def gathered_rows(b: Builder) -> list[int]:
    table, ids = b.input("t", F32, (7, 21)), b.input("i", I64, (5,))
    at = b.expand(b.reshape(ids, (5, 1)), (5, 21))
    return [b.gather(b.slice(table, (0, 0), (7, 21), (1, 1)), at, 0)]


@case
def positions(b: Builder) -> list[int]:
    at = b.iota(1, I32, (4, 19))
    causal = b.bin("le", at, b.iota(0, I32, (4, 19)))
    x = b.input("x", F32, (4, 19))
    return [b.select(causal, x, b.cast(at, F32))]


@case
def integers(b: Builder) -> list[int]:
    x, y = b.input("x", I8, (6, 40)), b.input("y", I8, (6, 40))
    return [b.bin("floordiv", b.bin("mul", x, y), b.bin("sub", y, x))]


@case
def unaligned_reshape(b: Builder) -> list[int]:
    x = b.input("x", F32, (4, 6))
    y = b.reshape(b.permute(b.reshape(x, (3, 8)), (1, 0)), (6, 4))
    return [b.bin("add", y, b.reshape(x, (6, 4)))]


@case
def transposed(b: Builder) -> list[int]:
    x, y = b.input("x", F32, (2, 35, 70)), b.input("y", F32, (2, 70, 35))
    return [b.bin("add", b.permute(x, (0, 2, 1)), y)]


@case
def transposed_even(b: Builder) -> list[int]:
    return [b.permute(b.input("x", F32, (64, 32)), (1, 0))]


# ---- reductions ----


def _softmax(b: Builder, dtype: DType) -> list[int]:
    """Spelled in its own dtype, which `strict` rounds to: the macro is one of f32."""
    x = b.input("x", dtype, (5, 150))
    top = b.expand(b.reduce("max", x, [1]), (5, 150))
    e = b.un("exp", b.bin("sub", x, top))
    share = b.un("recip", b.reduce("sum", e, [1]))
    return [b.bin("mul", e, b.expand(share, (5, 150)))]


for _d in (F32, F64, F16, BF16):
    with_dtype("softmax", _d, _softmax)


@case
def softmax_columns(b: Builder) -> list[int]:
    return [b.macro("softmax", [b.input("x", F32, (13, 70))], (1, 0))]


@case
def softmax_all(b: Builder) -> list[int]:
    return [b.macro("softmax", [b.input("x", F32, (11, 30))], (1, 1))]


@case
def layer_norm(b: Builder) -> list[int]:
    x, g, c = (b.input(s, F32, (n, 133)) for s, n in (("x", 6), ("g", 1), ("c", 1)))
    return [b.macro("layer_norm", [x, g, c], (0, 1), 1e-5)]


@case
def statistics(b: Builder) -> list[int]:
    x = b.input("x", F32, (4, 3, 50))
    top = b.reduce("max", x, [1, 2])
    total = b.reduce("sum", x, [1, 2])
    return [b.bin("sub", x, b.expand(top, (4, 3, 50))), top, total]


@case
def logic(b: Builder) -> list[int]:
    x = b.input("x", BOOL, (7, 45))
    return [b.reduce("any", x, [1]), b.reduce("all", x, [1])]


@case
def products_and_minima(b: Builder) -> list[int]:
    x = b.input("x", U8, (3, 40))
    return [b.reduce("prod", x, [0]), b.reduce("min", x, [0])]


@case
def mean_of_everything(b: Builder) -> list[int]:
    return [b.macro("mean", [b.input("x", F32, (37, 41))], (1, 1))]


@case
def rows_and_columns(b: Builder) -> list[int]:
    x = b.input("x", F32, (9, 12))
    rows, columns = (b.expand(b.reduce("sum", x, [a]), (9, 12)) for a in (0, 1))
    return [b.bin("mul", rows, columns)]


@case
def attention(b: Builder) -> list[int]:
    q, k, v = (b.input(s, F32, (2, 6, 4)) for s in "qkv")
    return [b.macro("attention", [q, k, v], 0.3)]


# ---- arg-reductions ----


def _choice(b: Builder, kind: str, x: int, axis: int, dtype: DType = I64) -> int:
    return b.add("argreduce", (x,), (kind, axis, dtype))


@case
def best_of_rows(b: Builder) -> list[int]:
    """Beside the best value, which need not be found again."""
    x = b.un("tanh", b.input("x", F32, (5, 150)))
    return [_choice(b, "argmax", x, 1), b.reduce("max", x, [1])]


@case
def best_of_columns(b: Builder) -> list[int]:
    x = b.input("x", I8, (13, 70))
    return [_choice(b, "argmin", x, 0, I32), b.reduce("sum", x, [0])]


@case
def best_of_all(b: Builder) -> list[int]:
    """With a length that no number of pieces divides."""
    return [_choice(b, "argmax", b.input("x", F64, (1201,)), 0)]


@case
def best_of_one(b: Builder) -> list[int]:
    x = b.input("x", F16, (7, 1))
    return [_choice(b, "argmin", x, 1), _choice(b, "argmin", x, 0)]


@case
def best_of_the_masked(b: Builder) -> list[int]:
    x, m = b.input("x", BF16, (6, 3, 20)), b.input("m", BOOL, (6, 3, 20))
    low = b.expand(b.const(-3.0, BF16, (1, 1, 1)), (6, 3, 20))
    return [_choice(b, "argmin", b.select(m, x, low), 1, I8)]


@case
def best_of_places_out_of_order(b: Builder) -> list[int]:
    """Of a row whose elements lie in columns; and of truth."""
    x = b.reshape(b.permute(b.input("x", U8, (4, 6, 5)), (2, 1, 0)), (5, 24))
    y = b.un("not", b.bin("lt", x, b.expand(b.const(3, U8, (1, 1)), (5, 24))))
    return [_choice(b, "argmax", x, 1), _choice(b, "argmax", y, 1)]


@case
def best_of_a_softmax(b: Builder) -> list[int]:
    p = b.macro("softmax", [b.input("x", F32, (4, 90))], (0, 1))
    return [p, _choice(b, "argmax", p, 1)]


@case
def row_of_the_best(b: Builder) -> list[int]:
    """What is found says what is read."""
    table, x = b.input("t", F32, (9, 30)), b.input("x", F32, (3, 9))
    at = b.expand(_choice(b, "argmax", x, 1), (3, 30))
    return [b.gather(table, at, 0)]


# ---- scans ----


@case
def running_sums(b: Builder) -> list[int]:
    """Along rows, of what is computed, and what is computed of them."""
    total = b.scan("sum", b.un("tanh", b.input("x", F32, (5, 150))), 1)
    return [total, b.un("sigmoid", total)]


@case
def running_sums_of_columns(b: Builder) -> list[int]:
    return [b.scan("sum", b.input("x", F16, (13, 70)), 0)]


@case
def running_best(b: Builder) -> list[int]:
    """Two folds of one line, of small integers, in the middle."""
    x = b.input("x", I8, (3, 40, 5))
    return [b.bin("sub", b.scan("max", x, 1), b.scan("min", x, 1))]


@case
def running_truth(b: Builder) -> list[int]:
    """Backwards, so that what is read runs against the order."""
    x = b.slice(b.input("x", BOOL, (7, 45)), (0, 44), (7, 45), (1, -1))
    return [b.scan("all", x, 1)]


@case
def sums_of_sums(b: Builder) -> list[int]:
    """A line that cannot be cut: the second scan needs the first."""
    once = b.scan("sum", b.input("x", F64, (300,)), 0)
    return [b.scan("sum", b.bin("mul", once, b.input("y", F64, (300,))), 0)]


@case
def running_products_over_digits(b: Builder) -> list[int]:
    """One line by three loops, for what is scanned is split."""
    x, y = b.input("x", BF16, (4, 60)), b.input("y", BF16, (4, 5, 3, 4))
    folded = b.reshape(b.permute(y, (0, 3, 2, 1)), (4, 60))
    return [b.scan("prod", b.bin("mul", x, b.un("tanh", folded)), 1)]


# ---- scatters ----


def _scatter(b: Builder, mode: str, axis: int, x: int, index: int, v: int) -> int:
    return b.add("scatter", (x, index, v), (mode, axis))


@case
def summed_rows(b: Builder) -> list[int]:
    """The gradient of an embedding: rows onto zeros, some outside."""
    zeros = b.expand(b.const(0.0, F32, (1, 1)), (9, 70))
    at = b.expand(b.input("i", I64, (40, 1)), (40, 70))
    return [_scatter(b, "add", 0, zeros, at, b.un("exp", b.input("v", F32, (40, 70))))]


@case
def set_along_rows(b: Builder) -> list[int]:
    """Each element at its own place; of several the last stays."""
    x, v = b.input("x", F16, (6, 7, 5)), b.input("v", F16, (6, 11, 5))
    at = b.input("i", I32, (6, 11, 5))
    return [_scatter(b, "set", 1, b.un("neg", x), at, v)]


@case
def counted(b: Builder) -> list[int]:
    """A histogram: no axis but the one that is scattered along."""
    one = b.expand(b.const(1, I8, (1,)), (300,))
    return [
        _scatter(b, "add", 0, b.input("x", I8, (10,)), b.input("i", U8, (300,)), one)
    ]


@case
def scattered_softmax(b: Builder) -> list[int]:
    """Values that are computed from whole rows, and an index from a choice."""
    x, v = b.input("x", F32, (8, 33)), b.input("v", F32, (5, 33))
    at = _choice(b, "argmax", b.input("s", F32, (5, 12)), 1)
    p = b.macro("softmax", [v], (0, 1))
    return [_scatter(b, "max", 0, x, b.expand(at, (5, 33)), p)]


# ---- contractions ----


def _matmul(b: Builder, dtype: DType) -> list[int]:
    return [b.matmul(b.input("x", dtype, (17, 33)), b.input("w", dtype, (33, 65)))]


for _d in (F32, F64, F16, I32):
    with_dtype("matmul", _d, _matmul)


@case
def matrix_vector(b: Builder) -> list[int]:
    return [b.matmul(b.input("x", F32, (20, 70)), b.input("w", F32, (70, 1)))]


@case
def gated(b: Builder) -> list[int]:
    x = b.input("x", F32, (13, 21))
    u, v = (b.matmul(x, b.input(s, F32, (21, 35))) for s in "uv")
    return [b.bin("mul", b.un("silu", u), v)]


@case
def prologue_and_epilogue(b: Builder) -> list[int]:
    x, s = b.input("x", F32, (14, 18)), b.input("s", F32, (1, 18))
    w, c = b.input("w", F32, (40, 18)), b.input("c", F32, (1, 40))
    y = b.matmul(b.un("relu", b.bin("mul", *b.broadcast(x, s))), b.permute(w, (1, 0)))
    return [b.un("gelu", b.bin("add", *b.broadcast(y, c)))]


@case
def transposed_operands(b: Builder) -> list[int]:
    x, w = b.input("x", F32, (30, 14)), b.input("w", F32, (9, 30))
    y = b.matmul(b.permute(x, (1, 0)), b.permute(w, (1, 0)))
    return [b.permute(y, (1, 0))]


@case
def heads(b: Builder) -> list[int]:
    q, k = (b.reshape(b.input(s, F32, (2, 9, 12)), (2, 9, 3, 4)) for s in "qk")
    return [b.matmul(b.permute(q, (0, 2, 1, 3)), b.permute(k, (0, 2, 3, 1)))]


@case
def convolution(b: Builder) -> list[int]:
    x, f = b.input("x", F32, (2, 3, 6, 7)), b.input("f", F32, (5, 3, 3, 3))
    x = b.pad(x, (0, 0, 1, 1), (0, 0, 1, 1), 0.0)
    y = b.permute(b.window(b.window(x, 2, 3), 3, 3), (0, 2, 3, 1, 4, 5))
    y = b.reshape(y, (2, 1, 6, 7, 3, 3, 3))
    f = b.reshape(f, (1, 5, 1, 1, 3, 3, 3))
    return [b.contract(y, f, (2, 5, 6, 7, 3, 3, 3), (0, 0, 0, 0, 1, 1, 1))]


def large(name: str, make: Callable[[Builder], list[int]]) -> None:
    def build() -> Kernel:
        b = Builder()
        return kernel_of(b, make(b))

    LARGE[name] = build


def _product(b: Builder, m: int, k: int, n: int, turn: bool, dtype: DType) -> list[int]:
    x = b.input("x", dtype, (k, m) if turn else (m, k))
    w = b.input("w", dtype, (n, k) if turn else (k, n))
    x, w = (b.permute(v, (1, 0)) if turn else v for v in (x, w))
    y = b.matmul(x, w)
    return [b.un("relu", y), b.un("neg", y)]


for _size in ((300, 530, 700), (13, 1030, 515), (5, 257, 16), (700, 3, 40)):
    for _turn in (False, True):
        for _d in (F32, F64, BF16):
            large(
                f"product {_size} {_turn} {_d}",
                lambda b, s=_size, t=_turn, d=_d: _product(b, *s, t, d),
            )


def _side_by_side(b: Builder, m: int, columns: tuple[int, ...]) -> list[int]:
    """Products of one input with columns of their own, each followed by something."""
    x = b.input("x", F32, (m, 40))
    ys = [b.matmul(x, b.input(f"w{n}", F32, (40, n))) for n in columns]
    return [ys[0], *(b.un("relu", y) for y in ys[1:])]


for _size in ((5, (30, 10, 20)), (300, (600, 33))):
    large(f"side by side {_size}", lambda b, s=_size: _side_by_side(b, *s))


def _normed(b: Builder, m: int, n: int) -> list[int]:
    """A product whose columns are scaled by what is dear and the same for all rows."""
    y = b.matmul(b.input("x", F32, (m, 40)), b.input("w", F32, (40, n)))
    variance = b.un("exp", b.input("v", F32, (1, n)))
    return [b.bin("mul", *b.broadcast(y, b.un("rsqrt", variance)))]


for _size in ((30, 70), (300, 1030), (7, 520)):
    large(f"normed {_size}", lambda b, s=_size: _normed(b, *s))
