"""What a rule makes of given terms: one step of it, with nothing joined.

The rule runs in the engine as it stands, but for its conclusion: instead of uniting
both sides it leaves a row `Made name left right`.  So instances do not meddle with each
other, a right side of another type is seen as such, and each pair of terms can be
shown.  Where something on the right cannot be computed, a row `Met` stands alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..ir.constructors import SIGNATURES
from ..ir.graph import Builder, Graph, GraphError
from ..rules.ruleset import Rule, RuleSet
from ..rules.sexpr import Atom, Expr, Form
from ..saturate.encode import (
    Encoded,
    EncodeError,
    Names,
    Row,
    decode,
    encode,
    show,
    value_of,
)
from ..saturate.engine import Engine, Tables, shared


@dataclass(frozen=True, slots=True)
class Pair:
    """A term of the graph and what a rule makes of it, as nodes of a larger graph.

    `right` is None where none can be made, and `reason` says why.
    """

    source: int  # the node of the given graph
    left: int
    right: int | None
    forward: bool = True
    reason: str = ""


@dataclass(frozen=True)
class Pairs:
    """All that some forms of a rule made of a graph; `graph` holds both sides."""

    graph: Graph
    of: Mapping[int, tuple[Pair, ...]]  # form of the rule -> pairs, in a fixed order


def make(
    graph: Graph, forms: Sequence[Rule], rules: RuleSet, *,
    nan_free: frozenset[int] = frozenset(), engine: Engine | None = None,
) -> Pairs:  # fmt: skip
    """One step of each of `forms`, variants of one rule, on the terms of `graph`."""
    encoded = encode(graph, nan_free=nan_free)
    text = [_TABLES, *(t for i, f in enumerate(forms) for t in _texts(i, f))]
    with (engine or shared()).session(rules.plain) as session:
        session.run("\n".join([*text, _loaded(encoded)]), "instances")
        session.run(
            "(run-schedule (seq (run load) (saturate (run facts)) (run instances)))",
            "instances",
        )
        tables = session.tables([*SIGNATURES, "Node", "Made", "Met"])
    return _read(graph, tables, encoded.where, encoded.names)


_TABLES = """(ruleset instances)
(ruleset load)
(function Node (i64) T :no-merge)
(relation Made (String T T))
(relation Met (String T))"""


def _loaded(encoded: Encoded) -> str:
    """The terms as the conclusion of one rule: read three times as fast as commands."""
    lines: list[str] = []
    for i, row in enumerate(encoded.rows):
        lines.append(f"(let n{i} {show(row, 'n{}')}) (set (Node {i}) n{i})")
    lines += [f"(nan-free n{i})" for i in sorted(encoded.nan_free)]
    return f'(rule () ({" ".join(lines)}) :ruleset load :name "load")'


def _texts(number: int, rule: Rule) -> Iterator[str]:
    yield from _one_way(f"{number}>", rule.left, rule.right, rule)
    if rule.both:
        yield from _one_way(f"{number}<", rule.right, rule.left, rule)


def _one_way(label: str, left: Expr, right: Expr, rule: Rule) -> Iterator[str]:
    facts = " ".join([f"(= __root {left})", *map(str, rule.when)])
    parts: list[str] = []
    made = _hoisted(right, parts)
    end = f':ruleset instances :name "{label}'
    body = " ".join([facts, *parts])
    yield f'(rule ({body}) ((Made "{label}" __root {made})) {end}made")'
    if parts:
        yield f'(rule ({facts}) ((Met "{label}" __root)) {end}met")'


def _hoisted(e: Expr, parts: list[str]) -> str:
    """The term with what it computes moved into the body, where failing is no panic."""
    if isinstance(e, Atom):
        return e.text
    if e.head in SIGNATURES:
        return f"({e.head} {' '.join(_hoisted(a, parts) for a in e.args)})"
    name = f"__p{len(parts)}"
    parts.append(f"(= {name} {e})")
    return name


# ---- reading -------------------------------------------------------------------------


@dataclass
class _Terms:
    """Rows of terms as nodes of one graph, each checked as the builder checks one."""

    rows: Mapping[int, Row]
    names: Names
    builder: Builder = field(default_factory=Builder)
    nodes: dict[int, int] = field(default_factory=dict[int, int])

    def node(self, t: int) -> int:
        if t not in self.nodes:
            e = decode(self.rows[t], self.names, lambda v: value_of(self.rows[v]))
            args = [self.node(a) for a in e.args]
            name = e.attrs[0] if e.op == "input" else ""
            self.nodes[t] = self.builder.add(e.op, args, e.attrs, name)
        return self.nodes[t]


def _read(
    graph: Graph, tables: Tables, where: Sequence[int | None], names: Names
) -> Pairs:
    rows = {out: (c, *f) for c in SIGNATURES for *f, out in tables.get(c, ())}
    terms = _Terms(rows, names)
    home = dict[int, int](tables["Node"])
    at = {home[w]: i for i, w in reversed([*enumerate(where)]) if w is not None}
    made: dict[tuple[str, int], list[int]] = {}
    for label, left, *_ in tables.get("Met", ()):
        made.setdefault((label, left), [])
    for label, left, right, *_ in tables.get("Made", ()):
        made.setdefault((label, left), []).append(right)
    # A constant inside a `Pad` is a row without a node: no pattern is a lone constant.
    known = sorted((at[t], label, t) for label, t in made if t in at)
    of: dict[int, list[Pair]] = {}
    for source, label, t in known:
        result = of.setdefault(int(label[:-1]), [])
        left = terms.node(t)
        for pair in _pairs(terms, made[label, t], Pair(source, left, None)):
            result.append(replace(pair, forward=label.endswith(">")))
    outputs = {f"n{i}": i for i in range(len(terms.builder.nodes))}
    return Pairs(terms.builder.build(outputs), {k: tuple(v) for k, v in of.items()})


def _pairs(terms: _Terms, rights: Sequence[int], blank: Pair) -> list[Pair]:
    if not rights:
        return [replace(blank, reason="the right side cannot be computed")]
    out: list[Pair] = []
    for t in rights:
        try:
            out.append(replace(blank, right=terms.node(t)))
        except (GraphError, EncodeError) as e:
            out.append(replace(blank, reason=f"the right side is no term: {e}"))
    return sorted(out, key=lambda p: -1 if p.right is None else p.right)


def variant(rule: Rule, without: int) -> Rule:
    """The rule with one premise left out."""
    kept = (*rule.when[:without], *rule.when[without + 1 :])
    return replace(rule, when=kept)


__all__ = ["Form", "Pair", "Pairs", "make", "variant"]
