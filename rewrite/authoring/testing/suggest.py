"""A premise that would have kept a rule from going wrong, found by trying.

Premises as rules have them are read on all sampled instances; one that every bad
instance fails and most good ones meet is worth proposing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rewrite.egraph.encode import SIGNATURES, Row, encode
from rewrite.egraph.graph import Graph
from rewrite.egraph.journal import tensors
from rewrite.egraph.premises import Algebra, Tensor
from rewrite.egraph.ruleset import Rule, RuleSet
from rewrite.egraph.sexpr import Atom, Expr, parse_one
from rewrite.egraph.sound import Sampled, algebra_of

GOOD = 3  # instances that must remain
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


def premise_for(rule: Rule, rules: RuleSet, found: Sampled) -> str | None:
    """The best premise for the direction of the first fault, if one is of use."""
    if not found.faults:
        return None
    number = min(found.faults)
    first = found.pairs[number]
    # What only size or accuracy breaks, no mask and no kind of number mends.
    stable = found.faults[number].kind not in ("error", "infinite", "overflow")
    pattern = rule.left if first.forward else rule.right
    algebra = algebra_of(rules)
    good, bad = list[dict[str, Any]](), list[dict[str, Any]]()
    rows, where, graph = _rows(found)
    for i, pair in enumerate(found.pairs):
        at = where[pair.left]
        if pair.forward is first.forward and at is not None:
            env = dict[str, Any]()
            if _match(pattern, at, rows, graph, env):
                env = algebra.read(rule.when, env).env
                (bad if i in found.faults else good).append(env)
    names = {v: k for env in [*bad[:1]] for v, k in env.items()}
    best: tuple[int, str] | None = None
    for text in _candidates(names, tensors(pattern), rule, stable):
        kept = _kept(text, algebra, good, bad)
        if kept >= GOOD and (best is None or kept > best[0]):
            best = (kept, text)
    return best[1] if best else None


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


def _rows(found: Sampled) -> tuple[Sequence[Row], Sequence[int | None], Graph]:
    ends = sorted({p.left for p in found.pairs})
    graph = Graph(found.graph.nodes, tuple((f"n{n}", n) for n in ends))
    encoded = encode(graph)
    return encoded.rows, encoded.where, _typed(graph, encoded.where)


def _typed(graph: Graph, where: Sequence[int | None]) -> Graph:
    """The nodes in the order of their rows."""
    order = {r: n for r, n in zip(where, graph.nodes, strict=True) if r is not None}
    return Graph(tuple(order[r] for r in sorted(order)), ())


def _match(
    e: Expr, at: int, rows: Sequence[Row], graph: Graph, env: dict[str, Any]
) -> bool:
    """Binds the variables of a pattern to a row and those below it."""
    if isinstance(e, Atom):
        return env.setdefault(e.text, Tensor(at, graph.nodes[at].type)).node == at
    row = rows[at]
    if row[0] != e.head:
        return False
    for kind, part, x in zip(SIGNATURES[row[0]], e.args, row[1:], strict=True):
        if kind == "t":
            if not isinstance(x, int) or not _match(part, x, rows, graph, env):
                return False
        elif (
            isinstance(part, Atom)
            and part.is_symbol
            and env.setdefault(part.text, x) != x
        ):
            return False
    return True
