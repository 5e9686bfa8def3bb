"""Why did a rule not fire at a node, or why is what it made not in the result?

The question is asked of the node's class in the saturated e-graph, as any form of the
class may match.  The answer is the first condition that fails, with what the conditions
before it bound, and one reason of these:

    off          its contract, goal or sizes keep the rule out
    shape        no form of a term has the shape of the pattern
    premise      a computation in :when is false
    fact         a row about a term is missing: nothing shows it
    subsumed     it held of forms that another rule has made the engine forget
    limit        all holds, but saturation stopped first
    not chosen   it fired; a cheaper form was taken
    used         it fired, and the result uses it
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from rewrite.backends.devices import pick_device
from rewrite.core.costs import cost_for
from rewrite.core.options import MOVES
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.rules.ruleset import CONTRACTS, Rule, RuleSet, reads_sizes
from rewrite.egraph.rules.sexpr import Form
from rewrite.egraph.saturate.explore import Budget

from ...core.labels import Unknown, close, labels, node_called
from ...core.pieces import Cut, Cuts, cut, user_names
from ..cover import Setting, why_off
from ..models import Model
from .atoms import bodies
from .price import Prices, prices
from .watched import Asked, Firing, Watched, watch
from .words import Line, Words

type Reason = Literal[
    "off", "shape", "premise", "fact", "subsumed", "limit", "not chosen", "used"
]


@dataclass(frozen=True)
class Answer:
    """Everything that can be said; costs are predicted seconds of the node's piece."""

    rule: str
    place: str
    node: str
    reason: Reason
    because: str
    lines: tuple[Line, ...] = ()
    forward: bool = True
    costs: Prices | None = None
    # Nodes where the rule does fire, the nearest first.
    nearest: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def fired(self) -> bool:
        return self.reason in ("not chosen", "used")


def why_not(
    name: str, word: str, model: Model, setting: Setting, budget: Budget | None = None
) -> Answer:
    """The answer for the rule called `name` at the node called `word`."""
    rules = load_rules(setting.rules, setting.precision, goal=setting.goal)
    rule = _rule(name, rules)
    node = node_called(model.graph, word)
    shown = labels(model.graph)[node]
    at = f"{rule.place.file}:{rule.place.line}"
    if rule.name not in rules.on:
        because = _off(rule, rules, setting)
        return Answer(rule.name, at, shown, "off", because)
    cuts = cut(model.graph, rules, model.hints)
    home = _home(cuts, cuts.where[node], model, word)
    asking = _Question(rule, rules, model, cuts, home, cuts.where[node], shown, budget)
    answer = asking.answer(setting)
    return replace(answer, place=at, node=shown, nearest=asking.nearest())


def _rule(name: str, rules: RuleSet) -> Rule:
    try:
        return rules.rule(name)
    except KeyError:
        known = [r.name for f in rules.files for r in f.rules]
        hint = f"{close(name, known)}; --rules FILE adds a file's"
        raise Unknown(f"no rule is called {name!r}; {hint}") from None


def _off(rule: Rule, rules: RuleSet, setting: Setting) -> str:
    file = next(f.name for f in rules.files if rule in f.rules)
    why = why_off(rule, file, setting)
    if why.startswith("goal"):
        return f"{why}; kernels are the goal here"
    levels = [p for p, known in CONTRACTS.items() if rule.contract in known]
    allowed = " or ".join(f"--precision {p}" for p in levels)
    return f"{why}; it is on at {allowed}" if levels else f"{why}, nor anywhere else"


def _home(cuts: Cuts, node: int, model: Model, word: str) -> int:
    """The piece that computes the node, else the first that reads it."""
    result = [
        (place[local] in cuts.model.live and _reads(cuts.pieces[k], local), k)
        for k, piece in enumerate(cuts.pieces)
        for place in piece.places
        for local in place
        if place[local] == node
    ]
    if not result:
        raise Unknown(f"{word}: no output of {model.name} is computed from it")
    return min(result)[1]


def _reads(piece: Cut, local: int) -> bool:
    return piece.graph.nodes[local].is_leaf


class _Question:
    """The rule watched in all pieces, and asked of one node of one of them."""

    def __init__(
        self, rule: Rule, rules: RuleSet, model: Model, cuts: Cuts, home: int,
        node: int, shown: str, budget: Budget | None,
    ) -> None:  # fmt: skip
        self.rule, self.rules, self.shown, self.cuts = rule, rules, shown, cuts
        self.home, self.node, self.budget = home, node, budget
        self.bodies = bodies(rule, rules)
        self.names = user_names(model.graph, cuts)
        self.seen: dict[int, Watched] = {}

    @property
    def piece(self) -> Cut:
        return self.cuts.pieces[self.home]

    def local(self) -> int:
        place = next(p for p in self.piece.places if self.node in p.values())
        return next(i for i, n in place.items() if n == self.node)

    def watched(self, k: int) -> Watched:
        if k not in self.seen:
            piece = self.cuts.pieces[k]
            node = self.local() if k == self.home else None
            seen = watch(
                piece.graph, piece.rules, self.bodies, piece.nan_free, node, self.budget
            )
            self.seen[k] = replace(seen, constant=piece.constant)
        return self.seen[k]

    def answer(self, setting: Setting) -> Answer:
        if self.rule.name not in self.piece.rules.on:
            why = "sizes: they are symbolic here, and the rule reads one as a number"
            assert reads_sizes(self.rule)
            hint = "fix them, or mark it ';;@ sizes any' if it holds for all sizes"
            return Answer(self.rule.name, "", "", "off", f"{why}; {hint}")
        result = self.watched(self.home)
        root = result.own(self.local())
        firings = [f for f in result.firings if f.root == root]
        words = Words(result, self._place(), self.names, root, self.shown)
        if firings:
            return self._fired(result, firings, words, setting)
        return self._failed(result, words)

    def _place(self) -> dict[int, int]:
        return dict(next(p for p in self.piece.places if self.node in p.values()))

    # -- it fired --

    def _fired(
        self, found: Watched, firings: Sequence[Firing], words: Words, setting: Setting
    ) -> Answer:
        price, moves = cost_for(pick_device(setting.device)), MOVES[setting.effort]
        firings = _from_own_form(found, firings)
        costs = prices(found, firings, price, moves)
        way = firings[0].forward
        asked = next(a for a in found.asked if a.body.forward == way)
        # Not complete: it fired before what it matched was subsumed.
        lines = words.lines(asked, self.rules) if asked.complete else ()
        reason: Reason = "used" if costs.used else "not chosen"
        left, right = words.sides(firings[0])
        because = f"{left} is also {right}"
        if not costs.needed:
            because += "; the plan needs neither: no kernel computes this value"
        return Answer(self.rule.name, "", "", reason, because, lines, way, costs,
                      notes=self._notes(found))  # fmt: skip

    # -- it did not --

    def _failed(self, found: Watched, words: Words) -> Answer:
        asked = max(found.asked, key=lambda a: (a.complete, a.subsumed, a.held))
        lines = words.lines(asked, self.rules)
        reason, because = self._reason(found, asked, words, lines)
        return Answer(
            self.rule.name, "", "", reason, because, lines, asked.body.forward,
            notes=self._notes(found),
        )  # fmt: skip

    def _reason(
        self, found: Watched, asked: Asked, words: Words, lines: Sequence[Line]
    ) -> tuple[Reason, str]:
        if asked.complete:
            return "limit", self._limit(found)
        failing = asked.body.conditions[asked.held]
        if asked.subsumed:
            by = " or ".join(self._forgetting(found, asked, words))
            return "subsumed", f"{words.forgotten(asked)} by {by}"
        detail = lines[asked.held].detail
        if failing.kind == "shape":
            return "shape", detail
        verb = "is false" if failing.kind == "premise" else "is missing"
        return failing.kind, f"{failing.shown} {verb}: {detail}"

    def _forgetting(self, found: Watched, asked: Asked, words: Words) -> list[str]:
        """The rules with `:subsume` that fired on the term that is not seen."""
        condition = asked.body.conditions[asked.held]
        at, piece = words.best(asked)[condition.of], self.piece
        assert isinstance(condition.expr, Form)
        names: list[str] = []
        for r in piece.rules.rules:
            fits = isinstance(r.left, Form) and r.left.head == condition.expr.head
            if r.subsume and fits and found.fired.get(r.name):
                again = watch(
                    piece.graph, piece.rules, bodies(r, self.rules), piece.nan_free,
                    None, self.budget,
                )  # fmt: skip
                if any(f.root == at for f in again.firings):
                    names.append(f"{r.name} ({r.place.file}:{r.place.line})")
        return names or ["a rule with :subsume"]

    def _limit(self, found: Watched) -> str:
        if self.rule.ruleset in self.rules.explosive:
            spent = f", and the budget of {found.stopped} was spent before it ended"
            return (
                f"all holds, but ruleset {self.rule.ruleset} is explosive and runs "
                f"under back-off{spent if found.stopped else ''}"
            )
        return f"all holds, but saturation stopped at its budget of {found.stopped}"

    def _notes(self, found: Watched) -> tuple[str, ...]:
        if not found.stopped:
            return ()
        n = sum(map(len, found.egraph.classes))
        return (
            f"saturation stopped at its budget of {found.stopped}, with {n} e-nodes: "
            "with more, more forms would be there",
        )

    # -- where it does --

    def nearest(self) -> tuple[str, ...]:
        """The user's other nodes where the rule fires, by distance in the graph; what
        is equal to the node that was asked of is none."""
        nodes: set[int] = set()
        for k, piece in enumerate(self.cuts.pieces):
            if self.rule.name not in piece.rules.on:
                continue
            result = self.watched(k)
            roots = {f.root for f in result.firings}
            for local in range(len(piece.graph.nodes)):
                if result.own(local) in roots:
                    nodes.update(p[local] for p in piece.places if local in p)
        nodes -= self._equal()
        far = distances(self.cuts, self.node)
        known = sorted(
            nodes & self.names.keys(), key=lambda i: (far.get(i, 1 << 30), i)
        )
        return tuple(self.names[i] for i in known)

    def _equal(self) -> set[int]:
        if self.rule.name not in self.piece.rules.on:
            return {self.node}
        result, place = self.watched(self.home), self._place()
        root = result.own(self.local())
        return {self.node} | {n for i, n in place.items() if result.own(i) == root}


def _from_own_form(found: Watched, firings: Sequence[Firing]) -> list[Firing]:
    """A birewrite that fired one way fires back: the way that leads from the form which
    the graph itself has is meant, else from left to right."""
    own = found.egraph.choice.get(firings[0].root)
    first = min(firings, key=lambda f: (f.left != own, not f.forward))
    return [f for f in firings if f.forward == first.forward]


def distances(cuts: Cuts, start: int) -> dict[int, int]:
    """Edges between `start` and each node, whichever way they point."""
    beside: dict[int, set[int]] = {}
    for i, n in enumerate(cuts.model.nodes):
        for a in n.args:
            beside.setdefault(i, set()).add(a)
            beside.setdefault(a, set()).add(i)
    far, edge = {start: 0}, [start]
    while edge:
        edge = sorted({b for a in edge for b in beside.get(a, ()) if b not in far})
        far.update(dict.fromkeys(edge, max(far.values()) + 1))
    return far


__all__ = ["Answer", "Line", "Reason", "why_not"]
