"""Why a result equals its input: the rules used, as a DAG of lemmas, each step checked.

Both graphs are saturated in one e-graph with the journal on; the congruence closure of
the journal then proves each output equal to its counterpart.  What is returned has
passed `check`; what does not pass raises.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from .check import Checker, Terms, check_lemmas
from .dtypes import DType
from .encode import SIGNATURES
from .engine import Engine
from .explore import Budget
from .graph import Graph
from .journal import Journal, record
from .ops import TensorType
from .proof import Closure, Given, Lemma, Link
from .ruleset import Rule, RuleSet
from .sexpr import Atom, Expr, Form

type Outputs = tuple[tuple[str, int | None], ...]


class ExplainError(RuntimeError):
    """Two graphs that the rules do not prove equal; the message names the output."""


@dataclass(frozen=True, slots=True)
class Step:
    """A use of a rule, checked: `left` becomes `right`, which equals it.

    `forward` says whether the rule was read from its left to its right side, `bindings`
    what its variables stand for.  `path` are operand positions from a goal's root, or
    from the root of the term where its lemma is first needed, to the term that changes.
    `before` are the nodes of the input graph, `after` those of the chosen graph, that
    are equal to a term of the step: to one that it takes, to one that it makes.
    """

    rule: str
    place: str  # file:line of the rule
    contract: str
    forward: bool
    path: tuple[int, ...]
    left: str
    right: str
    bindings: tuple[tuple[str, str], ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    type: TensorType


@dataclass(frozen=True, slots=True)
class Move:
    """One link of a lemma: a step, or equal parts."""

    result: str  # the term it leads to
    step: int | None
    parts: tuple[int, ...] = ()  # lemmas that make the operands equal


@dataclass(frozen=True, slots=True)
class Proved:
    """Two terms and the moves from one to the other."""

    left: str
    right: str
    moves: tuple[Move, ...]


# From the strongest promise to the weakest.
CONTRACTS = ("bitwise", "ieee", "real", "approx", "unstable")


@dataclass(frozen=True)
class Explanation:
    """Steps in reading order: one after the other, each lemma's where it is first
    needed, they turn the input into the output.

    Lemmas stand in order of need; an output goes to the lemma that proves it, or to None
    where it is the same term in both graphs.  `seconds` went into finding and checking;
    `checked` says how it was checked."""

    steps: tuple[Step, ...]
    lemmas: tuple[Proved, ...]
    outputs: Outputs
    seconds: float = field(default=0.0, compare=False)
    checked: tuple[str, ...] = ()

    @property
    def rules(self) -> tuple[str, ...]:
        return tuple(sorted({s.rule for s in self.steps}))

    @property
    def weakest(self) -> str:
        """The weakest contract among the rules used: what the whole result keeps."""
        return max((s.contract for s in self.steps), key=CONTRACTS.index,
                   default="bitwise")  # fmt: skip

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
            why = f"{step.rule} {'' if step.forward else '(backwards) '}{step.place}"
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
    started = perf_counter()
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
    writer = _Writer((before, after), journal, rules, closure, lemmas, depth)
    steps, proved, outputs = writer.write(goals)
    seconds = perf_counter() - started
    return Explanation(steps, proved, outputs, seconds, ("numeric",))


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
        self, graphs: tuple[Graph, Graph], journal: Journal, rules: RuleSet,
        closure: Closure, lemmas: list[Lemma], depth: int | None = None,
    ) -> None:  # fmt: skip
        self.journal, self.rules, self.closure = journal, rules, closure
        self.lemmas = lemmas
        self.number = {(x.left, x.right): i for i, x in enumerate(lemmas)}
        self.checker = Checker(journal, rules, closure)
        names = _names(graphs[0], journal, numbered=depth is None)
        self.namer = Namer(self.checker.terms, names, depth or 3)
        places = (journal.before, journal.after)
        self.nodes = tuple(_by_class(closure, where) for where in places)
        self.steps: list[Step] = []
        self.step_of: dict[tuple[int, bool], int] = {}

    def write(
        self, goals: Mapping[str, tuple[int, int]]
    ) -> tuple[tuple[Step, ...], tuple[Proved, ...], Outputs]:
        for pair in goals.values():
            self._read(pair)
        proved = tuple(
            Proved(
                self.namer.term(x.left),
                self.namer.term(x.right),
                tuple(map(self._move, x.path)),
            )
            for x in self.lemmas
        )
        outputs = tuple((label, self.number.get(pair)) for label, pair in goals.items())
        return tuple(self.steps), proved, outputs

    def _read(self, goal: tuple[int, int]) -> None:
        """Writes the steps below a goal in the order in which they rewrite it."""
        known = set[int]()
        todo: list[tuple[int, int, tuple[int, ...]] | tuple[Link, tuple[int, ...]]] = []

        def lemma(pair: tuple[int, int], path: tuple[int, ...]) -> None:
            i = self.number.get(pair)
            if i is not None and i not in known:
                known.add(i)
                todo.extend((link, path) for link in reversed(self.lemmas[i].path))

        lemma(goal, ())
        while todo:
            match todo.pop():
                case (Link() as link, path) if isinstance(link.reason, Given):
                    self._step(link, path)
                case (Link() as link, path):
                    pairs = self.closure.pairs(link)
                    todo.extend((*p, (*path, k)) for k, p in reversed(pairs))
                case (a, b, path):
                    lemma((a, b), path)

    def _move(self, link: Link) -> Move:
        result = self.namer.term(link.end)
        if isinstance(link.reason, Given):
            return Move(result, self.step_of[link.reason.use, link.reason.forward])
        pairs = self.closure.pairs(link)
        return Move(result, None, parts=tuple(self.number[p] for _, p in pairs))

    def _step(self, link: Link, path: tuple[int, ...]) -> None:
        assert isinstance(link.reason, Given)
        key = (link.reason.use, link.reason.forward)
        if key in self.step_of:
            return
        use = self.journal.uses[link.reason.use]
        self.checker.use(use)
        rule = self.rules.rule(use.rule)
        forward = use.forward == link.reason.forward
        sides = (rule.left, rule.right) if forward else (rule.right, rule.left)
        self.step_of[key] = len(self.steps)
        self.steps.append(
            Step(
                rule.name, f"{rule.place.file}:{rule.place.line}", rule.contract,
                forward, path, self.namer.term(link.start), self.namer.term(link.end),
                self._bindings(rule, link, sides),
                self._touched(0, sides[0], link.start),
                self._touched(1, sides[1], link.end),
                self.checker.terms.type(link.start),
            )
        )  # fmt: skip

    def _bindings(
        self, rule: Rule, link: Link, sides: tuple[Expr, Expr]
    ) -> tuple[tuple[str, str], ...]:
        """What the variables that stand on a side stand for, by name."""
        found: dict[str, str] = {}
        for side, t in zip(sides, (link.start, link.end), strict=True):
            for kind, e, x in self._parts(side, t):
                if isinstance(e, Atom) and e.is_symbol:
                    shown = self.namer.operand(x) if kind == "t" else _attr(x)
                    found[e.text] = shown
        return tuple(sorted(found.items()))

    def _parts(self, side: Expr, t: int) -> Iterator[tuple[str, Expr, Any]]:
        """The fields and subterms of a side, each with its kind and what it is."""
        yield "t", side, t
        if isinstance(side, Form):
            row = self.journal.terms[t]
            for kind, e, x in zip(SIGNATURES[row[0]], side.args, row[1:], strict=True):
                if kind == "t":
                    yield from self._parts(e, x)
                else:
                    yield kind, e, x

    def _touched(self, which: int, side: Expr, t: int) -> tuple[int, ...]:
        """The nodes of a graph that are equal to a term that a side spells out."""
        parts = self._parts(side, t)
        roots = {self.closure.root(x) for k, e, x in parts
                 if k == "t" and isinstance(e, Form)}  # fmt: skip
        roots.add(self.closure.root(t))
        nodes = self.nodes[which]
        return tuple(sorted(i for r in roots for i in nodes.get(r, ())))


def _by_class(
    closure: Closure, where: Sequence[int | None]
) -> dict[int, tuple[int, ...]]:
    """The nodes of a graph by the class of their terms."""
    out: dict[int, tuple[int, ...]] = {}
    for i, t in enumerate(where):
        if t is not None:
            r = closure.root(t)
            out[r] = (*out.get(r, ()), i)
    return out


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

    def operand(self, t: int, depth: int = 1) -> str:
        if t in self.names:
            return self.names[t]
        return self._spelled(t, depth) if depth else "…"

    def _spelled(self, t: int, depth: int) -> str:
        node = self.terms.node(t)
        if node.op == "const":
            return f"{node.attrs[0]}"
        if node.op in ("input", "data"):
            return str(node.attrs[0])
        args = [self.operand(a, depth - 1) for a in node.args]
        if node.op in ("un", "bin"):
            return f"{node.attrs[0]}({', '.join(args)})"
        attrs = [_attr(a) for a in node.attrs]
        return f"{node.op}({', '.join([*args, *attrs])})"


def _attr(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return value.name if isinstance(value, DType) else str(value)
