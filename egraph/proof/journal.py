"""The journal: which rule joined which two terms, kept while the engine runs.

The engine's own rows cannot tell, since a row names classes, not terms.  So each rule
is rewritten to build, beside its terms, twins in a second sort P that nothing ever
unions.  `rep` holds one twin per class, and each use of a rule leaves a row
`Step name left right` of twins.  The twins of the graphs' own nodes and the steps are
all that a proof needs: every union came from a step or from congruence.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..ir.constructors import SIGNATURES
from ..ir.graph import Graph
from ..rules.patterns import fields, tensors
from ..rules.ruleset import Rule, RuleSet
from ..rules.sexpr import Atom, Expr, Form, quoted
from ..saturate.encode import Encoded, Names, Row, encode, names_of, show
from ..saturate.engine import Engine, Session, Tables, shared
from ..saturate.explore import Budget, Run, explore
from ..saturate.saturate import facts_for


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a rule: `left` and `right` are twins, instances of its sides."""

    rule: str
    forward: bool  # birewrites run both ways
    left: int
    right: int


@dataclass(frozen=True)
class Journal:
    """Twins by number, the uses of rules, and the twins of both graphs' nodes; those of
    `nan_free` came with the fact."""

    terms: dict[int, Row]
    uses: tuple[Use, ...]
    before: tuple[int | None, ...]
    after: tuple[int | None, ...]
    names: Names
    nan_free: frozenset[int] = frozenset()
    stopped: str = ""  # what ended saturation before its fixpoint


def record(
    before: Graph,
    after: Graph,
    rules: RuleSet,
    budget: Budget | None = None,
    engine: Engine | None = None,
    nan_free: frozenset[int] | None = None,
) -> Journal:
    """Saturates both graphs in one e-graph until their outputs are equal, keeping the
    journal; `nan_free` as for `saturate`, of nodes of `before`."""
    names = names_of(before, after)
    known = facts_for(before, rules) if nan_free is None else nan_free
    parts = [encode(before, names, known), encode(after, names)]
    joined, places = join(parts)
    tables, stopped = explore(
        engine or shared(), instrumented(rules), joined.text + "\n" + _twins(joined),
        rules, budget or Budget(), len(joined.rows), _tables,
        functools.partial(equal, ends(places, before, after)),
    )  # fmt: skip
    return replace(_read(tables, places, joined), stopped=stopped)


def _tables(session: Session, run: Run) -> tuple[Tables, str]:
    wanted = [*(f"p{c}" for c in SIGNATURES), "Step", "Twin"]
    return session.tables(wanted), run.stopped


type Places = Sequence[Sequence[int | None]]


def ends(places: Places, before: Graph, after: Graph) -> list[tuple[int, int]]:
    """The rows of each output in the two graphs, of which `places` has the rows."""
    outputs = zip(before.outputs, after.outputs, strict=True)
    pairs = [(places[0][i], places[1][j]) for (_, i), (_, j) in outputs]
    return [(a, b) for a, b in pairs if a is not None and b is not None]


def equal(pairs: Sequence[tuple[int, int]], session: Session) -> bool:
    """Whether the rows of each pair are in one class by now."""
    home = dict(session.tables(["Node"])["Node"])
    return all(home[a] == home[b] for a, b in pairs)


def join(parts: list[Encoded]) -> tuple[Encoded, list[tuple[int | None, ...]]]:
    """The rows of all graphs, equal ones once, and where each graph's nodes went."""
    rows: dict[Row, int] = {}
    facts = set[int]()
    places: list[tuple[int | None, ...]] = []
    for part in parts:
        to: dict[int, int] = {}
        for i, row in enumerate(part.rows):
            moved = _moved(row, to)
            to[i] = rows.setdefault(moved, len(rows))
        places.append(tuple(None if w is None else to[w] for w in part.where))
        facts |= {to[i] for i in part.nan_free}
    names = parts[0].names
    return Encoded(tuple(rows), (), names, nan_free=frozenset(facts)), places


def _moved(row: Row, to: dict[int, int]) -> Row:
    kinds = SIGNATURES[row[0]]
    fields: list[object] = []
    for kind, x in zip(kinds, row[1:], strict=True):
        many = tuple(to[i] for i in x) if kind == "T" else x
        fields.append(to[x] if kind == "t" else many)
    return (row[0], *fields)


# ---- instrumented rules --------------------------------------------------------------


def instrumented(rules: RuleSet) -> list[tuple[str, str]]:
    """The sources to load: as `rules.sources`, but every rule keeps the journal."""
    core, tables, *_ = rules.sources
    out = [core, ("journal", _declarations()), tables]
    for f in rules.files[1:]:
        mine = {r.name: r for r in f.rules}
        plain = f.text(frozenset())
        kept = [r for r in mine.values() if r.name in rules.on]
        text = "\n".join([plain, *(t for r in kept for t in _instrument(r))])
        out.append((f.name, text))
    return out


def _declarations() -> str:
    twin = {"t": "P", "T": "PV", "s": "String", "i": "i64", "f": "f64", "v": "IV"}
    lines = ["(sort P)", "(sort PV (Vec P))"]
    for c, kinds in SIGNATURES.items():
        lines.append(f"(constructor p{c} ({' '.join(twin[k] for k in kinds)}) P)")
    lines += [
        "(function rep (T) P :merge old)",
        "(relation Step (String P P))",
        "(function Twin (i64) P :no-merge)",
    ]
    return "\n".join(lines)


def _twins(encoded: Encoded) -> str:
    lines: list[str] = []
    for i, row in enumerate(encoded.rows):
        lines.append(f"(set (Twin {i}) (p{show(row, '(Twin {})')[1:]})")
        lines.append(f"(set (rep (Node {i})) (Twin {i}))")
    return "\n".join(lines)


def _instrument(rule: Rule) -> Iterator[str]:
    yield _one_way(rule, rule.left, rule.right, f"{rule.name}>")
    if rule.both:
        yield _one_way(rule, rule.right, rule.left, f"{rule.name}<")


def _one_way(rule: Rule, left: Expr, right: Expr, label: str) -> str:
    facts = [f"(= _root {left})", *map(str, rule.when)]
    facts += [f"(= __{v} (rep {v}))" for v in sorted(tensors(left))]
    sets = [f"(set (rep {e}) {_twin(e)})" for e in _subterms(right)]
    step = f"(Step {quoted(label)} {_twin(left)} {_twin(right)})"
    actions = [f"(union _root {right})", *sets, step]
    if rule.subsume:
        actions.append(f"(subsume {left})")
    return (
        f"(rule ({' '.join(facts)}) ({' '.join(actions)})"
        f" :ruleset {rule.ruleset} :name {quoted(label)})"
    )


def _twin(e: Expr) -> str:
    if isinstance(e, Atom):
        return f"__{e.text}"
    parts = [_twin(a) if kind == "t" else str(a) for kind, a in fields(e)]
    return f"(p{e.head} {' '.join(parts)})"


def _subterms(e: Expr) -> Iterator[Form]:
    """The terms that a right side builds, operands first."""
    if isinstance(e, Form):
        for kind, a in fields(e):
            if kind == "t":
                yield from _subterms(a)
        yield e


# ---- reading -------------------------------------------------------------------------


def _read(
    tables: Tables, places: list[tuple[int | None, ...]], joined: Encoded
) -> Journal:
    terms: dict[int, Row] = {}
    for c in SIGNATURES:
        for *inputs, output in tables.get(f"p{c}", ()):
            terms[output] = (c, *inputs)
    uses = [
        Use(label[:-1], label.endswith(">"), left, right)
        for label, left, right, _ in tables["Step"]
    ]
    twin: dict[int, int] = dict(tables["Twin"])
    before, after = (
        tuple(None if w is None else twin[w] for w in place) for place in places
    )
    known = frozenset(twin[i] for i in joined.nan_free)
    return Journal(terms, tuple(uses), before, after, joined.names, known)
