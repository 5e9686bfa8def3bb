"""The examples of a rule: read, run alone, judged.

In an example, a lowercase name is a fresh tensor, `f32[2,3]` unless it says otherwise
where it first stands (`x:[5]`, `x:i32[2,1]`); a number where a tensor is expected is a
constant like its neighbour; `[0,1]` is a vector of integers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..ir import dtypes
from ..ir.constructors import SIGNATURES
from ..ir.dtypes import DType
from ..ir.graph import Builder, Graph, GraphError, exact
from ..rules.ruleset import Example, Rule, RuleSet
from ..rules.sexpr import Atom, Expr
from ..saturate.clash import is_clash
from ..saturate.encode import (
    Encoded,
    EncodeError,
    Names,
    Row,
    constant,
    decode,
    show,
    value_of,
)
from ..saturate.engine import Engine, EngineError, shared
from .agreement import Promise
from .instances import Pair
from .judge import Judge
from .terms import as_ints


@dataclass(frozen=True, slots=True)
class Failure:
    """An example that did not do what it says."""

    rule: str
    example: Example
    reason: str

    def __str__(self) -> str:
        return f"{self.example.place}: {self.rule}: {self.reason}"


LARGEST = 1 << 20  # elements of a tensor: examples are run
_TOO_LARGE = f"has more than {LARGEST} elements; examples are run, so use a smaller one"
_SCIENTIFIC = re.compile(r"-?\d+(\.\d*)?e[+-]?\d+")  # as people write 1e8
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
            wanted = SIGNATURES.get(e.head)
            if wanted is None or len(wanted) != len(e.args):
                takes = f"takes {len(wanted)}" if wanted else "is no constructor"
                raise e.place.error(f"{e.head} {takes}, as rules/ir.egg has it: {e}")
            return self.call(e.head, e.args)
        if e.is_number or _SCIENTIFIC.fullmatch(e.text):
            dtype, shape = self.kind(like)
            return self.add(constant(exact(float(e.text), dtype), dtype, shape))
        m = _TENSOR.fullmatch(e.text)
        if m is None:
            raise e.place.error(f"a tensor such as x or x:f32[2,3] expected, found {e}")
        name, dtype, sizes = m.groups()
        if name not in self.names:
            shape = (2, 3) if sizes is None else _vector(f"[{sizes}]")
            if dtype and dtype not in dtypes.BY_NAME:
                known = ", ".join(dtypes.BY_NAME)
                raise e.place.error(f"{e}: unknown dtype {dtype!r}; known: {known}")
            if math.prod(shape) > LARGEST:
                raise e.place.error(f"{e} {_TOO_LARGE}")
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
    if kind == "s":
        if not isinstance(e, Atom) or not e.is_string:
            raise e.place.error(f'a string such as "add" was expected, found {text}')
        return e.string
    try:
        match kind:
            case "v":
                return _vector(text)
            case "i":
                return int(text)
            case _:
                return float(text)
    except ValueError:
        wanted = {"v": "a vector such as [0,1]", "i": "an integer"}
        what = wanted.get(kind, "a number")
        raise e.place.error(f"{what} was expected, found {text}") from None


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
        if example.is_open:
            reason = "has no right side yet; fill it in with rewrite test --bless"
        else:
            reason = _shown(example, rule, rules, engine or shared())
        if reason:
            out.append(Failure(rule.name, example, reason))
    return out


def _shown(example: Example, rule: Rule, rules: RuleSet, engine: Engine) -> str | None:
    try:
        return _judge(example, rule, rules, engine)
    except EngineError as e:
        if not is_clash(e):
            raise
        return "equates terms of different shape or dtype there"


def _judge(example: Example, rule: Rule, rules: RuleSet, engine: Engine) -> str | None:
    rows, left, right, given = read(example)
    if wrong := _no_graph(rows):
        return wrong
    if right == left:
        return "shows nothing: its two sides are one term"
    # Only the left side and what it needs: the rule itself must make the right side.
    text = "\n".join([Encoded(tuple(rows[: left + 1]), (), Names({})).text, *given])
    # Sources without rules are the same for all, and stay loaded.
    with engine.session(rules.plain) as session:
        session.run(f"{alone(rule, rules)}\n{text}", "example")
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
        if nodes[left] != nodes[right]:
            return "does not make the right side of its example"
    return _unequal(rule, rows, left, right)


def _no_graph(rows: Sequence[Row]) -> str | None:
    """Why the rows are no terms that can be run."""
    try:
        graph, _ = graph_of(rows)
    except (GraphError, EncodeError, ValueError) as e:
        return f"is no term: {e}; mend the example"
    sizes = ((n, math.prod(as_ints(n.shape))) for n in graph.nodes)
    big = next((n for n, size in sizes if size > LARGEST), None)
    return None if big is None else f"holds a {big.op} that {_TOO_LARGE}"


def alone(rule: Rule, rules: RuleSet) -> str:
    """The engine's text of one rule."""
    forms = (f for file in rules.files for f in file.forms)
    return str(next(f for f in forms if f.place == rule.place))


def _unequal(rule: Rule, rows: Sequence[Row], left: int, right: int) -> str | None:
    """Why the sides of an example are not equal as the rule's contract promises."""
    graph, nodes = graph_of(rows)
    pair = Pair(0, nodes[left], nodes[right])
    promise = Promise(rule.contract, rule.rtol, rule.one_way)
    fault = Judge(graph, [pair], promise, stress=False).faults().get(0)
    if fault is None:
        return None
    if fault.left is None or fault.right is None:
        return f"its sides are not equal: {fault.detail}"
    shown = [
        np.array2string(v.ravel()[:6], precision=6) for v in (fault.left, fault.right)
    ]
    given = ", ".join(f"{k} = {v.tolist()}" for k, v in sorted(fault.inputs.items()))
    return f"its sides give {shown[0]} and {shown[1]} for {given}"


def graph_of(rows: Sequence[Row]) -> tuple[Graph, list[int]]:
    """The rows of an example as a graph, and the node of each."""
    b, nodes = Builder(), list[int]()
    for row in rows:
        if row[0] == "Input":
            label, dtype, shape = row[1:]
            nodes.append(b.input(label, dtypes.of(dtype), shape))
        else:
            e = decode(row, Names({}), lambda v: value_of(rows[v]))
            nodes.append(b.add(e.op, [nodes[a] for a in e.args], e.attrs))
    return b.build(nodes), nodes
