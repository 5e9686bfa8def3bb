"""Rules as data: equations with contracts, their files, and the rules of a run."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from ..ir.constructors import COMMON
from .reach import Way, deriving, reachable, rewriting
from .sexpr import Atom, Expr, Form, Place, heads, printed, spelled
from .tables import facts

type Precision = Literal["strict", "default", "fast", "unstable"]

# Relations on terms that analysis of the graph fills (egraph/saturate/facts.py); the
# rows take the inputs to be finite, so a rule that reads one is no bitwise law.
ANALYSED = frozenset(("nan-free",))
# Under `ieee` -0.0 may become 0.0, which a reciprocal or a bitcast tells apart: such a
# rule keeps its own value under ==, but not what is computed from it.
CONTRACTS: dict[Precision, frozenset[str]] = {
    "strict": frozenset(("bitwise",)),
    "default": frozenset(("bitwise", "ieee", "real")),
    "fast": frozenset(("bitwise", "ieee", "real", "approx")),
    "unstable": frozenset(("bitwise", "ieee", "real", "approx", "unstable")),
}
PRECISIONS = tuple(CONTRACTS)  # each allows what those before it do
KNOWN_CONTRACTS = ("bitwise", "ieee", "real", "approx", "unstable")


@dataclass(frozen=True, slots=True)
class Example:
    """`left` must become `right` (fires), or must not match (skips: right is None).

    `given` holds facts about tensors of the left side, as `(nan-free x)`.
    """

    left: Expr
    right: Expr | None
    place: Place
    given: tuple[Form, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether its right side is yet to be filled in: `TERM =>`, or `TERM => ?`."""
        return isinstance(self.right, Atom) and self.right.text == "?"


@dataclass(frozen=True, slots=True)
class Refused:
    """A law that must not be added: `left` is not `right`, and the counterexample."""

    left: Expr
    right: Expr
    because: str
    place: Place


class Told(Protocol):
    """An example as a comment tells it."""

    def read(self) -> Example: ...


@dataclass(frozen=True)
class Rule:
    """An equation between two patterns, with its premises and its contract."""

    name: str
    ruleset: str
    place: Place
    left: Expr
    right: Expr
    when: tuple[Expr, ...]
    both: bool  # birewrite
    subsume: bool  # the left side matches no more once the rule has fired
    contract: str
    doc: str
    told_to_fire: tuple[Told, ...]
    told_to_skip: tuple[Told, ...]
    any_size: bool = False  # holds for symbolic sizes although it reads one
    rtol: float | None = None  # what an approx rule promises, where it says so
    one_way: bool = False  # a real rule whose right side may be the more accurate one

    @functools.cached_property
    def fires(self) -> tuple[Example, ...]:
        return tuple(told.read() for told in self.told_to_fire)

    @functools.cached_property
    def skips(self) -> tuple[Example, ...]:
        return tuple(told.read() for told in self.told_to_skip)

    @property
    def promise(self) -> str:
        """The contract with all that qualifies it, as a rule file states it."""
        rtol = "" if self.rtol is None else f" {self.rtol}"
        return f"{self.contract}{rtol}{' one-way' * self.one_way}"


STATEMENTS = frozenset(("rewrite", "birewrite", "rule"))  # all else declares a name


@dataclass(frozen=True)
class RuleFile:
    """One file's forms, in order, and the rules among them."""

    name: str
    forms: tuple[Form, ...]
    rules: tuple[Rule, ...]
    rulesets: tuple[str, ...]
    explosive: frozenset[str]
    bundled: bool = False
    refused: tuple[Refused, ...] = ()

    def text(self, keep: frozenset[str]) -> str:
        """The engine's text: rules not in `keep` left out, all else at its place."""
        return printed(
            (form, text)
            for form, text, rule in self._spelled
            if rule is None or rule in keep
        )

    @property
    def ways(self) -> Iterator[tuple[str, Way]]:
        """What each rule needs to fire, and what it makes; facts that are derived have
        no name."""
        for r in self.rules:
            yield from ((r.name, w) for w in rewriting(r.left, r.right, r.when, r.both))
        yield from (("", deriving(f)) for f in self.forms if f.head == "rule")

    @functools.cached_property
    def declarations(self) -> tuple[Form, ...]:
        return tuple(f for f in self.forms if f.head not in STATEMENTS)

    @functools.cached_property
    def _spelled(self) -> tuple[tuple[Form, str, str | None], ...]:
        """The forms, how each is spelled, and the name of the rule that it is: read
        once, since most programs take most rules."""
        mine = {r.place: r.name for r in self.rules}
        return tuple((f, spelled(f), mine.get(f.place)) for f in self.forms)


def reads_sizes(rule: Rule) -> bool:
    """Whether a rule computes with sizes: a count in a value, a size compared."""
    if rule.any_size:
        return False
    asked = frozenset[str]().union(*map(heads, (rule.right, *rule.when)))
    return not asked.isdisjoint(("count", "numel", "to-f64", "vec-get"))


HELD = ("rules", "foreign", "common")  # of a rule set, that others can make again


@dataclass(frozen=True)
class RuleSet:
    """The rules of a run: files as checked, and the names of those that are on."""

    files: tuple[RuleFile, ...]
    on: frozenset[str]
    precision: Precision = "default"

    def __getstate__(self) -> dict[str, Any]:
        """Without what its files hold; texts take longer to make than to read."""
        return {k: v for k, v in vars(self).items() if k not in HELD}

    @functools.cached_property
    def rules(self) -> tuple[Rule, ...]:
        return tuple(r for f in self.files for r in f.rules if r.name in self.on)

    @functools.cached_property
    def foreign(self) -> tuple[Rule, ...]:
        """The rules that are on and came in a user's file."""
        theirs = (f for f in self.files if not f.bundled)
        return tuple(r for f in theirs for r in f.rules if r.name in self.on)

    @functools.cached_property
    def sources(self) -> tuple[tuple[str, str], ...]:
        """(file, text) to load, in order."""
        core, *rest = [(f.name, f.text(self.on)) for f in self.files]
        return (core, ("tables", facts()), *rest)

    @functools.cached_property
    def plain(self) -> tuple[tuple[str, str], ...]:
        """`sources` without any rule: the same for all rules of the files."""
        return self.only(()).sources

    def reading(self, relation: str) -> tuple[Rule, ...]:
        """The rules that are on and have a premise in `relation`."""
        return tuple(
            r
            for r in self.rules
            if any(isinstance(w, Form) and w.head == relation for w in r.when)
        )

    @property
    def phases(self) -> tuple[str, ...]:
        """Rulesets that run to a fixpoint, in order of declaration."""
        bad = self.explosive
        return tuple(
            r for f in self.files for r in f.rulesets if r not in bad and r != "facts"
        )

    @property
    def explosive(self) -> tuple[str, ...]:
        return tuple(sorted(r for f in self.files for r in f.explosive))

    def only(self, names: Iterable[str]) -> RuleSet:
        """The same files with just these rules on."""
        chosen = frozenset(names)
        known = {r.name for f in self.files for r in f.rules}
        if chosen - known:
            raise KeyError(f"no rule is called {', '.join(sorted(chosen - known))}")
        return replace(self, on=chosen)

    @functools.cached_property
    def common(self) -> RuleSet:
        """The rules that can fire where at first there are common constructors alone:
        the others change nothing there, and the engine takes longer with them."""
        ways = (way for f in self.files for way in f.ways)
        return self.only(self.on & reachable(ways, COMMON))

    def for_any_size(self) -> RuleSet:
        """The rules that read no size as a number: those that hold for symbols too."""
        return self.only(r.name for r in self.rules if not reads_sizes(r))

    def rule(self, name: str) -> Rule:
        for f in self.files:
            for r in f.rules:
                if r.name == name:
                    return r
        raise KeyError(f"no rule is called {name}")
