"""The examples of a rule: read, run alone, judged.

In an example, a lowercase name is a fresh tensor, `f32[2,3]` unless it says otherwise
where it first stands (`x:[5]`, `x:i32[2,1]`); a number where a tensor is expected is a
constant like its neighbour; `[0,1]` is a vector of integers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from . import dtypes
from .dtypes import DType
from .encode import SIGNATURES, Encoded, Names, Row, constant, show
from .engine import Engine, shared
from .graph import exact
from .ruleset import Example, Rule, RuleSet
from .sexpr import Atom, Expr


@dataclass(frozen=True, slots=True)
class Failure:
    """An example that did not do what it says."""

    rule: str
    example: Example
    reason: str

    def __str__(self) -> str:
        return f"{self.example.place}: {self.rule}: {self.reason}"


_TENSOR = re.compile(r"([a-z]\w*)(?::(\w*)\[([\d,]*)\])?")


@dataclass
class _Reader:
    """Reads both sides of one example into flat rows."""

    rows: list[Row] = field(default_factory=list[Row])
    names: dict[str, int] = field(default_factory=dict[str, int])

    def add(self, row: Row) -> int:
        if row not in self.rows:
            self.rows.append(row)
        return self.rows.index(row)

    def term(self, e: Expr, like: int | None) -> int:
        if not isinstance(e, Atom):
            return self.call(e.head, e.args)
        if e.is_number:
            dtype, shape = self.kind(like)
            return self.add(constant(exact(float(e.text), dtype), dtype, shape))
        m = _TENSOR.fullmatch(e.text)
        if m is None:
            raise e.place.error(f"a tensor such as x or x:f32[2,3] expected, found {e}")
        name, dtype, sizes = m.groups()
        if name not in self.names:
            shape = (2, 3) if sizes is None else _vector(f"[{sizes}]")
            self.names[name] = self.add(("Input", name, dtype or "f32", shape))
        return self.names[name]

    def named(self, e: Expr) -> int:
        """The row of a tensor that stands in the example already."""
        if str(e) not in self.names:
            raise e.place.error(f"{e} is no tensor of the left side")
        return self.names[str(e)]

    def kind(self, like: int | None) -> tuple[DType, tuple[int, ...]]:
        """The type of an input, or that of tensors that say nothing."""
        if like is None:
            return dtypes.F32, (2, 3)
        _, _, dtype, shape = self.rows[like]
        return dtypes.of(dtype), shape

    def call(self, head: str, args: Sequence[Expr]) -> int:
        kinds = SIGNATURES[head]
        fields: dict[int, object] = {}
        terms = [i for i, k in enumerate(kinds) if k == "t"]
        # Numbers last: they take their type from a tensor beside them.
        terms.sort(key=lambda i: isinstance(a := args[i], Atom) and a.is_number)
        like: int | None = None
        for i in terms:
            j = self.term(args[i], like)
            fields[i] = j
            if self.rows[j][0] == "Input":
                like = j
        for i, k in enumerate(kinds):
            if k != "t":
                fields[i] = _plain(args[i], k)
        return self.add((head, *(fields[i] for i in range(len(kinds)))))


def _vector(text: str) -> tuple[int, ...]:
    return tuple(int(x) for x in text[1:-1].split(",") if x)


def _plain(e: Expr, kind: str) -> object:
    text = str(e)
    match kind:
        case "s":
            return text.strip('"')
        case "v":
            return _vector(text)
        case "i":
            return int(text)
        case _:
            return float(text)


def read(example: Example) -> tuple[list[Row], int, int | None, list[str]]:
    """Rows, which of them are the left and the right side, and the facts given."""
    reader = _Reader()
    left = reader.term(example.left, None)
    given = [f"({f.head} (Node {reader.named(f.args[0])}))" for f in example.given]
    right = None if example.right is None else reader.term(example.right, None)
    return reader.rows, left, right, given


def run_examples(
    rule: Rule, rules: RuleSet, engine: Engine | None = None
) -> list[Failure]:
    """What the rule's examples show, each run with this rule alone."""
    out: list[Failure] = []
    for example in (*rule.fires, *rule.skips):
        reason = _judge(example, rule, rules.only([rule.name]), engine or shared())
        if reason:
            out.append(Failure(rule.name, example, reason))
    return out


def _judge(example: Example, rule: Rule, alone: RuleSet, engine: Engine) -> str | None:
    rows, left, right, given = read(example)
    # Only the left side and what it needs: the rule itself must make the right side.
    text = "\n".join([Encoded(tuple(rows[: left + 1]), (), Names({})).text, *given])
    with engine.session(alone.sources) as session:
        session.run(text, "example")
        session.run("(run-schedule (saturate (run facts)))", "example")
        changed, matches = session.run(
            f"(run-schedule (run {rule.ruleset}))", "example"
        )
        fired = changed and any(
            n for label, n in matches.items() if label.rstrip("<=>") == rule.name
        )
        if right is None:
            return "fires on an example that it should skip" if fired else None
        if not fired:
            return "does not fire on its example"
        forms = "\n".join(
            f"(set (Node {i}) {show(row)})" for i, row in enumerate(rows) if i > left
        )
        session.run(f"{forms}\n(run-schedule (saturate (run facts)))", "example")
        nodes = dict(session.tables(["Node"])["Node"])
        same = nodes[left] == nodes[right]
        return None if same else "does not make the right side of its example"
