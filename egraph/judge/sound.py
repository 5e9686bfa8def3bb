"""Sampled soundness: a rule, run alone on random instances, must keep every value.

Instances are drawn with the rule's premises in mind (`guided.py`), the engine says
which of them the rule fires on and what it makes of each (`instances.py`), and both
sides are judged by the rule's contract on drawn inputs (`judge.py`).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..ir.dtypes import DType
from ..ir.graph import Graph
from ..ir.ops import Array, TensorType
from ..rules.premises import Algebra
from ..rules.ruleset import Rule, RuleSet
from ..saturate.engine import Engine
from .agreement import Promise, differ
from .drawn import Draw
from .instances import Pair, Pairs, make
from .judge import Fault, Judge
from .sample import Sampler
from .satisfying import TURNS, Guided

COUNT = 40
LOOSE = 4  # one in so many instances is drawn without regard to the premises


@dataclass(frozen=True)
class Verdict:
    """How often the rule fired on samples, and the first instance it got wrong."""

    rule: str
    sampled: int
    fired: int
    counterexample: str | None
    fault: Fault | None = None
    graph: Graph | None = None  # that the fault's pair is of
    back: int = 0  # of a rule that runs both ways: how often it fired backwards


@dataclass(frozen=True)
class Sampled:
    """All that one round of sampling found."""

    drawn: int  # instances
    graph: Graph
    pairs: tuple[Pair, ...]
    faults: dict[int, Fault]  # by the number of the pair

    @property
    def first(self) -> Fault:
        """The first fault that no rounding brings about, else the first."""
        plain = [
            i for i, f in self.faults.items() if f.kind in ("type", "term", "value")
        ]
        return self.faults[min(plain or self.faults)]

    def fired(self, forward: bool) -> int:
        return len({p.source for p in self.pairs if p.forward is forward})


def sample(
    rule: Rule, rules: RuleSet, rng: random.Random, count: int = COUNT, *,
    seed: int = 0, engine: Engine | None = None, sampler: Sampler | None = None,
    kinds: Sequence[DType] = TURNS,
) -> Sampled:  # fmt: skip
    """Draws instances, and judges what the rule makes of them."""
    drawn = draw_instances(rule, rules, rng, count, sampler, kinds)
    if drawn is None:
        return Sampled(0, Graph((), ()), (), {})
    pairs = pairs_of(rule, rules, drawn, engine)
    mine = pairs.of.get(0, ())
    faults = Judge(pairs.graph, mine, promise(rule), seed).faults()
    return Sampled(len(drawn.outputs), pairs.graph, mine, faults)


def sample_rule(
    rule: Rule, rules: RuleSet, seed: int = 0, count: int = COUNT,
    engine: Engine | None = None,
) -> Verdict:  # fmt: skip
    """Samples `count` instances of the side(s) that match and checks what they make."""
    rng = random.Random(f"{rule.name}:{seed}")
    result = sample(rule, rules, rng, count, seed=seed, engine=engine)
    back = result.fired(False)
    fired = result.fired(True) + back
    if not result.faults:
        return Verdict(rule.name, result.drawn, fired, None, back=back)
    fault = result.first
    shown = describe(result.graph, fault)
    return Verdict(rule.name, result.drawn, fired, shown, fault, result.graph, back)


def promise(rule: Rule) -> Promise:
    return Promise(rule.contract, rule.rtol, rule.one_way)


def pairs_of(
    rule: Rule, rules: RuleSet, drawn: Graph, engine: Engine | None = None
) -> Pairs:
    """What the rule makes of instances; and backwards, of what it made of them."""
    pairs = make(drawn, [rule], rules, nan_free=_finite(rule, drawn), engine=engine)
    if not rule.both:
        return pairs
    ends = {n for p in pairs.of.get(0, ()) for n in (p.left, p.right) if n is not None}
    whole = replace(pairs.graph, outputs=tuple((f"n{n}", n) for n in sorted(ends)))
    return make(whole, [rule], rules, nan_free=_finite(rule, whole), engine=engine)


def _finite(rule: Rule, graph: Graph) -> frozenset[int]:
    """The inputs, which laws over the reals take to be finite."""
    known = (i for i, n in enumerate(graph.nodes) if n.op == "input")
    return frozenset() if rule.contract in ("bitwise", "ieee") else frozenset(known)


def draw_instances(
    rule: Rule, rules: RuleSet, rng: random.Random, count: int,
    sampler: Sampler | None = None, kinds: Sequence[DType] = TURNS,
) -> Graph | None:  # fmt: skip
    """Instances of the side(s) that match, most of them meeting the premises."""
    sampler = sampler or Sampler(rng)
    sides = [rule.left, rule.right] if rule.both else [rule.left]
    known = algebra_of(rules)
    guides = [Guided(sampler, known, side, rule.when, kinds) for side in sides]
    roots: list[int] = []
    for i in range(count):
        guide = guides[i % len(guides)]
        node = guide.any() if i % LOOSE == LOOSE - 1 else guide.met()
        if node is not None:
            roots.append(node)
    return sampler.builder.build(roots) if roots else None


def algebra_of(rules: RuleSet) -> Algebra:
    """One reading for all rule sets of the same files."""
    key = tuple(map(id, rules.files))
    if key not in _algebras:
        while len(_algebras) >= 4:
            del _algebras[next(iter(_algebras))]
        _algebras[key] = (rules, Algebra(rules))
    return _algebras[key][1]


# The rule set is kept with its reading, so that an id stays that of a living file.
_algebras: dict[tuple[int, ...], tuple[RuleSet, Algebra]] = {}


def describe(graph: Graph, fault: Fault) -> str:
    """A fault in one line."""
    kind = graph.nodes[fault.pair.left].type
    if fault.left is None or fault.right is None:
        return f"{kind}: {fault.detail}"
    sides = f"left gives {_shown(fault.left)}, right gives {_shown(fault.right)}"
    why = f" ({fault.kind}{'; ' if fault.detail else ''}{fault.detail})"
    return f"{kind}: {sides}{why} on {fault.profile} inputs"


def _shown(a: Array) -> str:
    return np.array2string(a.ravel()[:8], precision=6)


def draw(t: TensorType, rng: np.random.Generator, *, special: bool) -> Array:
    """Values of a type: floats of ordinary size, some telling ones, infinities and NaN
    where `special`; any integers."""
    return Draw(rng, "special" if special else "ordinary").array(t)


def agree(a: Array, b: Array, t: TensorType, promise: Promise) -> bool:
    """Whether two values are equal as promised."""
    if a.shape != b.shape:
        return False
    return not differ(a, b, t, promise, rounds=True).any()
