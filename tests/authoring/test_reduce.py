"""A failing model and its rules come down to a few nodes and the rule at fault."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rewrite.authoring.reduce import Asking, Flaky, Reduced, reduce, write
from rewrite.authoring.reduce.failures import BuiltIn, Command, Failure, How, Trial
from rewrite.authoring.reduce.rule_text import bare, together
from rewrite.authoring.reduce.sandbox import Crash, Sandbox
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.ir.text import parse, show
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.fuzz.shrink import Case, minimal, part, shrink, values_of
from tests.transformers import transformer

WRONG = """
(ruleset mine)
(relation unused (String))

;; Right, and of no matter here.
;;@ equal real
;;@ fires (Bin "sub" x x) => (Bin "mul" x (Const 0.0 "f32" [2,3]))
;;@ skips (Bin "mul" x x)
(rewrite (Bin "sub" x x) (Bin "mul" x (Const 0.0 t s))
         :when ((= t (dtype x)) (= s (shape x))) :ruleset mine :name "nothing-left")

;; Wrong, unless the axes that move are of size 1.
;;@ equal real
;;@ fires (Permute x:[2,2] [1,0]) => x
;;@ skips (Permute x:[2,3] [1,0])
(rewrite (Permute x p) x
         :when ((= (shape x) (pick (shape x) p))) :ruleset mine :name "square-permute")
"""
CLASH = """
(ruleset mine)
;; The types differ.
;;@ equal real
;;@ fires (Un "exp" x) => (Cast x "f64")
;;@ skips (Un "sin" x)
(rewrite (Un "exp" x) (Cast x "f64") :ruleset mine :name "exp-as-cast")
"""


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    path = tmp_path / "wrong.egg"
    path.write_text(WRONG)
    return path


@pytest.fixture(scope="module")
def oracle() -> Iterator[BuiltIn]:
    found = BuiltIn(How(device="c"))
    yield found
    found.close()


def reduced(graph: Graph, path: Path, oracle: BuiltIn) -> Reduced | None:
    rules = load_rules([path])
    return reduce(
        graph, rules, oracle, inputs=None, hints={}, files=(path,), bundled=True
    )


@pytest.mark.long
def test_a_wrong_rule_in_a_large_graph(wrong: Path, oracle: BuiltIn) -> None:
    graph = transformer(2, seq=16, width=16)
    assert len(graph) > 250
    found = reduced(graph, wrong, oracle)
    assert found is not None
    assert found.failure.kind == "wrong"
    assert [r.name for r in found.needed] == ["square-permute"]
    assert found.computing == 1
    assert found.case.graph.nodes[found.case.computing[0]].op == "permute"
    assert not found.alone


def test_a_clash_of_types(tmp_path: Path, oracle: BuiltIn) -> None:
    path = tmp_path / "clash.egg"
    path.write_text(CLASH)
    found = reduced(transformer(1, seq=8, width=16), path, oracle)
    assert found is not None
    assert found.failure.kind == "types"
    assert "exp-as-cast" in found.failure.message
    assert [r.name for r in found.needed] == ["exp-as-cast"]
    assert found.computing == 1


def test_nothing_fails(oracle: BuiltIn, tmp_path: Path) -> None:
    empty = tmp_path / "empty.egg"
    empty.write_text("")
    assert reduced(transformer(1, seq=8, width=16), empty, oracle) is None


@pytest.mark.long
def test_the_report_can_be_repeated(
    wrong: Path, oracle: BuiltIn, tmp_path: Path
) -> None:
    found = reduced(transformer(1, seq=8, width=16), wrong, oracle)
    assert found is not None
    folder = tmp_path / "bug"
    asking = Asking(("--device", "c"), None, (wrong,))
    graph, egg, readme = write(found, folder, "t", asking)
    assert "(relation unused" not in egg.read_text()
    assert ";; Wrong, unless" in egg.read_text()
    assert "nothing-left" not in egg.read_text()
    command = readme.read_text().split("$ ")[1].splitlines()[0].split()
    assert command[:2] == ["rewrite", "reduce"]
    done = subprocess.run(
        [sys.executable, "-m", *command, "--to", "again", "--json"],
        cwd=folder, capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    again = json.loads(done.stdout)
    assert again["rules"] == ["square-permute"]
    assert again["nodes"] == {"before": 1, "after": 1}
    assert parse(graph.read_text()).nodes == found.case.graph.nodes


def test_a_command_of_the_user(wrong: Path, tmp_path: Path) -> None:
    """It fails where a tanh and the wrong rule are there: neither alone."""
    script = tmp_path / "check.py"
    script.write_text(
        "import sys\n"
        "model, rules = (open(p).read() for p in sys.argv[1:])\n"
        "sys.exit('= tanh' in model and 'square-permute' in rules)\n"
    )
    graph = parse("""graph g(x: f32[4, 8], y: f32[4, 8]) {
      a: f32[4, 8] = exp x
      b: f32[4, 8] = tanh a
      c: f32[4, 8] = mul b y
      d: f32[4, 8] = add c a
      return d
    }""")
    command = Command(f"{sys.executable} {script} {{model}} {{rules}}")
    rules = load_rules([wrong])
    found = reduce(
        graph, rules, command, inputs=None, hints={}, files=(wrong,), bundled=False
    )
    command.close()
    assert found is not None
    assert [n.attrs for n in found.case.graph.nodes if n.args] == [("tanh",)]
    theirs = [r.name for r in found.needed if r in rules.foreign]
    assert theirs == ["square-permute"]


def test_a_failure_that_comes_and_goes_is_said(tmp_path: Path) -> None:
    graph = parse("graph g(x: f32[2]) {\n  a: f32[2] = exp x\n  return a\n}\n")
    answers = iter([True])

    def sometimes(case: Case, trial: Trial) -> Failure | None:
        return Failure("wrong", "", "now") if next(answers, False) else None

    with pytest.raises(Flaky, match="comes and goes"):
        reduce(graph, load_rules(), sometimes, inputs=None, hints={}, files=(),
               bundled=True)  # fmt: skip


# ---- shrinking -----------------------------------------------------------------------


@pytest.mark.parametrize("needed", [{3}, {0, 63}, {5, 6, 40}, {1, 20, 40, 60}])
def test_what_is_needed_is_what_is_left(needed: set[int]) -> None:
    tries = 0

    def fails(some: object) -> bool:
        nonlocal tries
        tries += 1
        assert isinstance(some, list)
        return needed <= set(some)

    assert set(minimal(list(range(64)), fails)) == needed
    assert tries < 64 * len(needed)


def test_a_part_computes_what_the_whole_does() -> None:
    from rewrite.egraph.ir.evaluate import evaluate
    from rewrite.fuzz import random_graph, random_inputs

    for seed in range(20):
        graph = random_graph(seed, "smooth")
        case = Case(graph, random_inputs(graph, seed, "smooth"))
        values = values_of(case)
        some = part(case, some_nodes(case), values)
        own = dict(graph.outputs)
        assert own.keys() & dict(some.graph.outputs).keys() == {
            label for label, i in own.items() if i in some_nodes(case)
        }
        for label, got in evaluate(some.graph, some.inputs).items():
            i = own[label] if label in own else int(label[3:].rstrip("_"))
            np.testing.assert_array_equal(got, values[i])


def some_nodes(case: Case) -> set[int]:
    return set(case.computing[1::2])


def test_shrinking_keeps_what_fails() -> None:
    graph = transformer(1, seq=8, width=16)

    def fails(case: Case) -> bool:
        ops = [n.attrs[0] for n in case.graph.nodes if n.op == "reduce"]
        return "max" in ops and any(n.op == "contract" for n in case.graph.nodes)

    small = shrink(Case(graph), fails)
    assert fails(small)
    assert sorted(n.op for n in small.graph.nodes if n.args) == ["contract", "reduce"]
    assert parse(show(small.graph)).nodes == small.graph.nodes


# ---- parts ---------------------------------------------------------------------------


def _die(how: str) -> str:
    if how == "crash":
        os.abort()
    if how == "hang":
        import time

        time.sleep(60)
    return how


def test_a_crash_and_a_hang_are_answers_and_not_the_end() -> None:
    with Sandbox(_die, 1.0) as box:
        assert box("fine") == "fine"
        with pytest.raises(Crash, match="signal 6"):
            box("crash")
        assert box("fine") == "fine"
        with pytest.raises(Crash, match="no answer in"):
            box("hang")
        assert box("fine") == "fine"


def test_rules_are_copied_with_their_comments(wrong: Path) -> None:
    text = together([wrong], {"square-permute"})
    assert "(relation unused" in text
    assert "nothing-left" not in text
    small = wrong.with_name("small.egg")
    small.write_text(bare(text, "small.egg"))
    (rule,) = load_rules([small]).foreign
    assert (rule.name, rule.contract) == ("square-permute", "real")
    assert "unused" not in small.read_text()
