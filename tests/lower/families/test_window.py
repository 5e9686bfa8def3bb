"""Products with a side that slides: generated convolutions, their gradients, and what
is no convolution."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from rewrite.egraph.ir.convolution import Frame
from rewrite.egraph.ir.dtypes import F32, F64, DType
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.kernel import Kernel, bits
from rewrite.lower.axes import normalise
from rewrite.lower.device import Caps
from rewrite.lower.families.contract import CONTRACT
from rewrite.lower.families.products.halo import coordinates
from rewrite.lower.families.products.slide import slides, sliding
from rewrite.lower.families.window import WINDOW
from rewrite.lower.interpret import run as interpret
from rewrite.lower.loops import Array
from rewrite.lower.model import Family, model_of
from tests.effort import draws
from tests.lower.harness import (
    CPU,
    NARROW,
    buffers_for,
    c_device,
    check_compiled,
    check_interpreted,
    close,
    kernel_of,
    reference,
)


def conv(
    b: Builder, x: int, c: int, m: int, kernel: tuple[int, ...], frame: Frame,
    dtype: DType = F32,
) -> int:  # fmt: skip
    w = b.input("w", dtype, (m, c // frame.groups, *kernel))
    bias = b.input("bias", dtype, (m,))
    return b.add("conv", (x, w, bias), (frame.vector,))


def generated(seed: int) -> Kernel:
    """A convolution of any number of axes, strides, dilations, paddings and groups, of
    an image that may be computed, followed by something, its result in some order."""
    rng = random.Random(seed)
    axes = rng.choice((1, 2, 2, 2, 3))
    groups = rng.choice((1, 1, 1, 2))
    c, m = groups * rng.randint(1, 5), groups * rng.randint(2, 20)
    sizes = tuple(rng.randint(4, 13 if axes < 3 else 6) for _ in range(axes))
    kernel = tuple(rng.randint(2, 3) for _ in range(axes))

    def each(low: int, high: int) -> tuple[int, ...]:
        return tuple(rng.randint(low, high) for _ in range(axes))

    frame = Frame(groups, each(1, 2), each(1, 2), each(0, 1), each(0, 1))
    dtype = rng.choice((F32, F32, F64))
    b = Builder()
    x = b.input("x", dtype, (rng.randint(1, 3), c, *sizes))
    if rng.random() < 0.4:  # an image that is computed where it is needed
        scale = b.input("scale", dtype, (1, c, *(1,) * axes))
        x = b.un("relu", b.bin("mul", *b.broadcast(x, scale)))
    y = conv(b, x, c, m, kernel, frame, dtype)
    if rng.random() < 0.5:
        y = b.un("relu", b.bin("add", y, b.input("r", dtype, b.shape(y))))
    if rng.random() < 0.3:  # channels last
        y = b.permute(y, (0, *range(2, axes + 2), 1))
    return kernel_of(b, [y])


SEEDS = range(draws(40, 2))


@pytest.mark.parametrize("seed", SEEDS)
def test_generated_convolutions(seed: int) -> None:
    kernel = generated(seed)
    if taken_by(WINDOW, kernel):
        check_interpreted(WINDOW, kernel, CPU)


def test_nearly_all_generated_convolutions_slide() -> None:
    """But for those whose windows share nothing."""
    taken = [taken_by(WINDOW, generated(s)) for s in SEEDS]
    assert sum(taken) > 0.9 * len(taken)


def test_compiled_by_c() -> None:
    kernels = [k for k in map(generated, SEEDS) if taken_by(WINDOW, k)]
    kernels += [gradient(), large(1), large(2)]
    model = model_of(c_device().caps())
    check_compiled([(k, WINDOW) for k in kernels if WINDOW.cost(normalise(k), model)])


def taken_by(family: Family, kernel: Kernel) -> bool:
    return family.accepts(normalise(kernel)) is None


def large(stride: int) -> Kernel:
    """Several blocks of channels, of which the last is not full, and several tiles."""
    b = Builder()
    frame = Frame(1, (stride, stride), (1, 1), (1, 1), (1, 1))
    return kernel_of(
        b, [conv(b, b.input("x", F32, (2, 61, 30, 17)), 61, 70, (3, 3), frame)]
    )


def gradient() -> Kernel:
    """Of the filters of a convolution: what slides is summed over the image."""
    b = Builder()
    x, dy = b.input("x", F32, (2, 3, 10, 9)), b.input("dy", F32, (2, 5, 8, 7))
    windows = b.window(b.window(x, 2, 3), 3, 3)  # n, c, y, x, ky, kx
    turned = b.permute(windows, (1, 4, 5, 0, 2, 3))
    left = b.reshape(turned, (1, 3, 3, 3, 2, 8, 7))
    right = b.reshape(b.permute(dy, (1, 0, 2, 3)), (5, 1, 1, 1, 2, 8, 7))
    return kernel_of(
        b, [b.contract(left, right, (5, 3, 3, 3, 2, 8, 7), (0, 0, 0, 0, 1, 1, 1))]
    )


def test_the_gradient_of_filters_slides() -> None:
    kernel = gradient()
    assert taken_by(WINDOW, kernel)
    check_interpreted(WINDOW, kernel, CPU)


def test_blocks_and_tiles_that_are_not_full() -> None:
    few = replace(CPU, vector_bytes=16)
    for caps in (CPU, few):
        s = sliding(normalise(small()), model_of(caps))
        assert s is not None
        check_interpreted(WINDOW, small(), caps)


def small() -> Kernel:
    b = Builder()
    frame = Frame(1, (1, 1), (1, 1), (1, 1), (1, 1))
    return kernel_of(
        b, [conv(b, b.input("x", F32, (1, 31, 7, 9)), 31, 37, (3, 3), frame)]
    )


def test_nothing_is_unfolded() -> None:
    """The box of a tile is smaller than its part of the matrix of windows."""
    function = WINDOW.lower(normalise(large(1)), CPU, "f", False)
    sizes = {a.name.rstrip("0123456789"): a.size for a in arrays(function.body)}
    s = sliding(normalise(large(1)), model_of(CPU))
    assert s is not None
    assert sizes["box"] * 5 < s.blocks.rows * s.blocks.depth
    assert "left" not in sizes


def arrays(body: tuple[object, ...]) -> list[Array]:
    out: list[Array] = []
    for s in body:
        out += [s] if isinstance(s, Array) else arrays(getattr(s, "body", ()))
    return out


def test_coordinates_of_a_convolution() -> None:
    found = slides(normalise(large(2)))
    assert not isinstance(found, str)
    c, box = found
    sums = sorted(sorted(step for _, step in x.steps) for x in box)
    assert sums == [[1], [1], [1, 2], [1, 2]]  # n; c; y and x, which move by two
    assert sum(x.slides(c.m, c.k) for x in box) == 2


def test_a_matrix_does_not_slide() -> None:
    b = Builder()
    product = b.matmul(b.input("x", F32, (30, 40)), b.input("w", F32, (40, 50)))
    kernel = normalise(kernel_of(b, [product]))
    assert "no side slides" in str(WINDOW.accepts(kernel))


def test_patches_that_do_not_overlap_do_not_slide() -> None:
    b = Builder()
    frame = Frame(1, (4, 4), (1, 1), (0, 0), (0, 0))
    y = conv(b, b.input("x", F32, (1, 3, 16, 16)), 3, 20, (4, 4), frame)
    assert WINDOW.accepts(normalise(kernel_of(b, [y]))) is not None


def test_digits_are_no_coordinates() -> None:
    b = Builder()
    x = b.input("x", F32, (6, 35))
    turned = b.reshape(b.permute(x, (1, 0)), (14, 15))  # lines up with no axis
    kernel = normalise(kernel_of(b, [b.matmul(turned, b.input("w", F32, (15, 9)))]))
    load = next(i for i, e in enumerate(kernel.exprs) if e.op == "load")
    assert isinstance(coordinates(kernel, (load,), (0, 1, 2)), str)


def test_without_vectors_another_family_runs_it() -> None:
    kernel = normalise(small())
    assert WINDOW.cost(kernel, model_of(NARROW)) is None
    assert CONTRACT.cost(kernel, model_of(NARROW)) is not None


# ---- operands that never change ----


@pytest.mark.long
@pytest.mark.parametrize("family", [WINDOW, CONTRACT], ids=["window", "contract"])
@pytest.mark.parametrize("which", ["large", "grouped"])
def test_fixed_sides_are_packed_once(family: Family, which: str) -> None:
    kernel = large(1) if which == "large" else grouped()
    knows = knowing(kernel)
    function, buffers = prepared(family, knows, CPU)
    packed = {"left", "right", "box"}.intersection(
        a.name.rstrip("0123456789") for a in arrays(function.body)
    )
    assert len(packed) == 1  # of the image alone
    want = reference(kernel, buffers_for(kernel))
    interpret(function, buffers)
    close(kernel, buffers[kernel.reads :], want)


def grouped() -> Kernel:
    b = Builder()
    frame = Frame(3, (1, 1), (1, 1), (1, 1), (1, 1))
    x = b.input("x", F32, (2, 9, 8, 8))
    return kernel_of(b, [conv(b, x, 9, 57, (3, 3), frame)])


def knowing(kernel: Kernel) -> Kernel:
    """The kernel with its filters known to be the same in every run."""
    filters = {3 * 3 * 61 * 70, 3 * 3 * 3 * 57}
    slots = [s for s, (_, n) in enumerate(kernel.slots[: kernel.reads]) if n in filters]
    assert len(slots) == 1
    return replace(kernel, constant=bits(tuple(slots)))


def prepared(family: Family, kernel: Kernel, caps: Caps):
    """The function, and its buffers laid out as it wants them."""
    kernel = normalise(kernel)
    buffers = buffers_for(kernel)
    made = family.layouts(kernel, model_of(caps))
    assert made
    for wanted in made:
        dtype, size = wanted.made.slots[1]
        out = np.full(size, np.nan, dtype.numpy)
        (buffers[wanted.slot],) = reference(wanted.made, [buffers[wanted.slot], out])
    function = family.lower(kernel, caps, "f", False)
    assert [p.size for p in function.params] == [b.size for b in buffers]
    return function, buffers


def test_a_side_that_is_read_otherwise_too_stays_where_it_is() -> None:
    b = Builder()
    x, w = b.input("x", F32, (24, 40)), b.input("w", F32, (40, 40))
    both = [b.matmul(x, w), b.matmul(x, b.permute(w, (1, 0)))]
    y = b.bin("add", *both)
    kernel = normalise(kernel_of(b, [y]))
    for slot in range(kernel.reads):
        known = replace(kernel, constant=1 << slot)
        layouts = CONTRACT.layouts(known, model_of(CPU))
        assert len(layouts) == (slot == known_x(kernel))


def known_x(kernel: Kernel) -> int:
    return next(s for s, (_, n) in enumerate(kernel.slots) if n == 24 * 40)
