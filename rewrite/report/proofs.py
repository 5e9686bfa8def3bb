"""The checked proof of each piece, in the user's words and at the places where it is
used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rewrite.egraph.explain import Explanation, Step, explain
from rewrite.egraph.graph import Graph, Node, substitute, witness
from rewrite.egraph.ruleset import Rule, RuleSet
from rewrite.egraph.sexpr import laid_out
from rewrite.extract.plan import Part, Symbols

from .account import RuleView, StepView
from .places import Places, Use
from .words import Words, in_symbols


def explained(
    part: Part, rules: RuleSet, names: Mapping[int, str] | None = None
) -> Explanation:
    """The checked proof for one part, at a witness of its symbolic sizes; `names` are
    words for nodes of `part.before`."""
    words = names or {}
    inputs = {
        n.attrs[0]: words[i]
        for i, n in enumerate(part.before.nodes)
        if n.op == "input" and i in words
    }
    before, after = (_called(_fixed(g), inputs) for g in (part.before, part.after))
    nodes = tuple(
        replace(n, name=words.get(i, n.name)) if n.op not in ("input", "const") else n
        for i, n in enumerate(before.nodes)
    )
    before = replace(before, nodes=nodes)
    if part.before.symbols:
        rules = rules.for_any_size()
    return explain(before, after, rules, nan_free=part.nan_free)


def _called(graph: Graph, names: Mapping[str, str]) -> Graph:
    """The graph with its inputs called by other names."""

    def named(n: Node) -> Node:
        if n.op != "input" or n.attrs[0] not in names:
            return n
        word = names[n.attrs[0]]
        return replace(n, attrs=(word, *n.attrs[1:]), name=word)

    return replace(graph, nodes=tuple(map(named, graph.nodes)))


def _fixed(graph: Graph) -> Graph:
    values = witness(graph)
    return substitute(graph, values) if values else graph


# ---- steps as they are shown ---------------------------------------------------------


class Proofs:
    """The proofs of all pieces of a plan, one after the other."""

    def __init__(self, parts: Sequence[Part], rules: RuleSet, at: Places) -> None:
        self.rules, self.at = rules, at
        self.steps: list[StepView] = []
        self.found: list[tuple[Explanation, tuple[int, int]]] = []
        for p, part in enumerate(parts):
            uses = at.uses[p] if at.uses else ()
            words = _words(at.before.words, uses[0].before if uses else {})
            found = explained(part, rules, words)
            first = len(self.steps)
            said = _Said(part, words)
            for s in found.steps:
                self.steps.append(self._step(s, p, uses, said))
            self.found.append((found, (first, len(self.steps))))

    def _step(self, s: Step, part: int, uses: Sequence[Use], said: _Said) -> StepView:
        file, _, line = s.place.rpartition(":")
        return StepView(
            len(self.steps), part, s.rule, file, int(line),
            "forward" if s.forward else "backward", s.path,
            said(s.left), said(s.right), {k: said.value(v) for k, v in s.bindings},
            None, s.contract,
            tuple(_there(u.before, s.before) for u in uses),
            tuple(_there(u.after, s.after) for u in uses),
        )  # fmt: skip

    def used(self) -> tuple[RuleView, ...]:
        """The rules of all steps, in the order in which they are first used."""
        count: dict[str, int] = {}
        for s in self.steps:
            count[s.rule] = count.get(s.rule, 0) + 1
        return tuple(rule_view(self.rules, r, n) for r, n in count.items())


def _there(where: Mapping[int, int], nodes: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted({where[i] for i in nodes if i in where}))


def _words(said: Words, place: Mapping[int, int]) -> dict[int, str]:
    """Names for the nodes of a piece: what they are called where it first stands.

    No two are alike: inputs of one name would be one input.
    """
    found: dict[int, str] = {}
    taken: set[str] = set()
    for i, there in place.items():
        word = said.short(there)
        while word in taken:
            word += "'"
        taken.add(word)
        found[i] = word
    return found


class _Said:
    """Texts of a proof with the user's symbols for the sizes of the witness, and
    without descriptions in front of what they describe."""

    def __init__(self, part: Part, words: Mapping[int, str]) -> None:
        self.values = witness(part.before)
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
                return laid_out([form]).strip()
    return ""


__all__ = ["Proofs", "explained", "rule_view"]
