"""What a proof leaves out is sampled: rounding and stability of rules over the reals,
and all there is of a rule that is not proved."""

from __future__ import annotations

from dataclasses import replace

from rewrite.egraph.ir.dtypes import spelled
from rewrite.egraph.judge.judge import Fault
from rewrite.egraph.judge.sound import sample_rule
from rewrite.egraph.judge.terms import Undrawn
from rewrite.egraph.rules.ruleset import Rule, RuleSet

from .refute import Counterexample, shown
from .verdict import Verdict

PROVED = (40,)  # instances, round by round
OPEN = (40, 200)


def sampled(verdict: Verdict, rule: Rule, rules: RuleSet) -> Verdict:
    """The verdict with what samples add: how often the rule fired, or a fault."""
    exact = rule.contract in ("bitwise", "ieee")
    if verdict.status == "refuted" or (verdict.status == "proved" and exact):
        return verdict
    fired = 0
    for seed, count in enumerate(PROVED if verdict.status == "proved" else OPEN):
        try:
            result = sample_rule(rule, rules, seed, count)
        except Undrawn as e:
            return replace(verdict, reason=str(e), sampled=0)
        fired += result.fired
        if result.fault is not None:
            reason = f"samples: {result.counterexample}"
            example = _example(result.fault)
            return Verdict(
                rule.name, "refuted", reason=reason, example=example, sampled=fired,
                seconds=verdict.seconds,
            )  # fmt: skip
    return replace(verdict, sampled=fired)


def _example(fault: Fault) -> Counterexample:
    tensors = {k: f"{spelled(a.dtype)}{shown(a)}" for k, a in fault.inputs.items()}
    if fault.left is None or fault.right is None:
        return Counterexample(tensors, {}, "", fault.detail, not fault.pair.forward)
    left, right = shown(fault.left), shown(fault.right)
    said = f"{right}  ({fault.kind}{': ' * bool(fault.detail)}{fault.detail})"
    return Counterexample(tensors, {}, left, said, not fault.pair.forward)
