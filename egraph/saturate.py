"""Saturation: a graph and rules in, every equal form they lead to out.

Phases: types to a fixpoint; the ordinary rulesets to a fixpoint; the explosive ones
under back-off; the ordinary ones again.  Budgets count e-nodes, steps and matches, so
the same input always gives the same answer; seconds are a safety stop only.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from .encode import SIGNATURES, Encoded, EncodeError, ENode, encode
from .engine import Engine, EngineError, Session, shared
from .evaluate import expand_macros
from .facts import nan_free
from .graph import Graph
from .ops import TensorType
from .rows import EGraph, read
from .ruleset import Rule, RuleSet
from .scalars import BY_NAME, SExpr
from .sexpr import strings


@dataclass(frozen=True, slots=True)
class Budget:
    """Where saturation stops; what stops it is no error, only fewer forms."""

    steps: int = 64
    growth: int = 10  # e-nodes, as a multiple of the input's
    enodes: int = 3_000  # e-nodes that are always allowed
    matches: int = 1000  # of one explosive rule before it is banned for a while
    rounds: int = 8  # of explosive rules
    seconds: float = 60.0  # a safety stop: sets `truncated`

    def limit(self, rows: int) -> int:
        return max(self.enodes, self.growth * rows)


@dataclass(frozen=True)
class Saturated:
    """The e-graph below the outputs of a graph, numbered by structure alone.

    `own` is the class of each graph node (None: dead).  `choice` is the e-node that the
    graph itself uses in each class of its own; it is acyclic.
    """

    classes: tuple[tuple[ENode, ...], ...]
    types: tuple[TensorType, ...]
    outputs: tuple[int, ...]
    own: tuple[int | None, ...]
    choice: dict[int, int]
    fired: dict[str, int] = field(default_factory=dict[str, int])
    truncated: bool = False
    stopped: str = ""  # what ended it before its fixpoint: e-nodes, steps, seconds
    # By rule, in the engine; the time of all rules that derive facts under "facts".
    seconds: dict[str, float] = field(default_factory=dict[str, float], compare=False)

    @property
    def enodes(self) -> int:
        return sum(map(len, self.classes))


class RuleError(EngineError):
    """A rule whose sides have different types, or that makes what is no term; the
    message names it."""


def saturate(
    graph: Graph,
    rules: RuleSet,
    budget: Budget | None = None,
    engine: Engine | None = None,
    nan_free: frozenset[int] | None = None,
) -> Saturated:
    """All forms of `graph` (concrete sizes) that `rules` reach within `budget`.

    `nan_free` is what is known of its nodes; None: what analysis of the graph finds,
    which takes each input for one of the user's, and not for a value cut off.
    """
    budget, engine = budget or Budget(), engine or shared()
    known = facts_for(graph, rules) if nan_free is None else nan_free
    encoded = encode(graph, nan_free=known)
    try:
        run, tables = _explore(encoded, rules, budget, engine)
    except EngineError as e:
        clash = _CLASH.search(str(e))
        if clash is None:
            raise
        if clash[1] in ("shape", "dtype"):
            raise RuleError(_culprit(encoded, rules, budget, engine)) from None
        raise RuleError(_two_values(rules, clash[1])) from None
    roots = [encoded.row(i) for _, i in graph.outputs]
    foreign = [r for r in rules.foreign if run.fired.get(r.name)]
    try:
        found = read(tables, encoded, roots, check=bool(foreign))
    except EncodeError as e:
        if not foreign:
            raise
        raise RuleError(_no_term(foreign, e)) from None
    return _freeze(graph, encoded, found, run)


@dataclass(frozen=True)
class Saturator:
    """`saturate` by these rules; for a graph with symbols, by those for any size."""

    rules: RuleSet
    generic: RuleSet

    def facts(self, graph: Graph) -> frozenset[int]:
        """The nodes of a whole graph that hold no NaN, where a rule could use it."""
        return facts_for(graph, self.rules)

    def __call__(
        self, graph: Graph, symbolic: bool, nan_free: frozenset[int] | None = None
    ) -> Saturated:
        """`nan_free` as for `saturate`; what would be found at a witness is not so at
        other sizes, so that nothing is known of a symbolic graph without it."""
        if symbolic:
            return saturate(graph, self.generic, nan_free=nan_free or frozenset())
        return saturate(graph, self.rules, nan_free=nan_free)


def saturator(rules: RuleSet) -> Saturator:
    return Saturator(rules, rules.for_any_size())


def facts_for(graph: Graph, rules: RuleSet) -> frozenset[int]:
    """`nan_free` where a rule that is on could use it, else nothing at no cost."""
    asking = [strings(r.left) for r in rules.reading("nan-free")]
    if not asking:
        return frozenset()
    words = _words(graph)
    if not any(wanted <= words for wanted in asking):
        words = _words(expand_macros(graph))  # what macros and composites hold, too
        for name in sorted(words & BY_NAME.keys()):
            words |= _parts(BY_NAME[name].expansion)
    met = any(wanted <= words for wanted in asking)
    return nan_free(graph) if met else frozenset()


def _words(graph: Graph) -> set[str]:
    words = set[str]()
    for n in graph.nodes:
        words.update((n.op, n.dtype.name, *(a for a in n.attrs if isinstance(a, str))))
    return words


def _parts(tree: SExpr | None) -> set[str]:
    if not isinstance(tree, tuple):
        return set()
    return {str(tree[0])}.union(*map(_parts, tree[1:]))


def _freeze(graph: Graph, encoded: Encoded, egraph: EGraph, run: Run) -> Saturated:
    own = tuple(None if r is None else egraph.own[r] for r in encoded.where)
    outputs = tuple(c for _, i in graph.outputs if (c := own[i]) is not None)
    fired = {r: n for r, n in sorted(run.fired.items()) if n}
    return Saturated(
        egraph.classes, egraph.types, outputs, own, egraph.choice, fired,
        run.truncated, run.stopped, run.seconds,
    )  # fmt: skip


# ---- the schedule --------------------------------------------------------------------

FACTS = "(saturate (run facts))"


class Run:
    """One session's progress: what fired, and whether it may go on."""

    def __init__(self, session: Session, rules: RuleSet, budget: Budget, rows: int):
        self.session, self.budget = session, budget
        self.limit = budget.limit(rows)
        self.deadline = time.monotonic() + budget.seconds
        self.names = {r.name for r in rules.rules}
        self.fired: dict[str, int] = {}
        self.seconds: dict[str, float] = {}
        self.truncated = False
        self.stopped = ""

    def schedule(self, text: str) -> bool:
        """Runs one schedule; whether it changed anything."""
        changed, matches = self.session.run(f"(run-schedule {text})", "schedule")
        for label, n in matches.items():
            name = label.rstrip("<=>")  # a birewrite counts under name=> and name<=
            if name in self.names:
                self.fired[name] = self.fired.get(name, 0) + n
        return changed

    def full(self) -> bool:
        """Whether the budget of e-nodes or the time is spent."""
        if time.monotonic() > self.deadline:
            self.truncated, self.stopped = True, "seconds"
        elif enodes(self.session) > self.limit:
            self.stopped = self.stopped or "e-nodes"
        else:
            return False
        return True

    def fixpoint(self, text: str) -> None:
        for _ in range(self.budget.steps):
            if not self.schedule(text) or self.full():
                return
        self.stopped = "steps"

    def finish(self) -> None:
        """Reads the clock of the engine."""
        for label, t in self.session.seconds().items():
            name = label.rstrip("<=>")
            name = name if name in self.names else "facts"
            self.seconds[name] = self.seconds.get(name, 0.0) + t


def enodes(session: Session) -> int:
    sizes = session.sizes()
    return sum(sizes.get(c, 0) for c in SIGNATURES)


def _explore(
    encoded: Encoded, rules: RuleSet, budget: Budget, engine: Engine
) -> tuple[Run, dict[str, list[tuple[object, ...]]]]:
    with engine.session(rules.sources) as session:
        session.run(encoded.text, "graph")
        run = explore(session, rules, budget, len(encoded.rows))
        run.finish()
        return run, session.tables([*SIGNATURES, "Node", "shape", "dtype"])


def explore(session: Session, rules: RuleSet, budget: Budget, rows: int) -> Run:
    """All phases, on a session that holds the rules and a graph of `rows` rows."""
    run = Run(session, rules, budget, rows)
    step = " ".join(f"(run {p})" for p in rules.phases) + f" {FACTS}"
    run.schedule(FACTS)
    run.fixpoint(step)
    if not _has_explosive(rules) or run.full():
        return run
    if run.schedule(_explosion(rules, budget)) and not run.full():
        run.fixpoint(step)
    return run


def _has_explosive(rules: RuleSet) -> bool:
    return any(r.ruleset in rules.explosive for r in rules.rules)


def _explosion(rules: RuleSet, budget: Budget) -> str:
    """Back-off counts per rule and lives within one `run-schedule`."""
    runs = " ".join(f"(run-with backoff {r})" for r in rules.explosive)
    return (
        f"(let-scheduler backoff (back-off :match-limit {budget.matches}"
        f" :ban-length 4)) (repeat {budget.rounds} {runs} {FACTS})"
    )


# ---- which rule was it? --------------------------------------------------------------


_CLASH = re.compile(r"Illegal merge attempted for function (\S+)")


def is_clash(e: EngineError) -> bool:
    """Whether the engine refused to merge two types, or two values of a function."""
    return _CLASH.search(str(e)) is not None


def _two_values(rules: RuleSet, function: str) -> str:
    forms = (f for file in rules.files for f in file.forms if f.head == "function")
    place = next(f.place for f in forms if str(f.items[1]) == function)
    return (
        f"{place}: {function} got two values for one row; make its rules agree or "
        "end it with :merge old"
    )


def _no_term(foreign: Sequence[Rule], e: EncodeError) -> str:
    """The user's rules that fired, one of which made what `e` shows."""
    first, *others = foreign
    also = ", ".join(f"{r.name} ({r.place})" for r in others)
    one = f"{first.name} or one of {also}" if others else first.name
    return (
        f"{first.place}: {one} makes a term that is none: {e}; "
        "mend the right side or add a premise"
    )


def _culprit(encoded: Encoded, rules: RuleSet, budget: Budget, engine: Engine) -> str:
    """The first rule without which the types agree, alone or after those before it; a
    user's rules are asked first."""
    theirs = {r.name for r in rules.foreign}
    names = sorted((r.name for r in rules.rules), key=lambda name: name not in theirs)
    for chosen in [[n] for n in names] + [names[: i + 1] for i in range(len(names))]:
        try:
            _explore(encoded, rules.only(chosen), budget, engine)
        except EngineError as e:
            if _CLASH.search(str(e)) is None:
                raise
            rule = rules.rule(chosen[-1])
            return (
                f"{rule.place}: {rule.name} equates terms of different shape or dtype; "
                "make both sides agree or add a premise"
            )
    return "two terms of different shape or dtype were equated; run fewer rules at once"
