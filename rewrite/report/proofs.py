"""The checked proof of each piece, in the user's words and at the places where it is
used."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rewrite.egraph.ir.graph import Graph, Node, witness
from rewrite.egraph.proof.explain import Explanation, Step
from rewrite.egraph.proof.whole import Optimization
from rewrite.egraph.rules.ruleset import Rule, RuleSet
from rewrite.egraph.rules.sexpr import laid_out
from rewrite.extract.schedule.kernel import KernelCost
from rewrite.extract.schedule.part import Part
from rewrite.extract.schedule.plan import Plan
from rewrite.extract.symbols import Symbols

from ..core.explaining import explained_part, put_together
from .account import RuleView, StepView, TermView
from .forms import Shape, costs
from .places import Places, Use
from .spelling import Numbers, Spelling
from .words import Words, in_symbols


def _in_words(part: Part, names: Mapping[int, str]) -> Part:
    """The piece with `names`, which are words for nodes of its graph before."""
    inputs = {
        n.attrs[0]: names[i]
        for i, n in enumerate(part.before.nodes)
        if n.op == "input" and i in names
    }
    before, after = (_called(g, inputs) for g in (part.before, part.after))
    nodes = tuple(
        replace(n, name=names.get(i, n.name)) if n.op not in ("input", "const") else n
        for i, n in enumerate(before.nodes)
    )
    return replace(part, before=replace(before, nodes=nodes), after=after)


def _called(graph: Graph, names: Mapping[str, str]) -> Graph:
    """The graph with its inputs called by other names."""

    def named(n: Node) -> Node:
        if n.op != "input" or n.attrs[0] not in names:
            return n
        word = names[n.attrs[0]]
        return replace(n, attrs=(word, *n.attrs[1:]), name=word)

    return replace(graph, nodes=tuple(map(named, graph.nodes)))


# ---- steps as they are shown ---------------------------------------------------------


class Proofs:
    """The proofs of all pieces of a plan, one after the other."""

    def __init__(
        self, parts: Sequence[Part], rules: RuleSet, at: Places, price: KernelCost,
        hints: Mapping[str, int],
    ) -> None:  # fmt: skip
        self.rules, self.at = rules, at
        known: dict[Shape, float] = {}
        self.numbers = Numbers(at.before.words)
        self.steps: list[StepView] = []
        self.parts: list[Part] = []  # in the user's words
        self.found: list[tuple[Explanation, tuple[int, int]]] = []
        for p, part in enumerate(parts):
            uses = at.uses[p] if at.uses else ()
            words = _words(at.before.words, uses[0].before if uses else {}, part.before)
            part = _in_words(part, words)
            result = explained_part(part, rules, hints)
            spent = costs(result, price, known)
            first = len(self.steps)
            said = _Said(part, words, witness(part.before, hints))
            place: Mapping[int, int] = uses[0].before if uses else {}
            whole = Spelling(p, result, rules, self.numbers, place, said.value)
            for s, cost in zip(result.steps, spent, strict=True):
                self.steps.append(self._step(s, p, uses, said, cost, whole))
            self.parts.append(part)
            self.found.append((result, (first, len(self.steps))))

    def _step(
        self, s: Step, part: int, uses: Sequence[Use], said: _Said,
        cost: tuple[float, float] | None, whole: Spelling,
    ) -> StepView:  # fmt: skip
        file, _, line = s.place.rpartition(":")
        return StepView(
            len(self.steps), part, s.rule, file, int(line),
            "forward" if s.forward else "backward", s.path,
            said(s.left), said(s.right), {k: said.value(v) for k, v in s.bindings},
            cost, s.contract, s.only_moves,
            tuple(_there(u.before, s.before) for u in uses),
            tuple(_there(u.after, s.after) for u in uses), whole.step(s),
        )  # fmt: skip

    def check(
        self, source: Graph, plan: Plan, hints: Mapping[str, int]
    ) -> Optimization:
        """That the pieces, in their places, make the chosen graph of the user's."""
        whys = [why for why, _ in self.found]
        said = replace(plan, parts=tuple(self.parts))
        return put_together(source, said, whys, self.at.cuts, self.rules, hints)

    def terms(self) -> tuple[TermView, ...]:
        return tuple(self.numbers.terms)

    def used(self) -> tuple[RuleView, ...]:
        """The rules of all steps, in the order in which they are first used."""
        count: dict[str, int] = {}
        for s in self.steps:
            count[s.rule] = count.get(s.rule, 0) + 1
        return tuple(rule_view(self.rules, r, n) for r, n in count.items())


def _there(where: Mapping[int, int], nodes: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted({where[i] for i in nodes if i in where}))


def _words(said: Words, place: Mapping[int, int], graph: Graph) -> dict[int, str]:
    """Names for the nodes of a piece: what they are called where it first stands.

    No two are alike: inputs of one name would be one input.
    """
    result: dict[int, str] = {}
    taken: set[str] = set()
    for i, there in place.items():
        word = said.short(there)
        if word in taken and there not in said.names:
            word = said.spelled(there)
        if word in taken:
            word += f"[{', '.join(map(str, graph.nodes[i].shape))}]"
        again = (f"{word} ({k})" for k in itertools.count(2))
        result[i] = (
            word if word not in taken else next(w for w in again if w not in taken)
        )
        taken.add(result[i])
    return result


class _Said:
    """Texts of a proof with the user's symbols for the sizes of the witness, and
    without descriptions in front of what they describe."""

    def __init__(
        self, part: Part, words: Mapping[int, str], values: Mapping[str, int]
    ) -> None:
        self.values = values
        self.dim = Symbols(part.before, self.values).dim
        named = {n.name for n in part.before.nodes if n.name}
        self.descriptions = {w for w in words.values() if w not in named}

    def __call__(self, text: str) -> str:
        head, sign, rest = text.partition(" = ")
        while sign and head in self.descriptions:
            text = rest
            head, sign, rest = text.partition(" = ")
        return self.value(text)

    def value(self, text: str) -> str:
        return in_symbols(text, self.dim, self.values)


def rule_view(rules: RuleSet, name: str, steps: int) -> RuleView:
    """The rule's own text, as its file has it."""
    rule = rules.rule(name)
    text = _source(rules, rule)
    return RuleView(name, rule.place.file, rule.place.line, rule.contract, rule.doc,
                    text, steps)  # fmt: skip


def _source(rules: RuleSet, rule: Rule) -> str:
    for f in rules.files:
        for form in f.forms:
            if form.place == rule.place:
                return laid_out(form)
    return ""


__all__ = ["Proofs", "rule_view"]
