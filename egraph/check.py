"""The independent check of a proof: every use of a rule, and every link of a lemma.

A use is right if both its terms are instances of the rule's two sides with the same
tensors for the same variables, have equal types, and have equal values at sampled
positions, computed by `pointwise` with those tensors as inputs.  Where a premise is a
fact of the graph, its tensor must be equal to one that came with the fact.  A lemma is
right if its path is unbroken and each congruence rests on lemmas that stand before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .encode import SIGNATURES, ENode, decode, value_of
from .graph import Builder, Graph, GraphError
from .journal import Journal, Use
from .ops import TensorType
from .pointwise import PointError, Points, sample
from .proof import Closure, Given, Lemma
from .rows import with_kids
from .ruleset import ANALYSED, Rule, RuleSet
from .sexpr import Atom, Expr, Form
from .sound import agree

POSITIONS = 8  # sampled elements of each step


class CheckError(RuntimeError):
    """A step or a lemma that does not hold; nothing of its proof may be shown."""


@dataclass
class Terms:
    """Twins as e-nodes with types."""

    journal: Journal
    types: dict[int, TensorType] = field(default_factory=dict[int, TensorType])
    _nodes: dict[int, ENode] = field(default_factory=dict[int, ENode])

    def node(self, t: int) -> ENode:
        if t not in self._nodes:
            terms = self.journal.terms
            row, names = terms[t], self.journal.names
            self._nodes[t] = decode(row, names, lambda v: value_of(terms[v]))
        return self._nodes[t]

    def type(self, t: int) -> TensorType:
        """By the op table's own type rules, operands first."""
        todo = [t]
        while todo:
            i = todo[-1]
            missing = [a for a in self.node(i).args if a not in self.types]
            if not missing and i not in self.types:
                self.types[i] = self._infer(self.node(i))
            todo.extend(missing)
            if not missing:
                todo.pop()
        return self.types[t]

    def _infer(self, node: ENode) -> TensorType:
        b = Builder()
        args = [
            b.input(f"x{k}", self.types[a].dtype, self.types[a].shape)
            for k, a in enumerate(node.args)
        ]
        if node.op == "call":
            return TensorType(node.attrs[2], node.attrs[3])
        return b.type(b.add(node.op, args, node.attrs))


@dataclass
class _Instance:
    """Both sides of a use, built over one input for each of its variables."""

    terms: Terms
    rule: Rule
    builder: Builder = field(default_factory=Builder)
    bound: dict[str, Any] = field(default_factory=dict[str, Any])
    inputs: dict[str, int] = field(default_factory=dict[str, int])

    def side(self, pattern: Expr, t: int) -> int:
        if isinstance(pattern, Atom):
            self._bind(pattern.text, t)
            if pattern.text not in self.inputs:
                kind = self.terms.type(t)
                name = f"{pattern.text}{len(self.inputs)}"
                node = self.builder.input(name, kind.dtype, kind.shape)
                self.inputs[pattern.text] = node
            return self.inputs[pattern.text]
        row = self.terms.journal.terms[t]
        if row[0] != pattern.head:
            raise CheckError(f"{row[0]} stands where the rule has {pattern.head}")
        args: list[int] = []
        for kind, e, x in zip(SIGNATURES[row[0]], pattern.args, row[1:], strict=True):
            if kind != "t":
                self._attribute(e, x)
            elif row[0] == "Pad" and e is pattern.args[-1]:
                self._bind(str(e), x)  # a constant, which the node holds as a number
            else:
                args.append(self.side(e, x))
        node = self.terms.node(t)
        return self.builder.add(node.op, args, node.attrs)

    def _bind(self, name: str, value: Any) -> None:
        if self.bound.setdefault(name, value) != value:
            raise CheckError(f"{name} stands for two different things")

    def _attribute(self, e: Expr, value: Any) -> None:
        """Variables agree with themselves, literals with the value; what the rule
        computes is judged by the values that follow from it."""
        if not isinstance(e, Atom):
            return
        if e.is_symbol:
            self._bind(e.text, value)
        elif (e.string if e.is_string else float(e.text)) != value:
            raise CheckError(f"{value!r} stands where the rule has {e}")


@dataclass
class Checker:
    """Checks uses of rules; steps that are alike are computed once."""

    journal: Journal
    rules: RuleSet
    closure: Closure | None = None  # None: facts hold of the very terms they came with
    terms: Terms = field(init=False)
    _seen: set[Any] = field(default_factory=set[Any])

    def __post_init__(self) -> None:
        self.terms = Terms(self.journal)

    def use(self, use: Use) -> None:
        rule = self.rules.rule(use.rule)
        try:
            graph, left, right = self._instance(rule, use)
            key = (
                rule.name,
                use.forward,
                *((n.op, n.args, n.attrs) for n in graph.nodes),
            )
            if key not in self._seen:
                _same_values(graph, left, right, rule.contract)
                self._seen.add(key)
        except (CheckError, PointError, GraphError) as e:
            raise CheckError(
                f"{rule.place}: a use of {rule.name} could not be confirmed: {e}; "
                "the rule is wrong, or the step is: run its examples"
            ) from None

    def _instance(self, rule: Rule, use: Use) -> tuple[Graph, int, int]:
        sides = [rule.left, rule.right] if use.forward else [rule.right, rule.left]
        made = _Instance(self.terms, rule)
        left, right = made.side(sides[0], use.left), made.side(sides[1], use.right)
        for fact in rule.when:
            if isinstance(fact, Form) and fact.head in ANALYSED:
                self._known(fact, made.bound.get(str(fact.args[0])))
        return made.builder.build([left, right]), left, right

    def _known(self, fact: Form, t: int | None) -> None:
        equal = self.closure.equal if self.closure else int.__eq__
        if t is None or not any(equal(t, known) for known in self.journal.nan_free):
            raise CheckError(f"nothing shows {fact}")


def _same_values(graph: Graph, left: int, right: int, contract: str) -> None:
    kind = graph.nodes[left].type
    if graph.nodes[right].type != kind:
        raise CheckError(f"{kind} became {graph.nodes[right].type}")
    where = sample(graph, left, POSITIONS)
    values = [
        Points.of(g).at(g.outputs[0][1], where)
        for g in (_only(graph, left), _only(graph, right))
    ]
    # The oracle computes in float64, where a law of exact bits is a law of reals too.
    if not agree(values[0], values[1], kind, "real"):
        shown = " and ".join(np.array2string(v, precision=6) for v in values)
        raise CheckError(f"the sides give {shown} ({contract})")


def _only(graph: Graph, node: int) -> Graph:
    out = Graph(graph.nodes, (("out0", node),), graph.name)
    return Points.of(out).graph


def check_lemmas(lemmas: Sequence[Lemma], closure: Closure) -> None:
    """Every path is unbroken, and rests on lemmas before it."""
    proved: set[tuple[int, int]] = set()
    for lemma in lemmas:
        at = lemma.left
        for link in lemma.path:
            if link.start != at:
                raise CheckError("a proof has a gap; report this as a bug")
            if not isinstance(link.reason, Given):
                _congruent(closure, link.start, link.end)
                if any(pair not in proved for pair in closure.operands(link)):
                    raise CheckError("a proof rests on itself; report this as a bug")
            at = link.end
        if at != lemma.right:
            raise CheckError("a proof ends elsewhere; report this as a bug")
        proved.add((lemma.left, lemma.right))


def _congruent(closure: Closure, a: int, b: int) -> None:
    """One head, and all that is no operand equal."""
    rows = closure.terms[a], closure.terms[b]
    blank = _Blank()
    if with_kids(rows[0], blank) != with_kids(rows[1], blank):
        raise CheckError("two different ops were taken for congruent; report this")


class _Blank(dict[int, None]):
    def __missing__(self, key: int) -> None:
        return None
