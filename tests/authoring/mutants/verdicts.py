"""What becomes of a mutant: refuted, or shown to change nothing, or missed.

Sampling comes first, and most mutants end there.  One that survives is *equivalent*
only by an argument (`arguments.py`).  One that fires on no instance says nothing
(`vacuous`).  Every other survivor is missed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rewrite.egraph.judge.sound import sample_rule
from rewrite.egraph.rules.ruleset import RuleSet
from rewrite.egraph.saturate.engine import Engine, EngineError

from .arguments import argued
from .mutate import Mutant, loaded

type Fate = Literal["refuted", "refused", "crashed", "vacuous", "equivalent", "missed"]

FIRST, SECOND, LAST = 24, 60, 400  # instances sampled, of what survived so far


@dataclass(frozen=True)
class Judged:
    """A mutant's fate, by what, and what shows it."""

    mutant: Mutant
    fate: Fate
    by: str = ""
    why: str = ""

    @property
    def counts(self) -> bool:
        """Whether the mutant changes the meaning, as far as anybody knows."""
        return self.fate in ("refuted", "missed")

    def __str__(self) -> str:
        return f"{self.fate:10} {self.by:8} {self.mutant}"


def judge(mutant: Mutant, rules: RuleSet, engine: Engine, seed: int = 0) -> Judged:
    """The fate of a mutant of a rule of `rules`."""
    own = loaded(mutant, rules)
    if own is None:
        return Judged(mutant, "refused", "whitelist")
    try:
        return _judge(mutant, rules, own, engine, seed)
    except EngineError as e:
        return Judged(mutant, "refused", "engine", str(e))
    except (
        ArithmeticError,
        LookupError,
        TypeError,
        ValueError,
    ) as e:
        # What a tool cannot take is listed as such: each is a bug of the tool.
        return Judged(mutant, "crashed", type(e).__name__, str(e))


def _judge(
    mutant: Mutant, rules: RuleSet, own: RuleSet, engine: Engine, seed: int
) -> Judged:
    fired = 0
    for count in (FIRST, SECOND):
        found = sample_rule(mutant.rule, own, seed, count, engine)
        fired += found.fired
        if found.fault is not None:
            return _refuted(mutant, found.fault.kind, found.counterexample)
        seed += 1
    shown = argued(mutant, rules, own, engine, seed)
    if shown is not None:
        fate = "refuted" if shown.refutes else "equivalent"
        return Judged(mutant, fate, shown.by, shown.why)
    found = sample_rule(mutant.rule, own, seed, LAST, engine)
    if found.fault is not None:
        return _refuted(mutant, found.fault.kind, found.counterexample)
    if not fired + found.fired:
        return Judged(mutant, "vacuous", "sampling", f"{found.sampled} instances")
    return Judged(mutant, "missed", "sampling", f"fired on {fired + found.fired}")


def _refuted(mutant: Mutant, kind: str, shown: str | None) -> Judged:
    by = "types" if kind in ("type", "term") else "values"
    return Judged(mutant, "refuted", by, shown or "")


__all__ = ["Fate", "Judged", "judge"]
