"""Random kernels of the shapes that tile programs are for: chains, rows, columns, whole
tensors, transposes; odd, prime and empty sizes; small floats and integers."""

from __future__ import annotations

import random

from rewrite.egraph.ir.dtypes import BF16, F16, F32, I32, DType
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import normalise

from ..harness import kernel_of

SIZES = (1, 2, 3, 8, 17, 31, 32, 40, 64, 97, 128, 144)
DTYPES = (F32, F32, F16, BF16, I32)
FLOATS = ("tanh", "abs", "neg", "sigmoid", "relu", "square")
WHOLES = ("abs", "neg")


def random_kernel(seed: int) -> Kernel:
    rng = random.Random(seed)
    b = Builder()
    dtype = rng.choice(DTYPES)
    empty = rng.random() < 0.05
    shape = tuple(rng.choice(SIZES) for _ in range(rng.choice((1, 2, 2, 2, 3))))
    if empty:
        shape = (*shape[:-1], 0)
    x = chain(rng, b, b.input("x", dtype, shape), shape, dtype, "a")
    if rng.random() < 0.2 and len(shape) > 1:
        order = list(range(len(shape)))
        rng.shuffle(order)
        x, shape = b.permute(x, order), tuple(shape[a] for a in order)
        x = chain(rng, b, x, shape, dtype, "p")
    outputs = [x]
    kind = rng.choice(("map", "row", "row", "column", "full"))
    if kind != "map":
        axes = {"row": [len(shape) - 1], "column": [0], "full": list(range(len(shape)))}
        outputs = _reduced(rng, b, x, shape, dtype, axes[kind])
    return normalise(kernel_of(b, outputs))


def chain(
    rng: random.Random, b: Builder, x: int, shape: tuple[int, ...], dtype: DType,
    name: str,
) -> int:  # fmt: skip
    """A few elementwise ops, some with operands along a part of the axes."""
    for k in range(rng.randint(0, 3)):
        if rng.random() < 0.5:
            x = b.un(rng.choice(FLOATS if dtype.is_float else WHOLES), x)
        else:
            thin = tuple(n if rng.random() < 0.6 else 1 for n in shape)
            y = b.input(f"{name}{k}", dtype, thin)
            ops = ("add", "sub", "max", "mul") if dtype.is_float else ("add", "max")
            x = b.bin(rng.choice(ops), *b.broadcast(x, y))
    return x


def _reduced(
    rng: random.Random, b: Builder, x: int, shape: tuple[int, ...], dtype: DType,
    axes: list[int],
) -> list[int]:  # fmt: skip
    """One reduction or two that depend on each other, and what follows them."""
    first = b.reduce(rng.choice(("sum", "max", "min")), x, axes)
    if rng.random() < 0.3:
        return [first]
    y = b.bin("sub", x, b.expand(first, shape))
    if rng.random() < 0.5:
        y = b.un("tanh" if dtype.is_float else "abs", y)
    if rng.random() < 0.5:
        second = b.reduce("sum", y, axes)
        y = b.bin("add", y, b.expand(second, shape))
        return [y, second] if rng.random() < 0.3 else [y]
    return [y, first] if rng.random() < 0.3 else [y]
