"""Filling in examples: `;;@ fires TERM =>` gets the right side that its rule makes.

Nothing else of the file is touched: the new text goes right behind the arrow.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.judge.examples import graph_of, read
from rewrite.egraph.judge.instances import make
from rewrite.egraph.rules.ruleset import Example, Rule, RuleSet
from rewrite.egraph.rules.sexpr import RuleFileError
from rewrite.egraph.saturate.encode import Row
from rewrite.egraph.saturate.engine import Engine

from ..terms import speller

_OPEN = re.compile(r"=>\s*\??\s*(?=;|given\b|$)")


@dataclass(frozen=True)
class Edited:
    """A rule file before and after a change that a command makes to it."""

    path: Path
    before: str
    after: str
    problems: tuple[str, ...] = ()  # examples that could not be filled in

    @property
    def diff(self) -> str:
        lines = difflib.unified_diff(
            self.before.splitlines(True), self.after.splitlines(True),
            str(self.path), str(self.path),
        )  # fmt: skip
        return "".join(lines)


def bless(
    path: Path, shown: str, rules: RuleSet, engine: Engine | None = None
) -> Edited:
    """The file at `path`, whose rules are under the name `shown`, filled in."""
    with path.open(encoding="utf-8", newline="") as f:
        before = f.read()
    lines = before.splitlines(True)
    problems: list[str] = []
    for rule in next(f for f in rules.files if f.name == shown).rules:
        for example in rule.fires:
            if example.is_open:
                try:
                    right = right_side(rule, example, rules, engine)
                    k = _arrow(lines, example)
                except RuleFileError as e:
                    problems.append(str(e))
                    continue
                lines[k] = _filled(lines[k], right)
    return Edited(path, before, "".join(lines), tuple(problems))


def right_side(
    rule: Rule, example: Example, rules: RuleSet, engine: Engine | None = None
) -> str:
    """What the rule makes of an example's left side, as a term."""
    rows, left, _, _ = read(Example(example.left, None, example.place, example.given))
    graph, nodes = graph_of(rows)
    finite = frozenset(nodes[i] for i in _named(example, rows))
    root = Graph(graph.nodes, (("left", nodes[left]),))
    pairs = make(root, [rule], rules, nan_free=finite, engine=engine)
    made = [p for p in pairs.of.get(0, ()) if p.source == nodes[left]]
    right = made[0].right if made else None
    if right is None:
        what = made[0].reason if made else "the rule does not fire on its left side"
        raise example.place.error(f"{rule.name}: {what}; mend the example or the rule")
    both = Graph(pairs.graph.nodes, (("left", made[0].left), ("right", right)))
    words, where = speller(both)
    first, second = where[made[0].left], where[right]
    assert first is not None and second is not None
    words.term(first)  # names say their type where they first stand, on the left
    return words.term(second)


def _named(example: Example, rows: Sequence[Row]) -> list[int]:
    facts = {str(f.args[0]) for f in example.given}
    return [i for i, r in enumerate(rows) if r[0] == "Input" and r[1] in facts]


def _arrow(lines: list[str], example: Example) -> int:
    """The line of the example that ends in the arrow; it may be a later one."""
    for k in range(example.place.line - 1, len(lines)):
        if _OPEN.search(lines[k].rstrip()):
            return k
        if not lines[k].lstrip().startswith(";;@"):
            break
    raise RuleFileError(f"{example.place}: no '=>' without a right side stands here")


def _filled(line: str, right: str) -> str:
    body = line.rstrip("\r\n")
    end = line[len(body) :]
    text = body.rstrip()
    m = _OPEN.search(text)
    assert m is not None
    rest = text[m.end() :]
    return f"{text[: m.start()]}=> {right}{' ' + rest if rest else ''}{end}"
