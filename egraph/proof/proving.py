"""From a journal to a proof: which uses of rules, in which order, join two graphs.

The congruence closure of the journal finds short chains; what their steps need, and no
more, becomes a `Proof`.  What each rule's variables stood for is matched anew: the
journal keeps terms alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..ir.constructors import SIGNATURES
from ..ir.graph import Graph
from ..rules.premises import Algebra, Tensor
from ..rules.ruleset import ANALYSED, Rule, RuleSet
from ..rules.sexpr import Atom, Expr, Form
from ..saturate.engine import Engine
from ..saturate.explore import Budget
from ..saturate.rows import kids, with_kids
from . import journal as kept
from .check import Terms
from .closure import Closure, Edge, Equation, Pair, Steps, ordered
from .journal import Journal, record
from .proof import CheckError, Goal, Lemma, Move, Proof, Use

MORE = Budget(growth=40, enodes=12_000)


class ExplainError(RuntimeError):
    """Two graphs that the rules do not prove equal; the message names the output."""


def prove(
    before: Graph,
    after: Graph,
    rules: RuleSet,
    budget: Budget | None = None,
    engine: Engine | None = None,
    nan_free: frozenset[int] = frozenset(),
) -> Proof:
    """A proof, yet unchecked, that `after` has the outputs of `before`."""
    if [n for n, _ in before.outputs] != [n for n, _ in after.outputs]:
        raise ExplainError(
            "the two graphs have different outputs; compare like with like"
        )
    # Where the budget cut the search that chose this form, it may cut this one earlier.
    journal = record(before, after, rules, budget, engine, nan_free)
    result = Builder(journal, rules).proof(before, after)
    if isinstance(result, str) and journal.stopped and budget is None:
        journal = record(before, after, rules, MORE, engine, nan_free)
        result = Builder(journal, rules).proof(before, after)
    if isinstance(result, str):
        raise ExplainError(
            f"output {result!r}: no chain of rule uses joins the two graphs within "
            "the budget; raise it, or check that both use the same rules"
        )
    return result


def equations(journal: Journal, rules: RuleSet) -> Iterator[Equation]:
    """What the journal's uses say, and what of the graph at hand they rest on."""
    asking = {
        r.name: asked(r) for relation in ANALYSED for r in rules.reading(relation)
    }
    for use in journal.uses:
        if use.rule not in asking:
            yield Equation(use.left, use.right)
            continue
        rule = rules.rule(use.rule)
        env = dict(matched(rule, use, journal.terms))
        about = tuple(env[name] for name in asking[use.rule])
        yield Equation(use.left, use.right, about)


def asked(rule: Rule) -> tuple[str, ...]:
    """The variables that premises about the graph at hand are about."""
    facts = [w for w in rule.when if isinstance(w, Form) and w.head in ANALYSED]
    return tuple(str(w.args[0]) for w in facts)


def sides(rule: Rule, forward: bool) -> tuple[Expr, Expr]:
    return (rule.left, rule.right) if forward else (rule.right, rule.left)


def tensor_variables(rule: Rule) -> frozenset[str]:
    return kept.tensors(rule.left) | kept.tensors(rule.right)


def matched(
    rule: Rule, use: kept.Use | Use, terms: Mapping[int, Any] | Sequence[Any]
) -> Iterator[tuple[str, Any]]:
    """What the variables stand for that stand on a side; tensors by number."""
    for side, t in zip(sides(rule, use.forward), (use.left, use.right), strict=True):
        for kind, e, x in parts(side, t, terms):
            if isinstance(e, Atom) and e.is_symbol and kind:
                yield e.text, x


def parts(
    side: Expr, t: int, terms: Mapping[int, Any] | Sequence[Any]
) -> Iterator[tuple[str, Expr, Any]]:
    """A side, what is in it, and what that stands for; operands after their term."""
    yield "t", side, t
    if isinstance(side, Form):
        row = terms[t]
        for kind, e, x in zip(SIGNATURES[row[0]], side.args, row[1:], strict=True):
            if kind == "t":
                yield from parts(e, x, terms)
            else:
                yield kind, e, x


class Builder:
    """Makes the proof of some goals out of a journal."""

    def __init__(self, journal: Journal, rules: RuleSet) -> None:
        self.journal, self.rules = journal, rules
        self.terms = Terms(journal.terms, journal.names)
        self.closure = Closure(journal.terms, sorted(journal.nan_free))
        self.closure.merge(equations(journal, rules))
        self.algebra = Algebra(rules)
        self.number: dict[int, int] = {}  # of a twin -> of a term of the proof
        self.rows: list[tuple[Any, ...]] = []
        self.uses: dict[int, int] = {}  # of the journal -> of the proof
        self.kept: list[Use] = []

    def proof(self, before: Graph, after: Graph) -> Proof | str:
        """The proof, or the first output that no chain of uses joins."""
        goals: list[tuple[str, int, int]] = []
        for (label, i), (_, j) in zip(before.outputs, after.outputs, strict=True):
            a, b = self.journal.before[i], self.journal.after[j]
            assert a is not None and b is not None, "outputs are live"
            if not self.closure.equal(a, b):
                return label
            goals.append((label, a, b))
        result = _read(self.closure.proofs([(a, b) for _, a, b in goals]), goals)
        index = {pair: i for i, pair in enumerate(result)}
        lemmas = [self._lemma(pair, steps, index) for pair, steps in result.items()]
        ends = [Goal(label, self._term(a), self._term(b)) for label, a, b in goals]
        places = [self._places(w) for w in (self.journal.before, self.journal.after)]
        return Proof(
            tuple(self.rows), self.journal.names.by_number, tuple(self.kept),
            tuple(lemmas), tuple(ends), *places,
        )  # fmt: skip

    def _places(self, where: Sequence[int | None]) -> tuple[int | None, ...]:
        return tuple(None if t is None else self._term(t) for t in where)

    def _lemma(self, pair: Pair, steps: Steps, index: Mapping[Pair, int]) -> Lemma:
        moves: list[Move] = []
        for edge in steps:
            if edge.given is not None:
                moves.append(self._move(edge))
                continue
            for k, a, b in edge.needs:
                forward = (a, b) in index
                i = index[(a, b) if forward else (b, a)]
                moves.append(Move((k,), forward, lemma=i))
        return Lemma(self._term(pair[0]), self._term(pair[1]), tuple(moves))

    def _move(self, edge: Edge) -> Move:
        assert edge.given is not None
        use = self.journal.uses[edge.given]
        if edge.given not in self.uses:
            self.uses[edge.given] = len(self.kept)
            self.kept.append(self._use(use, [f for _, _, f in edge.needs]))
        return Move((), edge.start == use.left, use=self.uses[edge.given])

    def _use(self, use: kept.Use, facts: Sequence[int]) -> Use:
        rule = self.rules.rule(use.rule)
        env = dict(matched(rule, use, self.journal.terms))
        tensors = tensor_variables(rule)
        typed = {
            k: Tensor(v, self.terms.type(v)) if k in tensors else v
            for k, v in env.items()
        }
        read = self.algebra.read(rule.when, typed)
        if read.failing:
            raise CheckError(f"{rule.place}: {rule.when[min(read.failing)]} is false")
        bound = {k: self._term(v) if k in tensors else v for k, v in env.items()}
        bindings = {k: v for k, v in read.env.items() if k not in tensors} | bound
        return Use(
            rule.name, str(rule.place), use.forward, self._term(use.left),
            self._term(use.right), tuple(sorted(bindings.items())),
            tuple(map(self._term, facts)),
        )  # fmt: skip

    def _term(self, t: int) -> int:
        """The number in the proof of a twin, and of all below it."""
        todo = [t]
        while todo:
            row = self.journal.terms[todo[-1]]
            missing = [k for k in kids(row) if k not in self.number]
            if not missing and todo[-1] not in self.number:
                self.number[todo[-1]] = len(self.rows)
                self.rows.append(with_kids(row, self.number))
            if not missing:
                todo.pop()
            todo.extend(missing)
        return self.number[t]


def _read(
    found: Mapping[Pair, Steps], goals: Sequence[tuple[str, int, int]]
) -> dict[Pair, Steps]:
    """The same proofs, each pair turned the way in which it is first read."""
    turned: dict[Pair, Pair] = {}
    todo = [(a, b) for _, a, b in reversed(goals)]
    while todo:
        a, b = todo.pop()
        pair = ordered(a, b)
        if a != b and pair not in turned:
            turned[pair] = (a, b)
            steps = _turned(found[pair], pair == (a, b))
            needs = [(x, y) for e in steps for _, x, y in e.needs]
            todo.extend(reversed(needs))
    return {turned[p]: _turned(s, turned[p] == p) for p, s in found.items()}


def _turned(steps: Steps, forward: bool) -> Steps:
    return steps if forward else tuple(e.back for e in reversed(steps))
