"""A piece of a model, saturated while one rule is watched.

The watched rule leaves a row for each place where it fires.  In the saturated e-graph
every prefix of its conditions is then asked of one class; `check` sees rows that were
subsumed and rules do not, which tells the two apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewrite.egraph.ir.constructors import SIGNATURES
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.rules.ruleset import RuleSet
from rewrite.egraph.rules.sexpr import Form, quoted
from rewrite.egraph.saturate.clash import blamed
from rewrite.egraph.saturate.encode import Encoded, decode, encode, value_of
from rewrite.egraph.saturate.engine import EngineError, Session, Tables, shared
from rewrite.egraph.saturate.explore import FACTS, Budget, Run, explore
from rewrite.egraph.saturate.rows import EGraph, read, with_kids

from .atoms import ROOT, Body, sort_of

type Binding = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Firing:
    """The watched rule fired: classes, and e-nodes by their index in the class; `right`
    is None where the right side is a variable."""

    forward: bool
    root: int
    left: int
    right: int | None


@dataclass(frozen=True)
class Asked:
    """What one direction's conditions find below one class."""

    body: Body
    prefixes: tuple[tuple[Binding, ...], ...]  # for 0, 1, … conditions
    subsumed: bool = False  # all holds once forgotten rows count

    @property
    def held(self) -> int:
        """How many conditions hold at once."""
        return max(k for k, result in enumerate(self.prefixes) if result)

    @property
    def complete(self) -> bool:
        return self.held == len(self.body.conditions)


@dataclass(frozen=True)
class Watched:
    """The saturated e-graph of a piece, where the rule fired, and what was asked."""

    graph: Graph
    egraph: EGraph
    encoded: Encoded
    firings: tuple[Firing, ...]
    asked: tuple[Asked, ...]
    stopped: str  # the budget that ended saturation, if one did
    fired: Mapping[str, int]  # matches of all rules
    # E-nodes that other nodes of the graph have in the class that was asked of.
    others: frozenset[int] = frozenset()
    constant: frozenset[int] = frozenset()  # inputs that are the same in every run

    def own(self, node: int) -> int | None:
        row = self.encoded.where[node]
        return None if row is None else self.egraph.own[row]


def watch(
    graph: Graph, rules: RuleSet, bodies: Sequence[Body], nan_free: frozenset[int],
    node: int | None = None, budget: Budget | None = None,
) -> Watched:  # fmt: skip
    """Saturates `graph` (concrete sizes); asks of the class of `node`, if given."""
    encoded = encode(graph, nan_free=nan_free)
    row = None if node is None else encoded.row(node)

    def taken(session: Session, run: Run) -> Watched:
        if row is not None:
            session.run(_questions(bodies, row), "questions")
        tables = session.tables(
            [*SIGNATURES, "Node", "shape", "dtype", *_asked(bodies)]
        )
        roots = [encoded.row(i) for _, i in graph.outputs]
        result = read(tables, encoded, roots, check=bool(rules.foreign))
        asked: tuple[Asked, ...] = ()
        if row is not None:
            asked = tuple(_prefixes(b, i, tables, result) for i, b in enumerate(bodies))
            asked = _forgotten(asked, row, session)
        enode = _Finder(tables, result, encoded)
        firings = _firings(bodies, tables, result, enode)
        others = (
            frozenset[int]() if row is None else _others(row, tables, result, enode)
        )
        return Watched(
            graph, result, encoded, firings, asked, run.stopped, run.fired, others
        )

    budget, sources = budget or Budget(), _sources(rules, bodies)
    rows = len(encoded.rows)
    try:
        return explore(shared(), sources, encoded.text, rules, budget, rows, taken)
    except EngineError as e:
        raise blamed(e, encoded, rules, budget, shared()) from None


def _others(row: int, tables: Tables, found: EGraph, enode: _Finder) -> frozenset[int]:
    """The e-nodes, in the class of a row, of the other rows there."""
    home = dict(tables["Node"])
    rows = enode.encoded.rows
    same = [i for i in range(len(rows)) if i != row and home[i] == home[row]]
    renamed = (with_kids(rows[i], home) for i in same)
    return frozenset(enode.index(found.own[row], r) for r in renamed)


# ---- where the rule fires ------------------------------------------------------------


def _sources(rules: RuleSet, bodies: Sequence[Body]) -> list[tuple[str, str]]:
    """The files, with the rule replaced by rules that keep a record."""
    rule = bodies[0].rule
    sources = list(rules.sources)
    for k, f in enumerate(rules.files):
        if rule in f.rules and rule.name in rules.on:
            text = "\n".join([f.text(rules.on - {rule.name}), *map(_recorded, bodies)])
            at = k if k == 0 else k + 1  # the tables stand second
            sources[at] = (sources[at][0], text)
    return sources


def _record(body: Body) -> str:
    return "__fired_right" if body.forward else "__fired_left"


def _columns(body: Body) -> list[str]:
    """Kinds of what a firing leaves: its class, and the fields of both sides."""
    kinds = ["t", *SIGNATURES[body.left.head]]
    if isinstance(body.right, Form):
        kinds += SIGNATURES[body.right.head]
    return kinds


def _recorded(body: Body) -> str:
    rule, left, right = body.rule, body.left, body.right
    sorts = " ".join(map(sort_of, _columns(body)))
    fields = [*left.args, *(right.args if isinstance(right, Form) else ())]
    facts = " ".join([f"(= {ROOT} {left})", *map(str, rule.when)])
    actions = [f"(union {ROOT} {right})", f"({_record(body)} {ROOT} {_listed(fields)})"]
    if rule.subsume:
        actions.append(f"(subsume {left})")
    name = rule.name + (">" if body.forward else "<")
    return (
        f"(relation {_record(body)} ({sorts}))\n"
        f"(rule ({facts}) ({' '.join(actions)}) :ruleset {rule.ruleset} :name "
        f"{quoted(name)})"
    )


def _listed(items: Sequence[Any]) -> str:
    return " ".join(map(str, items))


def _firings(
    bodies: Sequence[Body], tables: Tables, found: EGraph, enode: _Finder
) -> tuple[Firing, ...]:
    out: dict[Firing, None] = {}
    for body in bodies:
        arity = len(SIGNATURES[body.left.head])
        for root, *fields, _ in tables.get(_record(body), ()):
            if root not in found.number:
                continue  # below no output
            c = found.number[root]
            left = enode.index(c, (body.left.head, *fields[:arity]))
            right: int | None = None
            if isinstance(body.right, Form):
                right = enode.index(c, (body.right.head, *fields[arity:]))
            out[Firing(body.forward, c, left, right)] = None
    return tuple(sorted(out, key=lambda f: (f.root, f.left, f.right or 0, f.forward)))


class _Finder:
    """Which e-node of a class a row of the engine is."""

    def __init__(self, tables: Tables, found: EGraph, encoded: Encoded) -> None:
        self.found, self.encoded, self.names = found, encoded, encoded.names
        self.value = {c: value_of(("Const", *r)) for *r, c in tables.get("Const", ())}
        self.value |= {c: value_of(("Odd", *r)) for *r, c in tables.get("Odd", ())}

    def index(self, c: int, row: tuple[Any, ...]) -> int:
        node = decode(row, self.names, self.value.__getitem__)  # type: ignore[arg-type]
        renamed = with_kids(row, self.found.number)  # type: ignore[arg-type]
        args = decode(renamed, self.names, lambda _: 0).args  # type: ignore[arg-type]
        for i, other in enumerate(self.found.classes[c]):
            if (other.op, other.args, other.attrs) == (node.op, args, node.attrs):
                return i
        raise AssertionError("a firing left a row that is in no class")


# ---- the conditions, one after the other ---------------------------------------------


def _asked(bodies: Sequence[Body]) -> list[str]:
    out = [_record(b) for b in bodies]
    for i, b in enumerate(bodies):
        out += [_prefix_name(i, k) for k in range(len(b.conditions) + 1)]
    return out


def _prefix_name(body: int, count: int) -> str:
    return f"__held_{body}_{count}"


def _questions(bodies: Sequence[Body], row: int) -> str:
    """A rule for each prefix, which leaves a row for each way in which it holds."""
    lines = ["(ruleset __questions)"]
    for i, body in enumerate(bodies):
        for k in range(len(body.conditions) + 1):
            name, bound = _prefix_name(i, k), body.bound(k)
            sorts = " ".join(sort_of(body.kinds[v]) for v in bound)
            facts = " ".join([f"(= {ROOT} (Node {row}))", *_queries(body, k)])
            lines.append(f"(relation {name} ({sorts}))")
            lines.append(
                f"(rule ({facts}) (({name} {_listed(bound)})) :ruleset __questions "
                f':name "{name}")'
            )
    return "\n".join([*lines, f"(run-schedule (run __questions) {FACTS})"])


def _queries(body: Body, count: int | None = None) -> list[str]:
    return [c.query for c in body.conditions[:count]]


def _prefixes(body: Body, i: int, tables: Tables, found: EGraph) -> Asked:
    """Bindings with classes by their number; those that no output needs keep -1."""
    out: list[tuple[Binding, ...]] = []
    for k in range(len(body.conditions) + 1):
        bound = body.bound(k)
        rows: list[Binding] = []
        for *values, _ in tables.get(_prefix_name(i, k), ()):
            pairs = zip(bound, values, strict=True)
            rows.append({v: _class(x, body.kinds[v], found) for v, x in pairs})
        out.append(tuple(sorted(rows, key=repr)))
    return Asked(body, tuple(out))


def _class(x: Any, kind: str, found: EGraph) -> Any:
    if kind == "t":
        return found.number.get(x, -1)
    if kind == "T":
        return tuple(found.number.get(y, -1) for y in x)
    return x


def _forgotten(
    asked: tuple[Asked, ...], row: int, session: Session
) -> tuple[Asked, ...]:
    """Whether all conditions hold once subsumed rows count.  A check that fails ends
    the session, so only the direction that got furthest is asked."""
    best = max(asked, key=lambda a: a.held / len(a.body.conditions))
    if best.complete:
        return asked
    facts = " ".join([f"(= {ROOT} (Node {row}))", *_queries(best.body)])
    try:
        session.run(f"(check {facts})", "questions")
    except EngineError as e:
        if "Check failed" not in str(e):
            raise
        return asked
    return tuple(Asked(a.body, a.prefixes, True) if a is best else a for a in asked)
