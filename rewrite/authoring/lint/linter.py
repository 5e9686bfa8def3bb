"""`rewrite lint`: what is wrong with rule files, all of it in one run."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rewrite.egraph.rules.rulefile import RuleFileError, read_text
from rewrite.egraph.rules.ruleset import Rule, RuleFile, RuleSet
from rewrite.egraph.rules.sexpr import Place
from rewrite.egraph.rules.tables import composite_rules
from rewrite.egraph.rules.whitelist import check
from rewrite.egraph.saturate.engine import shared

from ..parallel import each
from ..rule_files import places
from .closure import Library, back_door, derivable
from .findings import CODES, Finding
from .hazards import hazards
from .pairs import both_ways, refused, shadowed
from .patterns import tables_of
from .reading import Source, read_source
from .trials import Bench, trials

type Progress = Callable[[int, int], None]  # how much is done, of how much
SHARE = 8  # rules that a worker takes at a time


@dataclass(frozen=True)
class Report:
    """What was looked at and what was found, by place."""

    files: tuple[str, ...]
    rules: int
    findings: tuple[Finding, ...]
    unread: tuple[str, ...] = ()  # files that could not be read, and why

    @property
    def errors(self) -> int:
        return sum(f.severity == "error" for f in self.findings)

    @property
    def warnings(self) -> int:
        return len(self.findings) - self.errors


def lint(
    paths: Sequence[Path] = (), jobs: int = 2, progress: Progress | None = None
) -> Report:
    """Looks at rule files and at folders of them; without any, at the bundled ones."""
    _desk.cache_clear()  # files may have changed since the last look
    desk = _desk(tuple(paths))
    asked = desk.asked
    if desk.unread and not asked:
        raise RuleFileError("\n".join(desk.unread))
    result = [f for s in asked for f in s.findings]
    result += _empty(asked)
    result += _judged(tuple(paths), asked, jobs, progress or (lambda done, of: None))
    kept = [f for f in result if not _allowed(f, asked)]
    kept += _idle(result, asked)
    order = {s.file.name: i for i, s in enumerate(asked)}
    codes = list(CODES)
    kept.sort(key=lambda f: (
        order[f.place.file], f.place.line, f.place.column, codes.index(f.code)
    ))  # fmt: skip
    rules = sum(len(s.rules) for s in asked)
    return Report(tuple(order), rules, tuple(dict.fromkeys(kept)), desk.unread)


# ---- files ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Desk:
    """Files as read: those asked for, and all that take part, the library's before any
    others; and the errors of those that cannot be read."""

    asked: tuple[Source, ...]
    files: tuple[RuleFile, ...]
    unread: tuple[str, ...]


@functools.cache
def _desk(paths: tuple[Path, ...]) -> _Desk:
    """Once for each process: the workers read the files themselves."""
    asked: list[Source] = []
    files: list[RuleFile] = []
    unread: list[str] = []
    result = places(paths)
    last = sum(p.bundled for p in result)
    for i, p in enumerate(result):
        try:
            text = read_text(p.at, p.shown)
            source = read_source(text, p.shown, files, core=not files)
        except RuleFileError as e:
            if not p.may_fail:
                raise
            unread.append(str(e))
        else:
            files.append(source.file)
            asked += [source] if p.asked else []
        whole = any("fusion" in f.rulesets for f in files)  # where those rules belong
        if i + 1 == last and whole:
            files.append(check(composite_rules(), "composites", files))
    return _Desk(tuple(asked), tuple(files), tuple(unread))


# ---- findings ------------------------------------------------------------------------


@dataclass(frozen=True)
class _Task:
    """Some rules to look at; `wrong`, where known, take no part."""

    paths: tuple[Path, ...]
    rules: tuple[str, ...]
    wrong: frozenset[str] | None = None


def _judged(
    paths: tuple[Path, ...], asked: Sequence[Source], jobs: int, progress: Progress
) -> list[Finding]:
    """Each rule alone, then each among those that are sound."""
    names = [r.name for s in asked for r in s.rules]
    shares = [tuple(names[i : i + SHARE]) for i in range(0, len(names), SHARE)]
    half = max(1, len(shares))

    def first(done: int, _: int) -> None:
        progress(done, 2 * half)

    def second(done: int, _: int) -> None:
        progress(half + done, 2 * half)

    tasks = [_Task(paths, share) for share in shares]
    result = [f for part in each(_by_themselves, tasks, jobs, first) for f in part]
    fatal = ("invalid", "types", "unbound")
    wrong = frozenset(f.rule for f in result if f.code in fatal)
    tasks = [_Task(paths, share, wrong) for share in shares]
    result += [f for part in each(_together, tasks, jobs, second) for f in part]
    return result + list(_back_doors(asked, _library(paths, wrong)))


def _by_themselves(task: _Task) -> list[Finding]:
    desk = _desk(task.paths)
    bench = Bench(RuleSet(desk.files, frozenset()), shared())
    out: list[Finding] = []
    for source, rule in _chosen(desk, task):
        said = source.allowed.get(rule.name)
        out += _alone(rule, desk.files)
        out += trials(rule, bench, said[1] if said else ())
    return out


def _together(task: _Task) -> list[Finding]:
    wrong = task.wrong or frozenset()
    library = _library(task.paths, wrong)
    chosen = (r for _, r in _chosen(_desk(task.paths), task) if r.name not in wrong)
    return [f for rule in chosen for f in derivable(rule, library)]


def _chosen(desk: _Desk, task: _Task) -> list[tuple[Source, Rule]]:
    return [(s, r) for s in desk.asked for r in s.rules if r.name in task.rules]


def _library(paths: tuple[Path, ...], wrong: frozenset[str]) -> Library:
    return Library.of(_desk(paths).files, shared(), wrong)


def _back_doors(asked: Sequence[Source], library: Library) -> Iterator[Finding]:
    for source in asked:
        for law in source.file.refused:
            yield from back_door(law, library)


def _alone(rule: Rule, files: Sequence[RuleFile]) -> Iterator[Finding]:
    """What the text of a rule and of those around it shows."""
    others = [r for f in files for r in f.rules]
    explosive = any(rule.ruleset in f.explosive for f in files)
    yield from hazards(rule, tables_of(files), explosive)
    yield from shadowed(rule, others)
    yield from both_ways(rule, others)
    yield from refused(rule, [law for f in files for law in f.refused])


# ---- what is allowed -----------------------------------------------------------------


def _allowed(finding: Finding, asked: Sequence[Source]) -> bool:
    """Whether the file says, with a reason, that this is right by design."""
    said = (s.allowed.get(finding.rule) for s in asked)
    return any(finding.code in codes for _, codes in filter(None, said))


def _empty(asked: Sequence[Source]) -> Iterator[Finding]:
    for source in asked:
        if not (source.file.forms or source.file.refused or source.findings):
            yield Finding(
                Place(source.file.name, 1, 1), "empty", "", "no rule in this file",
                "write one, or name another file",
            )  # fmt: skip


def _idle(found: Sequence[Finding], asked: Sequence[Source]) -> Iterator[Finding]:
    """What a file allows although nothing of the kind is found."""
    seen = {(f.rule, f.code) for f in found}
    for source in asked:
        for rule, (place, codes) in source.allowed.items():
            for code in codes:
                if (rule, code) in seen:
                    continue
                known = (
                    "nothing to allow" if code in CODES else "no finding is called so"
                )
                yield Finding(
                    place, "allow", rule, f"{rule}: ';;@ allow {code}': {known}",
                    "take the line out",
                )  # fmt: skip
