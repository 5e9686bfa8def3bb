"""Products that a library takes, and kernels of them."""

from __future__ import annotations

from collections.abc import Callable

from rewrite.egraph.ir.dtypes import BF16, F16, F32, F64, DType
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import normalise

from .harness import kernel_of

type Make = Callable[[Builder], int]


def product(
    m: int, n: int, k: int, turned: str = "", batch: int = 0, dtype: DType = F32
) -> Make:
    """x @ w; `turned`: which of a, b and the result c lie the other way."""

    def make(b: Builder) -> int:
        head = (batch,) if batch else ()

        def matrix(name: str, rows: int, columns: int) -> int:
            if name not in turned:
                return b.input(name, dtype, (*head, rows, columns))
            return flip(b.input(name, dtype, (*head, columns, rows)))

        def flip(x: int) -> int:
            axes = (0, 2, 1) if batch else (1, 0)
            return b.permute(x, axes)

        made = b.matmul(matrix("a", m, k), matrix("b", k, n))
        return flip(made) if "c" in turned else made

    return make


def with_epilogue(dtype: DType) -> Make:
    def make(b: Builder) -> int:
        y = product(13, 21, 8, dtype=dtype)(b)
        return b.un(
            "gelu", b.bin("add", *b.broadcast(y, b.input("bias", dtype, (1, 21))))
        )

    return make


def sliced(b: Builder) -> int:
    """Rows apart, and the first one not at the start."""
    x = b.slice(b.input("x", F32, (9, 20)), (1, 3), (6, 11), (1, 1))
    return b.matmul(x, b.input("w", F32, (11, 7)))


def heads(b: Builder) -> int:
    """Scores of attention where queries and keys lie as they were projected."""
    q, k = (b.input(name, F32, (2, 6, 3, 8)) for name in "qk")
    return b.matmul(b.permute(q, (0, 2, 1, 3)), b.permute(k, (0, 2, 3, 1)))


def one_for_all(b: Builder) -> int:
    """The left side is the same in each product of the batch."""
    return b.matmul(b.input("x", F32, (1, 5, 6)), b.input("w", F32, (4, 6, 7)))


def widened(dtype: DType, terms: int = 40) -> Make:
    """Small sides, and a result of f32."""

    def make(b: Builder) -> int:
        a, w = b.input("a", dtype, (12, terms)), b.input("w", dtype, (9, terms))
        w = b.permute(w, (1, 0))
        return b.matmul(b.cast(a, F32), b.cast(w, F32))

    return make


TAKEN: dict[str, Make] = {
    "plain": product(17, 65, 33), "double": product(5, 6, 7, dtype=F64),
    "left turned": product(17, 5, 9, "a"), "right turned": product(17, 5, 9, "b"),
    "result turned": product(17, 5, 9, "c"), "all turned": product(17, 5, 9, "abc"),
    "batch": product(4, 9, 6, "b", batch=3), "two axes of a batch": heads,
    "one for all": one_for_all, "one term": product(4, 5, 1),
    "epilogue": with_epilogue(F32), "sliced": sliced,
}  # fmt: skip
SMALL: dict[str, Make] = {
    "f16": product(17, 5, 9, "a", dtype=F16), "bf16": product(5, 6, 70, dtype=BF16),
    "f16 batch": product(4, 9, 6, "bc", batch=3, dtype=F16),
    "f16 epilogue": with_epilogue(F16),
    "f16 to f32": widened(F16), "bf16 to f32": widened(BF16),
}  # fmt: skip


def kernel(make: Make) -> Kernel:
    b = Builder()
    return normalise(kernel_of(b, [make(b)]))


__all__ = ["SMALL", "TAKEN", "Make", "kernel", "product", "widened"]
