"""Attention as array code says it, for `nvidia.py`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from kernels import kernel_of
from rows.memory import Row, Tensors, random, torch

from rewrite.egraph.ir.dtypes import BF16, I32
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import normalise


def plain(
    heads: int, length: int, size: int, causal: bool, rows: int = 0, cap: float = 0.0,
    window: int = 0,
) -> Kernel:  # fmt: skip
    """softmax(Q Kᵀ scale) V, with `rows` queries to a head, or as many as keys; scores
    within ±`cap`, and of a query's last `window` keys alone."""
    b = Builder()
    shape = (heads, length, size)
    q = b.input("q", BF16, (heads, rows or length, size))
    k, v = (b.input(n, BF16, shape) for n in "kv")
    x = b.matmul(q, b.permute(k, (0, 2, 1)))
    scores = b.type(x).shape
    x = b.bin("mul", x, b.const(size**-0.5, BF16, scores))
    if cap:
        x = b.bin("div", x, b.const(cap, BF16, scores))
        x = b.bin("mul", b.un("tanh", x), b.const(cap, BF16, scores))
    if causal:
        key, query = b.iota(2, I32, scores), b.iota(1, I32, scores)
        keep = b.bin("le", key, query)
        if window:
            behind = b.bin("sub", query, key)
            near = b.bin("lt", behind, b.const(window, I32, scores))
            keep = b.bin("and", keep, near)
        x = b.select(keep, x, b.const(-np.inf, BF16, scores))
    p = b.un("exp", b.bin("sub", *b.broadcast(x, b.reduce("max", x, [2]))))
    y = b.matmul(p, v)
    total = b.reduce("sum", p, [2])
    return normalise(kernel_of(b, b.bin("div", *b.broadcast(y, total))))


def attention(
    heads: int, length: int, size: int, causal: bool = False, rows: int = 0
) -> Row:
    def make() -> list[Any]:
        lengths = (rows or length, length, length)
        return [random(heads, n, size, dtype=torch.bfloat16) for n in lengths]

    def peer(a: Tensors) -> Any:
        kinds = torch.nn.attention.SDPBackend
        best = [kinds.CUDNN_ATTENTION, kinds.FLASH_ATTENTION, kinds.MATH]
        if rows:  # it cuts long passes of few rows into parts
            best = best[1:]
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
    name += f", {rows} queries" if rows else ""
    flops = 4.0 * heads * length * (rows or length) * size / (2 if causal else 1)
    kernel = plain(heads, length, size, causal, rows)
    return Row(name, kernel, make, peer, exact, 1e-2, flops=flops)


def capped(heads: int, length: int, size: int, cap: float, window: int) -> Row:
    """A variant that no library has; torch compiles its `flex_attention`."""
    flex: Any = import_module("torch.nn.attention.flex_attention")

    def near(_b: Any, _h: Any, query: Any, key: Any) -> Any:
        return (query >= key) & (query - key < window)

    def within(score: Any, *_: Any) -> Any:
        return cap * torch.tanh(score / cap)

    def peer(a: Tensors) -> Any:
        return called(*(x[None] for x in a))[0]

    def exact(a: Tensors) -> Any:
        out: list[Any] = []
        for q, k, v in zip(*a, strict=True):
            x = cap * torch.tanh(q @ k.T * size**-0.5 / cap)
            ones = torch.ones_like(x, dtype=torch.bool)
            keep = ones.tril() & ones.triu(1 - window)
            out.append(torch.softmax(x.masked_fill(~keep, -float("inf")), -1) @ v)
        return torch.stack(out)

    live = flex.create_block_mask(near, None, None, length, length)
    called = torch.compile(
        partial(flex.flex_attention, score_mod=within, block_mask=live), dynamic=False
    )
    kernel = plain(heads, length, size, True, cap=cap, window=window)
    pairs = sum(min(i + 1, window) for i in range(length))
    return Row(
        f"attention bf16 {heads} x {length} x {size}, last {window}, capped", kernel,
        lambda: [random(heads, length, size, dtype=torch.bfloat16) for _ in "qkv"],
        peer, exact, 1e-2, flops=4.0 * heads * pairs * size,
    )  # fmt: skip


ATTENTION: dict[str, Callable[[], Row]] = {
    "attention": lambda: attention(64, 4096, 128),
    "attention16k": lambda: attention(16, 16384, 128),
    "attention64": lambda: attention(64, 4096, 64),
    "causal": lambda: attention(64, 4096, 128, True),
    "causal16k": lambda: attention(16, 16384, 128, True),
    "causal64": lambda: attention(64, 4096, 64, True),
    "capped": lambda: capped(64, 4096, 128, 30.0, 1024),
    "capped16k": lambda: capped(16, 16384, 128, 30.0, 4096),
    "attention256": lambda: attention(16, 4096, 256),
    "decode": lambda: attention(128, 8192, 128, rows=1),
    "decode4": lambda: attention(128, 8192, 128, rows=4),
    "decode8x32k": lambda: attention(8, 32768, 128, rows=4),
}
