"""The order in which rules stand says nothing: costs compared over shuffled rules.

What may not move: `ir.egg` and all declarations stand before the rules that use them,
and rulesets in which a rule says `:subsume` run first in a step, so that no other rule
takes up what is about to be forgotten (`rules/algebra.egg`; run later, they leave more
in the e-graph).  All else is shuffled: the files, the rules in them, and the other
rulesets within a step.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.rules.ruleset import Rule, RuleFile, RuleSet
from rewrite.egraph.rules.sexpr import Atom, Expr, Form

from ..models import load, names
from ..parallel import each
from .coverage import Setting, planned

ROUNDING = 1e-12  # relative: the same kernels added up in another order
TRUNCATED = 5e-3  # relative spread that is allowed where a budget ended saturation


@dataclass(frozen=True)
class Spread:
    """One model under several orders of the rules, the files' own first."""

    model: str
    seconds: tuple[float, ...]  # predicted
    enodes: tuple[int, ...]
    stopped: tuple[str, ...]  # budgets that ended saturation, in any order

    @property
    def complete(self) -> bool:
        """Whether every order reached the fixpoint."""
        return not self.stopped

    @property
    def spread(self) -> float:
        """Relative; what may be rounding is none."""
        low, high = min(self.seconds), max(self.seconds)
        gap = (high - low) / low if low else 0.0
        return gap if gap > ROUNDING else 0.0

    @property
    def ok(self) -> bool:
        return self.spread <= (0.0 if self.complete else TRUNCATED)


def shuffled_costs(
    paths: Sequence[Path], setting: Setting, times: int, jobs: int = 2,
    progress: Callable[[str, int, int], None] = lambda what, done, of: None,
) -> tuple[Spread, ...]:  # fmt: skip
    """Each model optimized with the rules in their own and in `times` other orders."""
    tasks = [(p, setting, seed) for seed in range(times + 1) for p in paths]
    done = each(_cost, tasks, jobs, lambda k, n: progress("orders", k, n))
    called = names(paths)
    out: list[Spread] = []
    for i, path in enumerate(paths):
        mine = done[i :: len(paths)]
        stopped = sorted({s for _, _, why in mine for s in why})
        seconds, enodes = tuple(m[0] for m in mine), tuple(m[1] for m in mine)
        out.append(Spread(called[path], seconds, enodes, tuple(stopped)))
    return tuple(out)


def _cost(task: tuple[Path, Setting, int]) -> tuple[float, int, tuple[str, ...]]:
    path, setting, seed = task
    rules = load_rules(setting.rules, setting.precision, goal=setting.goal)
    chosen, result = planned(load(path, setting.sizes), shuffled(rules, seed), setting)
    stopped = tuple(s.stopped for s in result if s.stopped)
    return chosen.seconds, sum(s.enodes for s in result), stopped


def shuffled(rules: RuleSet, seed: int) -> RuleSet:
    """The same rules in another order; seed 0 is the order of the files."""
    if not seed:
        return rules
    rng = random.Random(seed)
    core, *rest = rules.files
    declared = _declarations(rest, rng)
    files = [_only_rules(f, rng) for f in rest]
    rng.shuffle(files)
    return replace(rules, files=(core, declared, *files))


def _declarations(files: Sequence[RuleFile], rng: random.Random) -> RuleFile:
    """What the files declare and derive, in order, with the rulesets shuffled."""
    declared = [r for f in files for r in f.rulesets]
    forgetful = {r.ruleset for f in files for r in f.rules if r.subsume}
    others = [r for r in declared if r not in forgetful]
    rng.shuffle(others)
    rulesets = [*(r for r in declared if r in forgetful), *others]
    rewrites = {r.place for f in files for r in f.rules}
    forms = [x for f in files for x in f.forms if x.place not in rewrites]
    explosive = frozenset[str]().union(*(f.explosive for f in files))
    return RuleFile(
        "declarations", _laid_down(forms, []), (), tuple(rulesets), explosive, True
    )


def _only_rules(file: RuleFile, rng: random.Random) -> RuleFile:
    mine = {r.place: r for r in file.rules}
    forms = [f for f in file.forms if f.place in mine]
    rng.shuffle(forms)
    rules: list[Rule] = [mine[f.place] for f in forms]
    moved = _laid_down(forms, rules)
    return replace(
        file, forms=moved, rules=tuple(rules), rulesets=(), explosive=frozenset()
    )


def _laid_down(forms: Sequence[Form], rules: list[Rule]) -> tuple[Form, ...]:
    """The forms one below the other, and `rules`, one for each form, moved along: the
    engine's text puts every atom at its place, so places must ascend."""
    out: list[Form] = []
    line = 1
    for k, form in enumerate(forms):
        moved = _moved(form, line - form.place.line)
        assert isinstance(moved, Form)
        out.append(moved)
        if rules:
            rules[k] = replace(rules[k], place=moved.place)
        line = _last(moved) + 1
    return tuple(out)


def _moved(e: Expr, down: int) -> Expr:
    place = e.place._replace(line=e.place.line + down)
    if isinstance(e, Atom):
        return replace(e, place=place)
    return Form(tuple(_moved(x, down) for x in e.items), place)


def _last(e: Expr) -> int:
    """The last line of an expression."""
    return max(
        [e.place.line, *(_last(x) for x in e.items)]
        if isinstance(e, Form)
        else [e.place.line]
    )
