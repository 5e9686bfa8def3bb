"""The guards of attention against NaN go where no row can be masked as a whole, and
stay everywhere else."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rewrite.core.explaining import explained_part
from rewrite.core.options import Options
from rewrite.egraph.ir import dims
from rewrite.egraph.ir.dtypes import BOOL, F32, I64
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.egraph.ir.scalars import Array
from rewrite.egraph.proof.checker import check
from rewrite.egraph.proof.proof import CheckError
from rewrite.egraph.proof.proving import ExplainError, prove
from rewrite.egraph.rules.rulefile import RuleFileError, load_rules
from rewrite.egraph.saturate.saturate import facts_for, saturate, saturator
from rewrite.extract.schedule.plan import plan
from rewrite.pipeline import optimize_graph

from ..extract.standin import cost
from .wild_graphs import drawn

RULES = load_rules()
INF = np.inf


def full(b: Builder, value: float, like: int) -> int:
    return b.const(value, b.type(like).dtype, b.shape(like))


B, H, S = 2, 2, 5
FULL = (B, H, S, S)
CAUSAL = np.tril(np.ones((S, S), bool))


class Attention:
    """softmax(q k^T + mask) v, with Where(IsNaN(p), 0, p) before the product."""

    def __init__(self) -> None:
        b = self.b = Builder("attention")
        q, k, self.v = (b.input(n, F32, (B, H, S, 3)) for n in "qkv")
        self.scores = b.matmul(q, b.permute(k, (0, 1, 3, 2)))

    def masked(self, mask: int) -> int:
        return self.b.bin("add", self.scores, self.b.expand(mask, FULL))

    def graph(self, t: int) -> Graph:
        b = self.b
        p = b.macro("softmax", [t], (0, 0, 0, 1))
        p = b.select(b.un("isnan", p), full(b, 0.0, p), p)
        return b.build({"y": b.matmul(p, self.v)})


def constant(mask: Array) -> Graph:
    a = Attention()
    return a.graph(a.masked(a.b.array(mask.astype(np.float32))))


def computed(value: float) -> Graph:
    """Positions compared, and a select, as exported code has it."""
    a = Attention()
    b, shape = a.b, (1, 1, S, S)
    kept = b.bin("le", b.iota(3, I64, shape), b.iota(2, I64, shape))
    mask = b.select(kept, b.const(0.0, F32, shape), b.const(value, F32, shape))
    return a.graph(a.masked(mask))


def runtime(value: float) -> Graph:
    a = Attention()
    b, shape = a.b, (B, 1, 1, S)
    kept = b.input("kept", BOOL, shape)
    mask = b.select(kept, b.const(0.0, F32, shape), b.const(value, F32, shape))
    return a.graph(a.masked(b.expand(mask, (B, 1, S, S))))


def selected() -> Graph:
    """The condition itself is expanded; the scores are picked from."""
    a = Attention()
    b = a.b
    kept = b.expand(b.array(CAUSAL.reshape(1, 1, S, S)), FULL)
    return a.graph(b.select(kept, a.scores, b.const(-INF, F32, FULL)))


def flattened() -> Graph:
    """Rows of a matrix, as before opset 13."""
    a = Attention()
    b = a.b
    mask = np.where(CAUSAL, 0, -INF).astype(np.float32).reshape(1, 1, S, S)
    flat = b.reshape(a.masked(b.array(mask)), (B * H * S, S))
    p = b.reshape(b.macro("softmax", [flat], (0, 1)), FULL)
    p = b.select(b.un("isnan", p), full(b, 0.0, p), p)
    return b.build({"y": b.matmul(p, a.v)})


def floating() -> Graph:
    """A mask that is an input is taken to be finite, but not where it is tested."""
    a = Attention()
    b = a.b
    mask = b.input("mask", F32, (1, 1, S, S))
    t = a.masked(mask)
    p = b.macro("softmax", [t], (0, 0, 0, 1))
    p = b.select(b.un("isnan", p), full(b, 0.0, p), p)
    return b.build({"y": b.matmul(p, a.v), "odd": b.un("isnan", mask)})


def two_layers() -> Graph:
    """The second is as safe as its constant mask: the guard of the first stays, and
    makes its result finite."""
    a = Attention()
    b = a.b
    kept = b.expand(b.input("kept", BOOL, (B, 1, 1, S)), FULL)
    zero, off = b.const(0.0, F32, FULL), b.const(-INF, F32, FULL)
    p = b.macro("softmax", [b.bin("add", a.scores, b.select(kept, zero, off))],
                (0, 0, 0, 1))  # fmt: skip
    y = b.matmul(b.select(b.un("isnan", p), zero, p), a.v)
    a.scores = b.matmul(y, b.permute(y, (0, 1, 3, 2)))
    return a.graph(
        a.masked(b.array(np.where(CAUSAL, 0, -INF)[None, None].astype("f4")))
    )


ROWS = CAUSAL.reshape(1, 1, S, S)
BLANK = np.where(np.arange(S)[:, None] == 2, False, CAUSAL).reshape(1, 1, S, S)
LOWEST = float(np.finfo(np.float32).min)
# The graph, and how many tests for NaN must stay in it.
CASES: dict[str, tuple[Callable[[], Graph], int]] = {
    "constant": (lambda: constant(np.where(ROWS, 0, -INF)), 0),
    "per head": (lambda: constant(np.where(np.tile(ROWS, (1, H, 1, 1)), 0, -INF)), 0),
    "iota": (lambda: computed(-INF), 0),
    "selected": (selected, 0),
    "flattened": (flattened, 0),
    "lowest": (lambda: constant(np.where(BLANK, 0, LOWEST)), 0),
    "runtime lowest": (lambda: runtime(LOWEST), 0),
    "runtime": (lambda: runtime(-INF), 1),
    "a blank row": (lambda: constant(np.where(BLANK, 0, -INF)), 1),
    "NaN in the mask": (lambda: constant(np.where(ROWS, 0, np.nan)), 1),
    "a tested mask": (floating, 2),
    "two layers": (two_layers, 1),
}


def guards(graph: Graph) -> int:
    live = graph.live
    return sum(i in live and n.attrs[:1] == ("isnan",)
               for i, n in enumerate(graph.nodes))  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_guards_of_attention(name: str) -> None:
    make, stay = CASES[name]
    graph = make()
    fast = optimize_graph(graph, "numpy", Options(fallback=False))
    assert guards(fast.plan.graph) == stay
    inputs = drawn(graph, 3)
    if "kept" in inputs:
        inputs["kept"][0] = False  # rows without any entry
    got, want = fast(inputs), evaluate(graph, inputs, "f64")
    assert np.isfinite(got["y"]).all()
    np.testing.assert_allclose(got["y"], want["y"], rtol=1e-4, atol=1e-5)
    if name == "a blank row":
        assert (got["y"][:, :, 2] == 0).all()


@pytest.mark.parametrize("name", ["constant", "iota", "two layers"])
def test_removed_guards_are_explained(name: str) -> None:
    found = plan(CASES[name][0](), saturator(RULES), cost)
    used = {r for part in found.parts for r in explained_part(part, RULES).rules}
    assert {"isnan-free", "select-false"} <= used


def test_strict_keeps_every_guard() -> None:
    strict = Options(precision="strict", fallback=False)
    fast = optimize_graph(CASES["constant"][0](), "numpy", strict)
    assert guards(fast.plan.graph) == 1


def layer(b: Builder, x: int, mask: int) -> int:
    t = b.bin("add", b.matmul(x, b.permute(x, (1, 0))), mask)
    p = b.macro("softmax", [t], (0, 1))
    return b.un("tanh", b.matmul(b.select(b.un("isnan", p), full(b, 0.0, p), p), x))


@pytest.mark.parametrize("row", [True, False])
def test_pieces_know_what_the_whole_graph_shows(row: bool) -> None:
    """Equal layers are one piece that reads the mask; it does not see its entries."""
    b = Builder()
    x = b.input("x", F32, (S, 4))
    mask = b.array(np.where(CAUSAL if row else BLANK[0, 0], 0, -INF).astype(np.float32))
    for _ in range(6):
        x = layer(b, x, mask)
    graph = b.build([x])
    found = plan(graph, saturator(RULES), cost)
    assert len(found.parts) < 6
    assert guards(found.graph) == (0 if row else 6)


def test_a_piece_of_another_past_is_another_piece() -> None:
    """Layers of one structure under two masks, one of which leaves a row blank."""
    b = Builder()
    x = b.input("x", F32, (S, 4))
    blank, causal = (
        b.array(np.where(m, 0, -INF).astype(np.float32)) for m in (BLANK[0, 0], CAUSAL)
    )
    for i in range(8):
        x = layer(b, x, blank if i < 4 else causal)
    found = plan(b.build([x]), saturator(RULES), cost)
    assert guards(found.graph) == 4


def test_symbolic_sizes_keep_what_only_the_witness_shows() -> None:
    b, n = Builder(), dims.symbol("n")
    x = b.input("x", F32, (n, 4))
    i, j = (b.iota(a, I64, (n, n)) for a in (0, 1))
    zero, off = b.const(0.0, F32, (n, n)), b.const(-INF, F32, (n, n))
    masks = (b.select(b.bin("le", j, i), zero, off), zero)
    graphs = [b.build([layer(b, x, mask)]) for mask in masks]
    kept = [guards(plan(g, saturator(RULES), cost).graph) for g in graphs]
    assert kept == [1, 0]


# ---- facts and rules -----------------------------------------------------------------


def test_facts_cost_nothing_where_no_rule_asks() -> None:
    graph = CASES["constant"][0]()
    assert facts_for(graph, RULES)
    assert not facts_for(graph, load_rules(precision="strict"))
    assert not facts_for(graph, RULES.only(["neg-neg"]))
    b = Builder()
    assert not facts_for(b.build([b.un("neg", b.input("x", F32, (2,)))]), RULES)


def test_a_value_that_was_cut_off_is_not_taken_for_an_input() -> None:
    b = Builder()
    x = b.input("in0", F32, (2, 3))
    graph = b.build([b.un("isnan", b.un("tanh", x))])
    whole, piece = (
        saturate(graph, RULES, nan_free=f) for f in (None, frozenset[int]())
    )
    assert [len(r.classes[r.outputs[0]]) for r in (whole, piece)] == [2, 1]


def test_a_proof_by_a_fact_that_nobody_stated_is_refused() -> None:
    b = Builder()
    x = b.un("tanh", b.input("x", F32, (2, 3)))
    before = b.build([b.un("isnan", x)])
    b = Builder()
    b.input("x", F32, (2, 3))
    after = b.build([b.const(False, BOOL, (2, 3))])
    known = facts_for(before, RULES)
    proof = prove(before, after, RULES, nan_free=known)
    assert any(use.facts for use in proof.uses)
    check(proof, before, after, RULES, known)
    with pytest.raises(CheckError, match=r"\(nan-free x\) is false"):
        check(proof, before, after, RULES)
    with pytest.raises(ExplainError, match="no chain of rule uses"):
        prove(before, after, RULES)


BAD = {
    ';;@ equal bitwise\n(rewrite (Bin "sub" x x) (Const 0.0 t s) :when ((nan-free x)'
    " (= t (dtype x)) (= s (shape x)))": "takes the inputs to be finite",
    ';;@ equal real\n;;@ skips (Un "neg" x) given (floating x)\n'
    '(rewrite (Un "neg" (Un "neg" x)) x': r"one of \(nan-free x\) was expected",
}


@pytest.mark.parametrize("text", BAD)
def test_facts_in_rule_files(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.egg"
    path.write_text(f'{text} :ruleset algebra :name "mine")')
    with pytest.raises(RuleFileError, match=BAD[text]):
        load_rules([path])


@pytest.mark.parametrize(
    "text",
    [
        '(rule ((= e (Un "exp" x))) ((nan-free e)) :ruleset algebra :name "mine")',
        '(nan-free "x")',
    ],
)
def test_rule_files_do_not_state_facts_of_graphs(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.egg"
    path.write_text(text)
    with pytest.raises(RuleFileError, match="nan-free belongs to another file"):
        load_rules([path])
