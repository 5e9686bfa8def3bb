"""Cost models: each counts what its name says, chooses by it, and stays right."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import rewrite
from rewrite import xp
from rewrite.commands.cli import app
from rewrite.core.costs import (
    NAMES,
    Cost,
    CostError,
    CostName,
    Kernel,
    bytes_moved,
    cost_for,
    flops,
    nodes,
)
from rewrite.core.options import Options
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.ir.scalars import BY_NAME
from rewrite.egraph.ir.text import parse
from rewrite.extract.schedule.kernel import Launch
from rewrite.extract.schedule.steps import own_groups, schedule
from rewrite.fuzz.graphs import random_graph
from rewrite.fuzz.oracle import compare, random_inputs
from rewrite.lower.costs import TIE, Asked, Counted
from rewrite.lower.model import kernel_cost
from rewrite.lower.registry import families_for
from rewrite.pipeline import optimize_graph
from tests.variants.judge import GENERIC_CPU

COUNTS: dict[CostName, Callable[[Kernel], float]] = {
    "nodes": nodes, "bytes": bytes_moved, "flops": flops,
}  # fmt: skip

SOFTMAX = """graph softmax(x: f32[8, 16], w: f32[16, 16]) {
  a: f32[8, 1, 16] = reshape x
  v: f32[1, 16, 16] = reshape w
  y: f32[8, 16, 1] = contract a v full=[8, 16, 16] mask=[0, 0, 1] acc=f32
  z: f32[8, 16] = reshape y
  s: f32[8, 16] = softmax z mask=[0, 1]
  return s
}
"""
# A value that is cheap to compute twice and dear to store, and one that is not.
TWICE = """graph twice(x: f32[512, 512]) {
  y: f32[512, 512] = abs x
  d: f32[512, 512] = gelu x
  m: f32[512, 1] = reduce sum y mask=[0, 1] acc=f32
  n: f32[1, 512] = reduce max y mask=[1, 0] acc=f32
  p: f32[512, 1] = reduce sum d mask=[0, 1] acc=f32
  q: f32[1, 512] = reduce max d mask=[1, 0] acc=f32
  return m, n, p, q
}
"""
LAYERS = """graph layers(x: f32[16, 32], g: f32[1, 32], w: f32[32, 32]) {
  n: f32[16, 32] = layer_norm x g g mask=[0, 1] eps=1e-5
  a: f32[16, 1, 32] = reshape n
  v: f32[1, 32, 32] = reshape w
  y: f32[16, 32, 1] = contract a v full=[16, 32, 32] mask=[0, 0, 1] acc=f32
  z: f32[16, 32] = reshape y
  r: f32[16, 32] = gelu z
  b: f32[16, 1, 32] = reshape r
  u: f32[16, 32, 1] = contract b v full=[16, 32, 32] mask=[0, 0, 1] acc=f32
  o: f32[16, 32] = reshape u
  s: f32[16, 32] = add o x
  return s
}
"""
GRAPHS = {"softmax": SOFTMAX, "twice": TWICE, "layers": LAYERS}


def kernels(text: str, cost: Any) -> list[Kernel]:
    c = optimize_graph(parse(text), "c", Options(fallback=False, cost=cost))
    return [s.kernel for s in c.schedule().steps if isinstance(s, Launch)]


def one(text: str, groups: list[tuple[int, ...]] | None = None) -> Kernel:
    """The kernel of a graph without macros, computed as a whole."""
    graph = parse(text)
    (step,) = schedule(graph, groups or [own_groups(graph)[-1]]).steps
    assert isinstance(step, Launch)
    return step.kernel


# ---- what is counted -----------------------------------------------------------------


def test_counts_of_a_product_done_by_hand() -> None:
    k = one("""graph g(x: f32[8, 1, 32], w: f16[1, 4, 32]) {
      v: f32[1, 4, 32] = cast w
      y: f32[8, 4, 1] = contract x v full=[8, 4, 32] mask=[0, 0, 1] acc=f32
      z: f32[8, 4, 1] = exp y
      return z
    }""")
    assert bytes_moved(k) == 4 * 8 * 32 + 2 * 4 * 32 + 4 * 8 * 4
    assert flops(k) == 2 * 8 * 4 * 32 + BY_NAME["exp"].flops * 8 * 4
    assert nodes(k) == 1 + len(("cast", "mul", "sum", "exp"))


def test_a_row_read_thrice_is_moved_once() -> None:
    k = one("""graph g(x: f32[8, 64]) {
      m: f32[8, 1] = reduce max x mask=[0, 1] acc=f32
      w: f32[8, 64] = expand m mask=[0, 1]
      d: f32[8, 64] = sub x w
      s: f32[8, 1] = reduce sum d mask=[0, 1] acc=f32
      return s
    }""")
    assert bytes_moved(k) == 4 * (8 * 64 + 8)
    assert flops(k) == 8 * 64 * (1 + 1 + 1)  # a term, a difference, a term


def test_what_is_not_read_is_not_moved_and_windows_overlap_once() -> None:
    part = one("""graph g(x: f32[100, 64]) {
      s: f32[2, 64] = slice x start=[7, 0] size=[2, 64] step=[1, 1]
      y: f32[2, 64] = neg s
      return y
    }""")
    assert bytes_moved(part) == 4 * 2 * (2 * 64)
    window = one("""graph g(x: f32[100]) {
      w: f32[98, 3] = window x axis=0 count=98 size=3 stride=1 dilation=1
      e: f32[98, 3] = neg w
      y: f32[98, 1] = reduce sum e mask=[0, 1] acc=f32
      return y
    }""")
    assert bytes_moved(window) == 4 * (100 + 98)
    assert flops(window) == 98 * 3 * 2  # the negation again for every window


# ---- the only interface --------------------------------------------------------------


@pytest.mark.parametrize("name", COUNTS)
def test_the_tie_is_broken_by_the_roofline_alone(name: CostName) -> None:
    roofline = kernel_cost(GENERIC_CPU, families_for(strict=False))
    price = Counted(name, roofline)
    rates = {"nodes": 1e6, "bytes": GENERIC_CPU.bandwidth, "flops": GENERIC_CPU.scalar}
    for text in GRAPHS.values():
        for k in kernels(text, "roofline"):
            said, predicted = price(k), roofline(k)
            assert said is not None and predicted is not None
            counted = COUNTS[name](k) / rates[name]
            tie = TIE * predicted.seconds
            assert said.seconds == pytest.approx(counted + tie, rel=1e-6)


@pytest.mark.parametrize("cost", ["nodes", "bytes", "flops", lambda kernel: 1.0])
def test_a_kernel_that_no_family_runs_has_no_cost(cost: Any) -> None:
    none = kernel_cost(GENERIC_CPU, ())
    price = Counted(cost, none) if isinstance(cost, str) else Asked(cost, none)
    assert price(kernels(SOFTMAX, "roofline")[0]) is None


# ---- what is chosen ------------------------------------------------------------------


@pytest.mark.parametrize("name", COUNTS)
def test_a_model_beats_the_others_at_what_it_counts(name: CostName) -> None:
    count, better = COUNTS[name], 0
    for text in GRAPHS.values():
        mine = sum(map(count, kernels(text, name)))
        theirs = [sum(map(count, kernels(text, n))) for n in ("roofline", *COUNTS)]
        assert mine == min(theirs)
        better += mine < theirs[0]
    assert better > 0


@pytest.mark.sweep(4)
@pytest.mark.parametrize("device", ["c", "numpy"])
@pytest.mark.parametrize("cost", [*NAMES[:-1], lambda k: 1e-6, lambda k: None])
def test_programs_are_right_under_every_model(cost: Any, device: str) -> None:
    graphs = [parse(text) for text in GRAPHS.values()]
    graphs += [random_graph(seed, "smooth") for seed in range(3)]
    for graph in graphs:
        given = random_inputs(graph, 0, "smooth")
        made = optimize_graph(graph, device, Options(fallback=False, cost=cost))
        got = made({k: v.copy() for k, v in given.items()})
        assert compare(graph, given, got, "smooth") is None


def test_a_symbolic_size_takes_any_model() -> None:
    graph = parse(SOFTMAX.replace("8", "b"))
    for cost in COUNTS:
        made = optimize_graph(graph, "c", Options(fallback=False, cost=cost))
        given = random_inputs(parse(SOFTMAX), 0, "smooth")
        assert compare(parse(SOFTMAX), given, made(given), "smooth") is None


# ---- a function of a kernel ----------------------------------------------------------


def rows(x: Any) -> Any:
    return xp.nn.softmax(xp.exp(x))


X = np.linspace(0, 1, 8 * 64, dtype=np.float32).reshape(8, 64)


def test_a_function_is_asked_once_about_a_kernel_and_decides() -> None:
    asked: list[Kernel] = []

    def dear_reductions(kernel: Kernel) -> float:
        asked.append(kernel)
        return 1e-6 + 1e-3 * max(len(kernel.reductions) - 1, 0)

    rewrite.optimize(rows, X, device="c", cost=dear_reductions, fallback=False)
    assert len(asked) == len(set(asked)) > 1
    fused = rewrite.optimize(rows, X, device="c", cost="nodes", fallback=False)
    apart = rewrite.jit(rows, device="c", cost=dear_reductions, fallback=False)
    assert len(fused.kernels) == 1
    np.testing.assert_allclose(apart(X), fused(X), rtol=1e-5)
    made = optimize_graph(fused.graph, "c", Options(cost=dear_reductions))
    steps = [s for s in made.schedule().steps if isinstance(s, Launch)]
    assert all(len(s.kernel.reductions) < 2 for s in steps)
    assert [k.seconds for k in made.kernels()] == [1e-6] * len(steps)


def test_none_refuses_a_kernel() -> None:
    predicted = cost_for("c")

    def simple(kernel: Kernel) -> Cost | None:
        return predicted(kernel) if len(kernel.exprs) < 6 else None

    found = kernels(LAYERS, simple)
    assert max(len(k.exprs) for k in kernels(LAYERS, "roofline")) >= 6
    assert all(len(k.exprs) < 6 for k in found)


def test_a_cost_is_taken_as_it_is() -> None:
    mine = Cost(3e-6, 1e-6, 2e-6, 0.0, 0.0, "mine")
    fast = rewrite.optimize(rows, X, device="c", cost=lambda kernel: mine)
    assert {(k.seconds, k.family) for k in fast.kernels} == {(3e-6, "mine")}


WRONG: dict[str, tuple[Callable[[Kernel], Any], str]] = {
    "negative": (lambda k: -1.0, "says -1.0 seconds"),
    "nan": (lambda k: float("nan"), "says nan seconds"),
    "infinite": (lambda k: np.float32("inf"), "says inf seconds"),
    "negative cost": (lambda k: Cost(-1.0, 0, 0, 0, 0, "x"), "says -1.0 seconds"),
    "text": (lambda k: "dear", "says 'dear'"),
    "a comparison": (lambda k: k.reads >= 0, "says True"),
    "array": (lambda k: np.zeros(2), "says array"),
    "error": (lambda k: k.nothing, "raised AttributeError"),  # type: ignore[attr-defined]
}


@pytest.mark.parametrize("fallback", [True, False])
@pytest.mark.parametrize("what", WRONG)
def test_an_answer_that_is_no_cost_names_model_and_kernel(
    what: str, fallback: bool
) -> None:
    model, said = WRONG[what]
    with pytest.raises(CostError) as caught:
        rewrite.optimize(rows, X, device="c", cost=model, fallback=fallback)
    message = str(caught.value)
    assert message.startswith(f"cost model <lambda> {said}")
    assert re.search(r"of the kernel `\w[\w ]*` over loops of \[\d+(, \d+)*\]", message)


@pytest.mark.parametrize("cost", ["guessed", 3, None])
def test_what_is_no_model_is_refused_with_the_names(cost: Any) -> None:
    with pytest.raises(ValueError, match=f"cost={cost!r}") as caught:
        rewrite.optimize(rows, X, device="c", cost=cost)
    assert all(repr(name) in str(caught.value) for name in NAMES)


# ---- the command line and the page ---------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "layers.graph"
    path.write_text(LAYERS)
    return str(path)


def run(*args: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, [*args, "--device", "c"])
    return done.exit_code, done.stdout, done.stderr


def test_a_name_is_an_option_of_the_commands(file: str) -> None:
    found: dict[str, Any] = {}
    for name in ("roofline", "predicted", "bytes"):
        status, out, err = run("optimize", file, "--json", "--cost", name)
        assert status == 0, err
        found[name] = json.loads(out)
    assert found["predicted"]["cost"] == found["roofline"]["cost"] == "roofline"
    assert found["predicted"]["graph"] == found["roofline"]["graph"]
    assert found["bytes"]["cost"] == "bytes"
    assert found["bytes"]["kernels"] != found["roofline"]["kernels"]
    assert "us on c by bytes\n" in run("optimize", file, "--cost", "bytes")[1]
    for command in ("run", "explain"):
        status, out, err = run(command, file, "--cost", "nodes")
        assert status == 0, err
    assert run("explain", file, "--cost", "nodes")[1] != run("explain", file)[1]


def test_bench_says_how_well_a_model_predicts(file: str) -> None:
    given = ("bench", file, "--predict", "--json", "--rounds", "2", "--cost")
    price = cost_for("c", cost="flops")
    costs = [price(k) for k in kernels(LAYERS, "flops")]
    status, out, err = run(*given, "flops")
    assert status == 0, err
    said = [k["predicted_us"] for k in json.loads(out)["models"][0]["kernels"]]
    assert said == [pytest.approx(c.seconds * 1e6) for c in costs if c is not None]


@pytest.mark.parametrize("command", ["optimize", "run", "explain", "bench"])
def test_an_unknown_name_is_told_those_that_are(command: str, file: str) -> None:
    status, _, err = run(command, file, "--cost", "guessed")
    assert status == 2
    assert all(name in err for name in ("--cost guessed", *NAMES))


def test_the_page_is_true(capsys: pytest.CaptureFixture[str]) -> None:
    page = Path(__file__).parents[2] / "docs" / "cost.md"
    (block,) = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)
    names: dict[str, Any] = {}
    exec(compile(block, str(page), "exec"), names)
    assert "None" not in capsys.readouterr().out
    found: list[Graph] = [names["fast"].graph]
    steps = optimize_graph(found[0], "c", Options(cost=names["simple"])).schedule()
    launched = [s.kernel for s in steps.steps if isinstance(s, Launch)]
    assert len(launched) > 1 and all(nodes(k) <= 6 for k in launched)
