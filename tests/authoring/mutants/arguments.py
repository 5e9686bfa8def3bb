"""Why a mutant that survives sampling changes nothing, by an argument.

- `same`: on instances drawn to tell it from the rule it came from, it makes what that
  rule makes; what it makes besides has no elements, or holds subnormal constants, which
  laws over the reals leave out;
- `derived`: what it makes besides follows by the rules of the library whose contracts
  are as strong;
- `zeros`: bits are promised where `==` was, of maxima and minima: the two differ in the
  signs of zeros alone, and which of two zeros comes out is left open;
- `defined`: both sides are one term once macros and composite opcodes are opened;
- `exhausted`: a law of one or two elements, true of every value of the 8-bit types;
- `proved`: for all shapes.  A proof over the reals says nothing of overflow, so it
  counts for laws that hold in floats as they stand, and where all that was changed is a
  premise on shapes, which rounding does not ask about.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import ml_dtypes

from rewrite.egraph.ir.evaluate import expand_macros
from rewrite.egraph.ir.graph import Builder, Graph, Node
from rewrite.egraph.ir.scalars import BY_NAME, COMMUTATIVE, SExpr
from rewrite.egraph.judge.instances import Pair, Pairs, make
from rewrite.egraph.judge.sample import Sampler
from rewrite.egraph.judge.satisfying import Guided
from rewrite.egraph.judge.sound import algebra_of
from rewrite.egraph.rules.ruleset import Rule, RuleSet
from rewrite.egraph.rules.sexpr import Atom, Expr, variables
from rewrite.egraph.saturate.encode import encode
from rewrite.egraph.saturate.engine import Engine
from rewrite.egraph.saturate.explore import Budget
from rewrite.egraph.saturate.saturate import saturate

from .edits import heads, sorts
from .exhaustive import exhausted
from .mutate import Mutant

TOLD = 120  # instances to tell a mutant from its rule by
BROKEN = 12  # of them, for each premise of the rule that the mutant has not
DERIVED = 8  # pairs, of those that the rule does not make, to derive
TOGETHER = 4  # pairs in one e-graph
PROVED, RANK = 8.0, 3  # seconds for a proof, and the highest rank it tries
BUDGET = Budget(steps=16, enodes=6_000)
STRENGTH = ("bitwise", "ieee", "real", "approx", "unstable")


@dataclass(frozen=True)
class Argument:
    """What shows that a mutant changes nothing; or (`refutes`) that it is wrong."""

    by: str
    why: str
    refutes: bool = False


def argued(
    mutant: Mutant, rules: RuleSet, own: RuleSet, engine: Engine, seed: int
) -> Argument | None:
    """The first argument that tells; None where there is none."""
    rule, origin = mutant.rule, rules.rule(mutant.origin)
    if (origin.contract, rule.contract) == ("ieee", "bitwise") and _bounds(rule):
        return Argument("zeros", "of maxima or minima")
    graph = _telling(rule, origin, own, random.Random(f"{rule.name}:{seed}"))
    if graph is None:
        return None
    finite = frozenset(i for i, n in enumerate(graph.nodes) if n.op == "input")
    pairs = make(graph, [rule, origin], own, nan_free=finite, engine=engine)
    made = pairs.of.get(0, ())
    if not made:
        return None
    if rule.contract != origin.contract:
        if all(_one_term(pairs.graph, p) for p in made):
            return Argument("defined", f"{len(made)} pairs")
        fresh: Sequence[Pair] = made
    else:
        fresh = [p for p in _fresh(pairs) if _matters(pairs.graph, p, rule.contract)]
        if not fresh:
            why = f"{len(made)} pairs of {len(graph.outputs)} instances"
            return Argument("same", why)
    some = _spread(fresh, DERIVED)
    if all(_derived(pairs.graph, few, rule, rules, engine) for few in _batches(some)):
        why = f"{len(some)} of {len(fresh)} pairs that {origin.name} does not make"
        return Argument("derived", why)
    tried = exhausted(rule, own, engine)
    if tried is not None:
        return Argument("exhausted", tried.why, not tried.holds)
    return _proved(mutant, origin, own)


def _bounds(rule: Rule) -> bool:
    """Whether a rule is of max or min, by name or by what a premise asks."""
    words = " ".join(map(str, (rule.left, rule.right, *rule.when)))
    return any(w in words for w in ('"max"', '"min"', "(bounds ", "(idempotent "))


def _proved(mutant: Mutant, origin: Rule, own: RuleSet) -> Argument | None:
    """What the prover says, where that settles it."""
    from rewrite.authoring.smt.meaning.language import Library
    from rewrite.authoring.smt.verdict import Limits, judge

    rule = mutant.rule
    if rule.contract not in ("bitwise", "ieee") and not _of_shapes(rule, origin, own):
        return None
    found = judge(rule, Library.of(own), Limits(PROVED, RANK))
    if found.status == "sampled only":
        return None
    refuted = found.status == "refuted"
    return Argument("proved", str(found.example or found.text), refuted)


def _of_shapes(rule: Rule, origin: Rule, own: RuleSet) -> bool:
    """Whether a mutant differs from its rule in premises on sizes and axes alone."""
    if (str(rule.left), str(rule.right)) != (str(origin.left), str(origin.right)):
        return False
    kept = set(map(str, rule.when)) & set(map(str, origin.when))
    found = sorts(origin, heads(own.files)).variables
    changed = [w for w in (*rule.when, *origin.when) if str(w) not in kept]
    asked = frozenset[str]().union(*map(_read, changed))
    return all(found.get(v) in ("IV", "i64") for v in asked)


def _read(e: Expr) -> frozenset[str]:
    """The variables that a premise reads, but for those whose shape it asks for."""
    if isinstance(e, Atom):
        return variables(e)
    if e.head == "shape":
        return frozenset()
    return frozenset[str]().union(*map(_read, e.args))


def _telling(
    rule: Rule, origin: Rule, rules: RuleSet, rng: random.Random
) -> Graph | None:
    """Instances of the mutant: such as meet its premises, such as break one alone that
    only the original has, and some of any kind."""
    sampler, algebra = Sampler(rng), algebra_of(rules)
    sides = [rule.left, rule.right] if rule.both else [rule.left]
    mine = set(map(str, rule.when))
    lost = [i for i, w in enumerate(origin.when) if str(w) not in mine]
    roots: list[int | None] = []
    for side in sides:
        met = Guided(sampler, algebra, side, rule.when)
        roots += [met.met() for _ in range(TOLD // len(sides))]
        roots += [met.any() for _ in range(TOLD // 4)]
        breaking = Guided(sampler, algebra, side, origin.when)
        roots += [breaking.breaking(i) for i in lost for _ in range(BROKEN)]
    found = [r for r in roots if r is not None]
    return sampler.builder.build(found) if found else None


def _fresh(pairs: Pairs) -> list[Pair]:
    """What the mutant makes and the rule it came from does not."""
    known = {_ends(pairs.graph, p) for p in pairs.of.get(1, ())}
    return [
        p
        for p in pairs.of[0]
        if not known & {(ends := _ends(pairs.graph, p)), ends[::-1]}
    ]


def _ends(graph: Graph, p: Pair) -> tuple[str, str]:
    """Both sides, written out."""
    return _written(graph, p.left), "" if p.right is None else _written(graph, p.right)


def _written(graph: Graph, i: int) -> str:
    """A term; where folding rounds nothing, the accumulator's dtype is left out."""
    node = graph.nodes[i]
    attrs = node.attrs
    folds = node.op == "reduce" and attrs[0] in ("max", "min")
    if folds or (node.op in ("reduce", "contract") and not node.dtype.is_float):
        attrs = attrs[:2]
    args = " ".join(_written(graph, a) for a in node.args)
    return f"({node.op} {attrs} {node.type} {args})"


def _spread(pairs: Sequence[Pair], count: int) -> list[Pair]:
    """Some of the pairs, from all over."""
    step = max(1, len(pairs) // count)
    return list(pairs[::step][:count])


def _batches(pairs: Sequence[Pair]) -> Iterator[Sequence[Pair]]:
    for i in range(0, len(pairs), TOGETHER):
        yield pairs[i : i + TOGETHER]


def _derived(
    graph: Graph, pairs: Sequence[Pair], rule: Rule, rules: RuleSet, engine: Engine
) -> bool:
    """Whether rules with contracts as strong make one class of both sides of each."""
    if any(p.right is None or _typed(graph, p) is None for p in pairs):
        return False
    strong = STRENGTH[: STRENGTH.index(rule.contract) + 1]
    library = rules.only(r.name for r in rules.rules if r.contract in strong)
    ends = [n for p in pairs for n in (p.left, p.right) if n is not None]
    whole = Graph(graph.nodes, tuple((f"n{n}", n) for n in dict.fromkeys(ends)))
    finite = frozenset(i for i, n in enumerate(graph.nodes) if n.op == "input")
    known = frozenset[int]() if rule.contract in ("bitwise", "ieee") else finite
    found = saturate(whole, library, BUDGET, engine, nan_free=known)
    return all(p.right is not None and found.own[p.left] == found.own[p.right]
               for p in pairs)  # fmt: skip


def _typed(graph: Graph, p: Pair) -> Graph | None:
    """The graph, if both sides of a pair are of one type."""
    assert p.right is not None
    alike = graph.nodes[p.left].type == graph.nodes[p.right].type
    return graph if alike else None


def _matters(graph: Graph, p: Pair, contract: str) -> bool:
    """Whether a pair could break the contract: its one type has elements, and, of a law
    over the reals, no constant is subnormal and no bound is one of nothing, which is
    infinite (rules/README.md: those are outside it)."""
    if p.right is None or graph.nodes[p.left].type != graph.nodes[p.right].type:
        return True
    if 0 in graph.nodes[p.left].shape:
        return False
    exact = contract in ("bitwise", "ieee")
    below = Graph(graph.nodes, (("left", p.left), ("right", p.right))).live
    outside = (
        _subnormal(graph.nodes[i]) or _infinite(graph, graph.nodes[i]) for i in below
    )
    return exact or not any(outside)


def _subnormal(node: Node) -> bool:
    if node.op != "const" or not node.dtype.is_float:
        return False
    least = float(cast(Any, ml_dtypes.finfo(node.dtype.numpy)).smallest_normal)
    return 0 < abs(float(node.attrs[0])) < least


def _infinite(graph: Graph, node: Node) -> bool:
    if node.op != "reduce" or node.attrs[0] not in ("max", "min"):
        return False
    folded = graph.nodes[node.args[0]].shape
    return node.dtype.is_float and 0 in folded and 0 not in node.shape


def _one_term(graph: Graph, p: Pair) -> bool:
    """Whether both sides are the same term, opened as their definitions say."""
    if p.right is None:
        return False
    sides = expand_macros(Graph(graph.nodes, (("left", p.left), ("right", p.right))))
    opened = _opened(sides)
    left, right = (encode(opened).row(i) for _, i in opened.outputs)
    return left == right


def _opened(graph: Graph) -> Graph:
    """The graph with composite opcodes as their expansions, constants in full shape,
    and the operands of what commutes bit for bit in one order."""
    b = Builder(graph.name)
    where: list[int] = []
    for node in graph.nodes:
        args = [where[a] for a in node.args]
        where.append(_reopened(b, node, args))
    return b.build({label: where[i] for label, i in graph.outputs})


def _reopened(b: Builder, node: Node, args: list[int]) -> int:
    scalar = BY_NAME.get(node.attrs[0]) if node.op == "un" else None
    if scalar is not None and scalar.expansion is not None:
        return _composed(b, scalar.expansion, args[0])
    if node.op in ("expand", "reshape") and b.nodes[args[0]].op == "const":
        return b.const(b.nodes[args[0]].attrs[0], node.dtype, node.shape)
    if node.op == "expand":  # one mask of the axes that grow, nothing where none does
        return b.expand(args[0], node.shape)
    if node.op == "bin":
        return _ordered(b, node.attrs[0], *args)
    return b.add(node.op, args, node.attrs, node.attrs[0] if node.op == "input" else "")


def _ordered(b: Builder, op: str, x: int, y: int) -> int:
    """Of max and min, the order of two zeros may decide which one comes out.  A factor
    of 1 changes no bit."""
    for one, other in ((x, y), (y, x)):
        if op == "mul" and b.nodes[one].op == "const" and b.nodes[one].attrs[0] == 1:
            return other
    if op in COMMUTATIVE - {"max", "min"}:
        x, y = sorted((x, y), key=lambda i: _words(b, i))
    return b.bin(op, x, y)


def _words(b: Builder, i: int) -> str:
    node = b.nodes[i]
    return f"({node.op} {node.attrs} {' '.join(_words(b, a) for a in node.args)})"


def _composed(b: Builder, tree: SExpr, x: int) -> int:
    match tree:
        case str():
            return x
        case float() | int():
            return b.const(float(tree), b.type(x).dtype, b.shape(x))
        case (str() as op, first):
            scalar = BY_NAME[op]
            inner = _composed(b, first, x)
            if scalar.expansion is not None:
                return _composed(b, scalar.expansion, inner)
            return b.un(op, inner)
        case (str() as op, first, second):
            return _ordered(b, op, _composed(b, first, x), _composed(b, second, x))
        case _:
            raise ValueError(f"{tree!r} is not an expansion")


__all__ = ["Argument", "argued"]
