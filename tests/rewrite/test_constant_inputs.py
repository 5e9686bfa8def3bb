"""What depends on constant inputs alone is made when they change, on every device."""

from __future__ import annotations

import numpy as np
import pytest

from rewrite.backends.devices import device
from rewrite.backends.native.digest import Contents
from rewrite.core.options import Options
from rewrite.core.planning import planned
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.graph import Builder, Graph

OPTIONS = Options(fallback=False, constant_inputs=frozenset({"w"}))


def graph() -> Graph:
    """x @ (exp(w) @ w), of which the second product reads `w` alone."""
    b = Builder()
    x, w = b.input("x", F32, (6, 40)), b.input("w", F32, (40, 40))
    return b.build({"y": b.matmul(x, b.matmul(b.un("exp", w), w))})


@pytest.mark.parametrize("name", ["numpy", "c"])
def test_kept_while_the_witness_is_the_same(name: str) -> None:
    g, rng = graph(), np.random.default_rng(0)
    made = planned(g, device(name), OPTIONS)
    ready = made.executable()
    assert (
        ready is not None
        and ready.constant_inputs == {"w"}
        and ready.kept_bytes >= 6400
    )
    x, w = rng.standard_normal((6, 40), "f4"), rng.standard_normal((40, 40), "f4") / 8
    other = rng.standard_normal((40, 40), "f4") / 8

    def wants(y: np.ndarray, w: np.ndarray) -> None:
        want = evaluate(g, {"x": x, "w": w}, "f64")["y"]
        np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-4)

    for w_, witness, held in (
        (w, None, w), (w, 1, w), (other, 1, w), (other, 2, other), (w, None, w),
        (other, 2, other),
    ):  # fmt: skip
        wants(made({"x": x, "w": w_}, witness=witness)["y"], held)


def test_without_steady_inputs_nothing_is_kept() -> None:
    made = planned(graph(), device("c"), Options(fallback=False))
    ready = made.executable()
    assert ready is not None and not ready.constant_inputs and not ready.prologue


@pytest.mark.parametrize("size", [0, 1, 3, 4, 4095, 4096, 4097, 100_003])
def test_a_digest_is_of_every_byte(size: int) -> None:
    data = np.random.default_rng(size).integers(0, 256, size).astype("u1")
    contents = Contents([(data.ctypes.data, data.nbytes)])
    first = contents.digest()
    assert first is not None and first == contents.digest()
    for at in {0, size // 2, size - 1} if size else ():
        data[at] ^= 0x80
        assert contents.digest() != first
        data[at] ^= 0x80
    assert contents.digest() == first


def test_a_digest_is_of_the_order() -> None:
    data = np.random.default_rng(0).standard_normal((96, 96), "f4")
    contents = Contents([(data.ctypes.data, data.nbytes)])
    seen = {contents.digest()}
    for change in (
        lambda: data[::-1].copy(), lambda: data.T.copy(), lambda: -data,
        lambda: np.roll(data, 1, 0), lambda: data[:, ::-1].copy(),
    ):  # fmt: skip
        data[...] = change()
        seen.add(contents.digest())
    assert len(seen) == 6
