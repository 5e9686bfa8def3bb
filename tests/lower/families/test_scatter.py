"""Scatters: both ways of a GPU, in place, in order, and as the graph means them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rewrite.backends.devices import device
from rewrite.core.options import Options
from rewrite.egraph.ir.dtypes import BOOL, F16, F32, F64, I8, I32, I64, U8, DType
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.egraph.ir.indexing import SCATTER as MODES
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import saturator
from rewrite.extract.schedule.kernel import Kernel, Launch
from rewrite.extract.schedule.plan import plan
from rewrite.extract.schedule.steps import own_groups, schedule
from rewrite.lower.axes import normalise
from rewrite.lower.families.scatter import SCATTER
from rewrite.lower.interpret import run as interpret
from rewrite.lower.loops import For, Function
from rewrite.lower.lower import choose, lower
from rewrite.lower.model import kernel_cost, model_of
from rewrite.lower.program import Invoke, build
from rewrite.lower.registry import FAMILIES
from rewrite.lower.reuse import settled
from rewrite.lower.verify import verify
from rewrite.lower.walking import walk
from rewrite.pipeline import optimize_graph
from tests.lower.cases import CASES
from tests.lower.harness import CPU, GPU, buffers_for, close, kernel_of, on_c, reference

NAMES = ("summed_rows", "set_along_rows", "counted", "scattered_softmax")


def changed_rows(rows: int, columns: int, count: int, mode: str = "add") -> Kernel:
    b = Builder()
    x, v = b.input("x", F32, (rows, columns)), b.input("v", F32, (count, columns))
    at = b.expand(b.input("i", I64, (count, 1)), (count, columns))
    return normalise(kernel_of(b, [b.add("scatter", (x, at, v), (mode, 0))]))


@pytest.mark.parametrize("pulled", [0, 1])
@pytest.mark.parametrize("name", NAMES)
def test_pushed_and_pulled(name: str, pulled: int) -> None:
    kernel = normalise(CASES[name]())
    holes = (("pulled", pulled),)
    if pulled not in SCATTER.domains(kernel, model_of(GPU)).get("pulled", (0,)):
        assert kernel.reductions
        return
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers)
    made = verify(SCATTER.lower(kernel, GPU, "f", False, holes))
    assert len(loops_of(made)) == 2 - pulled
    interpret(made, buffers)
    close(kernel, buffers[kernel.reads :], want)


def loops_of(f: Function) -> list[For]:
    return [s for s in f.body if isinstance(s, For)]


def test_the_cheaper_way_is_taken() -> None:
    """Few elements look for many points; of many, the points look for theirs."""
    model = model_of(GPU)
    counts = normalise(CASES["counted"]())
    assert len(loops_of(SCATTER.lower(counts, GPU, "f", False))) == 1
    many = changed_rows(100_000, 512, 64)
    assert len(loops_of(SCATTER.lower(many, GPU, "f", False))) == 2
    own = choose(many, model)[1].seconds
    pulled = SCATTER.cost(many, model, (("pulled", 1),))
    assert pulled is not None and own < pulled.seconds


def test_rows_change_side_by_side_and_by_vectors() -> None:
    (fill, change) = loops_of(
        SCATTER.lower(changed_rows(90, 1024, 50), CPU, "f", False)
    )
    assert (fill.kind, change.kind) == ("grid", "grid") and change.extent > 1
    inner = [s.kind for s in walk(change.body) if isinstance(s, For)]
    assert inner == ["serial", "simd"]


def test_what_lies_there_is_not_stored_again() -> None:
    b = Builder()
    x, v = b.input("x", F32, (50, 8)), b.input("v", F32, (2, 8))
    at = b.expand(b.input("i", I64, (2, 1)), (2, 8))
    y = b.add("scatter", (x, at, v), ("set", 0))
    b.alias("out0", "x", "must")
    graph = b.build([y])
    program = build(schedule(graph, own_groups(graph)), CPU)
    (step,) = program.steps
    assert isinstance(step, Invoke) and len(step.kernel.outputs) == 1
    (launch,) = program.schedule.steps
    assert isinstance(launch, Launch) and len(launch.kernel.outputs) == 2
    (only,) = loops_of(program.functions[0])
    assert "b0" not in {getattr(s, "array", "") for s in walk(only.body)}


def test_elements_of_a_gpu_find_their_points_in_place_too() -> None:
    """Without the elements to share out, one thread would take all points."""
    kernel = normalise(CASES["counted"]())
    (out,) = {o.slot for o in kernel.outputs}
    base = kernel.exprs[kernel.outputs[0].expr].attr[0]
    assert len(settled(kernel, ((out, base),), CPU).outputs) == 1
    assert len(settled(kernel, ((out, base),), GPU).outputs) == 2


def test_a_base_that_is_read_again_is_copied() -> None:
    """The values come from rows that were changed before."""
    b = Builder()
    x = b.input("x", F32, (5, 8))
    at = b.expand(b.input("i", I64, (5, 1)), (5, 8))
    y = b.add("scatter", (x, at, b.un("neg", x)), ("add", 0))
    b.alias("out0", "x", "must")
    program = build(schedule(b.build([y]), ((y,),)), CPU)
    assert not program.memory.in_place


@pytest.mark.parametrize("alias", [False, True])
def test_one_place_of_a_cache_is_changed_where_it_lies(alias: bool) -> None:
    """By the rules it is a choice at each element, which a copy might as well be."""
    b = Builder()
    cache, new = b.input("cache", F32, (8, 4096, 128)), b.input("new", F32, (8, 1, 128))
    at = b.expand(b.input("at", I64, (1, 1, 1)), (8, 1, 128))
    if alias:
        b.alias("out0", "cache", "may")
    graph = b.build([b.add("scatter", (cache, at, new), ("set", 1))])
    chosen = plan(graph, saturator(load_rules()), kernel_cost(CPU, FAMILIES))
    program = build(schedule(chosen.graph, chosen.groups), CPU)
    (step,) = program.steps
    assert isinstance(step, Invoke)
    assert [o.update is not None for o in step.kernel.outputs] == [alias]


@pytest.mark.parametrize("name", ["numpy", "c"])
def test_in_place_on_a_device(name: str) -> None:
    b = Builder()
    cache, new = b.input("cache", F32, (2, 30, 4)), b.input("new", F32, (2, 3, 4))
    at = b.expand(b.input("at", I32, (1, 3, 1)), (2, 3, 4))
    b.alias("out0", "cache", "must")
    graph = b.build([b.add("scatter", (cache, at, new), ("set", 1))])
    if not device(name).probe().ok:
        pytest.skip(device(name).probe().detail)
    run = optimize_graph(graph, name, Options(fallback=False))
    rng = np.random.default_rng(0)
    held, news = (rng.normal(size=s).astype("f4") for s in ((2, 30, 4), (2, 3, 4)))
    want = held.copy()
    want[:, [7, 29, 7]] = news
    got = run({"cache": held, "new": news, "at": np.array([[[7], [29], [7]]], "i4")})
    np.testing.assert_array_equal(got["out0"], want)
    np.testing.assert_array_equal(held, want)


# ---- as graphs mean them, on every device --------------------------------------------

SHAPES = (  # shape, axis, count, one index a line
    ((9, 33), 0, 5, True),
    ((9, 33), 0, 40, False),
    ((300,), 0, 90, False),
    ((4, 50, 3), 1, 7, False),
    ((64, 70), 1, 9, False),
    ((1, 3), 0, 4, True),
    ((5, 2), 1, 1, False),
    ((5, 0), 0, 3, False),
    ((5, 2), 0, 0, False),
)


def scattered(
    mode: str, dtype: DType, shape: tuple[int, ...], axis: int, count: int, line: bool
) -> Graph:
    b = Builder()
    full = tuple(count if a == axis else n for a, n in enumerate(shape))
    one = tuple(count if a == axis else 1 for a in range(len(shape)))
    x, v = b.input("x", dtype, shape), b.input("v", dtype, full)
    i = b.input("i", I64 if line else I32, one if line else full)
    at = b.expand(i, full) if line else i
    base = x if dtype in (BOOL, U8) else b.un("neg", x)
    return b.build([b.add("scatter", (base, at, v), (mode, axis))])


def inputs_of(graph: Graph, n: int, seed: int) -> dict[str, np.ndarray]:
    """Small numbers, whose sums are exact; places that lie outside, too."""
    rng = np.random.default_rng(seed)
    out: dict[str, np.ndarray] = {}
    for node in graph.inputs:
        low, high = (-2, n + 2) if node.attrs[0] == "i" else (0, 4)
        top = 2 if node.dtype is BOOL else high
        drawn = rng.integers(low, top, node.shape)
        out[node.attrs[0]] = drawn.astype(node.dtype.numpy)
    return out


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", ["numpy", "c", "opencl", "wgpu", "cuda"])
@pytest.mark.parametrize("mode", MODES)
def test_every_mode(name: str, mode: str) -> None:
    """All shapes, by one dtype after the other; where programs take long to compile,
    two for each mode."""
    if not device(name).probe().ok:
        pytest.skip(device(name).probe().detail)
    kinds = (F32, I32, BOOL, F16, I8, U8, I64)
    first = list(MODES).index(mode)
    for k, (shape, axis, count, line) in enumerate(SHAPES):
        if name in ("opencl", "wgpu") and k % 5 != first:
            continue
        dtype = kinds[(first + k) % (3 if name == "wgpu" else len(kinds))]
        graph = scattered(mode, dtype, shape, axis, count, line)
        given = inputs_of(graph, shape[axis], k)
        run = optimize_graph(graph, name, Options(fallback=False, cache=False))
        assert all(i.family != "host" for i in run.kernels({}))
        want = evaluate(graph, given)["out0"]
        np.testing.assert_array_equal(run(given)["out0"], want, err_msg=str(shape))


def test_the_order_of_digits_is_that_of_the_axis() -> None:
    """Values from a turned matrix: the axis is split in two, and read across."""
    b = Builder()
    v = b.reshape(b.permute(b.input("v", F32, (6, 5)), (1, 0)), (30,))
    x, i = b.input("x", F32, (4,)), b.input("i", I32, (30,))
    kernel = kernel_of(b, [b.add("scatter", (x, i, v), ("set", 0))])
    (update,) = (o.update for o in kernel.outputs if o.update)
    assert len(update.serial) == 2
    buffers = buffers_for(kernel)
    slots = {size: s for s, (_, size) in enumerate(kernel.slots[: kernel.reads])}
    places = [s for s, (d, _) in enumerate(kernel.slots) if d is I32]
    buffers[places[0]][:] = np.arange(30) % 4
    values = next(
        b
        for s, b in enumerate(buffers[: kernel.reads])
        if b.size == 30 and s != places[0]
    )
    turned = values.reshape(6, 5).T.reshape(-1)
    assert 4 in slots
    for caps in (CPU, GPU):
        got = [b.copy() for b in buffers]
        interpret(SCATTER.lower(normalise(kernel), caps, "f", False), got)
        np.testing.assert_array_equal(got[-1], turned[[28, 29, 26, 27]])


def test_sums_are_the_same_bit_for_bit() -> None:
    """In the order of the index, whatever runs side by side."""
    kernel = changed_rows(3, 40, 50)
    buffers = [b.copy() for b in buffers_for(kernel)]
    want = reference(kernel, buffers)[0]
    for caps in (CPU, GPU, replace(CPU, threads=7)):
        got = [b.copy() for b in buffers]
        interpret(SCATTER.lower(kernel, caps, "f", False), got)
        np.testing.assert_array_equal(got[-1], want)
    if device("c").probe().ok:
        on_c([SCATTER.lower(kernel, device("c").caps(), "f", False)], [buffers])
        np.testing.assert_array_equal(buffers[-1], want)


def test_half_floats_round_at_each_point() -> None:
    b = Builder()
    x, v = b.input("x", F16, (1,)), b.input("v", F16, (3000,))
    i = b.expand(b.const(0, I32, (1,)), (3000,))
    graph = b.build([b.add("scatter", (x, i, v), ("add", 0))])
    given = {"x": np.zeros(1, "f2"), "v": np.ones(3000, "f2")}
    run = optimize_graph(graph, "numpy", Options(fallback=False))
    assert run(given)["out0"] == evaluate(graph, given)["out0"] == 2048
    kernel = normalise(kernel_of(b, [graph.outputs[0][1]]))
    for caps in (CPU, GPU):
        buffers = [given["x" if size == 1 else "v"].copy() for _, size in kernel.slots]
        interpret(SCATTER.lower(kernel, caps, "f", False), buffers)
        assert buffers[-1] == 2048


# ---- variants ------------------------------------------------------------------------


class Draw:
    """A scatter or an arg-reduction of operands that were moved about, and their
    inputs: small integers, whose results are exact in every order and dtype."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.b = Builder()
        rank = int(self.rng.integers(1, 4))
        self.shape = tuple(int(n) for n in self.rng.choice((1, 2, 3, 5, 8, 17), rank))
        self.axis = int(self.rng.integers(rank))
        self.dtype = (F32, F64, I32, I64, U8)[seed % 5]

    def tensor(self, name: str, shape: tuple[int, ...], dtype: DType) -> int:
        """By a permutation, padding and a slice, or a reshape, of an input."""
        b, rng = self.b, self.rng
        match rng.integers(4):
            case 0:
                order = rng.permutation(len(shape))
                source = b.input(name, dtype, [shape[a] for a in order])
                return b.permute(source, [int(a) for a in np.argsort(order)])
            case 1:
                one = tuple(1 for _ in shape)
                wide = b.pad(b.input(name, dtype, shape), one, one, 2)
                start = [int(rng.integers(3)) for _ in shape]
                return b.slice(wide, start, shape, one)
            case 2:
                flat = b.input(name, dtype, (int(np.prod(shape)),))
                return b.reshape(flat, shape)
            case _:
                return b.input(name, dtype, shape)

    def value(self, name: str, shape: tuple[int, ...]) -> int:
        x = self.tensor(name, shape, self.dtype)
        if self.rng.random() < 0.5:
            x = self.b.bin("max", x, self.tensor(f"{name}2", shape, self.dtype))
        return x

    def scatter(self) -> int:
        b, rng = self.b, self.rng
        count = int(rng.choice((1, 2, 4, 9, 16)))
        full = tuple(count if a == self.axis else n for a, n in enumerate(self.shape))
        line = tuple(count if a == self.axis else 1 for a in range(len(full)))
        whole = rng.random() < 0.5
        at = self.tensor("at", line if whole else full, I32)
        if rng.random() < 0.5:
            off = b.expand(b.const(-1, I32, (1,) * len(full)), b.type(at).shape)
            at = b.bin("add", at, off)
        at = b.expand(at, full) if whole and line != full else at
        mode = str(rng.choice([*MODES]))
        args = (self.value("x", self.shape), at, self.value("v", full))
        return b.add("scatter", args, (mode, self.axis))

    def choice(self) -> int:
        kind = str(self.rng.choice(("argmax", "argmin")))
        return self.b.add(
            "argreduce", (self.value("x", self.shape),), (kind, self.axis, I64)
        )

    def buffers(self, kernel: Kernel) -> list[np.ndarray]:
        out = [self.rng.integers(0, 3, n).astype(d.numpy) for d, n in kernel.slots]
        for s, (d, n) in enumerate(kernel.slots[: kernel.reads]):
            if d is I32 and self.dtype is not I32:  # places, some outside
                top = self.shape[self.axis] + 2
                out[s] = self.rng.integers(-2, top, n).astype("i4")
        return out


@pytest.mark.sweep(2)
@pytest.mark.parametrize("what", ["scatter", "choice"])
def test_variants(what: str) -> None:
    functions: list[Function] = []
    given: list[list[np.ndarray]] = []
    wants: list[list[np.ndarray]] = []
    caps_of_c = device("c").caps() if device("c").probe().ok else None
    for seed in range(60):
        draw = Draw(seed)
        root = draw.scatter() if what == "scatter" else draw.choice()
        kernel = normalise(kernel_of(draw.b, [root]))
        buffers = draw.buffers(kernel)
        want = reference(kernel, buffers)
        for caps in (CPU, GPU):
            got = [b.copy() for b in buffers]
            interpret(verify(lower(kernel, caps, "f")), got)
            close(kernel, got[kernel.reads :], want)
        if caps_of_c is not None:
            functions.append(lower(kernel, caps_of_c, f"f{seed}"))
            given.append(buffers)
            wants.append(want)
    if caps_of_c is None:
        pytest.skip(device("c").probe().detail)
    on_c(functions, given)
    for got, want in zip(given, wants, strict=True):
        np.testing.assert_array_equal(got[-1], want[0])
