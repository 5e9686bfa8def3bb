"""Explanations are proofs: checked, complete, and refused where a step is wrong."""

from pathlib import Path

import numpy as np
import pytest

from rewrite.egraph.ir.dtypes import F32, I32
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.egraph.ir.indexing import SCATTER
from rewrite.egraph.proof.check import CheckError
from rewrite.egraph.proof.explain import ExplainError, explain, only_moves
from rewrite.egraph.proof.pointwise import PointError, Points, sample
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.choose import to_graph
from rewrite.egraph.saturate.saturate import saturate
from tests.egraph.choices import random_choice
from tests.egraph.models import transformer
from tests.egraph.random_graphs import random_graph

RULES = load_rules()


def small() -> Graph:
    """The opposite of a permuted product plus nothing."""
    b = Builder()
    x, y = b.input("x", F32, (2, 3)), b.input("y", F32, (3, 2))
    shifted = b.add(
        "bin", (b.permute(y, (1, 0)), b.const(0.0, F32, (2, 3))), ("add",), "shifted"
    )
    z = b.permute(b.permute(b.bin("mul", x, shifted), (1, 0)), (1, 0))
    return b.build({"z": z})


def simplified() -> Graph:
    b = Builder()
    x, y = b.input("x", F32, (2, 3)), b.input("y", F32, (3, 2))
    return b.build({"z": b.bin("mul", x, b.permute(y, (1, 0)))})


def test_an_explanation_names_rules_places_and_the_users_nodes() -> None:
    found = explain(small(), simplified(), RULES)
    assert {"add-zero", "permute-permute", "permute-id"} <= set(found.rules)
    assert all(s.place.startswith(("algebra.egg:", "layout.egg:")) for s in found.steps)
    text = str(found)
    assert "shifted = add(" in text
    assert "[add-zero algebra.egg:" in text
    assert found.outputs == (("z", len(found.lemmas) - 1),)


def test_steps_stand_in_reading_order_and_name_what_they_touch() -> None:
    found = explain(small(), simplified(), RULES)
    assert found.seconds > 0
    assert found.weakest == "ieee"
    zero = next(s for s in found.steps if s.rule == "add-zero")
    assert (zero.forward, zero.contract) == (True, "ieee")
    assert dict(zero.bindings)["t"] == "f32" and dict(zero.bindings)["s"] == "[2, 3]"
    nodes = small().nodes
    assert any(nodes[i].name == "shifted" for i in zero.before)
    assert [simplified().nodes[i].op for i in zero.after] == ["permute"]
    # Of the product, which two permutations hide, the second operand changes.
    assert zero.path and zero.path[-1] == 1
    assert len({s.path for s in found.steps}) > 1


def test_equal_graphs_need_no_step() -> None:
    found = explain(small(), small(), RULES)
    assert found.steps == found.lemmas == ()
    assert found.outputs == (("z", None),)


@pytest.mark.parametrize("seed", range(8))
def test_random_extractions_are_explained(seed: int) -> None:
    graph = random_graph(seed)
    result = saturate(graph, RULES)
    other = to_graph(result, random_choice(result, seed), graph)
    found = explain(graph, other, RULES)
    assert len(found.outputs) == 3


@pytest.mark.parametrize("seed", range(3))
def test_a_transformer_is_explained(seed: int) -> None:
    graph = transformer()
    result = saturate(graph, RULES)
    other = to_graph(result, random_choice(result, seed), graph)
    found = explain(graph, other, RULES)
    assert len(found.rules) > 10


def test_different_results_are_not_explained() -> None:
    b = Builder()
    x, y = b.input("x", F32, (2, 3)), b.input("y", F32, (3, 2))
    wrong = b.build({"z": b.bin("add", x, b.permute(y, (1, 0)))})
    with pytest.raises(ExplainError, match="output 'z': no chain of rule uses"):
        explain(small(), wrong, RULES)


def test_a_wrong_rule_makes_the_explanation_an_error(tmp_path: Path) -> None:
    path = tmp_path / "wrong.egg"
    path.write_text(
        ";;@ equal real\n"
        '(rewrite (Bin "mul" a b) (Bin "add" a b) :ruleset algebra :name "no-law")'
    )
    b = Builder()
    x, y = b.input("x", F32, (2, 3)), b.input("y", F32, (3, 2))
    wrong = b.build({"z": b.bin("add", x, b.permute(y, (1, 0)))})
    with pytest.raises(
        CheckError, match=r"wrong\.egg:2:1: a use of no-law could not"
    ) as e:
        explain(small(), wrong, load_rules([path]))
    _, least = str(e.value).split("none can be spared: ")
    assert set(least.split(", ")) >= {"no-law", "add-zero"}


def test_steps_that_only_move_elements_are_folded_away() -> None:
    found = explain(small(), simplified(), RULES)
    moving = {s.rule for s in found.steps if s.only_moves}
    assert moving == {"permute-permute", "permute-id"}
    assert not only_moves(RULES.rule("sum-hoist"))
    assert not only_moves(RULES.rule("neg-mul"))
    assert only_moves(RULES.rule("permute-bin"))
    assert "[moved by permute-permute, permute-id]" in str(found)
    assert "[permute-permute layout.egg:17]" in found.text(folded=False)


def test_what_became_of_a_node() -> None:
    found = explain(small(), simplified(), RULES)
    shifted = next(i for i, n in enumerate(small().nodes) if n.name == "shifted")
    assert [s.rule for s in found.about(shifted)] == ["add-zero"]
    assert found.about(0) == ()


@pytest.mark.parametrize("seed", range(12))
def test_pointwise_reading_agrees_with_the_evaluator(seed: int) -> None:
    graph = random_graph(200 + seed)
    points = Points.of(graph)
    inputs = {
        n.attrs[0]: points.at(i, sample_all(n.shape)).reshape(n.shape)
        for i, n in enumerate(points.graph.nodes)
        if n.op == "input"
    }
    narrow = {k: v.astype(np.float32) for k, v in inputs.items()}
    for i, table in list(points.tables.items()):  # what f32 inputs can hold
        points.tables[i] = table.astype(np.float32).astype(np.float64)
    want = evaluate(graph, narrow, "f64")
    for label, i in points.graph.outputs:
        have = points.at(i, sample_all(points.graph.nodes[i].shape))
        np.testing.assert_allclose(
            have.reshape(want[label].shape), want[label], rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize("mode", sorted(SCATTER))
@pytest.mark.parametrize("axis", [0, 1])
def test_a_scatter_is_read_write_by_write(mode: str, axis: int) -> None:
    b = Builder()
    shape = (5, 4) if axis == 0 else (4, 5)
    x, i = b.input("x", F32, (4, 4)), b.input("i", I32, shape)
    b.add("scatter", (x, i, b.input("v", F32, shape)), (mode, axis))
    graph = b.build([3])
    points = Points.of(graph)
    inputs = {
        n.attrs[0]: points.at(k, sample_all(n.shape)).reshape(n.shape)
        for k, n in enumerate(graph.nodes[:3])
    }
    assert (inputs["i"] < 0).any() and (inputs["i"] >= 4).any()
    for k, table in list(points.tables.items()):
        points.tables[k] = table.astype(np.float32).astype(np.float64)
    given = {
        k: a.astype(np.int32 if k == "i" else np.float32) for k, a in inputs.items()
    }
    (want,) = evaluate(graph, given, "f64").values()
    have = points.at(3, sample_all((4, 4))).reshape(4, 4)
    np.testing.assert_allclose(have, want, rtol=1e-12)


def sample_all(shape: tuple[int, ...]) -> np.ndarray:
    grid = np.indices(shape).reshape(len(shape), -1).T
    return grid if shape else np.zeros((1, 0), np.int64)


def test_large_steps_are_checked_at_a_few_positions() -> None:
    b = Builder()
    x = b.input("x", F32, (1 << 20, 1 << 20))
    graph = b.build([b.reduce("sum", b.un("exp", x), [1])])
    where = sample(graph, 2, 2)
    assert Points.of(graph).at(2, where).shape == (2,)
    whole = b.build([b.reduce("sum", x, [0, 1])])
    with pytest.raises(PointError, match="too large to check"):
        Points.of(whole).at(3, sample(whole, 3, 1))
