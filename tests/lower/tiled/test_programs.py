"""Tile programs compute what their kernels mean: run by NumPy, as loops, on devices."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rewrite.backends.devices import device
from rewrite.egraph.ir.dtypes import BF16
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import normalise
from rewrite.lower.choice import Holes
from rewrite.lower.device import Caps
from rewrite.lower.emit import kernels
from rewrite.lower.emit.dialects import OPENCL
from rewrite.lower.interpret import run as run_loops
from rewrite.lower.lower import tiles
from rewrite.lower.model import DeviceModel, model_of
from rewrite.lower.targets.simt import lowered
from rewrite.lower.tiles import staged
from rewrite.lower.tiles.contract import MULTIPLIED
from rewrite.lower.tiles.family import ROWS, Tiled
from rewrite.lower.tiles.folds import FOLDED
from rewrite.lower.tiles.interpret import run
from rewrite.lower.tiles.ir import Store, TileProgram
from rewrite.lower.tiles.streaming.warps import BY_WARPS
from rewrite.lower.tiles.text import parse, show
from rewrite.lower.tiles.verify import verify
from rewrite.lower.verify import verify as verify_loops
from tests.effort import LONG, draws

from ..cases import CASES
from ..harness import GPU, buffers_for, check_launched, close, kernel_of, reference
from .kernels import random_kernel

WIDE = replace(GPU, wide=16, shared_bytes=48 << 10, threads=64, max_threads=256)
KERNELS = {name: normalise(make()) for name, make in CASES.items()}


LIKE_H200 = replace(WIDE, threads=256, max_threads=1024, shared_bytes=227 << 10)
PAGE = Path(__file__).parents[3] / "docs" / "tiles.md"


# Products and passes over long rows have tests of their own.
TILED = [f for f in staged.TILED if f not in (*MULTIPLIED, FOLDED)]


def test_the_page_shows_what_the_tool_prints() -> None:
    b = Builder()
    x, g = (b.input(s, BF16, (n, 8192)) for s, n in (("x", 16384), ("g", 1)))
    kernel = kernel_of(b, [b.macro("rms_norm", [x, g], (0, 1), 1e-5)])
    program = tiles(kernel, LIKE_H200, "f")
    assert isinstance(program, TileProgram)
    assert f"```tiles\n{show(program)}```" in PAGE.read_text("utf-8")


def test_rows_are_read_sixteen_bytes_at_once() -> None:
    """And small floats are not rounded twice."""
    b = Builder()
    kernel = kernel_of(b, [b.un("tanh", b.input("x", BF16, (4096, 8192)))])
    program = tiles(kernel, LIKE_H200, "f")
    assert isinstance(program, TileProgram) and "bf16(" not in show(program)
    text = kernels.source([lowered(program)], OPENCL, lambda _: 64).text
    assert "vload8" in text and "vstore8" in text


@pytest.mark.parametrize("channels", [64, 40])
def test_a_thread_has_the_windows_of_a_pool_by_itself(channels: int) -> None:
    """Exchanged between threads, nine took seven times as long (on an H200)."""
    b = Builder()
    x = b.input("x", BF16, (2, 13, 17, channels))
    x = b.window(b.window(b.pad(x, (0, 1, 1, 0), (0, 0, 0, 0), -1e4), 1, 3, 2), 2, 3, 2)
    kernel = normalise(kernel_of(b, [b.reduce("max", x, (4, 5))]))
    program = ROWS.program(kernel, model_of(LIKE_H200), ())
    assert isinstance(program, TileProgram)
    (grid,) = program.body
    shared = {d.axis for d in grid.layout if d.place == "thread"}
    (store,) = (s for s in grid.body if isinstance(s, Store))
    assert shared <= {*store.over} and grid.layout[-1].size == 8
    check(kernel, program)


def test_products_are_left_to_their_own_families() -> None:
    """See `test_products.py`."""
    for name in ("matmul_f32", "gated", "heads", "convolution"):
        assert not list(programs(KERNELS[name], WIDE)), name


def programs(
    kernel: Kernel, caps: Caps, seed: int = 0, strict: bool = False
) -> Iterator[tuple[Tiled, TileProgram]]:
    """By each family that has one, as it is and with holes set at random."""
    rng, model = random.Random(seed), model_of(caps)
    for family in TILED:
        if family.accepts(kernel) is not None:
            continue
        for holes in ((), random_holes(rng, family, kernel, model)):
            made = family.program(kernel, model, holes, strict)
            if isinstance(made, TileProgram):
                yield family, made


def random_holes(
    rng: random.Random, family: Tiled, kernel: Kernel, model: DeviceModel
) -> Holes:
    domains = family.domains(kernel, model)
    return tuple(sorted((n, rng.choice(d)) for n, d in domains.items()))


def check(kernel: Kernel, program: TileProgram, strict: bool = False) -> None:
    verify(program, WIDE.shared_bytes)
    assert parse(show(program)) == program
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers, strict)
    run(program, buffers)
    close(kernel, buffers[kernel.reads :], want)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_cases(name: str, strict: bool) -> None:
    for caps in (GPU, WIDE):
        for _, program in programs(KERNELS[name], caps, strict=strict):
            check(KERNELS[name], program, strict)


def test_random_kernels() -> None:
    families: set[str] = set()
    for seed in range(90 if LONG else 60):
        kernel = random_kernel(seed)
        for family, program in programs(kernel, (GPU, WIDE)[seed % 2], seed):
            check(kernel, program)
            families.add(family.name)
    assert families == {f.name for f in TILED} - {BY_WARPS.name}  # in test_streams


def test_random_kernels_as_loops() -> None:
    """Threads that meet at barriers, each access checked."""
    count = 0
    for seed in range(draws(60, 2)):
        kernel = random_kernel(seed)
        if sum(n for _, n in kernel.slots) > 2000:
            continue  # the interpreter of loops is slow
        for _, program in programs(kernel, (WIDE, GPU)[seed % 2], seed):
            function = verify_loops(lowered(program))
            buffers = buffers_for(kernel)
            want = reference(kernel, buffers)
            run_loops(function, buffers)
            close(kernel, buffers[kernel.reads :], want)
            count += 1
    assert count > draws(30, 2)


@pytest.mark.parametrize(
    ("name", "caps", "most"), [("wgpu", GPU, 24), ("opencl", WIDE, 5)]
)
def test_random_kernels_on_devices(name: str, caps: Caps, most: int) -> None:
    """The device's own memory and threads; PoCL takes a second for each kernel."""
    dev = device(name)
    if not dev.probe().ok:
        pytest.skip(dev.probe().detail)
    have = dev.caps()
    chosen: list[tuple[Kernel, TileProgram]] = []
    for seed in range(200, 260):
        kernel = random_kernel(seed)
        fits = all(d in have.dtypes for d, n in kernel.slots)
        made = [p for _, p in programs(kernel, caps, seed)] if fits else []
        if made and len(chosen) < most and all(n for _, n in kernel.slots):
            chosen.append((kernel, made[seed % len(made)]))
    check_launched(dev, chosen)
    assert len(chosen) == most
