"""A rule's left side and premises as a list of atoms, each of which can fail alone.

A nested pattern becomes one atom for each term, the outermost first; premises follow,
each after those that bind what it computes with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rewrite.egraph.ir.constructors import SIGNATURES, SORTS
from rewrite.egraph.rules.ruleset import Rule, RuleSet
from rewrite.egraph.rules.sexpr import Atom, Expr, Form, variables

ROOT = "__root"

type Kind = Literal["shape", "premise", "fact"]


@dataclass(frozen=True, slots=True)
class Condition:
    """One atom: `of` is the term that a pattern stands for (shape only)."""

    kind: Kind
    shown: str
    query: str  # as a fact of the engine
    of: str
    expr: Expr


@dataclass(frozen=True)
class Body:
    """One direction of a rule, with the kind (a letter of `SIGNATURES`) of each
    variable that a pattern of either side holds."""

    rule: Rule
    forward: bool
    conditions: tuple[Condition, ...]
    kinds: dict[str, str]

    @property
    def left(self) -> Form:
        side = self.rule.left if self.forward else self.rule.right
        assert isinstance(side, Form)
        return side

    @property
    def right(self) -> Expr:
        return self.rule.right if self.forward else self.rule.left

    def bound(self, count: int) -> tuple[str, ...]:
        """The variables of known kind that the first `count` conditions bind."""
        seen = {ROOT}
        for c in self.conditions[:count]:
            seen |= variables(c.expr)
        return tuple(v for v in self.kinds if v in seen)


def bodies(rule: Rule, rules: RuleSet) -> tuple[Body, ...]:
    """A rule's directions: one, or two of a birewrite."""
    return tuple(
        _body(rule, rules, way) for way in ((True, False) if rule.both else (True,))
    )


def _body(rule: Rule, rules: RuleSet, forward: bool) -> Body:
    side = rule.left if forward else rule.right
    assert isinstance(side, Form)
    letter = next(x for x in "tuvwxyz" if not _taken(x, rule))
    flat = _Flat(letter)
    flat.term(ROOT, side)
    tables, bound = _tables(rules), frozenset(flat.kinds)
    conditions = [*flat.conditions]
    for w in _ordered(rule.when, bound, frozenset(tables)):
        kind: Kind = "fact" if _asks(w, tables) else "premise"
        conditions.append(Condition(kind, str(w), str(w), "", w))
    other = rule.right if forward else rule.left
    kinds = {**_kinds(other, "t"), **flat.kinds}
    return Body(rule, forward, tuple(conditions), kinds)


def _kinds(e: Expr, kind: str) -> dict[str, str]:
    """The variables of a pattern with their kinds; what is computed says nothing."""
    if isinstance(e, Atom):
        return {e.text: kind} if e.is_symbol else {}
    result: dict[str, str] = {}
    if e.head in SIGNATURES:
        for k, a in zip(SIGNATURES[e.head], e.args, strict=True):
            result |= _kinds(a, k)
    return result


def _taken(letter: str, rule: Rule) -> bool:
    names = variables(rule.left) | variables(rule.right)
    names = names.union(*map(variables, rule.when))
    return any(v[0] == letter and v[1:].isdigit() for v in names)


class _Flat:
    """Patterns taken apart; inner terms are called t1, t2, …"""

    def __init__(self, letter: str) -> None:
        self.letter, self.count = letter, 0
        self.conditions: list[Condition] = []
        self.kinds: dict[str, str] = {ROOT: "t"}

    def term(self, name: str, e: Form) -> None:
        parts: list[Expr] = [e.items[0]]
        inner: list[tuple[str, Form]] = []
        for kind, a in zip(SIGNATURES[e.head], e.args, strict=True):
            if kind == "t" and isinstance(a, Form):
                self.count += 1
                fresh = f"{self.letter}{self.count}"
                self.kinds[fresh] = "t"
                inner.append((fresh, a))
                a = Atom(fresh, a.place)
            elif isinstance(a, Atom) and a.is_symbol:
                self.kinds.setdefault(a.text, kind)
            parts.append(a)
        flat = Form(tuple(parts), e.place)
        self.conditions.append(
            Condition("shape", str(flat), f"(= {name} {flat})", name, flat)
        )
        for fresh, a in inner:
            self.term(fresh, a)


def sort_of(kind: str) -> str:
    return SORTS[kind]


# ---- premises ------------------------------------------------------------------------


def _tables(rules: RuleSet) -> dict[str, bool]:
    """Relations and functions, and whether their rows are about terms."""
    result: dict[str, bool] = {}
    for f in rules.files:
        for form in f.forms:
            if form.head in ("relation", "function"):
                sorts = form.items[2]
                assert isinstance(sorts, Form)
                result[str(form.items[1])] = any(str(s) == "T" for s in sorts.items)
    return result


def _asks(e: Expr, tables: dict[str, bool]) -> bool:
    """Whether a premise is a row about a term, other than its type, which all have."""
    heads = set(_heads(e)) - {"shape", "dtype"}
    return any(tables.get(h, False) for h in heads)


def _heads(e: Expr) -> Iterator[str]:
    if isinstance(e, Form):
        yield e.head
        for a in e.args:
            yield from _heads(a)


def _ordered(
    when: Sequence[Expr], bound: frozenset[str], tables: frozenset[str]
) -> list[Expr]:
    """The premises in their own order, but each after what it needs."""
    rest, out, known = list(when), list[Expr](), set(bound)
    while rest:
        at = next((i for i, w in enumerate(rest) if _ready(w, known, tables)), 0)
        out.append(rest.pop(at))
        known |= variables(out[-1])
    return out


def _ready(e: Expr, known: set[str], tables: frozenset[str]) -> bool:
    if not _needs(e, tables) <= known:
        return False
    if isinstance(e, Form) and e.head == "=":
        sides = [a for a in e.args if variables(a) <= known or not a_free(a)]
        return bool(sides)
    return True


def a_free(e: Expr) -> bool:
    """Whether an expression is a lone variable."""
    return not isinstance(e, Form) and e.is_symbol


def _needs(e: Expr, tables: frozenset[str]) -> frozenset[str]:
    """Variables that must be bound: those that a computation reads."""
    if not isinstance(e, Form):
        return frozenset()
    if e.head == "=" or e.head in tables:
        return frozenset[str]().union(*(_needs(a, tables) for a in e.args))
    return variables(e)
