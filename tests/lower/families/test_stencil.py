"""Reductions over windows: generated convolutions of channels apart, pools, and what is
neither."""

from __future__ import annotations

import random

import pytest

from rewrite.egraph.ir.convolution import Frame
from rewrite.egraph.ir.dtypes import F16, F32, F64, DType
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import normalise
from rewrite.lower.families.stencil import STENCIL
from rewrite.lower.interpret import run as interpret
from rewrite.lower.lower import choose
from rewrite.lower.model import DeviceModel, model_of
from rewrite.lower.text import show
from rewrite.lower.verify import faults
from tests.effort import LONG, draws
from tests.lower.harness import (
    CPU,
    NARROW,
    buffers_for,
    c_device,
    check_compiled,
    check_interpreted,
    close,
    kernel_of,
    lowered,
    reference,
)


def windowed(
    b: Builder, x: int, monoid: str, kernel: tuple[int, ...], frame: Frame,
    weights: bool, outside: float,
) -> int:  # fmt: skip
    """The fold of padded windows of the last axes of `x`, of the products with weights
    if there are any."""
    rank, axes = len(b.shape(x)), len(kernel)
    first = rank - axes
    low, high = ((*(0,) * first, *p) for p in (frame.lows, frame.highs))
    x = b.pad(x, low, high, outside)
    for i, n in enumerate(kernel):
        x = b.window(x, first + i, n, frame.strides[i], frame.dilations[i])
    deep = range(rank, rank + axes)
    if weights:
        shape = [n if d in (1, *deep) else 1 for d, n in enumerate(b.shape(x))]
        w = b.input("w", b.type(x).dtype, tuple(shape))
        x = b.bin("mul", *b.broadcast(x, w))
    shape = b.shape(x)[:rank]
    return b.reshape(b.reduce(monoid, x, deep), shape)


def generated(seed: int) -> Kernel:
    """Of any number of axes, sizes, strides, dilations and paddings, of an image that
    may be computed, followed by something, its result in some order."""
    rng = random.Random(seed)
    axes = rng.choice((1, 2, 2, 2, 3))
    sizes = tuple(rng.randint(4, 40 if axes < 3 else 9) for _ in range(axes))
    kernel = tuple(rng.randint(2, 5 if axes < 3 else 3) for _ in range(axes))

    def each(low: int, high: int) -> tuple[int, ...]:
        return tuple(rng.randint(low, high) for _ in range(axes))

    strides, dilations = each(1, 2), each(1, 2)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    low = tuple(rng.randint(0, r - 1) for r in reach)
    high = tuple(
        max(rng.randint(0, r - 1), r - n) for r, n in zip(reach, sizes, strict=True)
    )
    frame = Frame(1, strides, dilations, low, high)
    dtype = rng.choice((F32, F32, F32, F64, F16))
    b = Builder()
    x = b.input("x", dtype, (rng.randint(1, 2), rng.randint(2, 4), *sizes))
    if rng.random() < 0.4:  # an image that is computed where it is needed
        scale = b.input("scale", dtype, (1, b.shape(x)[1], *(1,) * axes))
        x = b.un("relu", b.bin("mul", *b.broadcast(x, scale)))
    monoid, weights = rng.choice(
        (("sum", True), ("sum", True), ("sum", False), ("max", False), ("min", True))
    )
    outside = {"sum": 0.0, "max": -1e4, "min": 0.5}[monoid]
    y = windowed(b, x, monoid, kernel, frame, weights, outside)
    if rng.random() < 0.5:
        y = b.un("relu", b.bin("add", y, b.input("r", dtype, b.shape(y))))
    if rng.random() < 0.3:  # channels last
        y = b.permute(y, (0, *range(2, axes + 2), 1))
    return kernel_of(b, [y])


SEEDS = range(draws(60, 2))
MODEL = model_of(CPU)


def taken(kernel: Kernel, model: DeviceModel = MODEL) -> bool:
    kernel = normalise(kernel)
    if STENCIL.accepts(kernel) is not None:
        return False
    return STENCIL.cost(kernel, model) is not None


@pytest.mark.parametrize("seed", SEEDS)
def test_generated_windows(seed: int) -> None:
    kernel = generated(seed)
    if taken(kernel):
        check_interpreted(STENCIL, kernel, CPU, strict=seed % 2 > 0)


def test_nearly_all_generated_windows_are_taken() -> None:
    """But for those that share nothing."""
    assert sum(taken(generated(s)) for s in SEEDS) > 0.9 * len(SEEDS)


def test_compiled_by_c() -> None:
    model = model_of(c_device().caps())
    kernels = [*map(generated, SEEDS), *CASES.values()][:: 1 if LONG else 3]
    check_compiled([(k, STENCIL) for k in kernels if taken(k, model)])


def case(
    shape: tuple[int, ...], kernel: tuple[int, ...], monoid: str = "sum",
    stride: int = 1, pad: int = 1, dtype: DType = F32, weights: bool = True,
    outside: float = 0.0,
) -> Kernel:  # fmt: skip
    each = len(kernel)
    b = Builder()
    frame = Frame(1, (stride,) * each, (1,) * each, (pad,) * each, (pad,) * each)
    x = b.input("x", dtype, shape)
    return kernel_of(b, [windowed(b, x, monoid, kernel, frame, weights, outside)])


CASES = {
    "a line in parts": case((2, 3, 5003), (5,)),
    "a line in parts, by two": case((2, 2, 5001), (5,), stride=2),
    "few lines, cut": case((1, 1, 67, 131), (3, 3)),
    "large filters": case((1, 2, 40, 30), (11, 9), pad=4),
    "a large filter by two": case((1, 2, 40, 60), (11, 9), pad=4, stride=2),
    "rows left over": case((1, 2, 23, 19), (3, 3)),
    "a large pool": case((1, 2, 57, 61), (3, 3), "max", 2, 1, F32, False, -1e9),
    "boxes of volumes": case((1, 1, 12, 11, 21), (3, 3, 3)),
}


def two_of_them() -> Kernel:
    """The sum and the maximum of the same windows, and a mean over those inside."""
    b = Builder()
    x = b.input("x", F32, (1, 3, 20, 21))
    frame = Frame(1, (1, 1), (1, 1), (1, 1), (1, 1))
    total = windowed(b, x, "sum", (3, 3), frame, False, 0.0)
    top = windowed(b, x, "max", (3, 3), frame, False, 0.0)
    one = b.reshape(b.const(1.0, F32), (1, 1, 1, 1))
    one = b.expand(one, (1, 3, 20, 21))
    count = windowed(b, one, "sum", (3, 3), frame, False, 0.0)
    return kernel_of(b, [b.bin("div", total, count), b.bin("add", total, top)])


def computed_weights() -> Kernel:
    """Filters that are made of others, once for a unit of work."""
    b = Builder()
    x, w = b.input("x", F32, (1, 3, 20, 21)), b.input("w", F32, (1, 3, 1, 1, 3, 3))
    windows = b.window(b.window(x, 2, 3), 3, 3)
    product = b.bin("mul", *b.broadcast(windows, b.un("exp", w)))
    return kernel_of(b, [b.reduce("sum", product, (4, 5))])


CASES["two of them"] = two_of_them()
CASES["computed weights"] = computed_weights()


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str) -> None:
    assert taken(CASES[name])
    check_interpreted(STENCIL, CASES[name], CPU)
    assert faults(lowered(STENCIL, CASES[name], CPU)) == ()


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("size", [7, 14, 28])
def test_channels_apart_are_stencils(stride: int, size: int) -> None:
    for n in (3, 5):
        kernel = case((1, 96, size, size), (n, n), stride=stride, pad=n // 2)
        assert choose(normalise(kernel), model_of(CPU))[0] is STENCIL


def test_windows_that_share_nothing_are_no_stencil() -> None:
    kernel = case((1, 8, 16, 16), (4, 4), stride=4, pad=0)
    assert "no value slides" in str(STENCIL.accepts(normalise(kernel)))


def test_without_vectors_another_family_runs_it() -> None:
    kernel = normalise(CASES["few lines, cut"])
    assert STENCIL.cost(kernel, model_of(NARROW)) is None
    assert not STENCIL.meant(model_of(NARROW))


def test_no_window_tests_a_guard() -> None:
    """Between a box and its sums there are vectors alone."""
    text = show(lowered(STENCIL, case((1, 2, 14, 14), (3, 3)), CPU))
    assert "select" not in text and "if " not in text


@pytest.mark.parametrize("height", [1, 2, 5, 8])
def test_any_height(height: int) -> None:
    kernel = normalise(CASES["rows left over"])
    holes = (("height", height),)
    assert STENCIL.cost(kernel, model_of(CPU), holes) is not None
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers)
    interpret(STENCIL.lower(kernel, CPU, "f", False, holes), buffers)
    close(kernel, buffers[kernel.reads :], want)


def test_a_place_found_by_many_quotients_costs_more() -> None:
    """Rows of five elements, of an image whose other axes are turned."""

    def seconds(*perm: int) -> float:
        b = Builder()
        sizes = [10, 20, 10, 15]
        x = b.input("x", F32, (*(sizes[p] for p in perm), 5))
        turned = b.permute(x, (*sorted(range(4), key=perm.__getitem__), 4))
        return choose(normalise(kernel_of(b, [b.un("neg", turned)])), MODEL)[1].seconds

    assert seconds(3, 2, 1, 0) > 1.2 * seconds(1, 0, 2, 3)
