"""A premise that would have kept a rule from going wrong, found by trying.

Premises as rules have them are read on all sampled instances; one that every bad
instance fails and most good ones meet, the rule's own examples among them, is worth
proposing if nothing goes wrong with it on fresh samples.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, cast

from rewrite.egraph.ir import dtypes
from rewrite.egraph.ir.constructors import SIGNATURES
from rewrite.egraph.ir.graph import Graph, GraphError
from rewrite.egraph.ir.ops import TensorType
from rewrite.egraph.judge.examples import graph_of, read
from rewrite.egraph.judge.sound import COUNT, Sampled, algebra_of, sample
from rewrite.egraph.rules.patterns import tensors
from rewrite.egraph.rules.premises import Algebra, Tensor
from rewrite.egraph.rules.ruleset import Rule, RuleSet
from rewrite.egraph.rules.sexpr import Atom, Expr, parse_one
from rewrite.egraph.saturate.encode import EncodeError, Row, encode
from rewrite.egraph.saturate.engine import Engine

GOOD = 3  # instances that must remain
TRIED = 4  # premises, those that leave the most first, on fresh samples
NUMBERS = (
    "(> {} 0.0)",
    "(>= {} 0.0)",
    "(!= {} 0.0)",
    "(>= (abs {}) 1.0)",
    "(= {} 0.0)",
)
VECTORS = ("(= {0} (zeros {0}))", "(= {0} (ones {0}))", "(= {0} (upto {0}))")
WORDS = ("commutes", "idempotent", "floating", "integral", "ample")
TYPES = WORDS[2:]  # of dtypes


def premise_for(
    rule: Rule, rules: RuleSet, found: Sampled, engine: Engine | None = None
) -> str | None:
    """The best premise for the direction of the first fault, if one is of use."""
    if not found.faults:
        return None
    fault = found.first
    first = fault.pair
    # What only size or accuracy breaks, no mask and no kind of number mends.
    stable = fault.kind not in ("error", "infinite", "overflow", "lost")
    pattern = rule.left if first.forward else rule.right
    algebra = algebra_of(rules)
    good, bad = list[dict[str, Any]](), list[dict[str, Any]]()
    rows, where, types = _rows(found)
    for i, pair in enumerate(found.pairs):
        at = where[pair.left]
        if pair.forward is first.forward and at is not None:
            env = dict[str, Any]()
            if _match(pattern, at, rows, types, env):
                env = algebra.read(rule.when, env).env
                (bad if i in found.faults else good).append(env)
    names = {v: k for env in [*bad[:1]] for v, k in env.items()}
    shown = _examples(rule, algebra) if first.forward else []
    found_of_use = [
        (kept, text)
        for text in _candidates(names, tensors(pattern), rule, stable)
        if (kept := _kept(text, algebra, good, bad)) >= GOOD
        and all(algebra.holds(parse_one(text, "premise", 1), dict(e)) for e in shown)
    ]
    best = sorted(found_of_use, key=lambda found: -found[0])[:TRIED]
    return next((text for _, text in best if _mends(text, rule, rules, engine)), None)


def _mends(text: str, rule: Rule, rules: RuleSet, engine: Engine | None) -> bool:
    """Whether nothing is wrong any more on fresh samples, some of which fire."""
    mended = replace(rule, when=(*rule.when, parse_one(text, "premise", 1)))
    again = sample(mended, rules, Random(f"{rule.name}:{text}"), COUNT, engine=engine)
    return not again.faults and again.fired(True) >= GOOD


def _examples(rule: Rule, algebra: Algebra) -> list[dict[str, Any]]:
    """What the variables are in the rule's own examples, which must still fire."""
    out: list[dict[str, Any]] = []
    for example in rule.fires:
        rows, left, _, _ = read(example)
        try:
            graph, nodes = graph_of(rows)
        except (GraphError, EncodeError, ValueError):
            continue  # no term: said where examples are run
        types = {i: graph.nodes[n].type for i, n in enumerate(nodes)}
        env = dict[str, Any]()
        if _match(rule.left, left, rows, types, env):
            out.append(algebra.read(rule.when, env).env)
    return out


def _kept(
    text: str, algebra: Algebra, good: Sequence[dict[str, Any]],
    bad: Sequence[dict[str, Any]],
) -> int:  # fmt: skip
    """How many good instances a premise leaves, where it leaves no bad one."""
    premise = parse_one(text, "premise", 1)
    if any(algebra.holds(premise, dict(env)) for env in bad):
        return 0
    return sum(bool(algebra.holds(premise, dict(env))) for env in good)


def _candidates(
    kinds: Mapping[str, Any], inputs: frozenset[str], rule: Rule, any_kind: bool
) -> Iterator[str]:
    said = {str(w) for w in rule.when}
    numbers = sorted(n for n, x in kinds.items() if isinstance(x, float))
    vectors = sorted(n for n, x in kinds.items() if isinstance(x, tuple) and any_kind)
    words = sorted(n for n, x in kinds.items() if isinstance(x, str))
    shapes = [*vectors, *(f"(shape {x})" for x in sorted(inputs) if any_kind)]
    tables = WORDS if any_kind else ("ample",)
    made = itertools.chain(
        (form.format(n) for n in numbers for form in NUMBERS),
        (f"({r} {n})" for n in words for r in tables),
        (f"({r} (dtype {x}))" for x in sorted(inputs) for r in tables if r in TYPES),
        (form.format(v) for v in vectors for form in VECTORS),
        (f"(>= (count {a} {b}) 1)" for a, b in itertools.permutations(shapes, 2)),
        (f"(= {a} {b})" for a, b in itertools.combinations(shapes, 2)),
        (f"(= {a} (vmax {a} {b}))" for a, b in itertools.permutations(vectors, 2)),
        (f"(<= {a} {b})" for a, b in itertools.permutations(numbers, 2)),
    )
    return (m for m in made if m not in said)


def _rows(
    found: Sampled,
) -> tuple[Sequence[Row], Sequence[int | None], Mapping[int, TensorType]]:
    """The rows of all left sides, the row of each node, and the type of each row."""
    ends = sorted({p.left for p in found.pairs})
    graph = Graph(found.graph.nodes, tuple((f"n{n}", n) for n in ends))
    encoded = encode(graph)
    types = {
        i: TensorType(dtypes.of(str(row[2])), _shape(row))
        for i, row in enumerate(encoded.rows)
        if row[0] in ("Const", "Odd")  # those of pads are of no node
    }
    for row, node in zip(encoded.where, graph.nodes, strict=True):
        if row is not None:
            types[row] = node.type
    return encoded.rows, encoded.where, types


def _shape(row: Row) -> tuple[int, ...]:
    assert isinstance(row[3], tuple)
    return tuple(int(str(n)) for n in cast("tuple[object, ...]", row[3]))


def _match(
    e: Expr, at: int, rows: Sequence[Row], types: Mapping[int, TensorType],
    env: dict[str, Any],
) -> bool:  # fmt: skip
    """Binds the variables of a pattern to a row and those below it."""
    if isinstance(e, Atom):
        return env.setdefault(e.text, Tensor(at, types[at])).node == at
    row = rows[at]
    if row[0] != e.head:
        return False
    for kind, part, x in zip(SIGNATURES[row[0]], e.args, row[1:], strict=True):
        if kind == "t":
            if not isinstance(x, int) or not _match(part, x, rows, types, env):
                return False
        elif (
            isinstance(part, Atom)
            and part.is_symbol
            and env.setdefault(part.text, x) != x
        ):
            return False
    return True
