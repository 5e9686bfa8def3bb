"""Trees of a rule with one place changed, and the sort of what stands in a place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rewrite.egraph.ir.constructors import SIGNATURES, SORTS
from rewrite.egraph.rules.ruleset import Rule, RuleFile
from rewrite.egraph.rules.sexpr import Atom, Expr, Form, Place

NOWHERE = Place("mutant", 1, 1)

SORTED = 12  # premises whose order is told apart from their meaning

type Path = tuple[int, ...]
type Head = tuple[tuple[str, ...], str]  # sorts of the arguments, sort of the result

# The engine's own; `n` stands for either kind of number.
_BUILTINS: dict[str, Head] = {
    "vec-get": (("IV", "i64"), "i64"),
    "vec-set": (("IV", "i64", "i64"), "IV"),
    "vec-push": (("IV", "i64"), "IV"),
    "vec-pop": (("IV",), "IV"),
    "vec-append": (("IV", "IV"), "IV"),
    "vec-length": (("IV",), "i64"),
    "vec-range": (("i64",), "IV"),
    "vec-empty": ((), "IV"),
    "to-f64": (("i64",), "f64"),
}
_OF_NUMBERS = frozenset(("+", "-", "*", "/", "min", "max", "abs", "neg", "sqrt"))


def form(head: str, *args: Expr) -> Form:
    return Form((Atom(head, NOWHERE), *args), NOWHERE)


def atom(text: str) -> Atom:
    return Atom(text, NOWHERE)


def sites(e: Expr, path: Path = ()) -> Iterator[tuple[Path, Expr]]:
    """Every place of a tree and what stands there; heads are no places."""
    yield path, e
    if isinstance(e, Form):
        for i, a in enumerate(e.items[1:], 1):
            yield from sites(a, (*path, i))


def put(e: Expr, path: Path, new: Expr) -> Expr:
    """The tree with `new` at one place."""
    if not path:
        return new
    assert isinstance(e, Form)
    i, *rest = path
    items = list(e.items)
    items[i] = put(items[i], tuple(rest), new)
    return Form(tuple(items), e.place)


def rename(e: Expr, names: Mapping[str, str]) -> Expr:
    """Variables renamed."""
    if isinstance(e, Atom):
        return atom(names[e.text]) if e.is_symbol and e.text in names else e
    return Form((e.items[0], *(rename(a, names) for a in e.args)), e.place)


@dataclass(frozen=True)
class Sorts:
    """What sort each head takes and gives, and each variable of one rule has."""

    heads: Mapping[str, Head]
    variables: Mapping[str, str]

    def of(self, e: Expr) -> str | None:
        """The sort of an expression where its place does not tell."""
        if isinstance(e, Atom):
            if e.is_string:
                return "String"
            if e.is_number:
                return "f64" if "." in e.text else "i64"
            return self.variables.get(e.text)
        if e.head in _OF_NUMBERS:
            return next((s for a in e.args if (s := self.of(a))), None)
        if e.head == "vec-of":
            return "IV"
        return self.heads[e.head][1] if e.head in self.heads else None

    def arguments(self, e: Form) -> Sequence[str | None]:
        """The sort wanted of each argument of a form."""
        if e.head in self.heads and len(self.heads[e.head][0]) == len(e.args):
            return self.heads[e.head][0]
        if e.head == "vec-of":
            return ["i64"] * len(e.args)
        return [self.of(a) for a in e.args]


def heads(files: Sequence[RuleFile]) -> dict[str, Head]:
    """Constructors, and what the files declare."""
    out = {
        name: (tuple(SORTS[k] for k in kinds), "T")
        for name, kinds in SIGNATURES.items()
    }
    out |= _BUILTINS
    for f in files:
        for item in f.forms:
            if item.head in ("function", "relation", "primitive"):
                name, inputs = str(item.items[1]), item.items[2]
                assert isinstance(inputs, Form)
                result = "Unit" if item.head == "relation" else str(item.items[3])
                out[name] = tuple(map(str, inputs.items)), result
    return out


def sorts(rule: Rule, known: Mapping[str, Head]) -> Sorts:
    """The sorts of a rule's variables: by their places in the patterns, then by the
    equations that bind the others."""
    variables: dict[str, str] = {}
    found = Sorts(known, variables)
    for side in (rule.left, rule.right):
        _places(side, "T", found, variables)
    for _ in rule.when:  # an equation may rest on a later one
        for fact in rule.when:
            _places(fact, None, found, variables)
            if isinstance(fact, Form) and fact.head == "=":
                _equated(fact, found, variables)
    return found


def _places(e: Expr, want: str | None, found: Sorts, out: dict[str, str]) -> None:
    if isinstance(e, Atom):
        if e.is_symbol and want:
            out.setdefault(e.text, want)
        return
    for a, sort in zip(e.args, found.arguments(e), strict=True):
        _places(a, sort, found, out)


def _equated(fact: Form, found: Sorts, out: dict[str, str]) -> None:
    known = next((s for a in fact.args if (s := found.of(a))), None)
    for a in fact.args:
        _places(a, known, found, out)


def canonical(left: Expr, right: Expr, when: Sequence[Expr], both: bool = False) -> str:
    """Text that is equal for rules that differ in names of variables, in the order of
    their premises and (if they go both ways) of their sides alone."""
    text = _canonical(left, right, when)
    return min(text, _canonical(right, left, when)) if both else text


def _canonical(left: Expr, right: Expr, when: Sequence[Expr]) -> str:
    names: dict[str, str] = {}
    shown = [_named(e, names) for e in (left, right)]
    # Premises sorted by what they say of variables named so far, then by the rest;
    # of very many, as attention has them, the order they stand in will do.
    todo = list(when)
    if len(todo) > SORTED:
        return " ".join((*shown, *(_named(e, names) for e in todo)))
    while todo:
        todo.sort(key=lambda e: _named(e, dict(names)))
        shown.append(_named(todo.pop(0), names))
    return " ".join(shown)


def _named(e: Expr, names: dict[str, str]) -> str:
    if isinstance(e, Atom):
        known = names.get(e.text)
        if known is None and e.is_symbol:
            known = names[e.text] = f"v{len(names)}"
        return known or e.text
    head = e.head
    args = [_named(a, names) for a in e.args]
    if head == "=":
        args.sort()
    return f"({' '.join((head, *args))})"
