"""What each rule does for real models: does it match, is it used, is it the only way?

*Matched*: its pattern and premises held somewhere in the e-graph.  *Used*: it stands in
the checked proof that the chosen form equals the input.  *Only route*: the predicted
cost of the chosen plan rises when the rule is taken away and all is done again; only
rules that are used are asked, since without an unused one the same form is reached.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rewrite.backends.devices import pick_device
from rewrite.core.costs import cost_for
from rewrite.core.explaining import explained_part
from rewrite.core.options import MOVES, Precision
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.rules.rulefile import Goal, load_rules
from rewrite.egraph.rules.ruleset import Rule, RuleSet, reads_sizes
from rewrite.egraph.saturate.explore import Budget
from rewrite.egraph.saturate.saturate import Saturated, Saturator
from rewrite.extract.schedule.part import Problem, part_of
from rewrite.extract.schedule.plan import Plan, plan
from rewrite.extract.schedule.start import Level

from ...core.pieces import Cuts, cut
from ..models import Model, Sizes, load, names
from ..parallel import each

WORSE = 1e-9  # relative: a smaller rise of the predicted cost is rounding
FACTS = "facts"  # stands for all rules that derive types and other facts


@dataclass(frozen=True, slots=True)
class Setting:
    """How models are optimized while rules are watched."""

    rules: tuple[Path, ...] = ()
    precision: Precision = "default"
    device: str | None = None
    effort: int = 2
    goal: Goal = "kernels"
    sizes: Sizes = ()  # to expect of symbols


@dataclass(frozen=True, slots=True)
class PieceCover:
    """What happened to one distinct piece of a model, which stands there `uses` times;
    where a rule matches nothing in it, it is the same without that rule."""

    number: int
    uses: int
    seconds: float
    enodes: int
    matches: dict[str, int]
    used: frozenset[str]


@dataclass(frozen=True, slots=True)
class ModelCover:
    """What happened to one model; dictionaries are by rule."""

    name: str
    nodes: int
    symbolic: bool  # its sizes: rules that read one are off
    seconds: float  # predicted for the chosen plan
    enodes: int
    stopped: tuple[str, ...]  # budgets that ended saturation before its fixpoint
    matches: dict[str, int]
    used: frozenset[str]
    spent: dict[str, float]  # seconds in the engine
    pieces: tuple[PieceCover, ...]


@dataclass(frozen=True, slots=True)
class Without:
    """What becomes of one model without one rule."""

    model: str
    rule: str
    enodes: int  # that are gone
    seconds: float | None  # that are added to its predicted cost; None: not asked


@dataclass(frozen=True, slots=True)
class RuleCover:
    """One rule over all models."""

    name: str
    place: str
    contract: str
    reads_sizes: bool
    matched: tuple[str, ...]
    used: tuple[str, ...]
    matches: int
    spent: float
    # (model, relative rise of predicted cost without the rule); None: not asked
    change: tuple[tuple[str, float], ...] | None
    enodes: int | None  # that are not there without it, over all models

    @property
    def only_route(self) -> tuple[str, ...] | None:
        if self.change is None:
            return None
        return tuple(m for m, rise in self.change if rise > WORSE)


@dataclass(frozen=True)
class Cover:
    """Rules that were on, most used first; rules that are off, with the reason."""

    rules: tuple[RuleCover, ...]
    models: tuple[ModelCover, ...]
    off: tuple[tuple[str, str], ...]
    device: str

    @property
    def dead(self) -> tuple[RuleCover, ...]:
        return tuple(r for r in self.rules if not r.matched)


@dataclass(frozen=True)
class Recorder(Saturator):
    """Keeps what saturation finds, for `plan` returns only what it chose."""

    found: list[Saturated] = field(default_factory=list[Saturated])

    def __call__(
        self,
        graph: Graph,
        symbolic: bool,
        nan_free: frozenset[int] | None = None,
        budget: Budget | None = None,
    ) -> Saturated:
        self.found.append(super().__call__(graph, symbolic, nan_free, budget))
        return self.found[-1]


def recorder(rules: RuleSet) -> Recorder:
    return Recorder(rules, rules.for_any_size())


def cover(
    paths: Sequence[Path], setting: Setting, *, fast: bool = False,
    wanted: Callable[[str], bool] = lambda name: True, jobs: int = 2,
    progress: Callable[[str, int, int], None] = lambda what, done, of: None,
) -> Cover:  # fmt: skip
    """The cover of the rules whose names are `wanted` over the models at `paths`."""
    for kept in (_model, _rules, _cuts):
        kept.cache_clear()  # files may have changed since the last look
    called = names(paths)
    base = [(path, called[path], setting) for path in paths]
    models: list[ModelCover] = each(_measure, base, jobs, _told(progress, "models"))
    again: list[Without] = []
    if not fast:
        tasks = _tasks(base, models, wanted)
        result = each(_without, tasks, jobs, _told(progress, "without a rule"))
        again = [w for one in result for w in one]
    rules = load_rules(setting.rules, setting.precision, goal=setting.goal)
    rows = [_row(r, models, again, fast) for r in rules.rules if wanted(r.name)]
    rows.sort(key=lambda r: (-len(r.used), -len(r.matched), r.name))
    off = tuple((n, why) for n, why in reasons_off(rules, setting) if wanted(n))
    device = pick_device(setting.device).name
    return Cover(tuple(rows), tuple(models), off, device)


def _told(
    progress: Callable[[str, int, int], None], what: str
) -> Callable[[int, int], None]:
    return lambda done, of: progress(what, done, of)


def reasons_off(rules: RuleSet, setting: Setting) -> Iterable[tuple[str, str]]:
    """Rules of the files that are not on, and why."""
    for f in rules.files:
        for r in f.rules:
            if r.name not in rules.on:
                yield r.name, why_off(r, f.name, setting)


def why_off(rule: Rule, file: str, setting: Setting) -> str:
    """The reason that a rule of a loaded file is not on."""
    if file == "operators.egg" and setting.goal != "operators":
        return "goal: it is on only where the goal is a library's operators"
    return f"contract: '{rule.contract}' is not allowed at '{setting.precision}'"


# ---- one model -----------------------------------------------------------------------


@functools.lru_cache(maxsize=32)
def _model(path: Path, sizes: Sizes) -> Model:
    return load(path, sizes)


@functools.lru_cache(maxsize=4)
def _rules(setting: Setting) -> RuleSet:
    return load_rules(setting.rules, setting.precision, goal=setting.goal)


def planned(
    model: Model, rules: RuleSet, setting: Setting
) -> tuple[Plan, list[Saturated]]:
    """The plan for a model, and what saturation found for each distinct piece."""
    saturate = recorder(rules)
    price, moves = cost_for(pick_device(setting.device)), MOVES[setting.effort]
    chosen = plan(model.graph, saturate, price, moves=moves, hints=model.hints)
    return chosen, saturate.found


type _Base = tuple[Path, str, Setting]


def _measure(task: _Base) -> ModelCover:
    path, name, setting = task
    model, rules = _model(path, setting.sizes), _rules(setting)
    chosen, result = planned(model, rules, setting)
    pieces = tuple(
        PieceCover(k, part.uses, part.seconds, s.enodes, dict(part.fired),
                   frozenset(explained_part(part, rules).rules))
        for k, (part, s) in enumerate(zip(chosen.parts, result, strict=True))
    )  # fmt: skip
    spent: dict[str, float] = {}
    for s in result:
        for rule, t in s.seconds.items():
            spent[rule] = spent.get(rule, 0.0) + t
    return ModelCover(
        name, len(model.graph.live), bool(model.graph.symbols), chosen.seconds,
        sum(s.enodes for s in result),
        tuple(sorted({s.stopped for s in result if s.stopped})), chosen.fired,
        frozenset[str]().union(*(p.used for p in pieces)), spent, pieces,
    )  # fmt: skip


# ---- again, without a rule -----------------------------------------------------------


@dataclass(frozen=True)
class _Where:
    """A model in which a rule matches, and the pieces in which it does so."""

    path: Path
    name: str
    pieces: tuple[tuple[PieceCover, bool], ...]  # and whether they use it


@dataclass(frozen=True)
class _Task:
    """A rule, and all models that it matches in: without it, the engine has the others
    to load once."""

    rule: str
    setting: Setting
    models: tuple[_Where, ...]


def _tasks(
    base: Sequence[_Base], models: Sequence[ModelCover], wanted: Callable[[str], bool]
) -> list[_Task]:
    matched = sorted({r for m in models for r in m.matches if wanted(r)})
    return [
        _Task(rule, base[0][2], tuple(
            _Where(path, m.name, tuple(
                # What it says of other rules need not cross to the other process.
                (replace(p, matches={}, used=frozenset()), rule in p.used)
                for p in m.pieces
                if p.matches.get(rule)
            ))
            for (path, _, _), m in zip(base, models, strict=True)
            if rule in m.matches
        ))
        for rule in matched
    ]  # fmt: skip


@functools.lru_cache(maxsize=32)
def _cuts(path: Path, setting: Setting) -> Cuts:
    model = _model(path, setting.sizes)
    return cut(model.graph, _rules(setting), model.hints)


def _without(task: _Task) -> list[Without]:
    rules = _rules(task.setting)
    saturate = recorder(rules.only(rules.on - {task.rule}))
    return [_changed(task, where, saturate) for where in task.models]


def _changed(task: _Task, where: _Where, saturate: Recorder) -> Without:
    """Only pieces where the rule matches are saturated again, and of those only such as
    use it are planned again."""
    model = _model(where.path, task.setting.sizes)
    cuts = _cuts(where.path, task.setting)
    price = cost_for(pick_device(task.setting.device))
    moves = MOVES[task.setting.effort]
    enodes, seconds = 0, 0.0
    for old, used in where.pieces:
        piece = cuts.pieces[old.number]
        if used:
            known = piece.nan_free, piece.constant
            problem = Problem.of(piece.before, *known, model.hints)
            part = part_of(problem, (Level(saturate, price),), moves)
            seconds += old.uses * (part.seconds - old.seconds)
        else:
            saturate(piece.graph, bool(piece.before.symbols), piece.nan_free)
        enodes += old.enodes - saturate.found.pop().enodes
    is_used = any(used for _, used in where.pieces)
    return Without(where.name, task.rule, enodes, seconds if is_used else None)


def _row(
    rule: Rule, models: Sequence[ModelCover], again: Sequence[Without], fast: bool
) -> RuleCover:
    name = rule.name
    with_it = {m.name: m for m in models}
    mine = [w for w in again if w.rule == name]
    change = tuple(
        (w.model, w.seconds / with_it[w.model].seconds)
        for w in mine
        if w.seconds is not None
    )
    return RuleCover(
        name, f"{rule.place.file}:{rule.place.line}", rule.contract,
        reads_sizes(rule),
        tuple(m.name for m in models if m.matches.get(name)),
        tuple(m.name for m in models if name in m.used),
        sum(m.matches.get(name, 0) for m in models),
        sum(m.spent.get(name, 0.0) for m in models),
        None if fast else change,
        None if fast else sum(w.enodes for w in mine),
    )  # fmt: skip
