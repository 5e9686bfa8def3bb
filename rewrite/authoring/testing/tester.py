"""Testing rules: their examples, what they make of samples, the premises they need."""

from __future__ import annotations

import functools
import hashlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rewrite.egraph.judge.examples import run_examples
from rewrite.egraph.judge.sound import COUNT, Sampled, sample
from rewrite.egraph.judge.terms import Undrawn
from rewrite.egraph.rules.rulefile import (
    RuleFile,
    RuleFileError,
    RuleSet,
    check,
    read_text,
)
from rewrite.egraph.rules.ruleset import Rule
from rewrite.egraph.rules.tables import composite_rules
from rewrite.egraph.saturate.engine import Engine

from ..lint.findings import Finding
from ..lint.reading import read_source
from ..parallel import each
from ..rule_files import places
from .counterexample import Counterexample, told
from .needless import needless
from .refused import RefusedReport, judge_refused
from .shrink import Broken, shrink
from .suggest import premise_for

# What the linter finds in a file that cannot be read as it stands.
READ = ("invalid", "unnamed", "duplicate-name", "name-style", "contract", "bare-left")
COMPOSITES = "composites"  # rules that the tables make
FEW = 4  # rules that are tested sooner than another process has started
NEEDED = 8  # samples that must meet the premises, in each direction
MORE = 4  # rounds of sampling until that many have


@dataclass(frozen=True)
class Problem:
    """An example that lies, or premises that are never met."""

    place: str
    message: str


@dataclass(frozen=True)
class RuleReport:
    """What testing one rule showed."""

    name: str
    file: str
    line: int
    contract: str
    examples: int
    samples: int
    fired: int
    problems: tuple[Problem, ...]
    warnings: tuple[str, ...]
    counterexample: Counterexample | None

    @property
    def failed(self) -> bool:
        return bool(self.problems) or self.counterexample is not None


@dataclass(frozen=True)
class Report:
    rules: tuple[RuleReport, ...]
    refused: tuple[RefusedReport, ...]
    unread: tuple[str, ...] = ()  # files that could not be read, and why

    @property
    def failed(self) -> int:
        idle = sum(r.shown is None for r in self.refused)
        return sum(r.failed for r in self.rules) + idle


@dataclass(frozen=True)
class Source:
    """A rule file as it stood when it was asked for."""

    path: str | None  # None: made from the tables
    name: str  # what messages call it
    digest: str = ""  # of its text: what is read of it is kept by this
    asked: bool = False  # its rules are to be tested


@dataclass(frozen=True)
class Asked:
    """The files that take part, in order, and the names of those to be tested."""

    sources: tuple[Source, ...]
    names: frozenset[str]
    unread: tuple[str, ...] = ()  # why others are not among them


# ---- files ---------------------------------------------------------------------------


def asked(paths: Sequence[Path]) -> Asked:
    """What to load for some files and folders."""
    result = places(paths)
    library: list[Source] = []
    others: list[Source] = []
    unread: list[str] = []
    for p in result:
        try:
            digest = _digest(read_text(p.at, p.shown))
        except RuleFileError as e:
            if not p.may_fail:
                raise
            unread.append(str(e))
            continue
        source = Source(str(p.at), p.shown, digest, p.may_fail)
        (library if p.bundled else others).append(source)
    library.append(Source(None, COMPOSITES))
    names = {p.shown for p in result if p.asked}
    if any(p.asked and p.bundled for p in result):
        names.add(COMPOSITES)
    return Asked((*library, *others), frozenset(names), tuple(unread))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def rules_of(sources: tuple[Source, ...]) -> RuleSet:
    """All rules of the files, whatever their contract."""
    return _read(sources).rules


def unread(sources: tuple[Source, ...]) -> tuple[Finding, ...]:
    """The examples that cannot be read: their rules are tested without them."""
    return _read(sources).examples


def broken(what: Asked) -> tuple[str, ...]:
    """The errors of files that were asked for and cannot be read: the others go on.  A
    `RuleFileError` where that is each of them."""
    result = _read(what.sources)
    errors = (*what.unread, *result.broken)
    if errors and not any(f.name in what.names for f in result.rules.files):
        raise RuleFileError("\n".join(errors))
    return errors


class _Files(NamedTuple):
    """What was read of files."""

    rules: RuleSet
    examples: tuple[Finding, ...]  # that cannot be read
    broken: tuple[str, ...]  # errors of whole files


@functools.lru_cache(maxsize=2)
def _read(sources: tuple[Source, ...]) -> _Files:
    end = 1 + next(i for i, s in enumerate(sources) if s.path is None)
    return _after(_library(sources[:end]), sources[end:])


@functools.lru_cache(maxsize=2)
def _library(sources: tuple[Source, ...]) -> _Files:
    """Read once, whatever is read after it."""
    return _after(_Files(RuleSet((), frozenset(), "fast"), (), ()), sources)


def _after(before: _Files, sources: tuple[Source, ...]) -> _Files:
    files: list[RuleFile] = [*before.rules.files]
    lost, errors = [*before.examples], [*before.broken]
    for s in sources:
        text = _text(s)
        try:
            file, examples = _checked(text, s.name, files)
        except RuleFileError as e:
            if not s.asked:
                raise
            errors.append(str(e))
            continue
        files.append(file)
        lost += examples
    on = frozenset(r.name for f in files for r in f.rules)
    return _Files(RuleSet(tuple(files), on, "fast"), tuple(lost), tuple(errors))


def _checked(
    text: str, name: str, before: Sequence[RuleFile]
) -> tuple[RuleFile, list[Finding]]:
    """A file, and its examples that cannot be read."""
    try:
        return check(text, name, before, core=not before), []
    except RuleFileError:
        result = read_source(text, name, before, core=not before)
        examples = [f for f in result.findings if f.code == "example"]
        worse = [f for f in result.findings if f.code in READ]
        if worse or not examples:
            raise
        return result.file, examples


def _text(source: Source) -> str:
    if source.path is None:
        return composite_rules()
    text = read_text(Path(source.path), source.name)
    if _digest(text) != source.digest:
        raise RuleFileError(f"{source.name}: it changed while it was read; run again")
    return text


# ---- one rule ------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    sources: tuple[Source, ...]
    rule: str
    seed: int
    count: int
    again: str  # the command line that would repeat it


def test_rule(task: Task, engine: Engine | None = None) -> RuleReport:
    """Examples, samples and premises of one rule."""
    rules = rules_of(task.sources)
    rule = rules.rule(task.rule)
    failures = run_examples(rule, rules, engine)
    problems = [
        Problem(str(f.place), f"cannot be read: {f.message}; {f.fix}")
        for f in unread(task.sources)
        if f.rule == rule.name
    ]
    problems += [Problem(str(f.example.place), f.reason) for f in failures]
    try:
        result, rounds = _sampled(rule, rules, task, engine)
    except Undrawn as e:
        problems.append(Problem(str(rule.place), str(e)))
        return _report(rule, problems, [], 0, 0, None)
    fired = sum(len({p.source for p in f.pairs}) for f in rounds)
    wrong: Counterexample | None = None
    warnings: list[str] = []
    if result.faults:
        wrong = _counterexample(rule, rules, result, task, engine)
    else:
        problems += _never_met(rule, rounds)
        warnings = [
            f"premise {rule.when[i]} may be unneeded: without it nothing breaks"
            for i in needless(rule, rules, task.seed, engine)
        ]
    drawn = sum(f.drawn for f in rounds)
    return _report(rule, problems, warnings, drawn, fired, wrong)


def _report(
    rule: Rule, problems: Sequence[Problem], warnings: Sequence[str], drawn: int,
    fired: int, wrong: Counterexample | None,
) -> RuleReport:  # fmt: skip
    return RuleReport(
        rule.name, rule.place.file, rule.place.line, rule.contract,
        len(rule.fires) + len(rule.skips), drawn, fired,
        tuple(problems), tuple(warnings), wrong,
    )  # fmt: skip


def _sampled(
    rule: Rule, rules: RuleSet, task: Task, engine: Engine | None
) -> tuple[Sampled, list[Sampled]]:
    """Rounds of samples, until something is wrong or enough have met the premises."""
    rounds: list[Sampled] = []
    for k in range(MORE):
        # The first round is the one that `sample_rule` takes.
        mark = f":{k}" if k else ""
        rng = random.Random(f"{rule.name}:{task.seed}{mark}")
        seed = task.seed + k
        rounds.append(sample(rule, rules, rng, task.count, seed=seed, engine=engine))
        if rounds[-1].faults or not _lacking(rule, rounds):
            break
    return rounds[-1], rounds


def _lacking(rule: Rule, rounds: Sequence[Sampled]) -> list[str]:
    ways = [(True, "forwards"), (False, "backwards")] if rule.both else [(True, "")]
    fired = {way: sum(r.fired(way) for r in rounds) for way, _ in ways}
    return [
        f"{word} {fired[way]} times".strip()
        for way, word in ways
        if fired[way] < NEEDED
    ]


def _never_met(rule: Rule, rounds: Sequence[Sampled]) -> list[Problem]:
    drawn = sum(r.drawn for r in rounds)
    return [
        Problem(
            str(rule.place),
            f"its premises are hardly ever met: it fired {lack} on {drawn} instances, "
            f"{NEEDED} are needed; loosen a premise, or it shows nothing",
        )
        for lack in _lacking(rule, rounds)
    ]


def _counterexample(
    rule: Rule, rules: RuleSet, found: Sampled, task: Task, engine: Engine | None
) -> Counterexample:
    first = Broken(found.graph, found.first)
    premise = premise_for(rule, rules, found, engine)
    small = shrink(rule, rules, first, task.seed, engine)
    return told(rule, small, task.again, premise)


@dataclass(frozen=True)
class RefusedTask:
    """A refused law of a file, by number."""

    sources: tuple[Source, ...]
    file: str
    number: int
    seed: int


# ---- all of them ---------------------------------------------------------------------


def test_rules(
    files: Sequence[Path], *, only: str = "", seed: int = 0, count: int = COUNT,
    jobs: int = 2, progress: Callable[[int, int], None] = lambda done, of: None,
) -> Report:  # fmt: skip
    """Tests the rules of files and folders, or the bundled ones; `only` those whose
    name holds that text."""
    what = asked(files)
    lost = broken(what)
    rules = rules_of(what.sources)
    mine = [f for f in rules.files if f.name in what.names]
    named = [r for f in mine for r in f.rules if only in r.name]
    if only and not named:
        why = f"-k {only}: no rule of these files has that in its name"
        raise RuleFileError("\n".join((why, *lost)))
    words = " ".join(map(str, files))
    tasks: list[Task | RefusedTask] = [
        Task(what.sources, r.name, seed, count, _again(words, r.name, seed, count))
        for r in named
    ]
    laws = (
        [(f.name, k) for f in mine for k in range(len(f.refused))] if not only else []
    )
    tasks += [RefusedTask(what.sources, name, k, seed) for name, k in laws]
    result = each(_tested, tasks, jobs if len(tasks) > FEW else 1, progress)
    return Report(
        tuple(r for r in result if isinstance(r, RuleReport)),
        tuple(r for r in result if isinstance(r, RefusedReport)),
        lost,
    )


def _tested(task: Task | RefusedTask) -> RuleReport | RefusedReport:
    if isinstance(task, Task):
        return test_rule(task)
    rules = rules_of(task.sources)
    file = next(f for f in rules.files if f.name == task.file)
    return judge_refused(file.refused[task.number], rules, task.seed)


def _again(files: str, name: str, seed: int, count: int) -> str:
    parts = ["rewrite test", files, f"-k {name} --seed {seed}"]
    parts += [f"--count {count}"] if count != COUNT else []
    return " ".join(p for p in parts if p)


__all__ = [
    "Asked", "Report", "RuleReport", "asked", "broken", "rules_of", "test_rules",
]  # fmt: skip
