"""Rule files read for the linter: all that is wrong is found, not only the first.

A form that lacks a name or a contract gets a stand-in for the sake of the checks after
it; a form that is still refused is left out, with the reason as a finding.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rewrite.egraph.rules.notes import Notes, notes_of, refused
from rewrite.egraph.rules.ruleset import KNOWN_CONTRACTS, Rule, RuleFile
from rewrite.egraph.rules.sexpr import (
    Atom,
    Comment,
    Expr,
    Form,
    Place,
    RuleFileError,
    parse,
)
from rewrite.egraph.rules.whitelist import Checker

from .findings import Finding

EXAMPLES = ("fires", "skips")
REWRITES = ("rewrite", "birewrite")
_PLACED = re.compile(r"(.+?):(\d+):(\d+): (.*)", re.DOTALL)
_KEBAB = r"[a-z0-9]+(-[a-z0-9]+)*"


@dataclass(frozen=True)
class Source:
    """A file as read: its rules, what was found, and what its rules allow."""

    file: RuleFile
    findings: tuple[Finding, ...]
    allowed: Mapping[str, tuple[Place, Mapping[str, str]]]  # rule -> code -> why

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self.file.rules


@dataclass
class _Reader:
    """Reads one file; `checker` keeps what is declared so far."""

    checker: Checker
    findings: list[Finding] = field(default_factory=list[Finding])
    allowed: dict[str, tuple[Place, Mapping[str, str]]] = field(
        default_factory=dict[str, tuple[Place, Mapping[str, str]]]
    )

    def say(self, place: Place, code: str, rule: str, message: str, fix: str) -> None:
        self.findings.append(Finding(place, code, rule, message, fix))

    def refuse(self, e: RuleFileError, rule: str = "") -> None:
        """What the whitelist says, as a finding."""
        result = _PLACED.fullmatch(str(e))
        assert result is not None, f"a refusal without a place: {e}"
        file, line, column, text = result.groups()
        message, _, fix = text.rpartition("; ")
        place = Place(file, int(line), int(column))
        self.say(place, "invalid", rule, message or text, fix if message else "mend it")

    def items(self, items: Sequence[Expr | Comment]) -> None:
        comments: list[Comment] = []
        for item in items:
            if isinstance(item, Comment):
                comments.append(item)
            elif isinstance(item, Atom):
                self.refuse(item.place.error(f"a form was expected, found {item}"))
            else:
                self.form(item, self.notes(comments))
                comments = []
        try:
            self.checker.refused += refused(self.notes(comments))
        except RuleFileError as e:
            self.refuse(e)

    def notes(self, comments: Sequence[Comment]) -> Notes:
        try:
            return notes_of(comments)
        except RuleFileError as e:
            self.refuse(e)
            return notes_of([c for c in comments if not c.text.startswith(";;@")])

    def form(self, form: Form, notes: Notes) -> None:
        name = ""
        if form.head in REWRITES:
            form, name = self.named(form)
            notes = self.noted(form, notes, name)
            if notes.allowed:
                self.allowed[name] = (form.place, notes.allowed)
            if any(isinstance(side, Atom) for side in _matched(form)):
                self.say(
                    form.place, "bare-left", name,
                    f"{name}: a lone variable matches every term",
                    "match what the law is about",
                )  # fmt: skip
                return
        self.read(form, notes, name)

    def read(self, form: Form, notes: Notes, name: str) -> None:
        try:
            self.checker.form(form, notes)
        except RuleFileError as e:
            self.refuse(e, name)
            kept = self.without_example(e, notes)
            if kept is not None:  # the rule is read all the same
                self.findings[-1] = replace(self.findings[-1], code="example")
                self.checker.names.pop(name, None)
                self.read(form, kept, name)

    def without_example(self, e: RuleFileError, notes: Notes) -> Notes | None:
        """The notes without the example that is to blame, if one is."""
        result = _PLACED.fullmatch(str(e))
        lines = [p.line for w, _, p in notes.words if w in EXAMPLES]
        if result is None or int(result[2]) not in lines:
            return None
        bad = int(result[2])
        words = [n for n in notes.words if n[0] not in EXAMPLES or n[2].line != bad]
        return replace(notes, words=words)

    def named(self, form: Form) -> tuple[Form, str]:
        """The form under a name that can be used, and that name."""
        keys = [str(e) for e in form.items]
        at = keys.index(":name") + 1 if ":name" in keys else 0
        given = form.items[at] if 0 < at < len(keys) else None
        if not isinstance(given, Atom) or not given.is_string:
            name = f"unnamed-{form.place.line}"
            self.say(
                form.place, "unnamed", name, "this rule has no name",
                'add :name "some-name", by which it can be tested and explained',
            )  # fmt: skip
            extra = (Atom(":name", form.place), Atom(f'"{name}"', form.place))
            return replace(form, items=(*form.items, *extra)), name
        name = self.usable(given)
        items = (
            *form.items[:at],
            Atom(f'"{name}"', given.place),
            *form.items[at + 1 :],
        )
        return replace(form, items=items), name

    def usable(self, given: Atom) -> str:
        name = given.string
        if not re.fullmatch(_KEBAB, name):
            words = re.findall("[a-z0-9]+", name.lower())
            fixed = "-".join(words) or f"unnamed-{given.place.line}"
            self.say(
                given.place, "name-style", name,
                f"{name!r} is not kebab-case", f'write "{fixed}"',
            )  # fmt: skip
            name = fixed
        if name in self.checker.names:
            self.say(
                given.place, "duplicate-name", name,
                f"{name!r} names the rule at {self.checker.names[name]} already",
                "choose another name",
            )  # fmt: skip
            name = f"{name}-{given.place.line}"
        return name

    def noted(self, form: Form, notes: Notes, name: str) -> Notes:
        """Complains of what is not said, and says `real` where no contract is."""
        at = form.place
        if not notes.doc:
            self.say(
                at, "no-sentence", name, f"{name}: nothing says the law in words",
                "write it above, as ';; x + 0 = x.'",
            )  # fmt: skip
        for word, what in (("fires", "that fires"), ("skips", "that must not fire")):
            if not notes.get(word):
                shape = "LEFT => RIGHT" if word == "fires" else "TERM ; why"
                self.say(
                    at, f"no-{word}", name, f"{name}: no example {what}",
                    f"add ';;@ {word} {shape}'",
                )  # fmt: skip
        stated = (notes.get("equal") or [("", at)])[0][0].split()
        if stated and stated[0] in KNOWN_CONTRACTS:
            return notes
        self.say(
            at, "contract", name,
            f"{name}: its contract is {stated[0]!r}" if stated
            else f"{name}: no contract is stated",
            f"add ';;@ equal' and one of {', '.join(KNOWN_CONTRACTS)}",
        )  # fmt: skip
        words = [w for w in notes.words if w[0] != "equal"]
        return replace(notes, words=[*words, ("equal", "real", at)])


def _matched(form: Form) -> tuple[Expr, ...]:
    """The sides that are matched, where the form has both."""
    if len(form.items) < 3:
        return ()
    return form.items[1:3] if form.head == "birewrite" else form.items[1:2]


def read_source(
    text: str, name: str, before: Sequence[RuleFile], *, core: bool = False
) -> Source:
    """All rules of a file that can be read, and what is wrong with the others.

    What is no sequence of expressions at all is still a `RuleFileError`.
    """
    checker = Checker(name, core)
    checker.after(before)
    reader = _Reader(checker)
    reader.items(parse(text, name))
    return Source(checker.result(), tuple(reader.findings), reader.allowed)
