"""What follows a product may be several nests of loops, which its result held together:
where that is stored by itself, no family of one nest took them all."""

from __future__ import annotations

import numpy as np
import pytest

import rewrite as rw
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import nested, normalise
from rewrite.lower.device import Caps
from rewrite.lower.families.full import FULL
from rewrite.lower.families.nests.staged import cut
from rewrite.lower.model import model_of

from ..lower.harness import (
    CPU,
    GPU,
    check_compiled,
    check_interpreted,
    kernel_of,
)


def product(inner: int) -> Kernel:
    """A product, with values along its rows and others along its columns."""
    b = Builder()
    rows, columns = (12, 20) if inner < 1000 else (3, 5)
    x, w = b.input("x", F32, (rows, inner)), b.input("w", F32, (inner, columns))
    u, v = b.input("u", F32, (rows, 1)), b.input("v", F32, (1, columns))
    made = b.bin("add", b.matmul(x, w), b.bin("mul", *b.broadcast(u, v)))
    return normalise(kernel_of(b, [made, b.un("exp", u), b.un("neg", v)]))


def test_each_nest_is_a_stage() -> None:
    kernel = product(40)
    assert nested(kernel)
    made = cut(kernel, 16)
    assert made is not None and all(map(nested, made.stages))
    stored = [o.slot for k in made.stages for o in k.outputs]
    assert {o.slot for o in kernel.outputs} <= set(stored)
    assert len(stored) == len(set(stored))


@pytest.mark.sweep(2)
@pytest.mark.parametrize("caps", [CPU, GPU], ids=["cpu", "gpu"])
@pytest.mark.parametrize("inner", [1, 40, 3000])
def test_in_stages(inner: int, caps: Caps) -> None:
    kernel = product(inner)
    FULL.cost(kernel, model_of(caps))  # None, or what it costs
    check_interpreted(FULL, kernel, caps)


def test_compiled() -> None:
    check_compiled([(product(n), FULL) for n in (1, 40, 3000)])


def test_from_the_face() -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(112, 1)).astype(np.float32) for _ in range(2))

    def f(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, ...]:
        return x >= y, y * y, y @ (y * y).T

    made = rw.optimize(f, x, y, device="c", fallback=False, cache=False)
    for got, want in zip(made(x, y), f(x, y), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)
