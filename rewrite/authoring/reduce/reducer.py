"""A failing model and its rules, cut down to the little that still fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rewrite.egraph.ir.evaluate import InputError
from rewrite.egraph.ir.graph import Graph, GraphError
from rewrite.egraph.ir.scalars import Array
from rewrite.egraph.ir.text import show
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.rules.ruleset import Rule, RuleSet
from rewrite.fuzz.oracle import random_inputs
from rewrite.fuzz.shrink import Case, minimal, part, shrink

from .failures import Failure, Oracle, Trial
from .rule_text import bare, together

SEEDS = 3  # draws of the inputs before a model passes for right

type Progress = Callable[[str, int], None]


class Flaky(RuntimeError):
    """A failure that comes and goes."""


@dataclass(frozen=True)
class Reduced:
    """The smallest case, the failure it shows, and what it needs."""

    case: Case
    failure: Failure
    before: Graph
    needed: tuple[Rule, ...]  # without any one of them it does not fail
    alone: bool  # whether no other rule may be on for it to fail
    seed: int | None  # that draws inputs on which it fails; None: `case.inputs` needed
    tries: int

    @property
    def computing(self) -> int:
        return len(self.case.computing)


@dataclass
class _Counter:
    """An oracle that counts, and that takes another failure for none."""

    oracle: Oracle
    progress: Progress
    wanted: Failure | None = None
    last: Failure | None = None
    count: int = 0

    def __call__(self, case: Case, trial: Trial) -> bool:
        self.count += 1
        result = self.oracle(case, trial)
        size = len(case.computing)
        if result is None or (self.wanted is not None and not self.wanted.same(result)):
            return False
        self.last = result
        self.progress(f"{size} nodes fail", self.count)
        return True


def reduce(
    graph: Graph, rules: RuleSet, oracle: Oracle, *, inputs: Mapping[str, Array] | None,
    hints: Mapping[str, int], files: Sequence[Path], bundled: bool,
    seed: int = 0, progress: Progress = lambda what, tries: None,
) -> Reduced | None:  # fmt: skip
    """The smallest case found; None where nothing fails.

    `bundled` says whether the oracle can do without bundled rules.
    """
    fails, trial = _Counter(oracle, progress), Trial(tuple(files), rules.on)
    first = _first(graph, fails, trial, inputs, hints, seed)
    if first is None:
        return None
    case = _without_calls(first, fails, trial)
    while True:
        size = len(case.computing), len(trial.on or ())
        case = shrink(case, lambda c, t=trial: fails(c, t))
        trial = _fewer_rules(case, rules, fails, trial, bundled)
        if (len(case.computing), len(trial.on or ())) >= size:
            break
    return _result(graph, case, rules, fails, trial, seed)


def _first(
    graph: Graph, fails: _Counter, trial: Trial,
    inputs: Mapping[str, Array] | None, hints: Mapping[str, int], seed: int,
) -> Case | None:  # fmt: skip
    """The whole graph with inputs on which it fails."""
    if inputs is not None:
        missing = sorted({n.attrs[0] for n in graph.inputs} - inputs.keys())
        if missing:
            raise InputError(f"no value is given for the input {missing[0]!r}")
    for k in range(1 if inputs is not None else SEEDS):
        given = inputs or random_inputs(graph, seed + k, "smooth", hints)
        if fails(case := Case(graph, given), trial):
            fails.wanted = fails.last
            return case
    return None


def _without_calls(case: Case, fails: _Counter, trial: Trial) -> Case:
    """What host functions compute is given as inputs: only Python knows them."""
    from rewrite.fuzz.shrink import values_of

    nodes = case.graph.nodes
    keep = frozenset(i for i in case.computing if nodes[i].op != "call")
    if len(keep) == len(case.computing):
        return case
    cut = part(case, keep, values_of(case))
    if fails(cut, trial):
        return cut
    raise GraphError(
        f"{case.graph.name}: it fails only together with its host functions, which no "
        "file can hold; reduce the model that calls them"
    )


def _fewer_rules(
    case: Case, rules: RuleSet, fails: _Counter, trial: Trial, bundled: bool
) -> Trial:
    """First the user's rules, then the bundled ones, as few as it takes."""
    on = trial.on if trial.on is not None else rules.on
    theirs = {r.name for r in rules.foreign}
    for mine in (on & theirs, on - theirs if bundled else frozenset[str]()):
        rest = on - mine
        if not mine:
            continue
        if fails(case, replace(trial, on=rest)):
            on = rest
            continue
        names = [r.name for r in rules.rules if r.name in mine]
        kept = minimal(names, lambda some, rest=rest: fails(
            case, replace(trial, on=rest.union(some))))  # fmt: skip
        on = rest.union(kept)
    return replace(trial, on=on)


def _result(
    graph: Graph, case: Case, rules: RuleSet, fails: _Counter, trial: Trial, seed: int
) -> Reduced:
    on = trial.on if trial.on is not None else rules.on
    theirs = {r.name for r in rules.foreign}
    every = rules.on - theirs  # all bundled rules, and of the user's the needed ones
    alone = not fails(case, replace(trial, on=every | (on & theirs)))
    shown = trial if alone else replace(trial, on=every | (on & theirs))
    result: int | None = None
    for k in range(SEEDS):
        if case.graph.symbols:
            break
        if fails(
            Case(case.graph, random_inputs(case.graph, seed + k, "smooth")), shown
        ):
            result = seed + k
            break
    # Once more, for the message that goes with what is reported.
    if not fails(case, trial) or fails.last is None:
        raise Flaky(
            f"{graph.name}: what failed a moment ago does not fail now; the failure "
            "comes and goes, so it cannot be reduced (races, uninitialised memory?)"
        )
    needed = tuple(r for r in rules.rules if r.name in on)
    return Reduced(case, fails.last, graph, needed, alone, result, fails.count)


# ---- the report ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Asking:
    """What was asked on the command line, as the report must repeat it."""

    options: tuple[str, ...]  # --device c, …
    check: str | None
    files: tuple[Path, ...]


def write(found: Reduced, folder: Path, name: str, asking: Asking) -> tuple[Path, ...]:
    """A graph, its rules, inputs where they matter, and a page with what to type."""
    import numpy as np

    folder.mkdir(parents=True, exist_ok=True)
    graph, egg = folder / f"{name}.graph", folder / f"{name}.egg"
    graph.write_text(show(found.case.graph, inline=1 << 30), encoding="utf-8")
    written, words = [graph], ["rewrite", "reduce", graph.name]
    theirs = _theirs(found, asking.files)
    if theirs:
        text = bare(together(asking.files, {r.name for r in theirs}), egg.name)
        egg.write_text(text, encoding="utf-8")
        written.append(egg)
        words += ["--rules", egg.name]
    if asking.check is not None:
        words += ["--check", f'"{asking.check}"']
    elif found.seed is None:
        values = folder / f"{name}.npz"
        np.savez(values, allow_pickle=False, **dict(found.case.inputs))
        written.append(values)
        words += ["--inputs", values.name]
    elif found.seed:
        words += ["--seed", str(found.seed)]
    if found.alone:
        words += [w for r in found.needed for w in ("--only", r.name)]
    command = " ".join([*words, *asking.options])
    readme = folder / "README.md"
    readme.write_text(_page(found, name, command, theirs), encoding="utf-8")
    return (*written, readme)


def _theirs(found: Reduced, files: Sequence[Path]) -> tuple[Rule, ...]:
    mine = set(map(str, files))
    return tuple(r for r in found.needed if r.place.file in mine)


def _page(found: Reduced, name: str, command: str, theirs: Sequence[Rule]) -> str:
    computing = len(Case(found.before).computing)
    bundled = [r for r in found.needed if r not in theirs]
    lines = [
        f"# {name}: {found.failure}", "",
        f"{found.computing} of {computing} nodes are left, and "
        f"{len(found.needed)} rules without which it does not fail.", "",
        "```", f"$ {command}", "```", "",
        "```", show(found.case.graph, inline=64).rstrip(), "```", "",
    ]  # fmt: skip
    for title, rules in (("Rules of the file", theirs), ("Bundled rules", bundled)):
        if rules:
            lines += [f"{title}:", "", *(f"- `{r.name}` {r.place}" for r in rules), ""]
    if not found.needed:
        lines += ["No rule is needed: the schedule or the kernels are at fault.", ""]
    return "\n".join(lines)


def rules_for(
    files: Sequence[Path], precision: str, only: Sequence[str] | None
) -> RuleSet:
    """All rules that the precision allows, or of them those named."""
    rules = load_rules(files, precision)  # type: ignore[arg-type]
    return rules if only is None else rules.only(only)
