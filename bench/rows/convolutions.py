"""Convolutions of images whose channels come last, for `nvidia.py`.

Torch is given the same memory: images and filters in its format `channels_last`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from kernels import kernel_of
from rows.memory import Row, Tensors, random, torch

from rewrite.egraph.ir.convolution import Frame
from rewrite.egraph.ir.dtypes import BF16
from rewrite.egraph.ir.graph import Builder
from rewrite.lower.axes import normalise

LAST, FIRST = (0, 2, 3, 1), (0, 3, 1, 2)


def convolution(
    images: int, size: int, channels: int, filters: int, kernel: int = 3,
    stride: int = 1, fused: bool = False,
) -> Row:  # fmt: skip
    """With as much padding as keeps the size, but for the stride.  `fused`: a batch norm
    of what was learnt, a bias, an image that is added, and max(x, 0)."""
    pad = kernel // 2
    b = Builder()
    x = b.permute(b.input("x", BF16, (images, size, size, channels)), FIRST)
    w = b.permute(b.input("w", BF16, (filters, kernel, kernel, channels)), FIRST)
    frame = Frame(1, (stride,) * 2, (1, 1), (pad, pad), (pad, pad))
    y = b.add("conv", (x, w, b.const(0, BF16, (filters,))), (frame.vector,))
    y = b.permute(y, LAST)
    out = b.shape(y)
    if fused:
        g, c = (b.input(name, BF16, (1, 1, 1, filters)) for name in "gc")
        y = b.bin("add", *b.broadcast(b.bin("mul", *b.broadcast(y, g)), c))
        y = b.un("relu", b.bin("add", y, b.input("r", BF16, out)))

    def make() -> list[Any]:
        sizes = [(images, size, size, channels), (filters, kernel, kernel, channels)]
        sizes += [(1, 1, 1, filters)] * 2 + [out] if fused else []
        made = [random(*s, dtype=torch.bfloat16) for s in sizes]
        made[1] *= (kernel * kernel * channels) ** -0.5
        return made

    def peer(a: Tensors) -> Any:
        conv = torch.nn.functional.conv2d
        y = conv(a[0].permute(*FIRST), a[1].permute(*FIRST), stride=stride, padding=pad)
        y = y.permute(*LAST)
        return torch.relu(y * a[2] + a[3] + a[4]) if fused else y

    name = f"convolution bf16 {kernel}x{kernel} {images}x{size}x{size}x{channels}"
    name += f" to {filters}" + f" by {stride}" * (stride > 1) + ", fused" * fused
    return Row(name, normalise(kernel_of(b, y)), make, peer, peer, 1e-2,
               flops=2.0 * prod(map(int, out)) * kernel * kernel * channels)  # fmt: skip


CONVOLUTIONS: dict[str, Callable[[], Row]] = {
    "conv": lambda: convolution(64, 56, 256, 256),
    "convfused": lambda: convolution(64, 56, 256, 256, fused=True),
    "conv7": lambda: convolution(64, 7, 512, 512),
    "conv14": lambda: convolution(64, 14, 256, 256),
    "conv28by2": lambda: convolution(64, 56, 128, 128, stride=2),
    "conv1by2": lambda: convolution(64, 56, 256, 512, kernel=1, stride=2),
    "convodd": lambda: convolution(32, 61, 72, 88, kernel=5),
}
