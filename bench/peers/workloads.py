"""What bench/cpu.py runs: each workload is written once, for every contestant.

The first argument of array code is the language of a library: NumPy's functions, or
what the library itself has for that purpose (`torch.nn.functional.softmax`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rewrite.egraph.ir.scalars import Array

from . import mnist
from .task import Code, Network, Step, Task

EXPORTED = Path(__file__).parents[2] / "build/onnx-models"


@dataclass(frozen=True)
class Workload:
    """`bar`: how many times faster than the best peer ours must be."""

    name: str
    bar: float
    task: Callable[[], Task]
    model: bool = False


# ---- array code ----


def gelu_chain(m: Any, x: Any, out: Any = None) -> Any:
    return m.multiply(m.gelu(x * 1.5 + 0.1), 0.7, out=out)


def softmax(m: Any, x: Any, out: Any = None) -> Any:
    return m.softmax(x, out=out)


def layer_norm(m: Any, x: Any, gain: Any, bias: Any, out: Any = None) -> Any:
    return m.layer_norm(x, gain, bias, out=out)


def total(*axes: int) -> Callable[..., Any]:
    def sum_over(m: Any, x: Any, out: Any = None) -> Any:
        return m.sum(x, axes, out=out)

    return sum_over


def transpose(m: Any, x: Any, out: Any = None) -> Any:
    return m.transposed(x, out=out)


def matmul(m: Any, a: Any, b: Any, out: Any = None) -> Any:
    return m.matmul(a, b, out=out)


def attention(m: Any, q: Any, k: Any, v: Any, out: Any = None) -> Any:
    return m.attention(q, k, v, out=out)


def conv(m: Any, x: Any, w: Any, out: Any = None) -> Any:
    return m.conv(x, w, 1, out=out)


def lstm_cell(
    m: Any, x: Any, h: Any, c: Any, w: Any, u: Any, b: Any, d: Any, out: Any = None
) -> Any:
    return m.lstm_cell(x, h, c, w, u, b, d, out=out)


# ---- with what they run ----


def drawn(*shapes: tuple[int, ...], scale: float = 1.0) -> tuple[Array, ...]:
    rng = np.random.default_rng(0)
    return tuple(
        (scale * rng.standard_normal(s, dtype=np.float32)).astype(np.float32)
        for s in shapes
    )


def positive(*shape: int) -> tuple[Array, ...]:
    """Sums of these are well-conditioned."""
    return (np.random.default_rng(0).random(shape, dtype=np.float32),)


def cell(batch: int, width: int) -> Code:
    states = drawn(*[(batch, width)] * 3)
    weights = drawn(*[(4 * width, width)] * 2, *[(4 * width,)] * 2, scale=width**-0.5)
    return Code(lstm_cell, states, weights)


def network(name: str) -> Callable[[], Network]:
    def case() -> Any:
        import torchvision

        from bench.onnx_models import MODELS, Case, image

        if name != "resnet18":
            return MODELS[name]
        build = torchvision.models.resnet18
        return Case(build, lambda: image(224), ("image", "logits"))

    return lambda: Network(name, case, EXPORTED)


def code(
    f: Callable[..., Any],
    inputs: Callable[[], tuple[Array, ...]],
    weights: Callable[[], tuple[Array, ...]] = tuple,
    library: bool = False,
) -> Callable[[], Task]:
    """Arrays are drawn when the workload's turn comes."""
    return lambda: Code(f, inputs(), weights(), library)


def kernels() -> list[Workload]:
    side, flat = (4096, 4096), (1 << 24,)
    square, heads = (1024, 1024), (8, 1024, 64)
    image, filters = (1, 64, 56, 56), (64, 64, 3, 3)

    def normal(*shapes: tuple[int, ...]) -> Callable[[], tuple[Array, ...]]:
        return lambda: drawn(*shapes)

    def sums() -> tuple[Array, ...]:
        return positive(*side)

    return [
        Workload("gelu chain 16M", 1.2, code(gelu_chain, normal(flat))),
        Workload("softmax 4096^2", 1.0, code(softmax, normal(side))),
        Workload(
            "layer norm 4096^2", 1.2,
            code(layer_norm, normal(side), normal((4096,), (4096,))),
        ),
        Workload("sum to scalar 4096^2", 1.0, code(total(0, 1), sums)),
        Workload("sum of rows 4096^2", 1.0, code(total(1), sums)),
        Workload("sum of columns 4096^2", 1.0, code(total(0), sums)),
        Workload("transpose 4096^2", 1.0, code(transpose, normal(side))),
        Workload("matmul 1024^3", 0.85, code(matmul, normal(square, square))),
        Workload(
            "matmul 1024^3, library", 0.98,
            code(matmul, normal(square, square), library=True),
        ),
        Workload("attention 8x1024x64", 1.0, code(attention, normal(*[heads] * 3))),
        Workload(
            "conv 3x3 64->64 56^2", 0.9, code(conv, normal(image), normal(filters))
        ),
    ]  # fmt: skip


def models() -> list[Workload]:
    def training() -> Step:
        return Step(mnist.loss, mnist.step, mnist.parameters(), mnist.batch(64), 0.01)

    return [
        Workload("resnet18 batch 1", 0.8, network("resnet18"), model=True),
        Workload("bert2 128 tokens", 0.8, network("bert2"), model=True),
        Workload("llama2 128 tokens", 0.8, network("llama2"), model=True),
        Workload("lstm cell 16x256", 0.8, lambda: cell(16, 256), model=True),
        Workload("mnist training step", 0.8, training, model=True),
    ]
