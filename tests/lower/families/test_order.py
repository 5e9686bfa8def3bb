"""Kernels that sort: by lines and by a network, beside the kernel interpreter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rewrite.backends.devices import device as device_of
from rewrite.backends.numpy import run_kernel
from rewrite.egraph.ir.dtypes import BF16, BOOL, F16, F32, F64, I8, I32, I64, U64, DType
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.extract.schedule.kernel import Kernel, Launch
from rewrite.extract.schedule.steps import own_groups, schedule
from rewrite.extract.text.kernels import Kernels
from rewrite.extract.text.show import show_kernel
from rewrite.lower.axes import normalise
from rewrite.lower.device import Caps
from rewrite.lower.families.order import ORDER, stages
from rewrite.lower.interpret import run as interpret
from rewrite.lower.loops import Function, Sort
from rewrite.lower.model import model_of
from rewrite.lower.passes.barriers import barriers
from rewrite.lower.text import parse, show
from rewrite.lower.verify import verify
from rewrite.lower.walking import walk
from tests.lower.harness import launched

CASES = 120  # of which the interpreter of loops runs a third as networks
DTYPES = (F32, F64, F16, BF16, I8, I32, U64, BOOL)
CPU = Caps("c", True, frozenset(DTYPES), 2, 1, 1 << 18, 32, sorts=True)
BARE = replace(CPU, name="bare", sorts=False)
GPU = replace(BARE, name="gpu", cpu_like=False, threads=64, max_threads=256)


def kernel_of(graph: Graph) -> Kernel:
    """The kernel that stores the one output, whatever comes before it inlined."""
    ((_, out),) = graph.outputs
    (step,) = schedule(graph, [(out,)]).steps
    assert isinstance(step, Launch)
    return normalise(step.kernel)


def sorted_graph(
    dtype: DType, shape: tuple[int, ...], op: str, axis: int, down: bool, kept: int,
    computed: bool,
) -> Graph:  # fmt: skip
    b = Builder()
    x = b.input("x", dtype, shape)
    if computed and dtype is not BOOL:
        x = b.bin("add", x, x)
    attrs = (axis, int(down), kept)
    made = b.add(op, (x,), attrs if op == "sort" else (*attrs, I64))
    return b.build({"y": made})


def drawn(rng: np.random.Generator, dtype: DType, count: int) -> Any:
    values: Any = rng.integers(0, 6, count)
    if dtype.is_float:
        odd = np.array([np.nan, -np.inf, np.inf, 0.0, -0.0, 1.5])
        values = np.where(rng.random(count) < 0.5, odd[values], values - 2.0)
    return values.astype(dtype.numpy)


def equal(a: Any, b: Any) -> bool:
    bits = np.dtype(f"u{a.itemsize}")
    return bool(((a.view(bits) == b.view(bits)) | ((a != a) & (b != b))).all())


def random_kernel(rng: np.random.Generator) -> Kernel:
    shape = tuple(int(n) for n in rng.integers(1, 9, rng.integers(1, 4)))
    axis = int(rng.integers(len(shape)))
    shape = (*shape[:axis], int(rng.integers(2, 70)), *shape[axis + 1 :])
    kept = shape[axis] if rng.random() < 0.5 else int(rng.integers(1, shape[axis]))
    op = "sort" if rng.random() < 0.5 else "argsort"
    dtype = DTYPES[rng.integers(len(DTYPES))]
    down, computed = (bool(rng.integers(2)) for _ in range(2))
    return kernel_of(sorted_graph(dtype, shape, op, axis, down, kept, computed))


def buffers_of(rng: np.random.Generator, kernel: Kernel) -> list[Any]:
    given = [drawn(rng, *kernel.slots[s]) for s in range(kernel.reads)]
    made = [np.zeros(n, d.numpy) for d, n in kernel.slots[kernel.reads :]]
    return [*given, *made]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("caps", (CPU, BARE, GPU), ids=lambda c: c.name)
def test_loops_sort_as_the_interpreter_of_kernels_does(caps: Caps) -> None:
    rng = np.random.default_rng(4)
    for _ in range(CASES if caps.sorts else CASES // 3):
        kernel = random_kernel(rng)
        made = verify(ORDER.lower(kernel, caps, "f", False))
        assert parse(show(made)) == made
        want = buffers_of(rng, kernel)
        got = [a.copy() for a in want]
        run_kernel(kernel, want)
        interpret(made, got)
        assert equal(got[-1], want[-1]), show_kernel(kernel)


def long_kernels() -> Iterator[Kernel]:
    """Lines of more elements than a group has threads, all and the first ten."""
    for dtype in DTYPES:
        for n, op, kept in ((4096, "sort", 4096), (10007, "argsort", 10)):
            graph = sorted_graph(dtype, (3, n), op, 1, kept == 10, kept, False)
            yield kernel_of(graph)


@pytest.mark.parametrize("name", ("c", "cuda"))
def test_compiled_kernels_sort_as_well(name: str) -> None:
    """By the host's library, and by a network where there is a GPU."""
    device = device_of(name)
    if not (probe := device.probe()).ok:
        pytest.skip(probe.detail)
    rng = np.random.default_rng(5)
    kernels = [*(random_kernel(rng) for _ in range(CASES)), *long_kernels()]
    caps = device.caps()
    made = [
        barriers(ORDER.lower(k, caps, f"f{i}", False)) for i, k in enumerate(kernels)
    ]
    module = device.compile(made)
    for kernel, function in zip(kernels, made, strict=True):
        want = buffers_of(rng, kernel)
        got = [a.copy() for a in want]
        run_kernel(kernel, want)
        launched(device, module, function.name, got)
        assert equal(got[-1], want[-1]), show_kernel(kernel)


def calls(f: Function) -> list[Sort]:
    return [s for s in walk(f.body) if isinstance(s, Sort)]


def test_few_long_lines_are_sorted_by_all_threads_and_many_by_one_each() -> None:
    for shape, parts in (((1, 1 << 20), 8), ((4096, 512), 0)):
        graph = sorted_graph(F32, shape, "sort", 1, False, shape[1], False)
        (call,) = calls(ORDER.lower(kernel_of(graph), CPU, "f", False))
        assert call.parts == parts


def test_what_lies_evenly_is_sorted_where_it_is() -> None:
    plain, computed = (
        kernel_of(sorted_graph(F32, (8, 40, 3), "sort", 1, False, 40, way))
        for way in (False, True)
    )
    assert stages(plain).fill is None
    assert stages(computed).fill is not None


def test_the_first_ones_cost_less_than_all() -> None:
    model = model_of(CPU)
    prices: list[float] = []
    for kept in (2, 4096):
        graph = sorted_graph(F32, (512, 4096), "argsort", 1, True, kept, False)
        cost = ORDER.cost(kernel_of(graph), model)
        assert cost is not None
        prices.append(cost.seconds)
    assert prices[0] < prices[1] / 4


def test_kernels_that_sort_have_a_text() -> None:
    rng = np.random.default_rng(6)
    for _ in range(20):
        kernel = random_kernel(rng)
        text = show_kernel(kernel)
        assert Kernels(text, "k").kernel()[1] == kernel, text


def test_a_whole_graph_of_sorts_has_a_kernel_for_each() -> None:
    graph = sorted_graph(F32, (4, 9), "argsort", 0, True, 2, True)
    steps = schedule(graph, own_groups(graph)).steps
    assert all(isinstance(s, Launch) for s in steps)
