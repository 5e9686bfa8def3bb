"""The kernel interpreter means what the graph means, and works in place."""

from __future__ import annotations

import numpy as np
import pytest

from rewrite.backends.numpy import run_kernel
from rewrite.egraph.ir.dtypes import F16, F32
from rewrite.egraph.ir.graph import Builder

from ..extract.reference import Reference
from ..lower.cases import CASES
from ..lower.harness import buffers_for, kernel_of, reference


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_brute_force(name: str) -> None:
    k = CASES[name]()
    buffers = buffers_for(k)
    strict = reference(k, buffers, strict=True)
    small = "f16" in name
    for got, want in zip(strict, Reference(k, buffers[: k.reads]).run(), strict=True):
        tol = 4e-3 if small else 2e-2 if "bf16" in name else 2e-6
        np.testing.assert_allclose(
            got.astype(np.float64), want.astype(np.float64), rtol=tol, atol=tol
        )


def test_large_products_are_not_materialised() -> None:
    """The 2^33 products would need 32 GiB."""
    b = Builder()
    x, w = b.input("x", F32, (2048, 2048)), b.input("w", F32, (2048, 2048))
    k = kernel_of(b, [b.matmul(x, w)])
    buffers = buffers_for(k)
    run_kernel(k, buffers)
    x, w = (a.reshape(2048, 2048) for a in buffers[:2])
    np.testing.assert_allclose(
        buffers[2].reshape(2048, 2048), x @ w, rtol=1e-3, atol=1e-3
    )


def test_strict_rounds_between_operations_and_default_does_not() -> None:
    b = Builder()
    x = b.input("x", F16, (1,))
    big = b.broadcast(b.const(1000.0, F16), x)[0]
    y = b.bin("div", b.bin("mul", b.bin("mul", x, big), big), big)
    k = kernel_of(b, [y])
    one = [np.ones(1, np.float16), np.zeros(1, np.float16)]
    run_kernel(k, one)
    assert one[1][0] == 1000
    run_kernel(k, one, strict=True)
    assert np.isinf(one[1][0])


def test_an_index_out_of_range_is_an_error() -> None:
    k = CASES["gelu_chain"]()
    buffers = [np.zeros(1, np.float32) for _ in k.slots]
    with pytest.raises(IndexError):
        run_kernel(k, buffers)
