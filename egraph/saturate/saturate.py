"""Saturation: a graph and rules in, every equal form they lead to out."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..ir.constructors import COMMON, SIGNATURES
from ..ir.evaluate import expand_macros
from ..ir.graph import Graph
from ..ir.ops import TensorType
from ..ir.scalars import BY_NAME, SExpr
from ..rules.ruleset import RuleSet
from ..rules.sexpr import Expr, heads, strings
from .clash import blamed, no_term
from .encode import Encoded, EncodeError, ENode, encode
from .engine import Engine, EngineError, Session, Tables, shared
from .explore import Budget, Limit, Run, explore
from .facts import nan_free
from .rows import EGraph, read


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
    limits: tuple[Limit, ...] = ()  # the budgets that ended it before its fixpoint
    # By rule, in the engine; the time of all rules that derive facts under "facts".
    seconds: dict[str, float] = field(default_factory=dict[str, float], compare=False)

    @property
    def enodes(self) -> int:
        return sum(map(len, self.classes))

    @property
    def stopped(self) -> str:
        """The names of the budgets that were spent; none at a fixpoint."""
        return ", ".join(limit.budget for limit in self.limits)


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
    able = rules.common if encoded.heads <= COMMON else rules
    try:
        run, tables = _explore(encoded, able, budget, engine)
    except EngineError as e:
        raise blamed(e, encoded, rules, budget, engine) from None
    roots = [encoded.row(i) for _, i in graph.outputs]
    foreign = [r for r in rules.foreign if run.fired.get(r.name)]
    try:
        result = read(tables, encoded, roots, check=bool(foreign))
    except EncodeError as e:
        if not foreign:
            raise
        raise no_term(foreign, e) from None
    return _freeze(graph, encoded, result, run)


@dataclass(frozen=True)
class Saturator:
    """`saturate` by these rules; for a graph with symbols, by those for any size."""

    rules: RuleSet
    generic: RuleSet

    def facts(self, graph: Graph) -> frozenset[int]:
        """The nodes of a whole graph that hold no NaN, where a rule could use it."""
        return facts_for(graph, self.rules)

    def __call__(
        self,
        graph: Graph,
        symbolic: bool,
        nan_free: frozenset[int] | None = None,
        budget: Budget | None = None,
    ) -> Saturated:
        """`nan_free` as for `saturate`; what would be found at a witness is not so at
        other sizes, so that nothing is known of a symbolic graph without it."""
        if symbolic:
            known = nan_free or frozenset()
            return saturate(graph, self.generic, budget, nan_free=known)
        return saturate(graph, self.rules, budget, nan_free=nan_free)


def saturator(rules: RuleSet) -> Saturator:
    return Saturator(rules, rules.for_any_size())


def facts_for(graph: Graph, rules: RuleSet) -> frozenset[int]:
    """`nan_free` where a rule that is on could use it, else nothing at no cost."""
    asking = [_asked(r.left) for r in rules.reading("nan-free")]
    if not asking:
        return frozenset()
    words = _words(graph)
    if not any(wanted <= words for wanted in asking):
        words = _words(expand_macros(graph))  # what macros and composites hold, too
        for name in sorted(words & BY_NAME.keys()):
            words |= _parts(BY_NAME[name].expansion)
    met = any(wanted <= words for wanted in asking)
    return nan_free(graph) if met else frozenset()


def _asked(left: Expr) -> frozenset[str]:
    """The words of a pattern, and its ops that seldom come of others' rewriting."""
    return strings(left) | {
        h.lower() for h in heads(left) & {"Sort", "Argsort", "Reduce"}
    }


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
        run.truncated, run.limits, run.seconds,
    )  # fmt: skip


def _explore(
    encoded: Encoded, rules: RuleSet, budget: Budget, engine: Engine
) -> tuple[Run, Tables]:
    def tables(session: Session, run: Run) -> tuple[Run, Tables]:
        run.finish()
        result = session.tables([*SIGNATURES, "Node", "shape", "dtype"])
        run.settle()
        return run, result

    rows = len(encoded.rows)
    return explore(engine, rules.sources, encoded.text, rules, budget, rows, tables)
