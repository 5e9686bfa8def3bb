"""Running folds: every way to walk lines, in place, and as the graph means them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import rewrite
from rewrite import xp
from rewrite.backends.devices import device
from rewrite.egraph.ir.dtypes import F16, F32, F64, I32, DType
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.assemble import build_kernel
from rewrite.extract.schedule.chosen import Untraceable
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import normalise
from rewrite.lower.device import Caps
from rewrite.lower.families.scan import SCAN
from rewrite.lower.interpret import run as interpret
from rewrite.lower.loops import Barrier, For
from rewrite.lower.model import model_of
from rewrite.lower.verify import verify
from rewrite.lower.walking import walk
from tests.lower.cases import CASES
from tests.lower.harness import (
    CPU,
    GPU,
    buffers_for,
    check_compiled,
    close,
    kernel_of,
    on_c,
    reference,
)

CAPS = {"cpu": CPU, "gpu": GPU}
NAMES = tuple(name for name, make in CASES.items() if make().scans)


def scan(
    shape: tuple[int, ...], axis: int, monoid: str = "sum", dtype: DType = F32
) -> Kernel:
    b = Builder()
    x = b.un("neg", b.input("x", dtype, shape))
    return normalise(kernel_of(b, [b.un("abs", b.scan(monoid, x, axis))]))


def check(kernel: Kernel, caps: Caps, parts: int = 0) -> int:
    """How many top-level loops there are, after results were held to the reference."""
    holes = (("parts", parts),) if parts else ()
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers)
    made = verify(SCAN.lower(kernel, caps, "f", False, holes))
    interpret(made, buffers)
    close(kernel, buffers[kernel.reads :], want)
    return sum(isinstance(s, For) for s in made.body)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("parts", [1, 2, 8, 512])
@pytest.mark.parametrize("caps", CAPS)
@pytest.mark.parametrize("name", NAMES)
def test_in_parts(name: str, caps: str, parts: int) -> None:
    """A line of `parts` elements or fewer has parts of one.  A group of threads finds
    what lies before its part by itself."""
    kernel = normalise(CASES[name]())
    model = model_of(CAPS[caps])
    whole = parts not in SCAN.domains(kernel, model).get("parts", (1,))
    loops = check(kernel, CAPS[caps], parts)
    grouped = not whole and SCAN.way(kernel, model, (("parts", parts),)).threads
    assert loops == (1 if whole or parts == 1 else 2 if grouped else 3)


def test_what_can_be_cut() -> None:
    cut = {
        name: bool(SCAN.domains(normalise(CASES[name]()), model_of(CPU)))
        for name in NAMES
    }
    assert not cut["sums_of_sums"]
    assert not cut["running_products_over_digits"]
    assert sum(cut.values()) == len(NAMES) - 2


@pytest.mark.parametrize("parts", [1, 3, 7])
@pytest.mark.parametrize(
    "shape", [(1,), (2,), (255,), (256,), (257,), (511,), (513,), (2, 300), (1031,)]
)
def test_odd_lengths(shape: tuple[int, ...], parts: int) -> None:
    """Of threads, of blocks, of parts and of stretches: full and not."""
    kernel = scan(shape, len(shape) - 1)
    if not kernel.scans:  # of one element it is that element
        assert shape == (1,)
        return
    for caps in (CPU, GPU, replace(GPU, threads=32)):
        check(kernel, caps, parts)


def test_a_group_walks_long_lines_and_a_thread_short_ones() -> None:
    big = replace(GPU, threads=256, max_threads=1024)

    def barriers(shape: tuple[int, ...], axis: int) -> int:
        made = SCAN.lower(scan(shape, axis), big, "f", False)
        return sum(isinstance(s, Barrier) for s in walk(made.body))

    assert barriers((4, 1 << 16), 1)
    assert not barriers((1 << 16, 8), 1)
    assert not barriers((64, 1 << 16), 0)


def test_lines_side_by_side_are_vectors() -> None:
    way = SCAN.way(scan((200, 512), 0), model_of(CPU))
    assert way.vector is not None
    assert way.parts == 1
    assert SCAN.way(scan((200, 512), 1), model_of(CPU)).vector is None


def test_few_long_lines_are_cut_where_there_are_threads() -> None:
    assert SCAN.way(scan((1 << 22,), 0), model_of(replace(CPU, threads=8))).parts > 1
    assert SCAN.way(scan((1 << 12,), 0), model_of(CPU)).parts == 1


def test_compiled() -> None:
    check_compiled([(CASES[name](), SCAN) for name in NAMES])


@pytest.mark.parametrize("parts", [1, 4])
def test_a_sum_on_the_place_of_its_operand(parts: int) -> None:
    """In one pass; in parts, what is stored would be read again."""
    kernel, caps = scan((3000,), 0), device("c").caps()
    holes = (("parts", parts),)
    assert SCAN.overwrites(kernel, model_of(caps), 0, 1, holes) == (parts == 1)
    if parts > 1:
        return
    x = np.random.default_rng(0).normal(size=3000).astype(np.float32)
    want = np.abs(np.cumsum(-x.astype(np.float64)))
    made = SCAN.lower(kernel, caps, "f", False, holes)
    shared = replace(made, params=tuple(replace(p, shared=True) for p in made.params))
    held = x.copy()
    on_c([shared], [[held, held]])
    np.testing.assert_allclose(held, want, rtol=1e-6, atol=1e-5)


def test_long_sums_of_f32_lose_nothing() -> None:
    x = np.full(10_000_000, 0.1, np.float32)
    got = rewrite.optimize(lambda x: xp.cumulative_sum(x), x, device="c")(x)
    want = np.cumsum(x.astype(np.float64))
    assert float(np.max(np.abs(got - want) / want)) < 1e-6
    assert float(np.max(np.abs(np.cumsum(x) - want) / want)) > 1e-3  # NumPy, beside


@pytest.mark.parametrize("name", ["c", "numpy", "opencl", "wgpu"])
@pytest.mark.parametrize("dtype", [F32, I32])
def test_on_devices(name: str, dtype: DType) -> None:
    at = device(name)
    if not at.probe().ok:
        pytest.skip(at.probe().detail)
    rng = np.random.default_rng(7)
    for shape, axis in (((70_001,), 0), ((3, 5000), 1), ((5000, 3), 0), ((9, 4, 8), 1)):
        x = rng.integers(-3, 4, shape).astype(dtype.numpy)  # sums that f32 holds
        got = rewrite.optimize(lambda x: np.cumsum(x * x, axis), x, device=name)(x)  # noqa: B023
        np.testing.assert_array_equal(got, np.cumsum(x * x, axis, dtype=got.dtype))


def test_what_is_met_out_of_order_is_stored_first() -> None:
    """Every second running sum: the others are needed as well."""

    class Terms:
        def __init__(self, b: Builder, out: int) -> None:
            self.graph = b.build([out])

        def node(self, c: int):
            return self.graph.nodes[c]

        def type(self, c: int):
            return self.graph.nodes[c].type

    b = Builder()
    total = b.scan("sum", b.input("x", F64, (10,)), 0)
    out = b.slice(total, (1,), (5,), (2,))
    with pytest.raises(Untraceable, match="scan runs on its own"):
        build_kernel(Terms(b, out), [out], ())
    x = np.arange(10.0)
    got = rewrite.optimize(lambda x: xp.cumulative_sum(x)[1::2], x, device="c")(x)
    np.testing.assert_array_equal(got, np.cumsum(x)[1::2])


@pytest.mark.parametrize("dtype", [F16, F32])
def test_a_softmax_and_its_running_sum(dtype: DType) -> None:
    """As sampling by nucleus does."""

    def share(x):
        p = xp.nn.softmax(x, axis=-1)
        return xp.where(xp.cumulative_sum(p, axis=-1) < 0.9, p, 0)

    x = np.random.default_rng(3).normal(size=(6, 500)).astype(dtype.numpy)
    got = rewrite.optimize(share, x, device="c")(x)
    e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    p = e / e.sum(-1, keepdims=True)
    # Where the sum is at 0.9 to the last digit, either is right.
    near = np.abs(np.cumsum(p, -1) - 0.9) < 2e-2
    want = np.where(np.cumsum(p, -1) < 0.9, p, 0)
    tol = 2e-3 if dtype is F16 else 1e-6
    np.testing.assert_allclose(
        np.where(near, 0, got), np.where(near, 0, want), atol=tol
    )
