"""Which rules that the precision keeps out would make a model faster, and which option
allows them: the model is planned at each wider precision, and the checked proof of the
cheaper plan says what it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rewrite.core.explaining import explained_part
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.rules.ruleset import CONTRACTS, PRECISIONS, Rule, RuleSet
from rewrite.extract.schedule.plan import Plan

from ..cover import Setting
from ..cover.coverage import planned
from ..models import Model

HELPS = 0.99  # a plan that is predicted to take more of the time is no help


@dataclass(frozen=True, slots=True)
class Wider:
    """What a wider precision would bring: predicted seconds, and the rules in the proof
    that are off without it."""

    precision: str
    seconds: float
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Widened:
    """`seconds` are predicted at the precision that was asked about.  `wider` holds the
    precisions that would help, each more than those before it."""

    model: str
    precision: str
    seconds: float
    wider: tuple[Wider, ...]


def widened(model: Model, setting: Setting) -> Widened:
    """What the rules would bring whose contracts the precision does not allow."""
    own = _plan(model, setting)[0]
    found = tuple(_wider(model, setting, own.seconds))
    return Widened(model.name, setting.precision, own.seconds, found)


def _wider(model: Model, setting: Setting, least: float) -> Iterator[Wider]:
    allowed = CONTRACTS[setting.precision]
    for precision in PRECISIONS[PRECISIONS.index(setting.precision) + 1 :]:
        best, rules = _plan(model, replace(setting, precision=precision))
        used = [r for r in _used(best, rules, model) if r.contract not in allowed]
        if used and best.seconds <= HELPS * least:
            least = best.seconds
            yield Wider(precision, best.seconds, tuple(used))


def _plan(model: Model, setting: Setting) -> tuple[Plan, RuleSet]:
    rules = load_rules(setting.rules, setting.precision, goal=setting.goal)
    return planned(model, rules, setting)[0], rules


def _used(made: Plan, rules: RuleSet, model: Model) -> Sequence[Rule]:
    """The rules in the proofs of its parts, in the order of their files."""
    parts = (explained_part(part, rules, model.hints).rules for part in made.parts)
    names = frozenset(name for part in parts for name in part)
    return [r for f in rules.files for r in f.rules if r.name in names]
