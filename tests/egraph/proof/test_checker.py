"""The checker takes proofs that are proofs, and nothing else."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.proof.checker import Checker, check
from rewrite.egraph.proof.proof import CheckError, Goal, Lemma, Move, Proof, Use
from rewrite.egraph.rules.rulefile import load_rules
from tests.egraph.proof.forgeries import RULES, WAYS, Case, case

made = cache(case)


def judge(c: Case) -> None:
    check(c.proof, c.before, c.after, c.rules, c.nan_free)


def test_a_proof_is_taken() -> None:
    judge(made())
    used = {u.rule for u in made().proof.uses}
    assert {"sum-hoist", "isnan-free", "add-zero", "permute-id"} <= used
    assert any(m.lemma is not None for x in made().proof.lemmas for m in x.moves)


@pytest.mark.parametrize("way", WAYS)
def test_a_broken_proof_is_refused(way: str) -> None:
    forge, why = WAYS[way]
    broken = forge(made())
    assert broken != made()
    with pytest.raises(CheckError, match=why):
        judge(broken)


MORE = """
;; Wrong: a cast is no identity.
;;@ equal real
(rewrite (Cast x t) x :ruleset algebra :name "no-cast")
;; A rule that computes with what it may not.
;;@ equal real
(rewrite (Reshape x s) (Reshape x (vec-set s 3 1)) :ruleset algebra :name "no-axis")
"""


@pytest.fixture(scope="module")
def more(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rules") / "more.egg"
    path.write_text(MORE)
    return path


def by_one_use(path: Path, name: str, *rows: tuple[object, ...]) -> Case:
    """x of type f32[2,3] and a row above it, made equal by a rule of the file."""
    rules = load_rules([path])
    b = Builder()
    before = b.build([b.input("x", F32, (2, 3))])
    place = str(rules.rule(name).place)
    bindings = {"x": 0, "t": "f64", "s": (3, 2)}
    wanted = ("s", "x") if name == "no-axis" else ("t", "x")
    use = Use(name, place, True, 1, 0, tuple((k, bindings[k]) for k in wanted))
    lemma = Lemma(1, 0, (Move((), True, use=0),))
    proof = Proof(
        (("Input", "n0", "f32", (2, 3)), *rows), ("x",), (use,), (lemma,),
        (Goal("out0", 0, 0),), (0,), (0,),
    )  # fmt: skip
    return Case(proof, before, before, rules, frozenset())


def test_sides_of_two_types_are_refused(more: Path) -> None:
    with pytest.raises(CheckError, match=r"f64.*f32.*differ"):
        judge(by_one_use(more, "no-cast", ("Cast", 0, "f64")))


def test_a_side_without_a_value_is_refused(more: Path) -> None:
    with pytest.raises(CheckError, match="has no value"):
        judge(by_one_use(more, "no-axis", ("Reshape", 0, (3, 2))))


def test_two_arrays_of_one_label_are_refused() -> None:
    c = made()
    label = c.proof.labels[0]
    data = [{label: np.full(2, v, np.float32)} for v in (0, 1)]
    before, after = (replace(g, data=d) for g, d in zip((c.before, c.after), data,
                                                          strict=True))  # fmt: skip
    with pytest.raises(CheckError, match="two arrays are called"):
        judge(replace(c, before=before, after=after))


def test_two_functions_of_one_label_are_refused() -> None:
    c = made()
    label = c.proof.labels[0]
    before, after = (
        replace(g, calls={label: f}) for g, f in ((c.before, np.sin), (c.after, np.cos))
    )
    with pytest.raises(CheckError, match="two functions are called"):
        judge(replace(c, before=before, after=after))


# ---- one use of a bundled rule, on terms made up -------------------------------------


def claimed(
    rule: str, rows: tuple[tuple[object, ...], ...], left: int, right: int,
    **bindings: object,
) -> Case:  # fmt: skip
    """That a use of a rule makes two rows equal, which are no nodes of the graph."""
    b = Builder()
    graph = b.build([b.input("x", F32, (2, 3))])
    place = str(RULES.rule(rule).place)
    use = Use(rule, place, True, left, right, tuple(sorted(bindings.items())))
    x = ("Input", "n0", "f32", (2, 3))
    lemma = Lemma(left, right, (Move((), True, use=0),))
    proof = Proof(
        (x, *rows), ("x",), (use,), (lemma,), (Goal("out0", 0, 0),), (0,), (0,)
    )
    return Case(proof, graph, graph, RULES, frozenset())


def const(value: object, dtype: str = "f32", shape: object = ()) -> tuple[object, ...]:
    return ("Const", value, dtype, shape)


NAN, INF = float("nan"), float("inf")
FALSE: dict[str, tuple[Case, str]] = {
    "NaN as a number": (
        claimed("neg-neg", (const(NAN), ("Un", "neg", 1), ("Un", "neg", 2)), 3, 1, x=1),
        "nan is no field"),
    "infinity as a number": (
        claimed("neg-neg", (const(INF), ("Un", "neg", 1), ("Un", "neg", 2)), 3, 1, x=1),
        "inf is no field"),
    "0.0 negated as a number": (
        claimed("fold-neg", (const(0.0), ("Un", "neg", 1), const(-0.0)), 2, 3,
                a=0.0, r=-0.0, s=(), t="f32"), "is false"),
    "-0.0 taken for 0.0, to be added": (
        claimed("add-zero", (const(-0.0, shape=(2, 3)), ("Bin", "add", 0, 1)), 2, 0,
                x=0, s=(2, 4), t="f32"), "another term stands left"),
    "a number that its dtype cannot hold": (
        claimed("fold-neg", (const(-128.0, "i8"), ("Un", "neg", 1), const(128.0, "i8")),
                2, 3, a=-128.0, r=128.0, s=(), t="i8"), "is false"),
    "a dtype bound otherwise than the term has it": (
        claimed("fold-neg", (const(4.0, "u8"), ("Un", "neg", 1), const(-4.0, "u8")),
                2, 3, a=4.0, r=-4.0, s=(), t="f32"), "another term stands left"),
    "a number bound as an integer": (
        claimed("fold-neg", (const(4.0), ("Un", "neg", 1), const(-4.0)), 2, 3,
                a=4, r=-4.0, s=(), t="f32"), r"\(= r \(neg a\)\) is false"),
    "true for 1": (
        claimed("permute-id", (("Permute", 0, (False, True)),), 1, 0, x=0, p=(0, 1)),
        "is no field"),
    "an expand of an axis that is not 1": (
        claimed("expand-const", (const(2.0, shape=(3,)), ("Expand", 1, (6,), (1,)),
                                 const(2.0, shape=(6,))), 2, 3,
                v=2.0, k=(1,), r=(6,), s=(3,), t="f32"), "differ"),
    "the shape of another term": (
        claimed("reshape-id", (("Reshape", 0, (3, 2)),), 1, 0, x=0, s=(3, 2)),
        r"\(= s \(shape x\)\) is false"),
}  # fmt: skip


@pytest.mark.parametrize("claim", FALSE)
def test_a_false_claim_is_refused(claim: str) -> None:
    false, why = FALSE[claim]
    with pytest.raises(CheckError, match=why):
        judge(false)


def test_types_are_those_of_the_op_table() -> None:
    """The checker derives them from the rules, the builder from the table."""
    c = made()
    checker = Checker(c.proof, RULES)
    for graph, where in ((c.before, c.proof.before), (c.after, c.proof.after)):
        for node, t in zip(graph.nodes, where, strict=True):
            if t is not None:
                kind = (node.shape, node.dtype.name)
                assert checker.types[checker.given[t]] == kind
