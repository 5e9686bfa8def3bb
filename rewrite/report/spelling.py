"""Steps with nothing cut short: what has no name of the user's goes by a number, and
each number is said once what it is, over names and other numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rewrite.egraph.proof.check import Terms
from rewrite.egraph.proof.explain import Explanation, Step
from rewrite.egraph.proof.naming import Namer, attr_text, classes, written
from rewrite.egraph.proof.proof import Proof
from rewrite.egraph.proof.proving import sides, tensor_variables
from rewrite.egraph.rules.ruleset import RuleSet
from rewrite.egraph.saturate.encode import Names

from .account import TermView, Whole
from .words import Words

type Key = int | tuple[int, int]  # a node of the graph before; a term of a piece


class Numbers:
    """The numbers of values without a name, those of the graph before and others."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self.number: dict[Key, str] = {}
        self.todo: list[int] = []
        self.terms: list[TermView] = []
        self.asked: dict[str, None] = {}  # since `taken`, in order

    def of(self, key: Key) -> tuple[str, bool]:
        """The number, and whether it is a new one, of which nothing is said yet."""
        new = key not in self.number
        if new:
            self.number[key] = f"#{len(self.number) + 1}"
        self.asked[self.number[key]] = None
        return self.number[key], new

    def node(self, i: int) -> str:
        """What a node of the graph before is called as an operand."""
        node = self.words.graph.nodes[i]
        if i in self.words.names:
            return self.words.names[i]
        if not node.args:
            return self.words(i)
        number, new = self.of(i)
        if new:
            self.todo.append(i)
        return number

    def define(self, number: str, text: str) -> None:
        self.terms.append(TermView(number, text, tuple(self.asked)))

    def settle(self) -> None:
        """Says of all nodes that were mentioned what they are."""
        while self.todo:
            i = self.todo.pop()
            self.asked = {}
            node = self.words.graph.nodes[i]
            text = written(node, [self.node(a) for a in node.args])
            self.define(self.number[i], text)


class Spelling(Namer):
    """The steps of the proof of one piece; `place` has its nodes in the whole."""

    def __init__(
        self, piece: int, found: Explanation, rules: RuleSet, numbers: Numbers,
        place: Mapping[int, int], shown: Callable[[str], str],
    ) -> None:  # fmt: skip
        """`shown`: the text of a term with the user's symbols for its sizes."""
        self.piece, self.proof, self.rules = piece, found.proof, rules
        self.numbers, self.todo, self.shown = numbers, list[int](), shown
        self.there = {t: place[i] for i, t in enumerate(self.proof.before)
                      if t is not None and i in place}  # fmt: skip
        called = numbers.words.names
        names = {t: called[i] for t, i in self.there.items() if i in called}
        super().__init__(_terms(self.proof), names, classes(self.proof))

    def operand(self, t: int, depth: int = 1, within: int | None = None) -> str:
        known = self.root[t] if self.root[t] != within else None
        if t in self.names or known in self.called:
            return self.names.get(t) or self.called[self.root[t]]
        if t in self.there:
            return self.numbers.node(self.there[t])
        if not self.terms.node(t).args:
            return self._spelled(t, depth, within)
        number, new = self.numbers.of((self.piece, t))
        if new:
            self.todo.append(t)
        return number

    def step(self, s: Step) -> Whole:
        self.numbers.asked = {}
        use, rule = self.proof.uses[s.use], self.rules.rule(s.rule)
        ends = (
            (use.left, use.right) if use.forward == s.forward else (use.right, use.left)
        )
        tensors = tensor_variables(rule)
        before, after = (
            self.shown(self.side(side, t))
            for side, t in zip(sides(rule, s.forward), ends, strict=True)
        )
        bound = {
            k: self.shown(self.operand(x) if k in tensors else attr_text(x))
            for k, x in use.bindings
        }
        asked = tuple(self.numbers.asked)
        self._settle()
        return Whole(before, after, bound, asked)

    def _settle(self) -> None:
        while self.todo:
            t = self.todo.pop()
            self.numbers.asked = {}
            text = self._spelled(t, 1, self.root[t])
            self.numbers.define(self.numbers.number[self.piece, t], self.shown(text))
        self.numbers.settle()


def _terms(proof: Proof) -> Terms:
    return Terms(proof.terms, Names({label: i for i, label in enumerate(proof.labels)}))


def needed(asked: Sequence[str], terms: Mapping[str, TermView]) -> list[TermView]:
    """The terms of some numbers and of all that those are made of, operands last."""
    result: dict[str, TermView] = {}
    todo = list(reversed(asked))
    while todo:
        number = todo.pop()
        if number not in result:
            result[number] = terms[number]
            todo += reversed(terms[number].args)
    return list(result.values())


__all__ = ["Numbers", "Spelling", "needed"]
