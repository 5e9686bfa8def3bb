"""Products whose results lie otherwise than their tiles: turned, or apart."""

from __future__ import annotations

import pytest

from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import normalise
from rewrite.lower.families.contract import CONTRACT
from rewrite.lower.families.products.products import apart
from rewrite.lower.interpret import run as interpret
from tests.lower.harness import (
    CPU,
    buffers_for,
    check_compiled,
    close,
    kernel_of,
    reference,
)


def product(m: int, n: int, k: int) -> Kernel:
    """Both sides run along k; something follows that varies along rows."""
    b = Builder()
    x, w = b.input("x", F32, (m, k)), b.input("w", F32, (n, k))
    bias = b.expand(b.reshape(b.input("b", F32, (n,)), (1, n)), (m, n))
    full = (m, n, k)
    wide = [b.expand(b.reshape(v, s), full) for v, s in ((x, (m, 1, k)),
                                                         (w, (1, n, k)))]  # fmt: skip
    y = b.reshape(b.reduce("sum", b.bin("mul", *wide), (2,)), (m, n))
    return kernel_of(b, [b.un("tanh", b.bin("add", y, bias))])


def in_phases(height: int, width: int, channels: int) -> Kernel:
    """Four channels of a pixel become a square of them."""
    b = Builder()
    x = b.input("x", F32, (channels, height * width))
    w = b.input("w", F32, (20, channels))
    full = (20, channels, height * width)
    wide = [b.expand(b.reshape(w, (20, channels, 1)), full),
            b.expand(b.reshape(x, (1, channels, height * width)), full)]  # fmt: skip
    y = b.reduce("sum", b.bin("mul", *wide), (1,))
    y = b.permute(b.reshape(y, (5, 2, 2, height, width)), (0, 3, 1, 4, 2))
    return kernel_of(b, [b.reshape(y, (5, 2 * height, 2 * width))])


PRODUCTS = [(7, 40, 9), (64, 70, 300), (3, 33, 5), (290, 520, 4)]
SQUARES = [(4, 8, 6), (5, 7, 6), (16, 16, 12)]
KERNELS = [*(product(*n) for n in PRODUCTS), *(in_phases(*n) for n in SQUARES)]


@pytest.mark.parametrize("kernel", [*KERNELS[:1], *KERNELS[2:3], *KERNELS[4:6]])
@pytest.mark.parametrize("turned", [0, 1])
def test_interpreted(kernel: Kernel, turned: int) -> None:
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers)
    holes = (("turned", turned),)
    interpret(CONTRACT.lower(normalise(kernel), CPU, "f", False, holes), buffers)
    close(kernel, buffers[kernel.reads :], want)


def test_compiled_by_c() -> None:
    check_compiled([(k, CONTRACT) for k in KERNELS])


def test_neighbours_in_other_lines() -> None:
    kernel = normalise(in_phases(16, 16, 12))
    (out,) = kernel.outputs
    steps = dict(out.offset.terms)
    (wide,) = (a for a in out.axes if steps[a] == 2)
    (narrow,) = (a for a in out.axes if steps[a] == 1)
    (far,) = (a for a in out.axes if steps[a] == 32 * 32)
    assert apart(kernel, out.offset, (wide,)) < 0.1
    assert apart(kernel, out.offset, (far,)) == 1.0
    assert 0.4 < apart(kernel, out.offset, (far, narrow)) < 0.6
