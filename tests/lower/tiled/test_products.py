"""Products as tile programs: by warps and by threads, run by NumPy, as loops, as the
text that NVRTC compiles, on devices."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rewrite.backends.devices import device
from rewrite.backends.nvidia.nvrtc import emit, usage
from rewrite.egraph.ir.dtypes import BF16, F8E4M3, F16, F32, DType
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower import fragments
from rewrite.lower.axes import normalise
from rewrite.lower.device import Caps
from rewrite.lower.interpret import run as run_loops
from rewrite.lower.loops import Function
from rewrite.lower.lower import choose, tiles
from rewrite.lower.model import model_of
from rewrite.lower.targets.simt import lowered
from rewrite.lower.text import parse as parse_loops
from rewrite.lower.text import show as show_loops
from rewrite.lower.tiles.contract import (
    BY_GROUP,
    BY_THREAD,
    BY_WARP,
    MULTIPLIED,
    Multiplied,
)
from rewrite.lower.tiles.interpret import run
from rewrite.lower.tiles.ir import TileProgram
from rewrite.lower.tiles.text import parse, show
from rewrite.lower.tiles.verify import verify
from rewrite.lower.verify import faults as loop_faults
from rewrite.lower.verify import verify as verify_loops
from tests.backends import emulate
from tests.effort import draws

from ..cases import CASES
from ..harness import GPU, buffers_for, check_launched, close, kernel_of, reference
from ..products import product
from .products import random_product

LIKE_H200 = replace(
    GPU, wide=16, shared_bytes=227 << 10, threads=256, max_threads=1024, warps=1
)
WIDE = replace(LIKE_H200, threads=64, max_threads=128)
PAGE = Path(__file__).parents[3] / "docs" / "tiles.md"
HOPPER = replace(LIKE_H200, warps=4)


def programs(
    kernel: Kernel, caps: Caps, seed: int, strict: bool = False
) -> Iterator[tuple[Multiplied, TileProgram]]:
    """By each family that takes it, in its own tiles and in some at random."""
    rng, model = random.Random(seed), model_of(caps)
    for family in MULTIPLIED:
        if family.accepts(kernel) is not None or not family.shapes(model):
            continue
        some = rng.choice(family.suited(kernel, model))._asdict()
        domains = family.domains(kernel, model)
        some |= {n: rng.choice(domains[n]) for n in ("group", "stages")}
        for holes in ((), tuple(sorted(some.items()))):
            made = family.program(kernel, model, holes, strict)
            if isinstance(made, TileProgram):
                yield family, made


def matmul(m: int, n: int, k: int, turned: str = "", dtype: DType = BF16) -> Kernel:
    b = Builder()
    return normalise(kernel_of(b, [product(m, n, k, turned, dtype=dtype)(b)]))


def test_the_page_shows_what_the_tool_prints() -> None:
    b = Builder()
    x, w = b.input("x", BF16, (8192, 4096)), b.input("w", BF16, (4096, 8192))
    y = b.bin("add", *b.broadcast(b.matmul(x, w), b.input("c", BF16, (1, 8192))))
    program = tiles(kernel_of(b, [b.un("relu", y)]), HOPPER, "f")
    assert isinstance(program, TileProgram)
    assert f"```tiles\n{show(program)}```" in PAGE.read_text("utf-8")


def test_random_products() -> None:
    count = {f.name: 0 for f in MULTIPLIED}
    for seed in range(draws(90, 2)):
        kernel = random_product(seed)
        for family, program in programs(kernel, (WIDE, HOPPER, GPU)[seed % 3], seed):
            verify(program, 227 << 10)
            assert parse(show(program)) == program
            buffers = buffers_for(kernel)
            want = reference(kernel, buffers)
            run(program, buffers)
            close(kernel, buffers[kernel.reads :], want)
            count[family.name] += 1
    assert min(count.values()) > draws(20, 2), count


def test_strictly_each_side_is_rounded_op_by_op() -> None:
    for seed in range(12):
        kernel = random_product(seed)
        for family, program in programs(kernel, WIDE, seed, strict=True):
            if family is BY_THREAD:
                buffers = buffers_for(kernel)
                want = reference(kernel, buffers, True)
                run(program, buffers)
                close(kernel, buffers[kernel.reads :], want)


BOXED = {"rows": 64, "columns": 64, "stages": 3, "down": 1, "across": 1, "beside": 128}
SMALL = {"rows": 32, "columns": 32, "depth": 16, "stages": 3, "across": 1, "down": 2}


def small(kernel: Kernel, family: Multiplied, **holes: int) -> Function:
    """In tiles that the interpreter of loops is done with soon."""
    if family is BY_GROUP:
        holes = {"rows": 64, "columns": 64, "stages": 3, "down": 1} | holes
    elif family is BY_THREAD:
        holes = {"rows": 16, "columns": 16, "depth": 16, "down": 8, "across": 8} | holes
    else:
        holes = SMALL | holes
    model = model_of(HOPPER if family is BY_GROUP else WIDE)
    made = family.program(kernel, model, tuple(sorted(holes.items())))
    assert isinstance(made, TileProgram), made
    verify(made, 227 << 10)
    return verify_loops(lowered(made))


@pytest.mark.parametrize("seed", range(18))
def test_as_loops(seed: int) -> None:
    """Threads that meet at barriers, copies that are late, each access checked."""
    rng = random.Random(seed)
    m, n, k = (rng.choice((8, 17, 31, 40)) for _ in range(3))
    dtype = (BF16, F16, F32)[seed % 3]
    halves = BY_WARP if seed % 2 else BY_GROUP
    family = BY_THREAD if dtype is F32 else halves
    stages = 2 if dtype is F32 else rng.choice((2, 3, 4))
    kernel = matmul(m, n, k, rng.choice(("", "a", "b", "ab", "c")), dtype)
    function = small(kernel, family, stages=stages)
    assert parse_loops(show_loops(function)) == function
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers)
    run_loops(function, buffers)
    close(kernel, buffers[kernel.reads :], want)


@pytest.mark.sweep(2)
@pytest.mark.skipif(not emulate.COMPILER, reason="there is no C++ compiler")
@pytest.mark.parametrize(
    ("size", "turned", "holes"),
    [
        ((70, 130, 72), "", {"rows": 64, "columns": 64, "depth": 32}),
        ((72, 136, 136), "", {"groups": 1, "columns": 128}),
        ((72, 130, 72), "ab", {"groups": 1, "columns": 128, "stages": 4}),
        ((40, 64, 136), "ab", {"columns": 128, "depth": 64, "across": 2, "down": 1}),
    ],
)
def test_the_text_for_warps(
    size: tuple[int, int, int], turned: str, holes: dict[str, int], tmp_path: Path
) -> None:
    """Fragments are read where pieces were copied to, in swizzled rows."""
    kernel = matmul(*size, turned, F16 if turned else BF16)
    family = BY_GROUP if holes.pop("groups", 0) else BY_WARP
    function = small(kernel, family, **holes)
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers)
    close(kernel, emulate.run(function, tmp_path, *buffers), want)


def test_fragments_hold_each_element_once() -> None:
    for size in ((64, 64, 128, 2), (32, 128, 64, 1), (128, 256, 256, 4, 1),
                 (128, 256, 256, 1, 4), (128, 128, 256, 2, 4)):  # fmt: skip
        m, n, *_ = size
        rows, columns = fragments.places(*size)
        assert np.unique(rows * n + columns).size == m * n == rows.size


@pytest.mark.parametrize(
    ("caps", "arch"), [(LIKE_H200, "sm_80"), (LIKE_H200, "sm_90a"), (HOPPER, "sm_90a")]
)
def test_large_products_go_to_warps_and_fit_the_registers(
    caps: Caps, arch: str
) -> None:
    """Without spilling, and by sixteen bytes at once where rows are such."""
    kernels = [matmul(4096, 4096, 4096), matmul(5000, 2000, 3000, "a"),
               matmul(17, 8192, 1024, "b", F16), matmul(999, 777, 555)]  # fmt: skip
    model, made = model_of(caps), list[Function]()
    for i, kernel in enumerate(kernels):
        family, _ = choose(kernel, model)
        assert family in (BY_GROUP, BY_WARP)
        made.append(family.lower(kernel, caps, f"f{i}", False))
    text = emit(made).text
    wide = r"\brw_box\d\(&" if caps is HOPPER else r"\brw_copy<16>\(&"
    assert len(re.findall(wide, text)) >= 6
    assert ("wgmma" in text) == (caps is HOPPER)
    used = usage(text, arch)
    assert len(used) == len(kernels)
    assert not any(u.spilled for u in used.values()), used


def test_warps_are_not_for_all() -> None:
    """Not for f32, not for devices without them, not where sums are to be exact."""
    kernel = matmul(512, 512, 512)
    assert choose(kernel, model_of(LIKE_H200), strict=True)[0] is not BY_WARP
    assert choose(kernel, model_of(replace(LIKE_H200, warps=0)))[0] is not BY_WARP
    assert BY_WARP.accepts(matmul(64, 64, 64, "", F32)) == "sides of f32"


@pytest.mark.parametrize("first", [0, 2, 4, 8, 12, 16])
@pytest.mark.parametrize("dtype", [BF16, F16, F8E4M3])
@pytest.mark.parametrize("turned", [False, True])
def test_boxes_begin_at_multiples_of_16_bytes(
    first: int, dtype: DType, turned: bool
) -> None:
    """Elsewhere the engine for copies ends the process ("an illegal instruction"); at
    any row it may begin."""
    b = Builder()
    x = b.input("x", dtype, (160, 160))
    x = b.slice(x, (3, first), (128, 128), (1, 1))
    x = b.permute(x, (1, 0)) if turned else x
    w = b.permute(b.input("w", dtype, (64, 128)), (1, 0))
    y = b.matmul(b.cast(x, F32), b.cast(w, F32))
    kernel = normalise(kernel_of(b, [b.cast(y, BF16)]))
    holes = BOXED | {"depth": 128 // dtype.itemsize}
    made = BY_GROUP.program(kernel, model_of(HOPPER), tuple(sorted(holes.items())))
    lies = not turned or dtype is not F8E4M3
    assert isinstance(made, TileProgram) == (lies and first * dtype.itemsize % 16 == 0)
    if isinstance(made, TileProgram):
        text = show_loops(verify_loops(lowered(made)))
        assert not loop_faults(parse_loops(text))
        moved = re.sub("= b0 at ", "= b0 at 1 + ", text)
        assert moved != text
        found = [str(f) for f in loop_faults(parse_loops(moved))]
        nbytes = dtype.itemsize
        assert f"a box of 'b0' from {nbytes} bytes on, not 16" in found[0], found


def test_an_outer_product_sums_along_no_axis() -> None:
    b = Builder()
    x, y = b.input("x", F32, (5, 1)), b.input("y", F32, (1, 5))
    kernel = normalise(kernel_of(b, [b.contract(x, y, [5, 5], [0, 0])]))
    for family in (BY_GROUP, BY_THREAD, BY_WARP):
        assert family.accepts(kernel) is not None


@pytest.mark.parametrize(("name", "most"), [("wgpu", 8), ("opencl", 2)])
def test_on_devices(name: str, most: int) -> None:
    """By threads, in the device's own memory."""
    dev = device(name)
    if not dev.probe().ok:
        pytest.skip(dev.probe().detail)
    caps = replace(GPU, shared_bytes=16 << 10)
    chosen: list[tuple[Kernel, TileProgram]] = []
    for seed in range(300, 330):
        kernel = random_product(seed, (F32,))
        made = [p for f, p in programs(kernel, caps, seed) if f is BY_THREAD]
        if made and len(chosen) < most:
            chosen.append((kernel, made[-1]))
    assert len(chosen) == most
    check_launched(dev, chosen)


@pytest.mark.parametrize(
    "name", ["gated", "heads", "convolution", "matmul_f64", "prologue_and_epilogue"]
)
@pytest.mark.parametrize("caps", [GPU, LIKE_H200], ids=["plain", "wide"])
def test_several_products_axes_and_types(name: str, caps: Caps) -> None:
    """What sums along several axes does so along one; two products of one side share
    its tile."""
    kernel = normalise(CASES[name]())
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers)
    program = BY_THREAD.program(kernel, model_of(caps), ())
    assert isinstance(program, TileProgram), program
    assert parse(show(program)) == verify(program)
    loops = verify_loops(lowered(program))
    for go in (run, None):
        held = [b.copy() for b in buffers]
        if go is None:
            run_loops(loops, held)
        else:
            go(program, held)
        close(kernel, held[kernel.reads :], want)
