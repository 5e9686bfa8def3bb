"""Products of f8, and of the upper bits of f32, by groups of four warps:
random ones as tile programs, as loops, as text and on a device; sides that lie
otherwise are laid out by a grid before."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rewrite.backends.devices import device
from rewrite.backends.nvidia.nvrtc import emit, usage
from rewrite.egraph.ir.convolution import Frame
from rewrite.egraph.ir.dtypes import (
    BF16,
    BOOL,
    F8E4M3,
    F8E5M2,
    F16,
    F32,
    I16,
    U32,
    DType,
)
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import normalise
from rewrite.lower.emit.expressions import swizzle
from rewrite.lower.fragments import seen
from rewrite.lower.interpret import run as run_loops
from rewrite.lower.lower import choose
from rewrite.lower.model import model_of
from rewrite.lower.targets.simt import lowered
from rewrite.lower.text import parse as parse_loops
from rewrite.lower.text import show as show_loops
from rewrite.lower.tiles.contract import BY_GROUP
from rewrite.lower.tiles.interpret import run
from rewrite.lower.tiles.ir import TileProgram
from rewrite.lower.tiles.laid import LAID
from rewrite.lower.tiles.text import parse, show
from rewrite.lower.tiles.verify import verify
from rewrite.lower.verify import faults as loop_faults
from rewrite.lower.verify import verify as verify_loops
from tests.backends import emulate
from tests.effort import draws

from ..harness import buffers_for, check_launched, close, kernel_of, reference
from .kernels import chain
from .test_products import HOPPER, matmul

SIZES = (8, 17, 31, 40, 64, 72, 97, 136, 160)
NARROW = (F32, F8E4M3, F8E5M2)
SMALL = replace(model_of(HOPPER), units=6)


def few_bits(b: Builder, x: int) -> int:
    mask = b.const(0xFFFFE000, U32, b.shape(x))
    word = b.bin("and", b.add("bitcast", (x,), (U32,)), mask)
    return b.add("bitcast", (word,), (F32,))


def side(
    rng: random.Random, b: Builder, name: str, of: DType, rows: int, k: int
) -> int:
    """Rows times k; it may be turned, sliced or computed."""
    turned, sliced = rng.random() < 0.4, rng.random() < 0.2
    shape = (k, rows) if turned else (rows, k)
    x = b.input(name, of, (shape[0], shape[1] + 3 * sliced))
    if sliced:
        x = b.slice(x, (0, 2), shape, (1, 1))
    if rng.random() < 0.25:
        # What is stored shows in the result; of f32 an ulp is 2^13 where bits are cut.
        x = (
            b.un("neg", b.un("abs", x))
            if of is F32
            else chain(rng, b, x, shape, of, name)
        )
        x = b.cast(b.cast(x, F32), of)
    x = b.permute(x, (1, 0)) if turned else x
    return few_bits(b, x) if of is F32 else b.cast(x, F32)


def narrow(seed: int, plain: bool = False) -> Kernel:
    rng = random.Random(seed)
    b, of = Builder(), NARROW[seed % 3]
    m, n, k = (rng.choice(SIZES) for _ in range(3))
    if plain:
        x, w = b.input("x", of, (m, 16 * k)), b.input("w", of, (n, 16 * k))
        x, w = ((few_bits(b, v) if of is F32 else b.cast(v, F32)) for v in (x, w))
    else:
        x, w = side(rng, b, "x", of, m, k), side(rng, b, "w", of, n, k)
    y = b.matmul(x, b.permute(w, (1, 0)))
    if plain and of is F32:
        # Groups cut each of the many sums off; what followed would enlarge that.
        return normalise(kernel_of(b, [y]))
    kind = F32 if of is F32 else rng.choice((BF16, F16))
    y = chain(rng, b, b.cast(y, kind), (m, n), kind, "y")
    return normalise(kernel_of(b, [y]))


def programs(seed: int, plain: bool = False) -> tuple[Kernel, TileProgram] | None:
    kernel = narrow(seed, plain)
    for family in (LAID, BY_GROUP):
        if family.accepts(kernel) is None:
            made = family.program(kernel, SMALL, ())
            if isinstance(made, TileProgram):
                return kernel, made
    return None


def test_random_products() -> None:
    count = laid = 0
    for seed in range(draws(60, 2)):
        found = programs(seed, plain=seed % 4 == 0)
        if found is None:
            continue
        kernel, program = found
        verify(program, 227 << 10)
        assert parse(show(program)) == program
        buffers = buffers_for(kernel)
        want = reference(kernel, buffers)
        run(program, buffers)
        close(kernel, buffers[kernel.reads :], want)
        count, laid = count + 1, laid + (len(program.body) > 1)
    assert count > draws(40, 2) and laid > draws(20, 2), (count, laid)


HOLES = {"rows": 64, "columns": 64, "stages": 3, "down": 1, "across": 1, "beside": 128}


def small(of: DType, seed: int) -> tuple[Kernel, TileProgram]:
    b = Builder()
    x, w = b.input("x", of, (72, 144)), b.input("w", of, (100, 144))
    x, w = ((few_bits(b, v) if of is F32 else b.cast(v, F32)) for v in (x, w))
    y = b.matmul(x, b.permute(w, (1, 0)))
    y = b.un("relu", y if of is F32 else b.cast(y, BF16))
    kernel = normalise(kernel_of(b, [y]))
    holes = HOLES | {"depth": 128 // of.itemsize, "columns": 64 + 64 * (seed % 2)}
    made = BY_GROUP.program(kernel, SMALL, tuple(sorted(holes.items())))
    assert isinstance(made, TileProgram), made
    return kernel, made


@pytest.mark.parametrize("of", NARROW)
def test_as_loops(of: DType) -> None:
    """Each access checked, copies as late as may be and products, too."""
    kernel, program = small(of, 0)
    function = verify_loops(lowered(verify(program, 227 << 10)))
    assert parse_loops(show_loops(function)) == function
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers)
    run_loops(function, buffers)
    close(kernel, buffers[kernel.reads :], want)


@pytest.mark.parametrize("of", NARROW)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r"(mma .*) by 1 (\d+) (\d+)$", r"\1 by \2 1 \3"),
        (r"(mma .*) by (\d+) 1 (\d+), ", r"\1 by 1 \2 \3, "),
        (r"by 1 of 4.*?: (.*) \d+, (.*) \d+$", r"by 4: \1, \2"),
    ],
    ids=["right", "left", "by one warp"],
)
def test_sides_lie_along_what_is_summed(of: DType, old: str, new: str) -> None:
    """Or no instruction multiplies them, and none of one warp does."""
    text = show_loops(lowered(small(of, 0)[1]))
    turned = re.sub(old, new, text, flags=re.MULTILINE)
    assert turned != text
    found = [str(f) for f in loop_faults(parse_loops(turned))]
    assert any(f"a product of {of}, {of}" in f for f in found), found


@pytest.mark.skipif(not emulate.COMPILER, reason="there is no C++ compiler")
@pytest.mark.parametrize("of", NARROW)
def test_the_text(of: DType, tmp_path: Path) -> None:
    kernel, program = small(of, 1)
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers)
    close(kernel, emulate.run(lowered(program), tmp_path, *buffers), want)


def test_they_fit_the_registers() -> None:
    for of in (F32, F8E4M3):
        b = Builder()
        x, w = b.input("x", of, (4096, 4096)), b.input("w", of, (4096, 4096))
        x, w = ((few_bits(b, v) if of is F32 else b.cast(v, F32)) for v in (x, w))
        y = b.matmul(x, b.permute(w, (1, 0)))
        kernel = normalise(kernel_of(b, [y if of is F32 else b.cast(y, BF16)]))
        family, _ = choose(kernel, model_of(HOPPER))
        assert family is BY_GROUP
        text = emit([family.lower(kernel, HOPPER, "f", False)]).text
        word = {F32: "k8.f32.tf32", F8E4M3: "k32.f32.e4m3"}[of]
        assert word in text
        assert not any(u.spilled for u in usage(text, "sm_90a").values())


def test_f32_is_multiplied_whole_unless_it_is_masked() -> None:
    """And sums of f8 that are stored as f32 are f32's."""
    assert BY_GROUP.accepts(matmul(64, 64, 64, "", F32)) == "sides of f32"
    b = Builder()
    x, w = b.input("x", F8E4M3, (64, 64)), b.input("w", F8E4M3, (64, 64))
    wide = normalise(kernel_of(b, [b.matmul(b.cast(x, F32), b.cast(w, F32))]))
    assert BY_GROUP.accepts(wide) == "sums of f8 that are stored as f32"


@pytest.mark.parametrize("of", [BOOL, I16])
def test_sums_of_f8_that_are_compared_or_counted_are_exact(of: DType) -> None:
    """14 bits are enough for what is rounded to fewer, not for what is not rounded."""
    b = Builder()
    x, w = b.input("x", F8E4M3, (64, 256)), b.input("w", F8E4M3, (256, 64))
    y = b.matmul(b.cast(x, F32), b.cast(w, F32))
    y = b.bin("lt", y, b.input("most", F32, (64, 64))) if of is BOOL else b.cast(y, of)
    kernel = normalise(kernel_of(b, [y]))
    assert BY_GROUP.accepts(kernel) == f"sums of f8 that are stored as {of}"
    assert LAID.accepts(kernel) == f"sums of f8 that are stored as {of}"


def test_no_side_is_repeated_in_scratch() -> None:
    """Places of filters overlap: laid out, they would be nine times as large as the
    image, which is what is laid out; what holds one thing against another never is."""
    b = Builder()
    x, w = b.input("x", BF16, (8, 64, 30, 30)), b.input("w", BF16, (64, 64, 3, 3))
    frame = Frame(1, (1, 1), (1, 1), (0, 0), (0, 0))
    y = b.add("conv", (x, w, b.input("bias", BF16, (64,))), (frame.vector,))
    kernel = normalise(kernel_of(b, [y]))
    made = LAID.program(kernel, SMALL, ())
    assert isinstance(made, TileProgram), made
    assert sorted(p.size for p in made.scratch) == [64 * 9 * 64, 8 * 30 * 30 * 64]
    b = Builder()
    u, v = b.input("u", BF16, (256, 1)), b.input("v", BF16, (1, 512))
    x = b.un("tanh", b.bin("add", *b.broadcast(u, v)))
    kernel = normalise(kernel_of(b, [b.matmul(x, b.input("w", BF16, (512, 64)))]))
    assert LAID.accepts(kernel) == "a side has more elements than it is made of"


@pytest.mark.parametrize(("k", "row"), [(5, 16), (40, 48), (200, 256)])
def test_rows_in_scratch_are_not_much_longer(k: int, row: int) -> None:
    b = Builder()
    x, w = b.input("x", F8E4M3, (k, 4096)), b.input("w", F8E4M3, (k, 256))
    y = b.matmul(b.cast(b.permute(x, (1, 0)), F32), b.cast(w, F32))
    kernel = normalise(kernel_of(b, [b.cast(y, BF16)]))
    made = LAID.program(kernel, SMALL, ())
    assert isinstance(made, TileProgram), made
    assert sorted(p.size for p in made.scratch) == [256 * row, 4096 * row]


def test_choices_are_of_tiles_for_the_elements() -> None:
    for of, depth in ((BF16, 64), (F8E4M3, 128), (F32, 32)):
        b = Builder()
        x, w = b.input("x", of, (512, 512)), b.input("w", of, (512, 512))
        if of is not BF16:
            x, w = (few_bits(b, v) if of is F32 else b.cast(v, F32) for v in (x, w))
        kernel = normalise(kernel_of(b, [b.cast(b.matmul(x, w), BF16)]))
        assert BY_GROUP.domains(kernel, SMALL)["depth"] == (depth,)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_pieces_are_mixed_as_the_engine_mixes_them(size: int) -> None:
    """By bits 4 to 6 of where they lie, which are mixed with bits 7 to 9."""
    row, each = 128 // size, 16 // size
    turn, within = swizzle(row, size)
    for i in range(0, 16 * row, each):
        byte = i * size
        assert (i ^ i // (row * turn) % within * each) * size == (
            byte ^ (byte >> 7 & 7) << 4
        )


def test_sums_of_nothing() -> None:
    for m, n, k in ((0, 64, 64), (64, 64, 0)):
        b = Builder()
        x, w = b.input("x", F8E4M3, (m, k)), b.input("w", F8E4M3, (k, n))
        y = b.cast(b.matmul(b.cast(x, F32), b.cast(w, F32)), BF16)
        kernel = normalise(kernel_of(b, [y]))
        for family in (LAID, BY_GROUP):
            made = family.accepts(kernel) or family.program(kernel, SMALL, ())
            if isinstance(made, TileProgram):
                buffers = buffers_for(kernel)
                want = reference(kernel, buffers)
                run(verify(made, 227 << 10), buffers)
                close(kernel, buffers[kernel.reads :], want)


def test_what_is_seen_of_f32() -> None:
    x = np.asarray([1 + 2**-10, 1 + 2**-11, -1 - 2**-11, 3.0], np.float32)
    assert seen(x).tolist() == [1 + 2**-10, 1.0, -1.0, 3.0]


def test_on_a_device() -> None:
    dev = device("cuda")
    if not dev.probe().ok:
        pytest.skip(dev.probe().detail)
    every = (programs(seed, plain=seed % 4 == 0) for seed in range(200, 280))
    chosen = [x for x in every if x is not None][:40]
    check_launched(dev, chosen)
