"""Why a result equals its input: the rules used, as a DAG of lemmas, each step checked.

Both graphs are saturated in one e-graph with the journal on; the congruence closure of
the journal then proves each output equal to its counterpart.  What is returned has
passed `check`; what does not pass raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .check import Checker, Terms, check_lemmas
from .dtypes import DType
from .engine import Engine
from .explore import Budget
from .graph import Graph
from .journal import Journal, record
from .ops import TensorType
from .proof import Closure, Given, Lemma, Link
from .ruleset import RuleSet


class ExplainError(RuntimeError):
    """Two graphs that the rules do not prove equal; the message names the output."""


@dataclass(frozen=True, slots=True)
class Step:
    """A use of a rule, checked: `left` equals `right`."""

    rule: str
    place: str  # file:line of the rule
    contract: str
    left: str
    right: str
    type: TensorType


@dataclass(frozen=True, slots=True)
class Move:
    """One link of a lemma: a step (walked forward or back), or equal parts."""

    result: str  # the term it leads to
    step: int | None
    forward: bool = True
    parts: tuple[int, ...] = ()  # lemmas that make the operands equal


@dataclass(frozen=True, slots=True)
class Proved:
    """Two terms and the moves from one to the other."""

    left: str
    right: str
    moves: tuple[Move, ...]


@dataclass(frozen=True)
class Explanation:
    """Lemmas in order of need; an output maps to the lemma that proves it, or to None
    where it is the same term in both graphs."""

    steps: tuple[Step, ...]
    lemmas: tuple[Proved, ...]
    outputs: tuple[tuple[str, int | None], ...]

    @property
    def rules(self) -> tuple[str, ...]:
        return tuple(sorted({s.rule for s in self.steps}))

    def __str__(self) -> str:
        lines: list[str] = []
        for i, lemma in enumerate(self.lemmas):
            lines.append(f"lemma {i}: {lemma.left}")
            lines += [f"  {self._shown(move)}" for move in lemma.moves]
        for label, i in self.outputs:
            lines.append(f"{label}: {'unchanged' if i is None else f'by lemma {i}'}")
        return "\n".join(lines)

    def _shown(self, move: Move) -> str:
        if move.step is None:
            why = ", ".join(f"lemma {i}" for i in move.parts)
        else:
            step = self.steps[move.step]
            why = f"{step.rule} {'' if move.forward else '(backwards) '}{step.place}"
        return f"= {move.result}    [{why}]"


def explain(
    before: Graph,
    after: Graph,
    rules: RuleSet,
    budget: Budget | None = None,
    engine: Engine | None = None,
    nan_free: frozenset[int] | None = None,
    depth: int | None = None,
) -> Explanation:
    """The checked proof that `after` computes what `before` does (concrete sizes);
    `nan_free` as for `saturate`, of nodes of `before`.  With `depth`, nodes without a
    name are spelled out that deep, instead of going by their number."""
    if [n for n, _ in before.outputs] != [n for n, _ in after.outputs]:
        raise ExplainError(
            "the two graphs have different outputs; compare like with like"
        )
    journal = record(before, after, rules, budget, engine, nan_free)
    closure = Closure(journal.terms)
    closure.merge((use.left, use.right) for use in journal.uses)
    goals = _goals(before, after, journal)
    for label, (a, b) in goals.items():
        if not closure.equal(a, b):
            raise ExplainError(
                f"output {label!r}: no chain of rule uses joins the two graphs within "
                "the budget; raise it, or check that both use the same rules"
            )
    lemmas = closure.lemmas([pair for pair in goals.values() if pair[0] != pair[1]])
    check_lemmas(lemmas, closure)
    return _Writer(before, journal, rules, closure, lemmas, depth).write(goals)


def _goals(before: Graph, after: Graph, journal: Journal) -> dict[str, tuple[int, int]]:
    goals: dict[str, tuple[int, int]] = {}
    for (label, i), (_, j) in zip(before.outputs, after.outputs, strict=True):
        a, b = journal.before[i], journal.after[j]
        assert a is not None and b is not None
        goals[label] = (a, b)
    return goals


class _Writer:
    """Checks the uses that the lemmas need and puts everything into words."""

    def __init__(
        self, before: Graph, journal: Journal, rules: RuleSet, closure: Closure,
        lemmas: list[Lemma], depth: int | None = None,
    ) -> None:  # fmt: skip
        self.journal, self.rules, self.closure = journal, rules, closure
        self.lemmas = lemmas
        self.number = {(x.left, x.right): i for i, x in enumerate(lemmas)}
        self.checker = Checker(journal, rules, closure)
        names = _names(before, journal, numbered=depth is None)
        self.namer = Namer(self.checker.terms, names, depth or 3)
        self.steps: list[Step] = []
        self.step_of: dict[int, int] = {}

    def write(self, goals: Mapping[str, tuple[int, int]]) -> Explanation:
        proved = tuple(
            Proved(
                self.namer.term(x.left),
                self.namer.term(x.right),
                tuple(map(self._move, x.path)),
            )
            for x in self.lemmas
        )
        outputs = tuple((label, self.number.get(pair)) for label, pair in goals.items())
        return Explanation(tuple(self.steps), proved, outputs)

    def _move(self, link: Link) -> Move:
        result = self.namer.term(link.end)
        if isinstance(link.reason, Given):
            return Move(result, self._step(link.reason.use), link.reason.forward)
        pairs = self.closure.operands(link)
        return Move(result, None, parts=tuple(self.number[p] for p in pairs))

    def _step(self, use: int) -> int:
        if use not in self.step_of:
            u = self.journal.uses[use]
            self.checker.use(u)
            rule = self.rules.rule(u.rule)
            self.step_of[use] = len(self.steps)
            self.steps.append(
                Step(
                    rule.name, f"{rule.place.file}:{rule.place.line}", rule.contract,
                    self.namer.term(u.left), self.namer.term(u.right),
                    self.checker.terms.type(u.left),
                )
            )  # fmt: skip
        return self.step_of[use]


def _names(before: Graph, journal: Journal, *, numbered: bool) -> dict[int, str]:
    """The user's names of terms; nodes without one go by their number, if by any."""
    names: dict[int, str] = {}
    for i, (node, t) in enumerate(zip(before.nodes, journal.before, strict=True)):
        if t is not None and node.op != "const" and (node.name or numbered):
            names.setdefault(t, node.name or f"%{i}")
    return names


class Namer:
    """Terms as text: named ones by name, others spelled out to a small depth."""

    def __init__(self, terms: Terms, names: Mapping[int, str], depth: int = 3) -> None:
        self.terms, self.names, self.depth = terms, names, depth

    def term(self, t: int) -> str:
        """The op spelled out even if the term has a name, which then stands before."""
        name = self.names.get(t)
        shown = self._spelled(t, self.depth)
        return shown if name is None or shown == name else f"{name} = {shown}"

    def _operand(self, t: int, depth: int) -> str:
        if t in self.names:
            return self.names[t]
        return self._spelled(t, depth) if depth else "…"

    def _spelled(self, t: int, depth: int) -> str:
        node = self.terms.node(t)
        if node.op == "const":
            return f"{node.attrs[0]}"
        if node.op in ("input", "data"):
            return str(node.attrs[0])
        args = [self._operand(a, depth - 1) for a in node.args]
        if node.op in ("un", "bin"):
            return f"{node.attrs[0]}({', '.join(args)})"
        attrs = [_attr(a) for a in node.attrs]
        return f"{node.op}({', '.join([*args, *attrs])})"


def _attr(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return value.name if isinstance(value, DType) else str(value)
