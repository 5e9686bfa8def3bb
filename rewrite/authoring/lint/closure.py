"""Findings that only many rules together show: laws that the others derive, refused
laws that come in by the back door.

One e-graph base holds every rule in a ruleset of its own; what takes part in a question
is a combined ruleset, so that no question loads any rule again.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace

from rewrite.egraph.ir.constructors import SIGNATURES
from rewrite.egraph.judge.examples import read
from rewrite.egraph.rules.ruleset import CONTRACTS, Example, Refused, Rule, RuleFile
from rewrite.egraph.rules.sexpr import RuleFileError
from rewrite.egraph.rules.tables import facts
from rewrite.egraph.saturate.clash import is_clash
from rewrite.egraph.saturate.encode import Encoded, Names, show
from rewrite.egraph.saturate.engine import Engine, EngineError, Session
from rewrite.egraph.saturate.explore import FACTS

from .findings import Finding
from .pairs import serves

STEPS = 12
ENODES = 1_500
OPERATORS = "operators.egg"


@dataclass(frozen=True)
class Library:
    """All rules, loaded once, each in a ruleset that its number names."""

    rules: tuple[Rule, ...]
    phases: tuple[str, ...]  # rulesets in order; those under back-off are left out
    sources: tuple[tuple[str, str], ...]
    engine: Engine

    @classmethod
    def of(
        cls, files: Sequence[RuleFile], engine: Engine, wrong: Container[str] = ()
    ) -> Library:
        """The rules of some files but for those that are known to be wrong."""
        explosive = {r for f in files for r in f.explosive}
        phases = [r for f in files for r in f.rulesets if r not in explosive]
        sound = (r for f in files for r in f.rules if r.name not in wrong)
        rules = tuple(r for r in sound if r.ruleset in phases)
        core, *rest = [(f.name, f.text(frozenset())) for f in files]
        text = "\n".join(_alone(i, r) for i, r in enumerate(rules))
        sources = (core, ("tables", facts()), *rest, ("rules", text))
        return cls(rules, tuple(p for p in phases if p != "facts"), sources, engine)

    def reaches(self, law: Example, chosen: Sequence[Rule]) -> list[str] | None:
        """The rules that fired, where the chosen ones make a right side of its left."""
        rows, left, right, given = read(law)
        assert right is not None
        text = Encoded(tuple(rows[: left + 1]), (), Names({})).text
        later = [f"(set (Node {i}) {show(r)})" for i, r in enumerate(rows) if i > left]
        fired = set[int]()
        with self.engine.session(self.sources) as session:
            session.run("\n".join([text, *given, f"(run-schedule {FACTS})"]), "law")
            step = self._step(session, chosen)
            for _ in range(STEPS):
                text = f"(run-schedule {step} {FACTS})"
                changed, matches, rows = session.step([text], SIGNATURES, ENODES)
                fired |= {_number(k) for k, n in matches.items() if n}
                session.run("\n".join(["(push)", *later]), "law")
                nodes = dict(session.tables(["Node"])["Node"])
                session.run("(pop)", "law")
                if nodes[left] == nodes[right]:
                    return [r.name for i, r in enumerate(self.rules) if i in fired]
                if not changed or rows > ENODES:
                    break
        return None

    def _step(self, session: Session, chosen: Sequence[Rule]) -> str:
        numbers = {r.name: i for i, r in enumerate(self.rules)}
        for p in self.phases:
            mine = [f"law-{numbers[r.name]}" for r in chosen if r.ruleset == p]
            session.run(
                f"(unstable-combined-ruleset phase-{p} {' '.join(mine)})", "law"
            )
        return " ".join(f"(run phase-{p})" for p in self.phases)

    def needed(self, law: Example, chosen: Sequence[Rule]) -> list[Rule] | None:
        """Of the chosen rules, some that suffice, none of which can be spared."""
        fired = self.reaches(law, chosen)
        if fired is None:
            return None
        kept = [r for r in chosen if r.name in fired]
        size = len(kept) // 2
        while size:
            for at in range(0, len(kept), size):
                fewer = [*kept[:at], *kept[at + size :]]
                if self.reaches(law, fewer) is not None:
                    kept = fewer
                    break
            else:
                size //= 2
        return kept


def _alone(i: int, rule: Rule) -> str:
    head = "birewrite" if rule.both else "rewrite"
    when = " ".join(map(str, rule.when))
    subsume = " :subsume" if rule.subsume else ""
    return (
        f"(ruleset law-{i})\n({head} {rule.left} {rule.right} :when ({when})"
        f' :ruleset law-{i} :name "law-{i}"{subsume})'
    )


def _number(label: str) -> int:
    """-1 for what is no rewrite of a file."""
    head, _, number = label.rstrip("<=>").partition("law-")
    return -1 if head else int(number)


def _goal(rule: Rule) -> bool:
    """Whether a rule is for the goal of library operators alone."""
    return rule.place.file.endswith(OPERATORS)


def derivable(rule: Rule, library: Library) -> Iterator[Finding]:
    """A law whose examples the other rules, on wherever it is, show."""
    if rule not in library.rules or not rule.fires:
        return
    others = [
        r for r in library.rules
        if r.name != rule.name and serves(r, rule) and (_goal(rule) or not _goal(r))
    ]  # fmt: skip
    needed: dict[str, Rule] = {}
    for example in rule.fires:
        if example.is_open:
            return
        for way in [example, _turned(example)] if rule.both else [example]:
            result = _needed(library, way, others)
            if result is None:
                return
            needed.update((r.name, r) for r in result)
    by = ", ".join(needed) or "congruence alone"
    yield Finding(
        rule.place, "derivable", rule.name,
        f"{rule.name}: {by} {'show' if len(needed) > 1 else 'shows'} its examples",
        "leave it out, or say ';;@ allow derivable ; why'",
    )  # fmt: skip


def _turned(example: Example) -> Example:
    assert example.right is not None
    return replace(example, left=example.right, right=example.left)


def _needed(
    library: Library, law: Example, others: Sequence[Rule]
) -> list[Rule] | None:
    try:
        return library.needed(law, others)
    except RuleFileError:
        return None  # an example that cannot be read: said by `trials`
    except EngineError as e:
        if not is_clash(e):
            raise
        return None  # another rule is wrong, and is found on its own


def back_door(law: Refused, library: Library) -> Iterator[Finding]:
    """A refused law that the rules of precision `default` show together."""
    chosen = [
        r for r in library.rules
        if r.contract in CONTRACTS["default"] and not _goal(r)
    ]  # fmt: skip
    example = Example(law.left, law.right, law.place)
    try:
        read(example)
    except RuleFileError as e:
        yield Finding(
            law.place, "invalid", "",
            f"this refused law cannot be read: {str(e).partition(': ')[2]}",
            "write it as an example",
        )  # fmt: skip
        return
    result = _needed(library, example, chosen)
    result = result or _needed(library, _turned(example), chosen)
    if result is not None:
        names = ", ".join(f"{r.name} ({r.place})" for r in result)
        yield Finding(
            law.place, "refused", "", f"this refused law follows from {names}",
            "add the premise that excludes the counterexample",
        )  # fmt: skip
