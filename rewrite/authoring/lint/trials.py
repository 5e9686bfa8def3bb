"""Findings that only running shows: types that clash, examples that lie, premises that
no example needs.

A rule and its variants, each without one premise, run on the rule's examples and on
random instances, with nothing joined (`egraph/judge/instances.py`): an example that the
rule skips and a variant takes shows what that premise is for.
"""

from __future__ import annotations

import random
import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field, replace

from rewrite.egraph.ir.dtypes import BF16, BOOL, F16, F32, I8, I32, U8
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.egraph.judge.examples import read
from rewrite.egraph.judge.instances import Pair, Pairs, make, variant
from rewrite.egraph.judge.sample import Sampler
from rewrite.egraph.judge.satisfying import Guided
from rewrite.egraph.judge.sound import algebra_of, draw_instances
from rewrite.egraph.judge.terms import Undrawn
from rewrite.egraph.rules.premises import definitions
from rewrite.egraph.rules.ruleset import ANALYSED, Example, Rule, RuleSet
from rewrite.egraph.rules.sexpr import Form, RuleFileError
from rewrite.egraph.saturate.engine import Engine, EngineError

from ..terms import added, spelled
from .findings import Finding
from .patterns import directions

DRAWN = 16  # random instances
OFFERED = 8  # instances from which the shortest is offered as an example
KINDS = (F32, I8, F16, I32, BOOL, U8, BF16)  # in which order an example is looked for
SMALL, LOW = (1, 2, 3), (1, 2, 2)  # sizes and ranks of what is shown to people


@dataclass(frozen=True)
class Bench:
    """What rules are tried with."""

    rules: RuleSet
    engine: Engine


@dataclass
class _Shown:
    """The examples of one rule in one graph; tensors of two are never the same."""

    builder: Builder = field(default_factory=Builder)
    roots: dict[Example, int] = field(default_factory=dict[Example, int])
    wanted: dict[Example, int] = field(default_factory=dict[Example, int])
    nan_free: set[int] = field(default_factory=set[int])
    tried: int = 0  # examples, those that were no terms as well

    def add(self, example: Example) -> None:
        rows, left, right, _ = read(example)
        mark, self.tried = f"_{self.tried}", self.tried + 1
        where = added(self.builder, rows, example.place, mark)
        self.roots[example] = where[left]
        if right is not None:
            self.wanted[example] = where[right]
        named = {row[1]: where[i] for i, row in enumerate(rows) if row[0] == "Input"}
        self.nan_free |= {named[str(fact.args[0])] for fact in example.given}

    @property
    def graph(self) -> Graph:
        return self.builder.build([*self.roots.values(), *self.wanted.values()])


def trials(rule: Rule, bench: Bench, allowed: Container[str] = ()) -> Iterator[Finding]:
    """What running the rule alone shows; what is allowed is not searched for."""
    shown = _Shown()
    for example in (*rule.fires, *rule.skips):
        if example.is_open:
            yield Finding(
                example.place, "example", rule.name,
                f"{rule.name}: the example has no right side yet",
                "fill it in with rewrite test --bless",
            )  # fmt: skip
            continue
        try:
            shown.add(example)
        except RuleFileError as e:
            what = str(e).partition(": ")[2]
            yield _about(rule, example, f"the example cannot be read: {what}")
    lacking = [*_lacking(rule)]
    try:
        forms = [rule, *(form for _, form in lacking)]
        pairs = _made(shown.graph, forms, bench, frozenset(shown.nan_free))
    except EngineError as e:
        yield _say(rule, "invalid", f"the engine refuses it: {e}", "mend the rule")
        return
    clash = _clash(rule, pairs.graph, pairs.of.get(0, ())) or _instances(rule, bench)
    if clash is not None:
        yield clash
        return
    yield from _examples(rule, shown, pairs)
    missing = _missing(lacking, shown, pairs)
    for i, forms in missing.items():
        yield _premise(rule, i, forms, bench, "unneeded" in allowed)


def _made(
    graph: Graph, forms: Sequence[Rule], bench: Bench,
    nan_free: frozenset[int] = frozenset(),
) -> Pairs:  # fmt: skip
    return make(graph, forms, bench.rules, nan_free=nan_free, engine=bench.engine)


def _lacking(rule: Rule) -> Iterator[tuple[int, Rule]]:
    """The rule without one of the premises that restrict it, one way at a time.

    What restricts a birewrite from right to left alone says what its left side is.
    """
    forward = definitions(rule, rule.left)
    for matched, made in directions(rule):
        way = replace(rule, left=matched, right=made, both=False)
        naming = definitions(way, matched)
        for i in range(len(rule.when)):
            if i not in naming and i not in forward:
                yield i, variant(way, i)


def _say(rule: Rule, code: str, message: str, fix: str) -> Finding:
    return Finding(rule.place, code, rule.name, f"{rule.name}: {message}", fix)


def _about(rule: Rule, example: Example, message: str) -> Finding:
    return Finding(
        example.place, "example", rule.name, f"{rule.name}: {message}",
        "mend the example or the rule",
    )  # fmt: skip


# ---- types ---------------------------------------------------------------------------


def _clash(rule: Rule, graph: Graph, pairs: Sequence[Pair]) -> Finding | None:
    """A term and what the rule makes of it, of which the types differ."""
    for pair in pairs:
        left = graph.nodes[pair.left].type
        shown = _spelled(graph, pair.left)
        if pair.right is None:
            why = f"of {shown} it makes no term: {pair.reason}"
        elif graph.nodes[pair.right].type != left:
            why = f"{shown}, a {left}, becomes a {graph.nodes[pair.right].type}"
        else:
            continue
        fix = "make both sides agree or add a premise"
        return _say(rule, "types", why, fix)
    return None


def _instances(rule: Rule, bench: Bench) -> Finding | None:
    """Sides that fit each other on the examples, and not on other shapes."""
    rng = random.Random(f"{rule.name}:lint")
    try:
        graph = draw_instances(rule, bench.rules, rng, DRAWN)
    except Undrawn:
        return None
    if graph is None:
        return None
    pairs = _made(graph, [rule], bench, _known(rule, graph))
    return _clash(rule, pairs.graph, pairs.of.get(0, ()))


def _known(rule: Rule, graph: Graph) -> frozenset[int]:
    """Where a premise asks for a fact of the inputs, it is given."""
    heads = {w.head for w in rule.when if isinstance(w, Form)}
    if heads.isdisjoint(ANALYSED):
        return frozenset()
    return frozenset(i for i, n in enumerate(graph.nodes) if n.op == "input")


# ---- examples ------------------------------------------------------------------------


def _below(graph: Graph, root: int) -> frozenset[int]:
    return Graph(graph.nodes, (("out", root),)).live


def _taken(shown: _Shown, pairs: Pairs, form: int) -> dict[Example, list[Pair]]:
    """For each example, what a variant of the rule makes of its terms."""
    graph, out = shown.graph, dict[Example, list[Pair]]()
    for example, root in shown.roots.items():
        mine = _below(graph, root)
        result = [p for p in pairs.of.get(form, ()) if p.source in mine]
        out[example] = [p for p in result if p.right != p.left]
    return out


def _examples(rule: Rule, shown: _Shown, pairs: Pairs) -> Iterator[Finding]:
    for example, result in _taken(shown, pairs, 0).items():
        if example.right is None:
            if result:
                yield _about(rule, example, "the example fires, and should not")
        elif not result:
            yield _about(rule, example, "the example does not fire")
        else:
            want = _spelled(shown.graph, shown.wanted[example])
            made = [
                _spelled(pairs.graph, p.right) for p in result if p.right is not None
            ]
            if want not in made:
                text = f"the example makes {made[0]}" if made else "nothing is made"
                yield _about(rule, example, f"{text}, not {example.right}")


def _spelled(graph: Graph, node: int) -> str:
    return spelled(Graph(graph.nodes, (("out", node),)), drawn=True)[0]


# ---- premises ------------------------------------------------------------------------


def _missing(
    lacking: Sequence[tuple[int, Rule]], shown: _Shown, pairs: Pairs
) -> dict[int, list[Rule]]:
    """The premises that no example breaks alone, with the variants that lack them."""
    out: dict[int, list[Rule]] = {}
    seen = set[int]()
    for form, (i, without) in enumerate(lacking, 1):
        taken = _taken(shown, pairs, form)
        out.setdefault(i, []).append(without)
        if any(result for e, result in taken.items() if e.right is None):
            seen.add(i)
    return {i: forms for i, forms in sorted(out.items()) if i not in seen}


def _premise(
    rule: Rule, i: int, forms: Sequence[Rule], bench: Bench, known: bool
) -> Finding:
    """What to do about a premise; `known`: that nothing needs it is known."""
    result = (None if known else _offer(rule, i, form, bench) for form in forms)
    offer = next((term for term in result if term is not None), None)
    what = f"{rule.name}: no ';;@ skips' breaks {rule.when[i]} alone"
    if offer is None:
        return Finding(
            rule.when[i].place, "unneeded", rule.name, f"{what}, nor does any draw",
            "leave the premise out, or add an example that would fire but for it",
        )  # fmt: skip
    fix = f"add ';;@ skips {offer}'"
    return Finding(rule.when[i].place, "premise", rule.name, what, fix)


def _offer(rule: Rule, i: int, without: Rule, bench: Bench) -> str | None:
    """A term that this premise alone keeps from the rule, by the engine's judgement."""
    sampler = Sampler(random.Random(f"{rule.name}:{i}"), sizes=SMALL, ranks=LOW)
    guided = Guided(sampler, algebra_of(bench.rules), without.left, rule.when, KINDS)
    roots = list[int]()
    try:
        while len(roots) < OFFERED and (root := guided.breaking(i)) is not None:
            roots.append(root)
    except Undrawn:
        return None
    if not roots:
        return None
    graph = sampler.builder.build(roots)
    pairs = _made(graph, [rule, without], bench, _known(rule, graph))
    kept = {p.source for p in pairs.of.get(0, ())}
    only = {p.source for p in pairs.of.get(1, ())} - kept
    terms = sorted((_strange(graph, r), _spelled(graph, r)) for r in roots if r in only)
    return terms[0][1] + _given(rule, i, terms[0][1]) if terms else None


def _given(rule: Rule, i: int, term: str) -> str:
    """The facts that the other premises ask for, of all inputs of a term."""
    others = (w for k, w in enumerate(rule.when) if k != i and isinstance(w, Form))
    heads = dict.fromkeys(w.head for w in others if w.head in ANALYSED)
    bare = re.sub(r'"[^"]*"|\[[^]]*\]', "", term)
    inputs = dict.fromkeys(re.findall(r"(?<=\s)[a-z]\w*", bare))
    facts = " ".join(f"({head} {x})" for head in heads for x in inputs)
    return f"  given {facts}" if facts else ""


def _strange(graph: Graph, root: int) -> int:
    """How far a term is from what people would write: sizes of 1, few axes, length."""
    shapes = [graph.nodes[i].shape for i in _below(graph, root)]
    plain = sum(2 - min(len(s), 2) + s.count(1) for s in shapes)
    return 10 * plain + len(_spelled(graph, root))
