"""Refused laws: each must still be shown wrong, or it is refused for no reason.

A refused law is written as an example is (tensors and numbers) or as a rule is (with
variables for numbers and masks).  The first is judged as it stands, by the strictest
reading of `real`; the second as a rule of that contract, on samples.
"""

from __future__ import annotations

from dataclasses import dataclass

from rewrite.egraph.ir.graph import GraphError
from rewrite.egraph.judge.agreement import Promise
from rewrite.egraph.judge.examples import graph_of, read
from rewrite.egraph.judge.instances import Pair
from rewrite.egraph.judge.judge import Fault, Judge
from rewrite.egraph.judge.sound import describe, sample_rule
from rewrite.egraph.rules.ruleset import Example, Refused, Rule, RuleSet
from rewrite.egraph.rules.sexpr import RuleFileError
from rewrite.egraph.saturate.encode import EncodeError
from rewrite.egraph.saturate.engine import Engine

ROUNDS = 16  # seeds that are tried


@dataclass(frozen=True)
class RefusedReport:
    """Whether a refused law was shown wrong, and how."""

    law: str
    file: str
    line: int
    because: str
    shown: str | None  # what went wrong; None: nothing did


def judge_refused(
    law: Refused, rules: RuleSet, seed: int = 0, engine: Engine | None = None
) -> RefusedReport:
    """Looks for what makes a refused law wrong."""
    shown: str | None = None
    for k in range(ROUNDS):
        shown = shown or _wrong(law, rules, seed + k, engine)
    text = f"{law.left} => {law.right}"
    return RefusedReport(text, law.place.file, law.place.line, law.because, shown)


def _wrong(
    law: Refused, rules: RuleSet, seed: int, engine: Engine | None
) -> str | None:
    try:
        rows, left, right, _ = read(Example(law.left, law.right, law.place))
        graph, nodes = graph_of(rows)
    except (RuleFileError, GraphError, EncodeError, ValueError):  # it has variables
        return sample_rule(_as_rule(law), rules, seed, engine=engine).counterexample
    if right is None or left == right:
        return None
    judge = Judge(graph, [Pair(0, nodes[left], nodes[right])], Promise("real"), seed)
    fault: Fault | None = judge.faults().get(0)
    return None if fault is None else describe(graph, fault)


def _as_rule(law: Refused) -> Rule:
    return Rule(
        "refused", "algebra", law.place, law.left, law.right, (), False, False, "real",
        law.because, (), (),
    )  # fmt: skip
