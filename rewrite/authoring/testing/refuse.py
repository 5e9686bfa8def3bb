"""Refusing a rule: it becomes a comment with its counterexample, last in its file.

What is written is judged first, as `rewrite test` will judge it from then on: the law
in general where its variables say all, else the instance on which it went wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rewrite.egraph.rules.notes import WORDS
from rewrite.egraph.rules.ruleset import Refused, Rule, RuleSet
from rewrite.egraph.rules.sexpr import Expr, RuleFileError, parse_one, variables
from rewrite.egraph.saturate.engine import Engine

from .bless import Edited
from .counterexample import Counterexample, listed
from .refused import judge_refused

HEADING = ";; ---- refused ".ljust(86, "-")
KEPT = ("refused", "because")  # notes of other laws, which stay where they stand
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|;[^\n]*|[()]')


def refuse(
    path: Path, rule: Rule, wrong: Counterexample, rules: RuleSet, seed: int = 0,
    engine: Engine | None = None,
) -> Edited:  # fmt: skip
    """The file at `path`, where `rule` stands, with the rule refused."""
    law = _law(rule, wrong, rules, seed, engine)
    with path.open(encoding="utf-8", newline="") as f:
        before = f.read()
    end = "\r\n" if "\r\n" in before else "\n"
    kept = _without(before, rule)
    heading = [] if HEADING[:15] in kept else [HEADING, ""]
    said = [f";; {rule.doc}"] if rule.doc else []
    text = f";;@ refused  {law.left} => {law.right}"
    lines = ["", *heading, *said, text, f";;@ because  {law.because}", ""]
    return Edited(path, before, kept.rstrip() + end + end.join(lines))


def _law(
    rule: Rule, wrong: Counterexample, rules: RuleSet, seed: int, engine: Engine | None
) -> Refused:
    values = ", ".join(f"{t.name} = {listed(t.values)}" for t in wrong.tensors)
    gives = f"{listed(wrong.left_value)} becomes {listed(wrong.right_value)}"
    if wrong.left_value is None:
        gives = wrong.says
    where = f"{values}: " if values else ""
    result = f"{where}{gives}, found by rewrite test -k {rule.name} --seed {seed}"
    for left, right in _forms(rule, wrong):
        general = left is rule.left or left is rule.right
        shown = f"{wrong.left}, {result}" if general else result
        law = Refused(left, right, shown.replace(" ;", ","), rule.place)
        if judge_refused(law, rules, seed, engine).shown is not None:
            return law
    raise RuleFileError(
        f"{rule.place}: {rule.name} breaks '{rule.contract}', but as a law over the "
        "reals nothing shows it wrong; state a weaker contract, or mend it"
    )


def _forms(rule: Rule, wrong: Counterexample) -> Iterator[tuple[Expr, Expr]]:
    """What may be refused: the law as the rule has it, the instance that was found."""
    there = (rule.left, rule.right)
    left, right = there if wrong.forward else (rule.right, rule.left)
    if not rule.when and variables(right) <= variables(left):
        yield left, right
    if wrong.right != "none":
        yield (
            parse_one(wrong.left, rule.place.file, rule.place.line),
            parse_one(wrong.right, rule.place.file, rule.place.line),
        )


def _without(text: str, rule: Rule) -> str:
    """The text without the rule and the comments that are its own."""
    lines = text.splitlines(keepends=True)
    row = rule.place.line - 1
    start = sum(map(len, lines[:row])) + rule.place.column - 1
    last = _end(text, start)
    first = row
    while first > 0 and lines[first - 1].lstrip().startswith(";"):
        first -= 1
    head = "".join(lines[:first]) + "".join(_others(lines[first:row]))
    rest = text[last:].split("\n", 1)  # a comment behind it goes with it
    below = rest[1].lstrip("\r\n") if len(rest) > 1 else ""
    return head + below


def _end(text: str, start: int) -> int:
    """Behind the parenthesis that closes the one at `start`."""
    depth = 0
    for m in _TOKEN.finditer(text, start):
        depth += {"(": 1, ")": -1}.get(m.group(), 0)
        if not depth:
            return m.end()
    raise AssertionError("a form that was read is closed")


def _others(comments: list[str]) -> Iterator[str]:
    """The lines above a rule that speak of refused laws."""
    word = ""
    for line in comments:
        text = line.strip()
        if text.startswith(";;@"):
            first = text[3:].split(maxsplit=1)[:1]
            word = first[0] if first and first[0] in WORDS else word
            if word in KEPT:
                yield line
