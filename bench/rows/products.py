"""Products of matrices, for `nvidia.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernels import kernel_of
from rows.memory import Row, Tensors, random, torch

from rewrite.egraph.ir.dtypes import BF16, F8E4M3, F32, U32, DType
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


def tf32(m: int, n: int, k: int) -> Row:
    """Of the upper bits of f32, as torch multiplies where it may."""
    b = Builder()
    x, w = (b.input(name, F32, s) for name, s in (("x", (m, k)), ("w", (k, n))))

    def few(v: int) -> int:
        mask = b.const(0xFFFFE000, U32, b.shape(v))
        word = b.bin("and", b.add("bitcast", (v,), (U32,)), mask)
        return b.add("bitcast", (word,), (F32,))

    def make() -> list[Any]:
        return [random(*s, dtype=torch.float32) for s in ((m, k), (k, n))]

    def peer(a: Tensors) -> Any:
        torch.backends.cuda.matmul.allow_tf32 = True
        try:
            return a[0] @ a[1]
        finally:
            torch.backends.cuda.matmul.allow_tf32 = False

    return Row(f"product tf32 {m}x{n}x{k}",
               normalise(kernel_of(b, b.matmul(few(x), few(w)))),
               make, peer, lambda a: a[0] @ a[1], 2e-3, along=(0,),
               flops=2.0 * m * n * k)  # fmt: skip


def eight(m: int, n: int, k: int) -> Row:
    """Of f8e4m3, to bf16; the right side lies along what is summed."""
    b = Builder()
    x, w = b.input("x", F8E4M3, (m, k)), b.input("w", F8E4M3, (n, k))
    y = b.matmul(b.cast(x, F32), b.cast(b.permute(w, (1, 0)), F32))
    kind = torch.float8_e4m3fn

    def make() -> list[Any]:
        return [random(*s, dtype=torch.float32).to(kind) for s in ((m, k), (n, k))]

    def peer(a: Tensors) -> Any:
        one = torch.ones((), device="cuda")
        return torch._scaled_mm(a[0], a[1].T, one, one, out_dtype=torch.bfloat16)

    def exact(a: Tensors) -> Any:
        return a[0] @ a[1].T

    return Row(f"product f8e4m3 {m}x{n}x{k}",
               normalise(kernel_of(b, b.cast(y, BF16))),
               make, peer, exact, 1e-2, along=(0,), flops=2.0 * m * n * k)  # fmt: skip


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
    "gemvwide": lambda: product(1, 28672, 8192),
    "gemmf32": lambda: product(4096, 4096, 4096, F32),
    "tf32": lambda: tf32(4096, 4096, 4096),
    "fp8": lambda: eight(8192, 8192, 8192),
    "fp8small": lambda: eight(4096, 4096, 4096),
}
