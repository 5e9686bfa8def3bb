"""Findings between rules: one covers another, two undo each other, one was refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rewrite.egraph.ir.constructors import SIGNATURES
from rewrite.egraph.rules.premises import definitions
from rewrite.egraph.rules.ruleset import (
    CONTRACTS,
    Precision,
    Refused,
    Rule,
    reads_sizes,
)
from rewrite.egraph.rules.sexpr import Atom, Expr, Form

from .findings import Finding
from .patterns import directions, is_instance, match

# The precision at which a rule of each contract is on first.
NEEDS: dict[str, Precision] = {
    "bitwise": "strict",
    "ieee": "default",
    "real": "default",
    "approx": "fast",
    "unstable": "unstable",
}


def serves(other: Rule, rule: Rule) -> bool:
    """Whether `other` is on wherever `rule` is."""
    if rule.contract not in NEEDS or (reads_sizes(other) and not reads_sizes(rule)):
        return False
    return other.contract in CONTRACTS[NEEDS[rule.contract]]


def shadowed(rule: Rule, others: Sequence[Rule]) -> Iterator[Finding]:
    """`others` come before, or are strictly more general."""
    for other in others:
        if other.name == rule.name or not serves(other, rule):
            continue
        if not is_instance(other, rule):
            continue
        if is_instance(rule, other) and _key(other) > _key(rule):
            continue  # the same rule twice: the later one is the one too many
        yield Finding(
            rule.place, "shadowed", rule.name,
            f"{rule.name}: {other.name} ({other.place}) does the same for more terms",
            "leave this one out",
        )  # fmt: skip
        return


def _key(rule: Rule) -> tuple[str, int, int]:
    return rule.place.file, rule.place.line, rule.place.column


def both_ways(rule: Rule, others: Sequence[Rule]) -> Iterator[Finding]:
    """Another rule of the ruleset that leads back from where this one leads."""
    for other in others:
        if other.name == rule.name or other.ruleset != rule.ruleset:
            continue
        if any(_undoes(a, b) for a in directions(other) for b in directions(rule)):
            yield Finding(
                rule.place, "both-ways", rule.name,
                f"{rule.name}: {other.name} ({other.place}) leads back, in the same "
                f"ruleset ({rule.ruleset})",
                "keep one direction, or say that both are meant: birewrite",
            )  # fmt: skip
            return


def _undoes(way: tuple[Expr, Expr], of: tuple[Expr, Expr]) -> bool:
    """Whether `way` is the general law of which `of` turned round is a case."""
    result = match(way[0], of[1], {})
    return result is not None and match(way[1], of[0], result) is not None


# ---- refused laws --------------------------------------------------------------------


def refused(rule: Rule, laws: Sequence[Refused]) -> Iterator[Finding]:
    """A law of the list that the rule states without a premise that would save it."""
    for law in laws:
        wanted = pattern(law.left), pattern(law.right)
        for matched, made in directions(rule):
            result = match(matched, wanted[0], {})
            if result is None or match(made, wanted[1], result) is None:
                continue
            if len(definitions(rule, matched)) < len(rule.when):
                continue  # a premise may exclude the counterexample
            yield Finding(
                rule.place, "refused", rule.name,
                f"{rule.name}: this law was refused at {law.place}"
                + (f": {law.because}" if law.because else ""),
                "leave it out, or add the premise that excludes the counterexample",
            )  # fmt: skip
            break


def pattern(e: Expr, position: str = "") -> Expr:
    """An example's term as rules write it: a number is a constant of some type."""
    if isinstance(e, Atom):
        name = e.text.partition(":")[0]
        if position == "t" and e.is_number:
            parts = ("Const", name, f"dtype{e.place.column}", f"shape{e.place.column}")
            return Form(tuple(Atom(p, e.place) for p in parts), e.place)
        return Atom(name, e.place) if e.is_symbol else e
    kinds = SIGNATURES.get(e.head, "")
    if len(kinds) != len(e.args):
        return e
    items = (pattern(a, k) for a, k in zip(e.args, kinds, strict=True))
    return Form((e.items[0], *items), e.place)
