"""Products of matrices, for `nvidia.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernels import kernel_of
from rows.memory import Row, Tensors, random, torch

from rewrite.egraph.ir.dtypes import BF16, F32, DType
from rewrite.egraph.ir.graph import Builder
from rewrite.lower.axes import normalise

TYPES = {BF16: torch.bfloat16, F32: torch.float32}
TOLERANCE = {BF16: 1e-2, F32: 1e-5}


def product(m: int, n: int, k: int, dtype: DType = BF16, batch: int = 0) -> Row:
    b = Builder()
    head = (batch,) if batch else ()
    x = b.input("x", dtype, (*head, m, k))
    w = b.input("w", dtype, (*head, k, n))
    kind = TYPES[dtype]

    def make() -> list[Any]:
        shapes = ((*head, m, k), (*head, k, n))
        return [random(*s, dtype=kind) for s in shapes]

    def peer(a: Tensors) -> Any:
        return a[0] @ a[1]

    size = f"{batch} x " * bool(batch) + f"{m}x{n}x{k}"
    along = (0, 1) if batch else (0,)
    return Row(f"product {dtype} {size}", normalise(kernel_of(b, b.matmul(x, w))),
               make, peer, peer, TOLERANCE[dtype], along=along,
               flops=2.0 * m * n * k * max(batch, 1))  # fmt: skip


def dense(m: int, n: int, k: int) -> Row:
    """With a bias and an activation."""
    b = Builder()
    x, w = b.input("x", BF16, (m, k)), b.input("w", BF16, (k, n))
    y = b.bin("add", *b.broadcast(b.matmul(x, w), b.input("c", BF16, (1, n))))

    def make() -> list[Any]:
        w = random(k, n, dtype=torch.bfloat16) * k**-0.5
        return [
            random(m, k, dtype=torch.bfloat16),
            w,
            random(1, n, dtype=torch.bfloat16),
        ]

    def peer(a: Tensors) -> Any:
        return torch.nn.functional.gelu(a[0] @ a[1] + a[2], approximate="tanh")

    return Row(f"product, bias, gelu bf16 {m}x{n}x{k}",
               normalise(kernel_of(b, b.un("gelu_tanh", y))), make, peer, peer, 1e-2,
               along=(0,), flops=2.0 * m * n * k)  # fmt: skip


PRODUCTS: dict[str, Callable[[], Row]] = {
    "gemm2k": lambda: product(2048, 2048, 2048),
    "gemm4k": lambda: product(4096, 4096, 4096),
    "gemm8k": lambda: product(8192, 8192, 8192),
    "dense": lambda: dense(8192, 4096, 16384),
    "batched": lambda: product(1024, 1024, 1024, batch=64),
    "odd": lambda: product(5000, 2000, 3000),
    "short": lambda: product(4096, 4096, 512),
    "low": lambda: product(128, 8192, 8192),
    "thin": lambda: product(17, 8192, 8192),
    "long": lambda: product(256, 256, 1 << 18),
    "gemv": lambda: product(1, 8192, 8192),
    "gemmf32": lambda: product(4096, 4096, 4096, F32),
}
