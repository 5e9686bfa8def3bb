"""`rewrite explain` and `rewrite diff`: what they say is so; errors say what to do."""

from __future__ import annotations

import itertools
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from typer.testing import CliRunner

import rewrite
from rewrite import xp
from rewrite.authoring.models import load
from rewrite.commands.cli import app
from rewrite.core.costs import cost_for
from rewrite.core.labels import Unknown
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.evaluate import expand_macros
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.egraph.ir.text import parse
from rewrite.egraph.proof.explain import ExplainError
from rewrite.egraph.proof.proof import CheckError
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.explore import Limit
from rewrite.egraph.saturate.saturate import saturator
from rewrite.extract.schedule.plan import Plan, plan
from rewrite.extract.schedule.steps import own_groups
from rewrite.fuzz import random_graph
from rewrite.optimized_graph import OptimizedGraph
from rewrite.report.account import Account
from rewrite.report.accuracy import compared as counted
from rewrite.report.decisions import Decisions
from rewrite.report.diff import diff
from rewrite.report.prose import coloured, prose
from rewrite.report.words import Words, scopes
from tests.authoring.test_user_rules import CIRCLE, GRAPH
from tests.effort import LONG
from tests.transformers import transformer

ROOT = Path(__file__).parents[2]
REPLAY = ROOT / "tests" / "replay" / "models"
SCHEMA = json.loads(
    files("rewrite.report").joinpath("explain.schema.json").read_text("utf-8")
)
SYMBOLIC = """
graph attend(q: f32[b, 64], k: f32[b, 64]) {
  heads.k: f32[64, b] = permute k perm=[1, 0]
  %3: f32[b, 1, 64] = reshape q
  %4: f32[b, 64] = permute heads.k perm=[1, 0]
  %5: f32[1, b, 64] = reshape %4
  %6: f32[b, b, 1] = contract %3 %5 full=[b, b, 64] mask=[0, 0, 1] acc=f32
  heads.scores: f32[b, b] = reshape %6
  heads.top: f32[b, 1] = reduce max heads.scores mask=[0, 1] acc=f32
  %9: f32[b, b] = expand heads.top mask=[0, 1]
  %10: f32[b, b] = sub heads.scores %9
  heads.e: f32[b, b] = exp %10
  %12: f32[b, 1] = reduce sum heads.e mask=[0, 1] acc=f32
  %13: f32[b, b] = expand %12 mask=[0, 1]
  y: f32[b, b] = div heads.e %13
  return y
}
"""


def compiled(graph: Graph, **options: Any) -> OptimizedGraph:
    return rewrite.compile_graph(graph, "c", fallback=False, cache=False, **options)


def stacked(layers: int) -> Graph:
    """Layers that are alike: a product, a softmax by hand, a residual."""

    def f(x: Any, p: Any) -> Any:
        for layer in p.values():
            h = x @ layer["w"] * 0.5 + layer["b"]
            e = xp.exp(h - xp.max(h, axis=-1, keepdims=True))
            x = x + e / xp.sum(e, axis=-1, keepdims=True)
        return x

    types = {"w": xp.TensorType(F32, (64, 64)), "b": xp.TensorType(F32, (64,))}
    names = [f"l{i}" for i in range(layers)]
    return xp.trace(f, xp.TensorType(F32, (32, 64)), dict.fromkeys(names, types))


@pytest.fixture(scope="module")
def layers() -> Account:
    return compiled(stacked(3)).explain()


@pytest.fixture(scope="module")
def symbolic() -> Account:
    return compiled(parse(SYMBOLIC), hints={"b": 128}).explain()


def test_json_is_as_the_schema_says(layers: Account, symbolic: Account) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    check = jsonschema.Draft202012Validator(SCHEMA)
    for account in (layers, symbolic):
        data = json.loads(json.dumps(account.json()))
        check.validate(data)
        data["kernels"][0]["seconds"] = "soon"
        assert not check.is_valid(data)


def test_names_are_the_users_and_sizes_their_symbols(symbolic: Account) -> None:
    said = str(symbolic)
    assert "heads.scores" in said and "f32[b, b]" in said
    assert "%1" not in said.replace("%12", "%1") and "1009" not in said
    witness = {n for n in range(100, 200) if f"[{n}, " in said or f", {n}]" in said}
    assert not witness
    by_text = {n.text: n for n in symbolic.before}
    assert by_text["heads.scores"].scope == ("heads",)
    assert by_text["heads.scores - heads.top"].type == "f32[b, b]"
    assert by_text["heads.scores - heads.top"].labels == ("%10",)


def test_a_proof_at_numbers_says_so(symbolic: Account) -> None:
    (note,) = symbolic.pieces[0].notes
    found = re.fullmatch(
        r"proved at b=(\d+) by rules that hold for any size, not for all sizes at "
        r"once; results compared besides at b=1; b=2; b=5",
        note,
    )
    assert found and int(found[1]) > 100 and f"note: {note}" in str(symbolic)


def planned(run: OptimizedGraph, plan: Plan) -> OptimizedGraph:
    return OptimizedGraph(run.source, plan, run.device, run.options, 0.0)


def turned(graph: Graph) -> Graph:
    """Additions become subtractions."""
    nodes = (replace(n, attrs=("sub",)) if n.attrs == ("add",) else n
             for n in graph.nodes)  # fmt: skip
    return replace(graph, nodes=tuple(nodes))


def test_only_what_was_chosen_is_explained() -> None:
    """The proof is of another run; so it is held against the plan that is run."""
    run = compiled(stacked(2))
    labels = [k.label for k in run.kernels()]
    assert sorted(k.label for k in run.explain(run=False).kernels) == sorted(labels)
    chosen = run.plan
    assert turned(chosen.graph) != chosen.graph
    other = replace(chosen, graph=turned(chosen.graph))
    with pytest.raises(CheckError, match="do not make the chosen graph"):
        planned(run, other).explain(run=False)
    parts = tuple(replace(p, after=turned(p.after)) for p in chosen.parts)
    with pytest.raises(ExplainError, match="no chain of rule uses"):
        planned(run, replace(other, parts=parts)).explain(run=False)


def test_values_of_models_keep_their_names() -> None:
    import onnx

    path = REPLAY / "bert_layer.onnx"
    proto = onnx.load(str(path), load_external_data=False)
    known = {name for n in proto.graph.node for name in n.output}
    graph = load(path).graph
    named = {n.name for n in graph.nodes if n.name and not n.is_leaf}
    assert named <= known and len(named) > 50
    words = Words(graph)
    found = dict(
        zip(map(words, range(len(graph))), scopes(graph, words.names), strict=True)
    )
    assert found["layer_norm"] == ("model", "embeddings", "LayerNorm")
    inner = {scope for text, scope in found.items() if text.startswith("linear")}
    assert {s[:3] for s in inner} >= {("model", "encoder", "layer.0")}
    opened = expand_macros(graph)
    assert {"layer_norm", "layer_norm_1"} <= {n.name for n in opened.nodes}


def test_costs_add_up(layers: Account) -> None:
    once = 1e-3  # what a run pays of a kernel that runs once
    total = sum(k.seconds * (once if k.once else 1) for k in layers.kernels)
    assert total == pytest.approx(layers.seconds)
    pieces = sum(p.uses * p.seconds for p in layers.pieces)
    assert pieces == pytest.approx(layers.seconds, rel=1e-6)
    own = sum(p.uses * p.own_seconds for p in layers.pieces)
    assert own == pytest.approx(layers.own_seconds) and own > 2 * layers.seconds
    for k in layers.kernels:
        if k.parts and k.like is None:
            assert k.parts.launch + k.parts.bytes <= k.seconds + k.parts.bytes


@pytest.mark.parametrize("name", ["mlp", "convnet"])
def test_costs_add_up_where_weights_are_in_the_model(name: str) -> None:
    model = load(REPLAY / f"{name}.onnx")
    found = compiled(model.graph, hints=model.hints).explain(run=False)
    total = sum(p.uses * p.seconds for p in found.pieces)
    assert total == pytest.approx(found.seconds, rel=1e-6)


def test_steps_that_only_move_elements_are_one_line() -> None:
    found = compiled(load(REPLAY / "mlp.onnx").graph).explain(run=False)
    moves = [s for s in found.steps if s.moves]
    assert len(moves) > 2 and all(s.equal == "bitwise" for s in moves)
    folded, whole = prose(found), prose(found, folded=False)
    for s in found.steps:
        assert f"  {s.rule} " in whole and s.before in whole
    assert len(folded.splitlines()) < len(whole.splitlines()) - len(moves)


def opened(text: str, terms: dict[str, str]) -> str:
    """With all numbers replaced by what they stand for, again and again."""
    while found := re.search(r"#\d+", text):
        text = text.replace(found[0], terms[found[0]], 1)
    return text


def test_nothing_is_cut_short_where_all_is_asked_for(symbolic: Account) -> None:
    name = "bert_layer" if LONG else "lstm_cell"
    model = compiled(load(REPLAY / f"{name}.onnx").graph).explain(run=False)
    for found in (model, symbolic):
        terms = {t.number: t.text for t in found.terms}
        assert len(terms) == len(found.terms)
        said = prose(found, full=True)
        for s in found.steps:
            texts = (s.whole.before, s.whole.after, *s.whole.bindings.values())
            assert not any("…" in text for text in texts)
            assert s.whole.bindings.keys() == s.bindings.keys()
            asked = {n for text in texts for n in re.findall(r"#\d+", text)}
            assert asked == set(s.whole.numbers)
            assert f"{s.whole.before}\n" in said
        for t in found.terms:
            assert set(t.args) == set(re.findall(r"#\d+", t.text))
            assert said.count(f" {t.number} = ") <= 1
            assert "1009" not in t.text
    (whole,) = (s.whole for s in symbolic.steps if s.rule == "div-recip")
    terms = {t.number: t.text for t in symbolic.terms}
    assert opened(whole.before, terms) == (
        "y = div(heads.e, expand(reduce(heads.e, sum, [0, 1], f32), [b, b], [0, 1]))"
    )


@pytest.fixture
def depth() -> Iterator[int]:
    """Of calls, as many as there may be: by default fewer than Python's thousand."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before if LONG else 400)
    yield sys.getrecursionlimit()
    sys.setrecursionlimit(before)


def test_terms_as_deep_as_graphs_are_spelled(depth: int) -> None:
    """As many values without a name, which a step at the end stands on."""
    nodes = "".join(
        f"  %{k}: f32[4] = {('exp', 'sin')[k % 2]} %{k - 1}\n" for k in range(2, depth)
    )
    text = f"graph g(x: f32[4]) {{\n  %1: f32[4] = exp x\n{nodes}"
    text += (
        f"  a: f32[4] = neg %{depth - 1}\n  b: f32[4] = neg a\n  y: f32[4] = cos b\n"
    )
    found = compiled(parse(text + "  return y\n}")).explain(run=False)
    assert found.steps and len(found.terms) > depth - 10
    assert (
        opened("#1", {t.number: t.text for t in found.terms}).count("exp(")
        > depth // 2 - 10
    )


def test_names_from_models_do_not_move_the_terminal() -> None:
    b = Builder("g\x1b[2J")
    x = b.input("x\r\n", F32, (4,))
    y = b.add("un", (b.add("un", (x,), ("neg",), "\x1b[31mred"),), ("exp",), "a\u202eb")
    found = compiled(b.build({"out\x07": y})).explain(run=False)
    assert any(n.text == "\x1b[31mred" for n in found.before)  # the data has the name
    for text in (str(found), prose(found, full=True)):
        assert all(line.isprintable() for line in text.splitlines())
        assert "\ufffd[31mred" in text
    assert "\x1b" not in str(diff(found.json(), found.json(), ("a\x1b", "b")))


def test_what_goes_away_counts_as_it_was_written() -> None:
    found = compiled(
        parse("graph g(x: f32[3]) {\n  y: f32[3] = neg x\n  z: f32[3] = neg y\n"
              "  return z\n}")
    ).explain()  # fmt: skip
    assert (found.own_kernels, found.kernels) == (2, ())


@pytest.mark.parametrize("seed", [2, 3, 4, 18])
def test_graphs_of_all_kinds_are_explained(seed: int) -> None:
    """Padding, whose number is a term; constants that the host scatters; ..."""
    run = compiled(random_graph(seed, "exact" if seed % 2 else "smooth", 24))
    found = run.explain(run=False)
    assert found.seconds == pytest.approx(run.plan.seconds)
    jsonschema.validate(json.loads(json.dumps(found.json())), SCHEMA)
    assert str(found)


def test_what_is_stored_is_cheaper_stored(layers: Account) -> None:
    """The search ends where no single move helps: no other way is much cheaper."""
    priced = [
        v.otherwise for k in layers.kernels for v in k.values if v.otherwise is not None
    ]
    assert len(priced) >= 10
    assert min(priced) > layers.seconds * 0.98
    for k in layers.kernels:
        known = [o.seconds for o in k.others if o.seconds is not None]
        if k.runner_up is not None:
            assert k.runner_up.seconds == min(known)


def test_other_ways_cost_what_they_would(symbolic: Account) -> None:
    """The price of a value held the other way is that of a schedule that does so."""
    run = compiled(parse(SYMBOLIC), hints={"b": 128})
    chosen, sizes = run.plan, {"b": 128}
    price = cost_for(run.device)
    looked = 0
    for k in symbolic.kernels:
        for v in k.values:
            if v.how == "stored" and v.otherwise is not None:
                groups = [tuple(c for c in g if c != v.node) for g in chosen.groups]
            elif v.how == "inlined" and v.otherwise is not None:
                groups = [(v.node,), *chosen.groups]
            else:
                continue
            looked += 1
            order = sorted((g for g in groups if g), key=max)
            whole = Decisions(chosen.graph, order, sizes, price, str)
            assert whole.total == pytest.approx(v.otherwise), v.text
    assert looked > 3


def test_errors_are_measured(layers: Account) -> None:
    assert layers.measured is not None
    assert {m.output for m in layers.measured} == {"out0"}
    for m in layers.measured:
        assert 0 < m.error < 1e-4 and 0 < m.own < 1e-4


def nothing_finite() -> OptimizedGraph:
    b = Builder("void")
    x = b.input("x", F32, (4,))
    return compiled(b.build([b.un("log", b.un("neg", b.un("exp", x)))]))


def test_an_error_of_no_finite_value_is_none() -> None:
    found = nothing_finite().explain()
    assert found.measured and all(m.compared == 0 for m in found.measured)
    made = json.loads(json.dumps(found.json()))
    jsonschema.validate(made, SCHEMA)
    assert {m["error"] for m in made["measured"]} == {None}
    lines = [x for x in prose(found).splitlines() if x.startswith("error ")]
    said = "error      out0: nothing could be compared, no value is finite (normal"
    assert len(lines) == 2 and all(x.startswith(said) for x in lines)


def test_values_that_say_something_of_an_error_are_counted() -> None:
    nan, inf = float("nan"), float("inf")
    want = np.array([nan, inf, 1.0, nan, -inf])
    assert counted(want, want) == 1
    assert counted(want[:2], want[:2]) == 0
    assert counted(want, want, np.array([nan, inf, 1.0, 2.0, inf])) == 3


def test_errors_that_cannot_be_measured_say_why() -> None:
    graph = parse(
        "graph g(x: f32[2]) {\n  y: f32[2] = call there x token=0\n  return y\n}"
    )
    found = compiled(graph).explain()
    assert found.measured is None and "'there'" in found.unmeasured


def test_a_piece_that_repeats_is_explained_once(layers: Account) -> None:
    (piece,) = (p for p in layers.pieces if p.uses > 1)
    steps = layers.steps[piece.steps[0] : piece.steps[1]]
    assert steps and all(len(s.nodes_before) == piece.uses for s in steps)
    nodes = {n.id: n for n in layers.before}
    for s in steps:
        for use in zip(*s.nodes_before, strict=True):  # the same nodes of each use
            assert len({nodes[i].op for i in use}) == 1
    alike = [k for k in layers.kernels if k.like is not None]
    mine = sum(k.part == piece.number for k in layers.kernels)
    assert len(alike) == mine * (piece.uses - 1) // piece.uses
    for k in alike:
        other = layers.kernels[k.like or 0]
        assert (k.label, k.seconds) == (other.label, other.seconds)


def test_steps_lead_from_the_cost_of_the_input_to_that_of_the_result(
    layers: Account,
) -> None:
    """Op by op: the first form is what was written, the last what was chosen."""
    price = cost_for("c")
    run = compiled(stacked(3))
    for piece, part in zip(layers.pieces, run.plan.parts, strict=True):
        steps = layers.steps[piece.steps[0] : piece.steps[1]]
        known = [s.cost for s in steps if s.cost is not None]
        assert len(known) > len(steps) / 2
        chosen = Decisions(part.after, own_groups(part.after), {}, price, str).total
        assert known[0][0] == pytest.approx(piece.own_seconds)
        assert known[-1][1] == pytest.approx(chosen)
        for one, two in itertools.pairwise(steps):
            assert not (one.cost and two.cost) or one.cost[1] == two.cost[0]


def test_one_node(symbolic: Account) -> None:
    run = compiled(parse(SYMBOLIC), hints={"b": 128})
    found = run.explain("heads.top", run=False)
    assert found.only == "node heads.top" and len(found.kernels) > 0
    (top,) = (n.id for n in found.before if n.text == "heads.top")
    assert all(top in use for s in found.steps for use in s.nodes_before)
    with pytest.raises(Unknown, match=r"'heads.tip'; did you mean .*heads.top"):
        run.explain("heads.tip", run=False)
    assert run.explain("%10", run=False).only == "node heads.scores - heads.top"


@pytest.mark.usefixtures("one_machine")
def test_one_kernel() -> None:
    run = compiled(parse(SYMBOLIC), hints={"b": 128})
    found = run.explain(kernel="k1", run=False)
    assert [k.number for k in found.kernels] == [1] and found.only == "kernel 1"
    inside = {n.id for n in found.after if 1 in n.kernels}
    assert found.steps
    for s in found.steps:
        assert any(inside.intersection(use) for use in s.nodes_after)
    with pytest.raises(Unknown, match="kernels are k0 to k1"):
        run.explain(kernel="k77", run=False)


def test_rules_left_out_one_by_one() -> None:
    found = compiled(parse(SYMBOLIC)).explain(run=False, ablate=True)
    assert found.ablation is not None
    assert {a.rule for a in found.ablation} == {r.name for r in found.rules}
    worst = found.ablation[0]
    assert worst.rule == "div-recip" and worst.rise > 1e-4 and worst.lost
    assert worst.seconds == pytest.approx(found.seconds * (1 + worst.rise))
    assert "Without a rule" in str(found)


def test_limits_are_named() -> None:
    graph = stacked(1)
    assert compiled(graph).explain(run=False).limits == ()
    none = compiled(graph, effort=0).explain(run=False)
    assert none.limits == ()  # no moves were asked for
    part = compiled(graph).plan.parts[0]
    layer = transformer(1, 12, 8, 2)  # one move a class is too few for it
    few = plan(layer, saturator(load_rules()), cost_for("c"), moves=1).parts[0]
    assert part.limits == () and few.limits == (Limit("moves"),)


SUMS = """
;;@ explosive
(ruleset sums)
;;@ equal real
(rewrite (Bin "add" a b) (Bin "add" b a) :ruleset sums :name "turn")
;;@ equal real
(rewrite (Bin "add" a (Bin "add" b c)) (Bin "add" (Bin "add" a b) c)
         :ruleset sums :name "lean")
"""


def test_rules_that_a_limit_held_back_are_named(tmp_path: Path) -> None:
    rules = tmp_path / "sums.egg"
    rules.write_text(SUMS, encoding="utf-8")
    nodes = "".join(f"  s{k}: f32[2] = add x{k} s{k - 1}\n" for k in range(1, 8))
    takes = ", ".join(f"x{k}: f32[2]" for k in range(1, 8))
    graph = parse(f"graph g(s0: f32[2], {takes}) {{\n{nodes}  return s7\n}}")
    found = compiled(graph, rules=[rules]).explain(run=False)
    (piece,) = found.pieces
    assert "matches" in found.limits and "lean" in piece.held["matches"]
    assert "limit: matches; these rules could not go on: " in str(found)
    assert "saturated" not in str(found)
    again = compiled(graph).explain(run=False)
    assert again.limits == () and again.pieces[0].held == {}
    assert "saturated: the rules find no more forms" in str(again)


def test_colour_is_only_paint(symbolic: Account) -> None:
    painted = prose(symbolic, coloured)
    assert painted != str(symbolic)
    assert re.sub(r"\x1b\[\d+m", "", painted) == str(symbolic)


def test_the_page_is_whole_and_offline(layers: Account) -> None:
    page = layers.html()
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert found and json.loads(found[1]) == json.loads(json.dumps(layers.json()))
    links = set(re.findall(r"https?://[^\"' )<]+", page.replace(found[0], "")))
    assert links == {"http://www.w3.org/2000/svg"}  # a name, not a fetch
    assert not re.search(
        r"<(img|iframe)|src=|@import|url\(", page.replace(found[0], "")
    )


def test_names_from_models_are_only_text_in_pages() -> None:
    text = (
        'graph "</title><script>"(x: f32[2]) {\n  %1 "</script><b>": f32[2] = exp x\n'
    )
    graph = parse(text + '  return "</h1>" = %1\n}')
    page = compiled(graph).explain(run=False).html()
    assert page.count("<script") == 2 and page.count("</script>") == 2
    assert "</title><script>" not in page and "</script><b>" not in page


# ---- the command line ----------------------------------------------------------------


def command(*args: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, list(map(str, args)))
    return done.exit_code, done.stdout, done.stderr


def test_commands(tmp_path: Path) -> None:
    model, page = REPLAY / "mlp.onnx", tmp_path / "page.html"
    status, out, err = command("explain", model, "--device", "c", "--json",
                               "--html", page)  # fmt: skip
    assert status == 0, err
    jsonschema.validate(json.loads(out), SCHEMA)
    assert page.read_text("utf-8").startswith("<!doctype html>")
    kept = tmp_path / "old.json"
    kept.write_text(out, encoding="utf-8")
    status, out, err = command("diff", kept, model, "--device", "numpy", "--json")
    assert status == 0, err
    assert json.loads(out)["changes"]


def test_bundles_are_explained(tmp_path: Path) -> None:
    q = np.ones((8, 16), np.float32)
    made = rewrite.optimize(
        lambda q: xp.nn.softmax(q * 2.0), q, device="c", cache=False
    )
    path = tmp_path / "softmax.rw"
    made.save(path)
    status, out, err = command("explain", path, "--no-run")
    assert status == 0, err
    want = str(made.explain(run=False))
    assert out.strip() == want.strip()


def test_a_bundle_made_with_other_rules_asks_for_them(tmp_path: Path) -> None:
    rules, path = tmp_path / "circle.egg", tmp_path / "waves.rw"
    rules.write_text(CIRCLE, encoding="utf-8")
    compiled(parse(GRAPH), rules=[rules]).save(path)
    status, out, err = command("explain", path, "--no-run")
    assert status == 2 and not out
    assert "'circle' was used" in err and "--rules FILE" in err
    status, out, err = command("explain", path, "--no-run", "--rules", rules)
    assert status == 0 and "circle.egg:7" in out, err


@pytest.mark.parametrize(
    ("args", "wanted"),
    [
        (("explain", "model.py"), "call `.explain()`"),
        (("explain", "old.json"), "name the model, or `rewrite diff`"),
        (("explain", REPLAY / "mlp.onnx", "--node", "clases"), "did you mean classes"),
        (("explain", REPLAY / "mlp.onnx", "--dim", "b=3"), "symbols here: batch"),
        (("diff", REPLAY / "mlp.onnx"), "--rules or --device twice"),
        (("diff", "broken.json", "broken.json"), "JSON was expected"),
        (("diff", "other.json", "other.json"), "'rewrite explanation 1' was expected"),
        (("explain", "nothing.graph"), "no such file"),
        (
            ("optimize", REPLAY / "mlp.onnx", "out.onnx", "--explain", "no/page.html"),
            "there is no folder no; make it first",
        ),
        (("explain", REPLAY), "is a folder; name a file in it"),
        (
            ("explain", REPLAY / "mlp.onnx", "--html", "no/page.html"),
            "there is no folder no; make it first",
        ),
    ],
)
def test_errors_are_one_line_that_says_what_to_do(
    args: tuple[object, ...], wanted: str, tmp_path: Path
) -> None:
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    (tmp_path / "other.json").write_text("{}", encoding="utf-8")
    named = [tmp_path / a if str(a).endswith((".json", ".py", ".graph")) else a
             for a in args]  # fmt: skip
    status, out, err = command(*named)
    assert status == 2 and not out
    assert err.startswith("error: ") and wanted in err and err.count("\n") == 1
