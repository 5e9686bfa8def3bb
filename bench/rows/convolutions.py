"""Convolutions, for `nvidia.py`: channels come last, or first.

Torch is given the same memory: images and filters that are `channels_last` or not.
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
    stride: int = 1, fused: bool = False, first: bool = False,
) -> Row:  # fmt: skip
    """With as much padding as keeps the size, but for the stride.  `fused`: a batch
    norm of what was learnt, a bias, an image that is added, and max(x, 0); `first`:
    channels lie before the axes of an image, also in filters and in the result."""
    pad = kernel // 2
    b = Builder()

    def shape(n: int, size: int, c: int) -> tuple[int, ...]:
        return (n, c, size, size) if first else (n, size, size, c)

    def turned(v: int) -> int:
        return v if first else b.permute(v, FIRST)

    x = turned(b.input("x", BF16, shape(images, size, channels)))
    w = turned(b.input("w", BF16, shape(filters, kernel, channels)))
    frame = Frame(1, (stride,) * 2, (1, 1), (pad, pad), (pad, pad))
    y = b.add("conv", (x, w, b.const(0, BF16, (filters,))), (frame.vector,))
    y = y if first else b.permute(y, LAST)
    out = tuple(map(int, b.shape(y)))
    if fused:
        g, c = (b.input(name, BF16, shape(1, 1, filters)) for name in "gc")
        y = b.bin("add", *b.broadcast(b.bin("mul", *b.broadcast(y, g)), c))
        y = b.un("relu", b.bin("add", y, b.input("r", BF16, out)))

    def make() -> list[Any]:
        sizes = [shape(images, size, channels), shape(filters, kernel, channels)]
        sizes += [shape(1, 1, filters)] * 2 + [out] if fused else []
        made = [random(*s, dtype=torch.bfloat16) for s in sizes]
        made[1] *= (kernel * kernel * channels) ** -0.5
        return made

    def peer(a: Tensors) -> Any:
        conv = torch.nn.functional.conv2d
        x, w = (v if first else v.permute(*FIRST) for v in a[:2])
        y = conv(x, w, stride=stride, padding=pad)
        y = y if first else y.permute(*LAST)
        return torch.relu(y * a[2] + a[3] + a[4]) if fused else y

    name = f"convolution bf16 {kernel}x{kernel} {images}x{size}x{size}x{channels}"
    name += f" to {filters}" + f" by {stride}" * (stride > 1) + ", fused" * fused
    name += ", channels first" * first
    return Row(name, normalise(kernel_of(b, y)), make, peer, peer, 1e-2, along=(0, 4),
               flops=2.0 * prod(out) * kernel * kernel * channels)  # fmt: skip


def gradient(images: int, size: int, channels: int, filters: int) -> Row:
    """Of filters of 3 x 3, by images and what follows from the result."""
    b = Builder()
    x = b.permute(b.input("x", BF16, (images, size, size, channels)), FIRST)
    x = b.pad(x, (0, 0, 1, 1), (0, 0, 1, 1), 0)
    x = b.permute(b.window(b.window(x, 2, 3), 3, 3), (4, 5, 1, 0, 2, 3))
    x = b.reshape(x, (1, 3, 3, channels, images, size, size))
    dy = b.permute(b.input("dy", BF16, (images, size, size, filters)), (3, 0, 1, 2))
    dy = b.reshape(dy, (filters, 1, 1, 1, images, size, size))
    full = (filters, 3, 3, channels, images, size, size)
    y = b.reshape(b.contract(dy, x, full, (0, 0, 0, 0, 1, 1, 1)), full[:4])

    def make() -> list[Any]:
        shape = (images, size, size)
        made = [random(*shape, n, dtype=torch.bfloat16) for n in (filters, channels)]
        made[0] *= (images * size * size) ** -0.5
        return made

    def peer(a: Tensors) -> Any:
        dy, x = (v.permute(*FIRST) for v in a)
        shape = (filters, channels, 3, 3)
        w = torch.empty(shape, dtype=x.dtype, device=x.device)
        w = w.contiguous(memory_format=torch.channels_last)
        mask = [False, True, False]
        back = torch.ops.aten.convolution_backward
        made = back(dy, x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, mask)
        return made[1].permute(*LAST)

    name = f"gradient of filters bf16 3x3 {images}x{size}x{size}x{channels}"
    flops = 18.0 * images * size**2 * channels * filters
    return Row(f"{name} to {filters}", normalise(kernel_of(b, y)), make, peer, peer,
               1e-2, rows=False, flops=flops)  # fmt: skip


CONVOLUTIONS: dict[str, Callable[[], Row]] = {
    "conv": lambda: convolution(64, 56, 256, 256),
    "convfused": lambda: convolution(64, 56, 256, 256, fused=True),
    "conv7": lambda: convolution(64, 7, 512, 512),
    "conv14": lambda: convolution(64, 14, 256, 256),
    "conv28by2": lambda: convolution(64, 56, 128, 128, stride=2),
    "conv1by2": lambda: convolution(64, 56, 256, 512, kernel=1, stride=2),
    "convfirst": lambda: convolution(64, 56, 256, 256, first=True),
    "convstem": lambda: convolution(64, 224, 3, 64, kernel=7, stride=2, first=True),
    "conv14first": lambda: convolution(64, 14, 256, 256, first=True),
    "convfilters": lambda: gradient(64, 28, 128, 128),
    "convfilters56": lambda: gradient(64, 56, 256, 256),
    "convodd": lambda: convolution(32, 61, 72, 88, kernel=5),
}
