"""Values written onto their own operands: right on every device that does it."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from rewrite.backends.devices import device
from rewrite.backends.executable import Executable, load
from rewrite.core.costs import cost_for
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.evaluate import evaluate, expand_macros
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.extract.schedule.assemble import concrete
from rewrite.extract.schedule.chosen import HOST, LEAVES, Untraceable
from rewrite.extract.schedule.kernel import KernelCost, Launch, writes_of
from rewrite.extract.schedule.steps import own_groups, schedule
from rewrite.fuzz import compare, random_graph, random_inputs
from rewrite.fuzz.draw import Mode
from rewrite.fuzz.pipeline import holds
from rewrite.lower.program import Program, build, joined
from tests.effort import draws

type Groups = list[tuple[int, ...]]


def runs(graph: Graph, groups: Groups, price: KernelCost) -> bool:
    """Whether these groups are kernels that some family takes."""
    try:
        steps = schedule(graph, groups).steps
    except Untraceable:
        return False
    return all(price(s.kernel) is not None for s in steps if isinstance(s, Launch))


def drawn_groups(graph: Graph, seed: int, price: KernelCost) -> Groups:
    """A random part of the nodes is stored, and some neighbours share a kernel."""
    rng = random.Random(seed)
    own = list(own_groups(graph))
    needed = {i for _, i in graph.outputs}
    for n in graph.nodes:
        needed.update(n.args if n.op in HOST else ())
    keep = rng.choice((0.2, 0.5, 0.8))
    groups = [
        g for g in own
        if g[0] in needed or graph.nodes[g[0]].op in HOST or rng.random() < keep
    ]  # fmt: skip
    groups = groups if runs(graph, groups, price) else own
    k = 0
    while k + 1 < len(groups):
        both = (*groups[k], *groups[k + 1])
        plain = not any(graph.nodes[c].op in HOST | LEAVES for c in both)
        merged = [*groups[:k], both, *groups[k + 2 :]]
        if plain and rng.random() < 0.4 and runs(graph, merged, price):
            groups = merged
        else:
            k += 1
    return groups


@pytest.mark.parametrize("name", ["c", "numpy", "opencl"])
@pytest.mark.parametrize("mode", ["exact", "smooth"])
def test_random_graphs(name: str, mode: Mode) -> None:
    target = device(name)
    if not (probe := target.probe()).ok:
        pytest.skip(f"{name}: {probe.detail}")
    caps = None if name == "numpy" else target.caps()
    price = cost_for(target)
    made: list[tuple[int, Graph, Program]] = []
    share = 10 if name == "opencl" else 4  # which compiles them for long
    for seed in range(draws(80, share)):
        graph = expand_macros(random_graph(seed, mode))
        if holds(target, graph) and not graph.symbols:
            groups = drawn_groups(graph, seed, price)
            steps = schedule(graph, groups)
            made.append((seed, graph, build(steps, caps, prefix=f"g{seed}_")))
    assert sum(len(p.memory.reused) for _, _, p in made) > draws(10, share)
    whole = joined([p for _, _, p in made])
    module = load(whole, target)
    for seed, graph, program in made:
        inputs = random_inputs(graph, seed, mode)
        run = Executable(program, graph, target, module)
        assert compare(graph, inputs, run(inputs), mode) is None, seed
        run.close()


def families(program: Program, price: KernelCost) -> set[str]:
    """Of the kernels that overwrite an operand."""
    written = {b for b, _ in program.memory.reused}
    kernels = (
        s.kernel
        for s in program.schedule.steps
        if isinstance(s, Launch) and written & set(writes_of(s))
    )
    return {cost.family for k in kernels if (cost := price(k)) is not None}


def check(graph: Graph, groups: Sequence[tuple[int, ...]]) -> set[str]:
    """Runs on c, on sizes that vectors and threads share; the families in place."""
    target = device("c")
    program = build(schedule(graph, groups), target.caps())
    rng = np.random.default_rng(0)
    inputs = {
        str(n.attrs[0]): np.asarray(rng.standard_normal(concrete(n.type)), np.float32)
        for n in graph.inputs
    }
    got = Executable(program, graph, target)(inputs)
    for label, want in evaluate(graph, inputs, "f64").items():
        np.testing.assert_allclose(got[label], want, rtol=2e-4, atol=2e-4)
    return families(program, cost_for(target))


def test_a_residual_is_added_in_place() -> None:
    """A product's last step reads each cell of the sum once, when it is stored."""
    b = Builder()
    x, r = b.input("x", F32, (517, 300)), b.input("r", F32, (517, 389))
    w = b.input("w", F32, (300, 389))
    first = b.un("exp", r)
    total = b.bin("add", b.matmul(x, w), first)
    graph = expand_macros(b.build({"y": b.un("sin", total)}))
    names = [(n.op, n.attrs[:1]) for n in graph.nodes]
    stored = [names.index(("un", ("exp",))), names.index(("bin", ("add",)))]
    groups = [*((i,) for i in stored), (graph.outputs[0][1],)]
    assert check(graph, groups) == {"contract"}


@pytest.mark.parametrize("axis", [0, 1])
def test_a_softmax_is_written_over_its_rows(axis: int) -> None:
    """Along either axis; what is stored is read again only at its own point."""
    b = Builder()
    x = b.input("x", F32, (700, 650))
    first = b.un("sin", x)
    top = b.reduce("max", first, (axis,))
    shifted = b.bin("sub", first, b.expand(top, (700, 650)))
    e = b.un("exp", shifted)
    y = b.bin("div", e, b.expand(b.reduce("sum", e, (axis,)), (700, 650)))
    graph = expand_macros(b.build({"y": b.un("cos", y)}))
    found = check(graph, [(first,), (y,), (graph.outputs[0][1],)])
    assert found == {"column" if axis == 0 else "row"}


def test_operands_of_sums_are_not_overwritten() -> None:
    """A square product of a value with itself: other tiles read it too."""
    b = Builder()
    x = b.input("x", F32, (256, 256))
    first = b.un("sin", x)
    graph = expand_macros(b.build({"y": b.un("cos", b.matmul(first, first))}))
    groups = [*own_groups(graph)]
    assert check(graph, groups) == set()
