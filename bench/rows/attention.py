"""Attention as array code says it, for `nvidia.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from kernels import kernel_of
from rows.memory import Row, Tensors, random, torch

from rewrite.egraph.ir.dtypes import BF16, I32
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import normalise


def plain(heads: int, length: int, size: int, causal: bool) -> Kernel:
    """softmax(Q Kᵀ scale) V."""
    b = Builder()
    shape = (heads, length, size)
    q, k, v = (b.input(n, BF16, shape) for n in "qkv")
    x = b.matmul(q, b.permute(k, (0, 2, 1)))
    scores = b.type(x).shape
    x = b.bin("mul", x, b.const(size**-0.5, BF16, scores))
    if causal:
        keep = b.bin("le", b.iota(2, I32, scores), b.iota(1, I32, scores))
        x = b.select(keep, x, b.const(-np.inf, BF16, scores))
    p = b.un("exp", b.bin("sub", *b.broadcast(x, b.reduce("max", x, [2]))))
    y = b.matmul(p, v)
    total = b.reduce("sum", p, [2])
    return normalise(kernel_of(b, b.bin("div", *b.broadcast(y, total))))


def attention(heads: int, length: int, size: int, causal: bool = False) -> Row:
    def make() -> list[Any]:
        return [random(heads, length, size, dtype=torch.bfloat16) for _ in range(3)]

    def peer(a: Tensors) -> Any:
        kinds = torch.nn.attention.SDPBackend
        best = [kinds.CUDNN_ATTENTION, kinds.FLASH_ATTENTION, kinds.MATH]
        with torch.nn.attention.sdpa_kernel(best, set_priority=True):
            of_one = (x[None] for x in a)
            return torch.nn.functional.scaled_dot_product_attention(
                *of_one, is_causal=causal
            )[0]

    def exact(a: Tensors) -> Any:
        """Head by head: all scores would not fit."""
        out: list[Any] = []
        for q, k, v in zip(*a, strict=True):
            x = q @ k.T * size**-0.5
            if causal:
                keep = torch.ones_like(x, dtype=torch.bool).tril()
                x = x.masked_fill(~keep, -float("inf"))
            out.append(torch.softmax(x, -1) @ v)
        return torch.stack(out)

    name = f"attention bf16 {heads} x {length} x {size}{', causal' * causal}"
    flops = 4.0 * heads * length**2 * size / (2 if causal else 1)
    return Row(
        name, plain(heads, length, size, causal), make, peer, exact, 1e-2, flops=flops
    )


ATTENTION: dict[str, Callable[[], Row]] = {
    "attention": lambda: attention(64, 4096, 128),
    "attention16k": lambda: attention(16, 16384, 128),
    "attention64": lambda: attention(64, 4096, 64),
    "causal": lambda: attention(64, 4096, 128, True),
    "causal16k": lambda: attention(16, 16384, 128, True),
    "causal64": lambda: attention(64, 4096, 64, True),
}
