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
from rewrite.lower.interpret import run as run_loops
from rewrite.lower.lower import choose
from rewrite.lower.model import kernel_cost, model_of
from rewrite.lower.registry import FAMILIES
from rewrite.lower.targets.simt import lowered
from rewrite.lower.tiles.family import Tiled
from rewrite.lower.tiles.interpret import run
from rewrite.lower.tiles.ir import Load, TileProgram, walk
from rewrite.lower.tiles.streaming.stream import stream_of
from rewrite.lower.tiles.streaming.streams import STREAMED
from rewrite.lower.tiles.text import parse, show
from rewrite.lower.tiles.verify import verify
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


@pytest.mark.parametrize(
    "case",
    [
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
