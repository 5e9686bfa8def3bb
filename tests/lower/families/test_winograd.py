"""Convolutions by fewer products: generated ones, and those that have to go another
way."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from rewrite.egraph.ir.convolution import Frame
from rewrite.egraph.ir.dtypes import F32, F64
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.ir.scalars import Array
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import normalise
from rewrite.lower.device import Caps
from rewrite.lower.families.products.filter_tiles import tiles
from rewrite.lower.families.products.filtering import (
    IN,
    JOIN,
    OUT,
    SPREAD_FILTER,
    SPREAD_IMAGE,
    TAPS,
    convolution,
    transformed,
)
from rewrite.lower.families.window import WINDOW
from rewrite.lower.families.winograd import WINOGRAD
from rewrite.lower.interpret import run as interpret
from rewrite.lower.model import cheapest, model_of
from rewrite.lower.registry import FAMILIES, families_for
from tests.effort import draws
from tests.lower.families.test_window import (
    conv,
    grouped,
    knowing,
    large,
    prepared,
    taken_by,
)
from tests.lower.harness import (
    CPU,
    NARROW,
    buffers_for,
    c_device,
    check_compiled,
    check_interpreted,
    close,
    kernel_of,
    on_c,
    reference,
)

FEW = replace(CPU, vector_bytes=16)
ONES = Frame(1, (1, 1), (1, 1), (1, 1), (1, 1))


def generated(seed: int) -> Kernel:
    """A convolution of one to three axes, three taps along some with single steps, of
    an image that may be computed, followed by something."""
    rng = random.Random(seed)
    axes = rng.choice((1, 2, 2, 2, 3))
    groups = rng.choice((1, 1, 2))
    c, m = groups * rng.randint(1, 4), groups * rng.randint(2, 20)
    sizes = tuple(rng.randint(4, 13 if axes < 3 else 5) for _ in range(axes))
    outer = range(axes - 1)
    kernel = (*(rng.choice((1, 2, 3, 3, 3)) for _ in outer), 3)
    steps = (*(rng.choice((1, 1, 2)) for _ in outer), 1)
    apart = (*(rng.choice((1, 1, 1, 2)) for _ in outer), 1)
    pads = tuple(rng.randint(0, 2) for _ in range(axes))
    ends = tuple(rng.randint(0, 2) for _ in range(axes))
    dtype = rng.choice((F32, F32, F64))
    b = Builder()
    x = b.input("x", dtype, (rng.randint(1, 3), c, *sizes))
    if rng.random() < 0.4:  # an image that is computed where it is needed
        scale = b.input("scale", dtype, (1, c, *(1,) * axes))
        x = b.un("relu", b.bin("mul", *b.broadcast(x, scale)))
    y = conv(b, x, c, m, kernel, Frame(groups, steps, apart, pads, ends), dtype)
    if rng.random() < 0.5:
        y = b.un("relu", b.bin("add", y, b.input("r", dtype, b.shape(y))))
    return kernel_of(b, [y])


SEEDS = range(draws(40, 2))


@pytest.mark.sweep(4)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("caps", [CPU, FEW], ids=["wide", "few"])
def test_generated_convolutions(seed: int, caps: Caps) -> None:
    kernel = generated(seed)
    if taken_by(WINOGRAD, kernel):
        check_interpreted(WINOGRAD, kernel, caps)


def test_most_generated_convolutions_are_taken() -> None:
    """But for those whose batch of groups or lines are in the way."""
    taken = [taken_by(WINOGRAD, generated(s)) for s in SEEDS]
    assert sum(taken) > 0.8 * len(taken)


def test_compiled_by_c() -> None:
    kernels = [k for k in map(generated, SEEDS) if taken_by(WINOGRAD, k)]
    check_compiled([(k, WINOGRAD) for k in (*kernels, large(1), deep())])


def image(c: int, m: int, *sizes: int) -> Kernel:
    b = Builder()
    return kernel_of(
        b, [conv(b, b.input("x", F32, (1, c, *sizes)), c, m, (3, 3), ONES)]
    )


def deep() -> Kernel:
    """Many filters of a small image: shared out, and joined a few at a time."""
    return image(70, 150, 7, 6)


def test_tiles_are_cut_and_filters_shared_out() -> None:
    found = convolution(normalise(deep()))
    assert not isinstance(found, str)
    t = tiles(found[1], model_of(replace(CPU, threads=8)))
    assert t is not None
    assert t.columns < 150
    found = convolution(normalise(image(64, 64, 57, 56)))
    assert not isinstance(found, str)
    t = tiles(found[1], model_of(CPU))
    assert t is not None
    assert dict(t.tile)[found[1].m[0]] < 57


@pytest.mark.long
@pytest.mark.parametrize("which", ["large", "grouped"])
def test_fixed_filters_are_spread_once(which: str) -> None:
    kernel = large(1) if which == "large" else grouped()
    function, buffers = prepared(WINOGRAD, knowing(kernel), CPU)
    assert not function.scratch
    want = reference(kernel, buffers_for(kernel))
    interpret(function, buffers)
    close(kernel, buffers[kernel.reads :], want)


# ---- the law ----


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_the_transforms_are_exact_in_fractions(axes: int) -> None:
    rng = random.Random(axes)

    def draw(n: int) -> dict[tuple[int, ...], Fraction]:
        places = product(range(n), repeat=axes)
        return {p: Fraction(rng.randint(-9, 9), rng.randint(1, 9)) for p in places}

    def combined(factors: Sequence[float], values: Sequence[Fraction]) -> Fraction:
        terms = (Fraction(f) * v for f, v in zip(factors, values, strict=True))
        return sum(terms, Fraction(0))

    under, taps = draw(IN), draw(TAPS)
    d = transformed(SPREAD_IMAGE, list(under.values()), axes, combined)
    g = transformed(SPREAD_FILTER, list(taps.values()), axes, combined)
    y = transformed(JOIN, [a * b for a, b in zip(d, g, strict=True)], axes, combined)
    want = [
        sum(v * under[tuple(a + b for a, b in zip(at, j, strict=True))]
            for j, v in taps.items())
        for at in product(range(OUT), repeat=axes)
    ]  # fmt: skip
    assert y == want


def test_what_is_no_number_spoils_what_reads_it() -> None:
    """And nothing else."""
    kernel = image(3, 4, 12, 12)
    buffers = buffers_for(kernel)
    x = next(i for i, (_, n) in enumerate(kernel.slots) if n == 3 * 12 * 12)
    buffers[x][12 * 5 + 6] = np.nan
    (want,) = reference(kernel, buffers)
    interpret(WINOGRAD.lower(normalise(kernel), CPU, "f", False), buffers)
    np.testing.assert_array_equal(np.isnan(buffers[-1]), np.isnan(want))


@pytest.mark.parametrize("c", [1, 64, 512])
def test_its_error_is_that_of_few_more_roundings(c: int) -> None:
    """Beside sums in twice the precision, at most four times that of sums in order."""
    if not c_device().probe().ok:
        pytest.skip(c_device().probe().detail)
    kernel, caps = image(c, 16, 14, 14), c_device().caps()
    buffers = buffers_for(kernel)
    direct = [a.copy() for a in buffers]
    exact = exactly(kernel, buffers)
    functions = [
        f.lower(normalise(kernel), caps, f.name, False) for f in (WINOGRAD, WINDOW)
    ]
    on_c(functions, [buffers, direct])
    ours, theirs = (np.abs(a[-1] - exact).max() for a in (buffers, direct))
    assert ours <= 4 * theirs


def exactly(kernel: Kernel, buffers: list[Array]) -> Array:
    double = replace(
        kernel,
        exprs=tuple(
            e._replace(
                dtype=F64 if e.dtype is F32 else e.dtype,
                attr=(*e.attr[:2], F64) if e.op == "reduce" else e.attr,
            )
            for e in kernel.exprs
        ),
        slots=tuple((F64 if d is F32 else d, n) for d, n in kernel.slots),
    )
    (want,) = reference(double, [b.astype(np.float64) for b in buffers])
    return want


# ---- who takes what ----


def test_it_wins_where_products_bound() -> None:
    found = cheapest(normalise(image(64, 64, 56, 56)), FAMILIES, model_of(CPU))
    assert found is not None
    assert found[0] is WINOGRAD


def test_strictly_a_sum_is_of_its_own_terms() -> None:
    assert WINOGRAD in families_for(strict=False)
    assert WINOGRAD not in families_for(strict=True)


REFUSED = {
    "two steps": (Frame(1, (2, 2), (1, 1), (1, 1), (1, 1)), (3, 3)),
    "taps apart": (Frame(1, (1, 1), (2, 2), (1, 1), (1, 1)), (3, 3)),
    "five taps": (ONES, (5, 5)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_others_go_another_way(name: str) -> None:
    frame, kernel = REFUSED[name]
    b = Builder()
    y = conv(b, b.input("x", F32, (1, 4, 14, 14)), 4, 20, kernel, frame)
    reason = WINOGRAD.accepts(normalise(kernel_of(b, [y])))
    assert "over 3 places by single steps" in str(reason)


def test_lines_of_channels_go_another_way() -> None:
    b = Builder()
    x = b.permute(b.input("x", F32, (1, 12, 12, 5)), (0, 3, 1, 2))
    kernel = normalise(kernel_of(b, [conv(b, x, 5, 20, (3, 3), ONES)]))
    assert "lines do not run along" in str(WINOGRAD.accepts(kernel))
    assert taken_by(WINDOW, kernel)


def test_without_vectors_another_family_runs_it() -> None:
    assert WINOGRAD.cost(normalise(image(3, 8, 9, 9)), model_of(NARROW)) is None
