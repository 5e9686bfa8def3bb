"""Why a result equals its input: the rules used, as a DAG of lemmas, each step checked.

`proving` finds a proof; `checker` and then `check` ask of it whether it is one; here it
is put into words.  What does not pass raises, and is never shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from time import perf_counter

from ..ir.constructors import SIGNATURES
from ..ir.graph import Graph
from ..ir.ops import TensorType
from ..rules.ruleset import Rule, RuleSet
from ..rules.sexpr import Expr, Form
from ..saturate.encode import Names
from ..saturate.engine import Engine
from ..saturate.explore import Budget
from ..saturate.saturate import facts_for
from .check import Terms, check_values
from .checker import check
from .naming import Namer, attr_text, classes, user_names
from .needed import needed
from .proof import CheckError, Lemma, Proof, Use
from .proving import ExplainError, parts, prove, sides, tensor_variables

type Outputs = tuple[tuple[str, int | None], ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A use of a rule, checked: `left` becomes `right`, which equals it.

    `forward` says whether the rule was read from its left to its right side, `bindings`
    what its variables stand for.  `path` are operand positions from a goal's root, or
    from the root of the term where its lemma is first needed, to the term that changes.
    `before` are the nodes of the input graph, `after` those of the chosen graph, that
    are equal to a term of the step: to one that it takes, to one that it makes.
    A step that `only_moves` changes where elements stand, and none of them.  `use` is
    the use in the proof.
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
    only_moves: bool
    use: int


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

    Lemmas stand in order of need; an output goes to the lemma that proves it, or to
    None where it is the same term in both graphs.  `proof` is what was checked;
    `seconds` went into finding and checking it."""

    steps: tuple[Step, ...]
    lemmas: tuple[Proved, ...]
    outputs: Outputs
    proof: Proof
    seconds: float = field(default=0.0, compare=False)

    @property
    def rules(self) -> tuple[str, ...]:
        return tuple(sorted({s.rule for s in self.steps}))

    @property
    def weakest(self) -> str:
        """The weakest contract among the rules used: what the whole result keeps."""
        return max((s.contract for s in self.steps), key=CONTRACTS.index,
                   default="bitwise")  # fmt: skip

    def about(self, node: int) -> tuple[Step, ...]:
        """The steps that take a node of the input graph, in reading order."""
        return tuple(s for s in self.steps if node in s.before)

    def __str__(self) -> str:
        return self.text()

    def text(self, *, folded: bool = True) -> str:
        """All lemmas; folded, steps in a row that only move elements are one line."""
        lines: list[str] = []
        for i, lemma in enumerate(self.lemmas):
            lines.append(f"lemma {i}: {lemma.left}")
            runs = groupby(lemma.moves, lambda m: folded and self._only_moves(m))
            for moving, run in runs:
                lines += self._run(list(run)) if moving else map(self._shown, run)
        for label, i in self.outputs:
            lines.append(f"{label}: {'unchanged' if i is None else f'by lemma {i}'}")
        return "\n".join(lines)

    def _only_moves(self, move: Move) -> bool:
        return move.step is not None and self.steps[move.step].only_moves

    def _run(self, moves: list[Move]) -> list[str]:
        if len(moves) == 1:
            return [self._shown(moves[0])]
        rules = (self.steps[m.step].rule for m in moves if m.step is not None)
        return [f"  = {moves[-1].result}    [moved by {', '.join(rules)}]"]

    def _shown(self, move: Move) -> str:
        if move.step is None:
            why = ", ".join(f"lemma {i}" for i in move.parts)
        else:
            step = self.steps[move.step]
            why = f"{step.rule} {'' if step.forward else '(backwards) '}{step.place}"
        return f"  = {move.result}    [{why}]"


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
    started = perf_counter()
    known = facts_for(before, rules) if nan_free is None else nan_free
    proof = prove(before, after, rules, budget, engine, known)
    try:
        check(proof, before, after, rules, known)
        check_values(proof, rules, engine)
    except CheckError as e:
        least = needed(before, after, rules, budget, engine, known)
        raise CheckError(
            f"{e}\nno proof is shown; the result rests on these rules, of which none "
            f"can be spared: {', '.join(least)}"
        ) from None
    made = _Writer(before, proof, rules, depth).write()
    return replace(made, seconds=perf_counter() - started)


class _Writer:
    """Puts a proof into words."""

    def __init__(
        self, before: Graph, proof: Proof, rules: RuleSet, depth: int | None = None
    ) -> None:
        self.proof, self.rules = proof, rules
        labels = {label: i for i, label in enumerate(proof.labels)}
        self.terms = Terms(proof.terms, Names(labels))
        self.root = classes(proof)
        names = user_names(before, proof, numbered=depth is None)
        self.namer = Namer(self.terms, names, self.root, depth or 3)
        places = (proof.before, proof.after)
        self.nodes = tuple(_by_class(self.root, where) for where in places)
        self.steps: list[Step] = []
        self.step_of: dict[tuple[int, bool], int] = {}

    def write(self) -> Explanation:
        number = {(x.left, x.right): i for i, x in enumerate(self.proof.lemmas)}
        goals = [(g.output, number.get((g.left, g.right))) for g in self.proof.goals]
        self._read([i for _, i in goals if i is not None])
        proved = tuple(map(self._proved, self.proof.lemmas))
        return Explanation(tuple(self.steps), proved, tuple(goals), self.proof)

    def _read(self, goals: Sequence[int]) -> None:
        """Writes the steps in the order in which they rewrite the goals."""
        known = set[int]()
        lemmas = self.proof.lemmas
        todo: list[tuple[int | None, int | None, bool, tuple[int, ...]]] = [
            (None, i, True, ()) for i in reversed(goals)
        ]
        while todo:
            use, lemma, forward, path = todo.pop()
            if use is not None:
                self._step(use, forward, path)
            elif lemma is not None and lemma not in known:
                known.add(lemma)
                todo.extend(
                    (m.use, m.lemma, m.forward, (*path, *m.path))
                    for m in reversed(lemmas[lemma].moves)
                )

    def _proved(self, lemma: Lemma) -> Proved:
        """Equal operands, which a proof replaces one by one, are one move here."""
        term = self.namer.term
        moves: list[Move] = []
        parts: list[int] = []
        for move in lemma.moves:
            if move.use is None:
                parts.append(move.lemma or 0)
                continue
            start, end = self._ends(move.use, move.forward)
            if parts:
                moves.append(Move(term(start), None, tuple(parts)))
                parts = []
            moves.append(Move(term(end), self.step_of[move.use, move.forward]))
        if parts:
            moves.append(Move(term(lemma.right), None, tuple(parts)))
        return Proved(term(lemma.left), term(lemma.right), tuple(moves))

    def _ends(self, use: int, forward: bool) -> tuple[int, int]:
        u = self.proof.uses[use]
        return (u.left, u.right) if forward else (u.right, u.left)

    def _step(self, number: int, walked: bool, path: tuple[int, ...]) -> None:
        if (number, walked) in self.step_of:
            return
        use = self.proof.uses[number]
        rule, forward = self.rules.rule(use.rule), use.forward == walked
        start, end = self._ends(number, walked)
        left, right = sides(rule, forward)
        self.step_of[number, walked] = len(self.steps)
        self.steps.append(
            Step(
                rule.name, f"{rule.place.file}:{rule.place.line}", rule.contract,
                forward, path, self.namer.side(left, start),
                self.namer.side(right, end),
                self._bindings(rule, use), self._touched(0, left, start),
                self._touched(1, right, end), self.terms.type(start),
                only_moves(rule), number,
            )
        )  # fmt: skip

    def _bindings(self, rule: Rule, use: Use) -> tuple[tuple[str, str], ...]:
        """What the rule's variables stand for, as text."""
        tensors = tensor_variables(rule)
        return tuple(
            (k, self.namer.operand(x) if k in tensors else attr_text(x))
            for k, x in use.bindings
        )

    def _touched(self, which: int, side: Expr, t: int) -> tuple[int, ...]:
        """The nodes of a graph that are equal to a term that a side spells out."""
        result = parts(side, t, self.proof.terms)
        spelled = [x for kind, e, x in result if kind == "t" and isinstance(e, Form)]
        roots = {self.root[x] for x in (t, *spelled)}
        nodes = self.nodes[which]
        return tuple(sorted(i for r in roots for i in nodes.get(r, ())))


MOVING = frozenset(("Reshape", "Permute", "Expand", "Slice", "Window", "Concat"))


def only_moves(rule: Rule) -> bool:
    """Whether a rule moves elements, past what is computed of them or not: both its
    sides compute the same, bit for bit, and one of them moves something."""
    sides = [Counter(_operations(e)) for e in (rule.left, rule.right)]
    moved = any(head in MOVING for side in sides for head, _ in side)
    same = [{k: n for k, n in side.items() if k[0] not in MOVING} for side in sides]
    return moved and same[0] == same[1] and rule.contract == "bitwise"


def _operations(e: Expr) -> Iterator[tuple[str, str]]:
    """Constructors, with the opcode of those that have one; constants are none."""
    if isinstance(e, Form) and e.head in SIGNATURES:
        if e.head not in ("Const", "Odd"):
            yield e.head, str(e.args[0]) if SIGNATURES[e.head][0] == "s" else ""
        for a in e.args:
            yield from _operations(a)


def _by_class(
    root: Sequence[int], where: Sequence[int | None]
) -> dict[int, tuple[int, ...]]:
    """The nodes of a graph by the class of their terms."""
    out: dict[int, tuple[int, ...]] = {}
    for i, t in enumerate(where):
        if t is not None:
            out[root[t]] = (*out.get(root[t], ()), i)
    return out


__all__ = [
    "ExplainError", "Explanation", "Move", "Proved", "Step", "explain",
]  # fmt: skip
