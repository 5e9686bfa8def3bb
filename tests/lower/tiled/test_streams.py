"""Weights of few bits unpacked on the way to their product: one kernel, which reads
them once, as bytes."""

from __future__ import annotations

import pytest

from rewrite.backends.nvidia.nvrtc import emit, usage
from rewrite.egraph.ir.dtypes import BF16, F16, F32
from rewrite.egraph.ir.evaluate import expand_macros
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import saturator
from rewrite.extract.schedule.assemble import build_kernel
from rewrite.extract.schedule.kernel import Kernel, Launch
from rewrite.extract.schedule.plan import plan
from rewrite.extract.schedule.steps import GraphTerms, schedule
from rewrite.lower.axes import normalise
from rewrite.lower.choice import Holes
from rewrite.lower.interpret import run as run_loops
from rewrite.lower.lower import choose
from rewrite.lower.model import kernel_cost, model_of
from rewrite.lower.registry import FAMILIES
from rewrite.lower.targets.simt import lowered
from rewrite.lower.text import parse as parse_loops
from rewrite.lower.text import show as show_loops
from rewrite.lower.tiles.family import Tiled
from rewrite.lower.tiles.interpret import run
from rewrite.lower.tiles.ir import Load, TileProgram, walk
from rewrite.lower.tiles.streaming.stream import stream_of
from rewrite.lower.tiles.streaming.streams import STREAMED
from rewrite.lower.tiles.streaming.warps import BY_WARPS
from rewrite.lower.tiles.text import parse, show
from rewrite.lower.tiles.verify import TileVerifyError, verify
from rewrite.lower.verify import verify as verify_loops

from ..harness import buffers_for, close, kernel_of, reference
from .quantized import Quantized
from .test_products import HOPPER

CASES = [
    Quantized(1, 48, 256),
    Quantized(1, 48, 256, along=False, out=F32),
    Quantized(3, 20, 64, scale=BF16, x=F16, out=F16),
    Quantized(1, 40, 256, block=64),
    Quantized(2, 33, 256, block=32, along=False, scale=F32, rounded=True),
    Quantized(1, 24, 256, 4, 32),
    Quantized(1, 17, 512, 4, 128, along=False, scale=BF16),
    Quantized(4, 48, 256, 4, 64, scale=F32, rounded=True),
    Quantized(1, 40, 512, 4, 64, halves=True),
    Quantized(2, 40, 512, 4, 32, along=False, halves=True, x=F16, out=F32),
]


def kernel_for(case: Quantized) -> Kernel:
    graph = expand_macros(case.graph)
    roots = [i for _, i in graph.outputs]
    return normalise(build_kernel(GraphTerms(graph), roots, ()).kernel)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_by_tiles_and_by_loops(case: Quantized) -> None:
    kernel = kernel_for(case)
    program = STREAMED.program(kernel, model_of(HOPPER), (("team", 64),))
    assert isinstance(program, TileProgram), program
    verify(program, 227 << 10)
    assert parse(show(program)) == program
    loops = verify_loops(lowered(program))
    for runs in (lambda b: run(program, b), lambda b: run_loops(loops, b)):
        buffers = buffers_for(kernel)
        want = reference(kernel, buffers)
        runs(buffers)
        close(kernel, buffers[kernel.reads :], want)


FEW = [
    (Quantized(16, 96, 512), (("team", 128),)),
    # Where a thread adds up several results.
    (Quantized(16, 64, 512), (("rows", 4), ("team", 256))),
    (Quantized(5, 40, 256, out=F32), (("rows", 2), ("team", 64))),
    (Quantized(9, 64, 256, x=F16, out=F16), (("across", 2), ("rows", 4), ("team", 64))),
    (Quantized(3, 24, 512, block=64, scale=F32), (("deep", 2), ("team", 64))),
    (Quantized(16, 128, 512, 4, 64), (("team", 128),)),
    (Quantized(2, 32, 1024, 4, 128, scale=BF16), (("deep", 2), ("team", 64))),
    (Quantized(4, 48, 512, 4, 64, halves=True), (("team", 64),)),
]


@pytest.mark.sweep(2)
@pytest.mark.parametrize(("case", "holes"), FEW, ids=str)
def test_by_warps(case: Quantized, holes: Holes) -> None:
    """Both sides are registers: tiles, loops and their text."""
    kernel = kernel_for(case)
    program = BY_WARPS.program(kernel, model_of(HOPPER), holes)
    assert isinstance(program, TileProgram), program
    verify(program, 227 << 10)
    assert parse(show(program)) == program
    loops = verify_loops(lowered(program))
    assert parse_loops(show_loops(loops)) == loops
    assert f"__launch_bounds__({loops.threads}, 2)" in emit([loops]).text
    for runs in (lambda b: run(program, b), lambda b: run_loops(loops, b)):
        buffers = buffers_for(kernel)
        want = reference(kernel, buffers)
        runs(buffers)
        close(kernel, buffers[kernel.reads :], want)


@pytest.mark.parametrize(
    ("case", "why"),
    [
        (Quantized(1, 32, 256), "one row meets them"),
        (Quantized(4, 32, 256, along=False), "do not lie along"),
        (Quantized(4, 32, 256, x=F32, out=F32), "sides of f32 and f32"),
        (Quantized(4, 32, 256, block=8, scale=F32), "no stretches"),
    ],
    ids=str,
)
def test_not_by_warps(case: Quantized, why: str) -> None:
    made = BY_WARPS.program(kernel_for(case), model_of(HOPPER), (("team", 64),))
    assert isinstance(made, str)
    assert why in made


def test_sides_that_lie_otherwise_are_no_fragments() -> None:
    kernel = kernel_for(FEW[0][0])
    program = BY_WARPS.program(kernel, model_of(HOPPER), FEW[0][1])
    assert isinstance(program, TileProgram)
    text = show(program)
    turned = text.replace("i1/thread 8, i0/thread 4", "i1/thread 4, i0/thread 8")
    assert turned != text
    with pytest.raises(TileVerifyError, match="as fragments"):
        verify(parse(turned))


@pytest.mark.sweep(2)
@pytest.mark.parametrize(
    "case",
    [
        Quantized(16, 8192, 8192),
        Quantized(16, 8192, 8192, 4, 128, scale=BF16),
        Quantized(1, 4096, 4096),
        Quantized(4, 4096, 4096, along=False, scale=BF16),
        Quantized(1, 4096, 4096, block=64, along=False),
        Quantized(1, 4096, 4096, 4, 128),
        Quantized(1, 4096, 4096, 4, 32, along=False, halves=True),
    ],
    ids=str,
)
def test_a_plan_is_one_kernel_that_stores_no_weights(case: Quantized) -> None:
    graph, model = case.graph, model_of(HOPPER)
    price = kernel_cost(HOPPER, FAMILIES)
    found = plan(graph, saturator(load_rules()), price, moves=20)
    (step,) = schedule(found.graph, found.groups).steps
    assert isinstance(step, Launch)
    kernel = normalise(step.kernel)
    family, _ = choose(kernel, model)
    assert isinstance(family, Tiled)
    program = family.program(kernel, model, ())
    assert isinstance(program, TileProgram)
    assert not program.scratch
    loads = [s for s in walk(program.body) if isinstance(s, Load)]
    bytes_ = [s for s in loads if program.buffers[s.buffer].dtype.bits == 8]
    assert len(bytes_) == 1
    (used,) = usage(emit([lowered(program)]).text, "sm_90a").values()
    assert not used.spilled


def test_sums_of_one_matrix_are_no_streams() -> None:
    b = Builder()
    x = b.input("x", F32, (4096, 4096))
    for axis in (0, 1):
        kernel = normalise(kernel_of(b, [b.reduce("sum", x, [axis])]))
        assert stream_of(kernel) == "nothing meets what it reads"


def test_an_array_repeated_is_no_digit() -> None:
    """Angles of a rotary embedding stand twice: each is read at its place modulo."""
    b = Builder()
    angles = b.input("a", F32, (64, 8))
    twice = b.un("cos", b.concat([angles, angles], 1))
    kernel = kernel_of(b, [b.bin("mul", twice, b.input("x", F32, (64, 16)))])
    loads = [e for e in kernel.exprs if e.op == "load" and e.attr[2]]
    assert len(loads) == 2  # one behind each guard
