"""The numeric check of a proof: both sides of every use of a rule, by their values.

`checker.py` sees to it that each step is what its rule says; here a rule that says what
is wrong is caught.  Both sides are computed by `pointwise` at sampled positions, with
the tensors that the variables stand for as inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..ir.constructors import SIGNATURES
from ..ir.graph import Builder, Graph, GraphError
from ..ir.ops import READS, TensorType
from ..judge.agreement import Promise
from ..judge.sound import agree, sample_rule
from ..rules.ruleset import Rule, RuleSet
from ..rules.sexpr import Atom, Expr
from ..saturate.encode import ENode, Names, decode, value_of
from ..saturate.engine import Engine
from .pointwise import PointError, Points, TooLarge, sample
from .proof import CheckError, Proof, Use

POSITIONS = 8  # sampled elements of each step


@dataclass
class Terms:
    """Rows by number as e-nodes with types."""

    rows: Mapping[int, Any] | Sequence[Any]
    names: Names
    types: dict[int, TensorType] = field(default_factory=dict[int, TensorType])
    _nodes: dict[int, ENode] = field(default_factory=dict[int, ENode])

    def node(self, t: int) -> ENode:
        if t not in self._nodes:
            row = self.rows[t]
            self._nodes[t] = decode(row, self.names, lambda v: value_of(self.rows[v]))
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
        if node.op == "call":
            return TensorType(node.attrs[2], node.attrs[3])
        b = Builder()
        args = [
            b.input(f"x{k}", self.types[a].dtype, self.types[a].shape)
            for k, a in enumerate(node.args)
        ]
        return b.type(b.add(node.op, args, node.attrs))


@dataclass
class _Instance:
    """Both sides of a use, built over one input for each of its variables and each
    array that a pattern names."""

    terms: Terms
    builder: Builder = field(default_factory=Builder)
    inputs: dict[str | int, int] = field(default_factory=dict[str | int, int])

    def side(self, pattern: Expr, t: int) -> int:
        if isinstance(pattern, Atom):
            return self._input(pattern.text, t)
        row, node = self.terms.rows[t], self.terms.node(t)
        if node.op in READS:
            return self._input(t, t)
        fields = zip(SIGNATURES[row[0]], pattern.args, row[1:], strict=True)
        below = [(e, x) for kind, e, x in fields if kind == "t"]
        # The value of a Pad is a constant, which the node holds as a number.
        args = [self.side(e, x) for e, x in below[: len(node.args)]]
        return self.builder.add(node.op, args, node.attrs)

    def _input(self, key: str | int, t: int) -> int:
        if key not in self.inputs:
            kind, name = self.terms.type(t), f"x{len(self.inputs)}"
            self.inputs[key] = self.builder.input(name, kind.dtype, kind.shape)
        return self.inputs[key]


@dataclass
class Checker:
    """Computes uses of rules; those that are alike are computed once."""

    terms: Terms
    rules: RuleSet
    engine: Engine | None = None
    _seen: set[Any] = field(default_factory=set[Any])

    def use(self, use: Use) -> None:
        rule = self.rules.rule(use.rule)
        try:
            graph, left, right = self._instance(rule, use)
            shape = ((n.op, n.args, n.attrs) for n in graph.nodes)
            key = (rule.name, use.forward, *shape)
            if key not in self._seen:
                self._values(rule, graph, left, right)
                self._seen.add(key)
        except (CheckError, PointError, GraphError) as e:
            hint = "the rule is wrong, or the step is: run its examples"
            if isinstance(e, PointError):
                hint = "that says nothing of the rule"
            use_of = f"{rule.place}: a use of {rule.name}"
            raise CheckError(f"{use_of} could not be confirmed: {e}; {hint}") from None

    def _values(self, rule: Rule, graph: Graph, left: int, right: int) -> None:
        try:
            _same_values(graph, left, right, rule.contract)
        except TooLarge as e:
            if rule.name not in self._seen:
                self._small(rule, str(e))
                self._seen.add(rule.name)

    def _small(self, rule: Rule, why: str) -> None:
        """Tries the rule on small tensors, which are drawn."""
        result = sample_rule(rule, self.rules, engine=self.engine)
        if result.counterexample is not None:
            raise CheckError(f"{why}; on small tensors {result.counterexample}")
        if not result.fired:
            raise CheckError(f"{why}, and no small tensors that it matches were drawn")

    def _instance(self, rule: Rule, use: Use) -> tuple[Graph, int, int]:
        sides = [rule.left, rule.right] if use.forward else [rule.right, rule.left]
        made = _Instance(self.terms)
        left, right = made.side(sides[0], use.left), made.side(sides[1], use.right)
        return made.builder.build([left, right]), left, right


def check_values(proof: Proof, rules: RuleSet, engine: Engine | None = None) -> None:
    """CheckError if the two sides of a use have different values somewhere."""
    labels = {label: i for i, label in enumerate(proof.labels)}
    checker = Checker(Terms(proof.terms, Names(labels)), rules, engine)
    for use in proof.uses:
        checker.use(use)


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
    if not agree(values[0], values[1], kind, Promise("real")):
        shown = " and ".join(np.array2string(v, precision=6) for v in values)
        raise CheckError(f"the sides give {shown} ({contract})")


def _only(graph: Graph, node: int) -> Graph:
    out = Graph(graph.nodes, (("out0", node),), graph.name)
    return Points.of(out).graph


__all__ = ["CheckError", "Checker", "Terms", "check_values"]
