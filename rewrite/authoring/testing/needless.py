"""Premises that nothing seems to need: without one, nothing breaks.

Each premise that is a test (not one that binds a variable) is left out in turn, and the
rule runs on instances that meet all others and break this one.  If there are some and
both sides are equal on all, it may be unneeded.  A premise made of `!=` may be there so
that the rule does not feed itself, which values cannot show; it is left in peace.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

from rewrite.egraph.judge.instances import make, variant
from rewrite.egraph.judge.judge import Judge
from rewrite.egraph.judge.sample import Sampler
from rewrite.egraph.judge.satisfying import Guided, Lore
from rewrite.egraph.judge.sound import algebra_of, promise
from rewrite.egraph.rules.premises import definitions
from rewrite.egraph.rules.ruleset import ANALYSED, Rule, RuleSet
from rewrite.egraph.rules.sexpr import Form
from rewrite.egraph.saturate.engine import Engine

# Instances for each premise and direction, in rounds in which nothing may break; most
# premises are seen to be needed in the first.
ROUNDS = (8, 16, 24)
FEW = 6  # so many at least, or nothing is said


def directed(rule: Rule) -> list[Rule]:
    """A rule for each direction that it runs in."""
    there = replace(rule, both=False)
    back = replace(there, left=rule.right, right=rule.left)
    return [there, back] if rule.both else [there]


def tests_of(way: Rule) -> list[int]:
    """The premises of a directed rule that test what is bound."""
    binding = definitions(way, way.left)
    return [
        i
        for i, p in enumerate(way.when)
        if i not in binding and isinstance(p, Form) and p.head != "!="
    ]


def needless(
    rule: Rule, rules: RuleSet, seed: int = 0, engine: Engine | None = None
) -> list[int]:
    """The premises without which nothing breaks on samples, by number."""
    if rule.contract == "unstable" or _is_split(rule, rules):
        return []
    rng = random.Random(f"{rule.name}:{seed}:premises")
    idle, needed = set[int](), set[int]()
    for way in directed(rule):
        lore = Lore()
        for i in tests_of(way):
            if i not in needed:
                rounds = (
                    _holds_without(way, rules, i, n, rng, engine, lore) for n in ROUNDS
                )
                (idle if all(rounds) else needed).add(i)
    return sorted(idle - needed)


def _is_split(rule: Rule, rules: RuleSet) -> bool:
    """Whether another rule states the same law: each has its share of the cases."""
    law = (str(rule.left), str(rule.right))
    others = (r for f in rules.files for r in f.rules if r.name != rule.name)
    return any((str(r.left), str(r.right)) == law for r in others)


def _holds_without(
    way: Rule, rules: RuleSet, premise: int, count: int,
    rng: random.Random, engine: Engine | None, lore: Lore,
) -> bool:  # fmt: skip
    p = way.when[premise]
    analysed = isinstance(p, Form) and p.head in ANALYSED
    sampler = Sampler(rng)
    guide = Guided(sampler, algebra_of(rules), way.left, way.when, lore=lore)
    # Whether a fact of the graph holds is no matter of the draw.
    draw = guide.met if analysed else lambda: guide.breaking(premise)
    roots = list(itertools.takewhile(_is_node, (draw() for _ in range(count))))
    if len(roots) < FEW:
        return False
    graph = sampler.builder.build([r for r in roots if r is not None])
    known = frozenset(i for i, n in enumerate(graph.nodes) if n.op == "input")
    facts = frozenset[int]() if analysed or promise(way).is_exact else known
    pairs = make(graph, [variant(way, premise)], rules, nan_free=facts, engine=engine)
    mine = [q for q in pairs.of.get(0, ()) if q.source in set(roots)]
    if len({q.source for q in mine}) < FEW:
        return False
    claim = replace(promise(way), finite=not analysed)
    judge = Judge(pairs.graph, mine, claim, one=True)
    return judge.can_strain and not judge.faults()


def _is_node(node: int | None) -> bool:
    return node is not None
