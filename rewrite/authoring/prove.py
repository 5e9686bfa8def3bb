"""Proofs of the rules of files: in worker processes, kept on disk between runs.

A verdict is kept under a hash of all it depends on: the rule, the primitives and tables
it may read, the sources that give ops and proofs their meaning, the solver's version
and the limits.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rewrite.backends.store import Store, digest, store
from rewrite.egraph.rules.ruleset import Rule

from .parallel import each
from .smt.meaning.conditions import solver
from .smt.meaning.language import Library
from .smt.samples import sampled
from .smt.verdict import Limits, Verdict, judge
from .testing import Source, asked, broken, rules_of

DEFAULT = Limits()


@dataclass(frozen=True)
class RuleProof:
    """A rule of a file and what can be said of it."""

    file: str
    line: int
    contract: str
    verdict: Verdict
    kept: bool = False  # read from the cache

    @property
    def name(self) -> str:
        return self.verdict.rule


@dataclass(frozen=True)
class Report:
    rules: tuple[RuleProof, ...]
    unread: tuple[str, ...] = ()  # files that could not be read, and why

    def count(self, status: str) -> int:
        return sum(r.verdict.status == status for r in self.rules)

    @property
    def refuted(self) -> tuple[RuleProof, ...]:
        return tuple(r for r in self.rules if r.verdict.status == "refuted")


@dataclass(frozen=True)
class _Task:
    sources: tuple[Source, ...]
    rule: str
    limits: Limits
    cache: str | None


def prove_rules(
    paths: Sequence[Path] = (), only: str = "", limits: Limits = DEFAULT, *,
    jobs: int = 2, cache: Path | None = None,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Report:  # fmt: skip
    """Proves the rules of files and folders, the bundled ones where none are named."""
    solver()  # an error about it is better here than in a worker
    what = asked(paths)
    lost = broken(what)
    rules = rules_of(what.sources)
    wanted = [r for r in rules.rules if r.place.file in what.names and only in r.name]
    kept = {
        r.name: result
        for r in wanted
        if (result := _read(what.sources, r, limits, cache))
    }
    todo = sorted((r for r in wanted if r.name not in kept), key=_weight, reverse=True)
    shown = None if cache is None else str(cache)
    tasks = [_Task(what.sources, r.name, limits, shown) for r in todo]
    made = dict(
        zip((r.name for r in todo), each(_run, tasks, jobs, progress), strict=True)
    )
    return Report(
        tuple(
            RuleProof(
                r.place.file, r.place.line, r.promise,
                kept.get(r.name) or made[r.name], r.name in kept,
            )
            for r in wanted
        ),
        lost,
    )  # fmt: skip


def _weight(rule: Rule) -> int:
    """Long rules first, so that no worker is left alone with one at the end."""
    return (
        len(str(rule.left)) + len(str(rule.right)) + sum(map(len, map(str, rule.when)))
    )


def _run(task: _Task) -> Verdict:
    rules = rules_of(task.sources)
    rule = rules.rule(task.rule)
    verdict = sampled(judge(rule, _library(task.sources), task.limits), rule, rules)
    if task.cache is not None:
        key = _key(task.sources, rule, task.limits)
        Store(Path(task.cache)).write(key, json.dumps(verdict.to_json()).encode())
    return verdict


@functools.lru_cache(maxsize=2)
def _library(sources: tuple[Source, ...]) -> Library:
    return Library.of(rules_of(sources))


# ---- the cache -----------------------------------------------------------------------


def cache_folder() -> Path | None:
    """Where proofs are kept: in the user's cache folder, if it is not switched off."""
    return store("proofs").folder


def _key(sources: tuple[Source, ...], rule: Rule, limits: Limits) -> str:
    text = " ".join(map(str, (rule.left, rule.right, rule.both, *rule.when)))
    context, bounds = _context(sources), str(asdict(limits))
    return digest(rule.name, rule.promise, text, context, bounds)


@functools.lru_cache(maxsize=2)
def _context(sources: tuple[Source, ...]) -> str:
    """A hash of all that verdicts depend on beside their rule."""
    library = _library(sources)
    result = hashlib.sha256(importlib.metadata.version("z3-solver").encode())
    for name, body in sorted(library.primitives.items()):
        result.update(f"{name} {body}\n".encode())
    for name, rows in sorted(library.rows.items()):
        result.update(f"{name} {rows}\n".encode())
    for path in _meaning():
        result.update(path.read_bytes())
    return result.hexdigest()


def _meaning() -> list[Path]:
    """The files that give ops and primitives their meaning, here and in `smt/`."""
    from rewrite.egraph.ir import ops
    from rewrite.egraph.rules import tables

    folders = (
        Path(__file__).parent / "smt",
        Path(ops.__file__).parent,
    )
    result = [p for folder in folders for p in sorted(folder.rglob("*.py"))]
    return [*result, Path(tables.__file__)]


def _read(
    sources: tuple[Source, ...], rule: Rule, limits: Limits, cache: Path | None
) -> Verdict | None:
    data = Store(cache).read(_key(sources, rule, limits))
    return None if data is None else Verdict.of_json(json.loads(data))
