"""A proof that uses all that proofs can hold, and ways of breaking it.

Each way takes the case and gives it back broken; what the checker must say stands
beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.egraph.proof.proof import Goal, Lemma, Move, Proof, Use
from rewrite.egraph.proof.proving import prove
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.rules.ruleset import RuleSet
from rewrite.egraph.saturate.saturate import facts_for

RULES = load_rules()


@dataclass(frozen=True)
class Case:
    """What the checker is given."""

    proof: Proof
    before: Graph
    after: Graph
    rules: RuleSet
    nan_free: frozenset[int]


def graphs() -> tuple[Graph, Graph]:
    """Sums of a scaled tensor behind two permutations, plus nothing, where no NaN is;
    and the same without all that."""
    b = Builder("long")
    x, y = b.input("x", F32, (2, 3)), b.input("y", F32, (2, 1))
    turned = b.permute(b.permute(x, (1, 0)), (1, 0))
    scaled = b.bin("mul", turned, b.expand(y, (2, 3)))
    total = b.bin("add", b.reduce("sum", scaled, [1]), b.const(0.0, F32, (2, 1)))
    t = b.un("tanh", total)
    z = b.select(b.un("isnan", t), b.const(0.0, F32, (2, 1)), t)
    doubled = b.un("neg", b.bin("add", b.un("neg", x), b.un("neg", x)))
    before = b.build({"z": z, "twice": doubled})
    b = Builder("short")
    x, y = b.input("x", F32, (2, 3)), b.input("y", F32, (2, 1))
    z = b.un("tanh", b.bin("mul", b.reduce("sum", x, [1]), y))
    twice = b.bin("mul", x, b.const(2.0, F32, (2, 3)))
    return before, b.build({"z": z, "twice": twice})


def case() -> Case:
    before, after = graphs()
    known = facts_for(before, RULES)
    proof = prove(before, after, RULES, nan_free=known)
    return Case(proof, before, after, RULES, known)


# ---- small changes -------------------------------------------------------------------


def at[T](items: tuple[T, ...], i: int, new: T) -> tuple[T, ...]:
    return (*items[:i], new, *items[i + 1 :])


def proof(c: Case, **changes: Any) -> Case:
    return replace(c, proof=replace(c.proof, **changes))


def number(c: Case, rule: str) -> int:
    return next(i for i, u in enumerate(c.proof.uses) if u.rule == rule)


def use(c: Case, of: str, **changes: Any) -> Case:
    i = number(c, of)
    new = replace(c.proof.uses[i], **changes)
    return proof(c, uses=at(c.proof.uses, i, new))


def bound(c: Case, rule: str, **values: Any) -> Case:
    """A variable or more bound to something else, or bound at all."""
    old = dict(c.proof.uses[number(c, rule)].bindings)
    return use(c, rule, bindings=tuple(sorted({**old, **values}.items())))


def term(c: Case, old: tuple[Any, ...], new: tuple[Any, ...]) -> Case:
    """A field of each term that begins so, changed."""
    rows = tuple(new + r[len(new) :] if r[: len(old)] == old else r
                 for r in c.proof.terms)  # fmt: skip
    assert rows != c.proof.terms
    return proof(c, terms=rows)


def lemma_with(c: Case, rule: str) -> int:
    k = number(c, rule)
    lemmas = enumerate(c.proof.lemmas)
    return next(i for i, x in lemmas if any(m.use == k for m in x.moves))


def lemma(c: Case, i: int, *moves: Move, **changes: Any) -> Case:
    new = replace(c.proof.lemmas[i], **({"moves": moves} if moves else {}), **changes)
    return proof(c, lemmas=at(c.proof.lemmas, i, new))


def move(c: Case, rule: str, **changes: Any) -> Case:
    """The move by a rule, otherwise."""
    i, k = lemma_with(c, rule), number(c, rule)
    moves = (
        replace(m, **changes) if m.use == k else m for m in c.proof.lemmas[i].moves
    )
    return lemma(c, i, *moves)


def resting(c: Case) -> tuple[int, Move]:
    """A lemma that rests on another one, of a second operand, and that move."""
    return next((i, m) for i, x in enumerate(c.proof.lemmas) for m in x.moves
                if m.path == (1,))  # fmt: skip


def elsewhere(c: Case, path: tuple[int, ...]) -> Case:
    i, old = resting(c)
    moves = tuple(replace(m, path=path) if m is old else m
                  for m in c.proof.lemmas[i].moves)  # fmt: skip
    return lemma(c, i, *moves)


# ---- whole steps that are wrong ------------------------------------------------------


def false_premise(c: Case) -> Case:
    """x + x = x, by the law for what is idempotent, which sums are not."""
    (double,) = (i for i, r in enumerate(c.proof.terms) if r[:2] == ("Bin", "add")
                 and r[2] == r[3])  # fmt: skip
    x = c.proof.terms[double][2]
    wrong = Use("bin-self", str(c.rules.rule("bin-self").place), True, double, x,
                (("m", "sum"), ("o", "add"), ("x", x)))  # fmt: skip
    made = proof(c, uses=(*c.proof.uses, wrong))
    step = Lemma(double, x, (Move((), True, use=len(c.proof.uses)),))
    return proof(made, lemmas=(step, *made.proof.lemmas))


def reordered(c: Case) -> Case:
    """A lemma before one that it rests on."""
    lemmas = c.proof.lemmas
    i, j = next((i, m.lemma) for i, x in enumerate(lemmas) for m in x.moves
                if m.lemma is not None)  # fmt: skip
    return proof(c, lemmas=at(at(lemmas, i, lemmas[j]), j, lemmas[i]))


def altered_mask(c: Case) -> Case:
    """Of a sum of the graphs, wherever it stands."""
    said = {t for t in (*c.proof.before, *c.proof.after) if t is not None}
    old = next(r[:4] for t, r in enumerate(c.proof.terms)
               if t in said and r[0] == "Reduce")  # fmt: skip
    return term(c, old, (*old[:3], tuple(1 for _ in old[3])))


def circular(c: Case) -> Case:
    """A lemma that is its own reason."""
    i, _ = resting(c)
    return lemma(c, i, Move((), True, lemma=i))


def mutual(c: Case) -> Case:
    """Two lemmas that are each other's reasons."""
    x = c.proof.lemmas[-1]
    n = len(c.proof.lemmas)
    first = Lemma(x.left, x.right, (Move((), True, lemma=n),))
    second = Lemma(x.left, x.right, (Move((), True, lemma=n - 1),))
    return proof(c, lemmas=(*c.proof.lemmas[:-1], first, second))


def dropped(c: Case) -> Case:
    i = next(i for i, x in enumerate(c.proof.lemmas) if len(x.moves) > 1)
    return lemma(c, i, *c.proof.lemmas[i].moves[1:])


def other_goal(c: Case) -> Case:
    first, second = c.proof.goals
    return proof(c, goals=(Goal(first.output, second.left, second.right), second))


def fewer_goals(c: Case) -> Case:
    return proof(c, goals=c.proof.goals[:1])


def unproved(c: Case) -> Case:
    return proof(c, lemmas=c.proof.lemmas[:-1])


def other_input(c: Case) -> Case:
    b = Builder("other")
    where = [b.add(n.op, n.args, (*n.attrs[:-1], (1, 0)) if n.op == "reduce" else
                   n.attrs, n.name) for n in c.before.nodes[:3]]  # fmt: skip
    x = b.un("tanh", where[1])
    return replace(c, before=b.build({"z": x, "twice": where[0]}))


def changed_input(c: Case) -> Case:
    """The input graph with one opcode changed."""
    nodes = tuple(
        replace(n, attrs=("sinh",)) if n.attrs == ("tanh",) else n
        for n in c.before.nodes
    )
    return replace(c, before=replace(c.before, nodes=nodes))


def changed_choice(c: Case) -> Case:
    nodes = tuple(
        replace(n, attrs=("exp",)) if n.attrs == ("tanh",) else n for n in c.after.nodes
    )
    return replace(c, after=replace(c.after, nodes=nodes))


def exchanged_outputs(c: Case) -> Case:
    (a, i), (b, j) = c.before.outputs
    return replace(c, before=replace(c.before, outputs=((a, j), (b, i))))


def off(c: Case) -> Case:
    return replace(c, rules=c.rules.only(c.rules.on - {"sum-hoist"}))


def backwards(c: Case) -> Case:
    """A rule that goes one way, read the other way, with its sides exchanged."""
    u = c.proof.uses[number(c, "add-zero")]
    return use(c, "add-zero", forward=False, left=u.right, right=u.left)


def other_fact(c: Case) -> Case:
    """Something that holds no NaN, but nothing shows that it is what is tested."""
    x = c.proof.before[0]
    assert x is not None
    return use(c, "isnan-free", facts=(x,))


def two_arrays(c: Case) -> Case:
    return proof(c, labels=(c.proof.labels[0], c.proof.labels[0]))


def turned_labels(c: Case) -> Case:
    return proof(c, labels=c.proof.labels[::-1])


def other_nodes(c: Case) -> Case:
    a, b, *rest = c.proof.before
    return proof(c, before=(b, a, *rest))


def later_operand(c: Case) -> Case:
    rows = c.proof.terms
    i = next(i for i, r in enumerate(rows) if r[0] == "Permute")
    return proof(c, terms=at(rows, i, ("Permute", i, rows[i][2])))


PLACE = str(RULES.rule("neg-neg").place)
WAYS: dict[str, tuple[Callable[[Case], Case], str]] = {
    "another rule": (
        lambda c: use(c, "add-zero", rule="neg-neg", place=PLACE), "are bound"),
    "a rule that there is not": (
        lambda c: use(c, "add-zero", rule="no-rule"), "no rule no-rule is on"),
    "a rule of another file": (
        lambda c: use(c, "add-zero", place="mine.egg:75:1"), "no rule add-zero is on"),
    "a rule that is off": (off, "no rule sum-hoist is on"),
    "another position": (lambda c: elsewhere(c, (0,)), "another term stands at"),
    "the root for an operand": (lambda c: elsewhere(c, ()), "another term stands at"),
    "a path into no operand": (lambda c: elsewhere(c, (7,)), "leads to no operand"),
    "a path counted from behind": (
        lambda c: elsewhere(c, (-1,)), "leads to no operand"),
    "a path too deep": (lambda c: elsewhere(c, (0, 0)), "leads to no|another term"),
    "another tensor": (lambda c: bound(c, "add-zero", x=0), "another term stands"),
    "no term": (lambda c: bound(c, "add-zero", x=10**6), "no term"),
    "an altered mask": (
        lambda c: bound(c, "sum-hoist", m=(1, 0)), "another term stands left"),
    "an altered mask everywhere": (
        altered_mask, "is another term"),
    "an altered result of arithmetic": (
        lambda c: bound(c, "neg-mul-const", r=2.5), "another term stands"),
    "an altered constant": (
        lambda c: term(c, ("Const", 2.0), ("Const", 3.0)), "another term"),
    "an altered dtype": (
        lambda c: term(c, ("Const", 0.0, "bool"), ("Const", 0.0, "i8")),
        "another term stands right"),
    "a number of another kind": (
        lambda c: bound(c, "sum-hoist", k=[0, 1]), "k is"),
    "a variable too many": (lambda c: bound(c, "add-zero", q=1), "are bound"),
    "a variable bound twice": (
        lambda c: use(c, "add-zero", bindings=(
            *c.proof.uses[number(c, "add-zero")].bindings, ("t", "f32"))),
        "are bound"),
    "a variable too few": (
        lambda c: use(c, "sum-hoist", bindings=tuple(
            b for b in c.proof.uses[number(c, "sum-hoist")].bindings if b[0] != "t")),
        "are bound"),
    "a false premise": (false_premise, r"\(idempotent m\) is false"),
    "a fact that nobody stated": (
        lambda c: replace(c, nan_free=frozenset()), r"\(nan-free x\) is false"),
    "a fact of something else": (other_fact, r"\(nan-free x\) is false"),
    "a fact left out": (lambda c: use(c, "isnan-free", facts=()), "no term -1"),
    "a fact too many": (lambda c: use(c, "add-zero", facts=(0,)), "a fact too many"),
    "the direction of a rule": (
        lambda c: use(c, "permute-id", forward=False), "the rule goes one way|left"),
    "a rule read backwards": (backwards, "the rule goes one way"),
    "a move walked backwards": (
        lambda c: move(c, "add-zero", forward=False), "another term stands at"),
    "a step dropped": (dropped, "another term stands at|end elsewhere"),
    "a step twice": (
        lambda c: lemma(c, lemma_with(c, "add-zero"), *(
            m for m in c.proof.lemmas[lemma_with(c, "add-zero")].moves
            for _ in range(2))),
        "another term stands at"),
    "lemmas in another order": (reordered, "which is not proved yet"),
    "a lemma that rests on itself": (circular, "which is not proved yet"),
    "two lemmas that rest on each other": (mutual, "which is not proved yet"),
    "a move without a reason": (
        lambda c: move(c, "add-zero", use=None), "a move has one reason"),
    "a move with two reasons": (
        lambda c: move(c, "add-zero", lemma=0), "a move has one reason"),
    "a use that there is not": (
        lambda c: move(c, "add-zero", use=-1), "there is no use"),
    "another end of a lemma": (
        lambda c: lemma(c, 0, right=c.proof.lemmas[0].left), "end elsewhere"),
    "another goal": (other_goal, "the goals are not the outputs"),
    "a goal left out": (fewer_goals, "the goals are not the outputs"),
    "a goal without its lemma": (unproved, "nothing proves output"),
    "another input graph": (other_input, "about another graph"),
    "an altered input graph": (changed_input, "is another term"),
    "an altered chosen graph": (changed_choice, "is another term"),
    "outputs exchanged": (exchanged_outputs, "the goals are not the outputs"),
    "inputs exchanged": (turned_labels, "is another term"),
    "two inputs of one label": (two_arrays, "two inputs have one label"),
    "nodes exchanged": (other_nodes, "is another term"),
    "a term of itself": (later_operand, "stands after it"),
}  # fmt: skip
