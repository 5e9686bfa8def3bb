"""Patterns as terms: what binds a variable, when one rule is a case of another.

Here the variables of the special side are constants; only the general side's are
replaced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rewrite.egraph.rules.ruleset import Rule, RuleFile
from rewrite.egraph.rules.sexpr import Atom, Expr, Form, variables

type Bindings = Mapping[str, str]  # a variable -> the text of what stands for it


# ---- walks ---------------------------------------------------------------------------


def subterms(e: Expr) -> Iterator[Form]:
    """The applications in a term, outermost first."""
    if isinstance(e, Form):
        yield e
        for a in e.args:
            yield from subterms(a)


def occurrences(es: Iterable[Expr]) -> Counter[str]:
    """How often each variable stands in some terms."""
    out: Counter[str] = Counter()
    for e in es:
        if isinstance(e, Atom):
            out[e.text] += e.is_symbol
        else:
            out += occurrences(e.args)
    return out


def operation(e: Form) -> tuple[str, ...]:
    """What a term does, its operands aside: ("Bin", "mul")."""
    words = [a.string for a in e.args if isinstance(a, Atom) and a.is_string]
    return (e.head, *words)


# ---- premises ------------------------------------------------------------------------


@dataclass(frozen=True)
class Tables:
    """Names whose rows the engine can enumerate, so that they bind what they hold."""

    relations: frozenset[str]
    functions: frozenset[str]


def tables_of(files: Sequence[RuleFile]) -> Tables:
    forms = [f for file in files for f in file.forms]

    def named(head: str) -> frozenset[str]:
        return frozenset(str(f.items[1]) for f in forms if f.head == head)

    return Tables(named("relation"), named("function"))


def bound(pattern: Expr, when: Sequence[Expr], tables: Tables) -> frozenset[str]:
    """All variables that a pattern and its premises give a value."""
    known = set(variables(pattern))
    for w in when:
        known |= _looked_up(w, tables)
    while True:
        fresh = {v for w in when for v in _defined(w, known)} - known
        if not fresh:
            return frozenset(known)
        known |= fresh


def _looked_up(e: Expr, tables: Tables) -> frozenset[str]:
    rows = tables.relations | tables.functions
    result = (f for f in subterms(e) if f.head in rows)
    atoms = (a for f in result for a in f.args if isinstance(a, Atom))
    return frozenset(a.text for a in atoms if a.is_symbol)


def _defined(e: Expr, known: set[str]) -> list[str]:
    """The variables that an equation gives a value, once all others in it have one."""
    if not isinstance(e, Form) or e.head != "=":
        return []
    ready = [a for a in e.args if variables(a) <= known]
    names = [a.text for a in e.args if isinstance(a, Atom) and a.is_symbol]
    return [v for v in names if v not in known] if ready else []


# ---- instances -----------------------------------------------------------------------


def match(general: Expr, special: Expr, so_far: Bindings) -> Bindings | None:
    """The bindings that make `general` the same text as `special`."""
    if isinstance(general, Atom):
        if not general.is_symbol:
            return so_far if str(general) == str(special) else None
        text = str(special)
        if so_far.get(general.text, text) != text:
            return None
        return {**so_far, general.text: text}
    if not isinstance(special, Form) or special.head != general.head:
        return None
    if len(special.args) != len(general.args):
        return None
    result: Bindings | None = so_far
    for a, b in zip(general.args, special.args, strict=True):
        result = match(a, b, result)
        if result is None:
            return None
    return result


def included(
    general: Sequence[Expr], special: Sequence[Expr], so_far: Bindings
) -> bool:
    """Whether each premise of the general rule is one of the special rule's."""
    if not general:
        return True
    first, *rest = general
    for premise in special:
        result = match(first, premise, so_far)
        if result is not None and included(rest, special, result):
            return True
    return False


def directions(rule: Rule) -> list[tuple[Expr, Expr]]:
    """(what is matched, what is made), each way in which the rule runs."""
    ways = [(rule.left, rule.right)]
    return [*ways, (rule.right, rule.left)] if rule.both else ways


def is_instance(general: Rule, special: Rule) -> bool:
    """Whether `general` does all that `special` does, by renaming alone."""
    return all(
        any(_does(general, way, special, want) for way in directions(general))
        for want in directions(special)
    )


def _does(
    general: Rule, way: tuple[Expr, Expr], special: Rule, want: tuple[Expr, Expr]
) -> bool:
    sides = match(way[0], want[0], {})
    sides = None if sides is None else match(way[1], want[1], sides)
    return sides is not None and included(general.when, special.when, sides)
