"""Mutants of a rule: the rule with one small change, as a tired author might make it.

Each is a rule file of its own, which must pass the whitelist; whether it still says
something true is for `verdicts.py` to find out.  No mutant has `:subsume`, which asks
more of a rule than that it be true.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rewrite.egraph.ir.scalars import COMMUTATIVE
from rewrite.egraph.rules.ruleset import ANALYSED, Rule, RuleFile, RuleSet
from rewrite.egraph.rules.sexpr import Atom, Expr, Form, RuleFileError, variables
from rewrite.egraph.rules.whitelist import check

from .edits import (
    Head,
    Path,
    Sorts,
    atom,
    canonical,
    form,
    heads,
    put,
    sites,
    sorts,
)

KINDS = (
    "premise-dropped", "premise-changed", "operands-swapped", "opcode-replaced",
    "expression-changed", "constant-changed", "term-dropped", "variable-replaced",
    "link-cut", "contract-strengthened",
)  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """`rule` with one change; `change` says which."""

    rule: Rule
    origin: str
    kind: str
    change: str

    @property
    def text(self) -> str:
        """A rule file that holds the mutant alone."""
        r = self.rule
        when = f" :when ({' '.join(map(str, r.when))})" if r.when else ""
        head = "birewrite" if r.both else "rewrite"
        return (
            f";;@ equal {r.contract}\n({head} {r.left}\n {r.right}\n{when}"
            f' :ruleset {r.ruleset} :name "{r.name}")\n'
        )

    def __str__(self) -> str:
        return f"{self.origin}: {self.kind}: {self.change}"


def mutants(rules: RuleSet) -> tuple[Mutant, ...]:
    """All mutants of the rules that are on: each once, none a rule of the library, and
    in an order that depends on nothing else."""
    known = heads(rules.files)
    seen = {_key(r) for f in rules.files for r in f.rules}
    out: list[Mutant] = []
    for rule in rules.rules:
        mine = 0
        for kind, change, changed in _all(rule, sorts(rule, known)):
            key = _key(changed)
            if key in seen:
                continue
            seen.add(key)
            mine += 1
            named = replace(changed, name=f"{rule.name}-mutant-{mine}", subsume=False)
            out.append(Mutant(named, rule.name, kind, change))
    return tuple(out)


def loaded(mutant: Mutant, rules: RuleSet) -> RuleSet | None:
    """The library with the mutant alone on; None where the whitelist refuses it."""
    file = parsed(mutant, rules.files)
    if file is None:
        return None
    return RuleSet((*rules.files, file), frozenset([mutant.rule.name]), rules.precision)


def parsed(mutant: Mutant, files: Sequence[RuleFile]) -> RuleFile | None:
    try:
        return check(mutant.text, mutant.rule.name, files)
    except RuleFileError:
        return None


def _key(rule: Rule) -> str:
    sides = canonical(rule.left, rule.right, rule.when, rule.both)
    return f"{rule.contract} {sides}"


# ---- the changes ---------------------------------------------------------------------

type Change = tuple[str, str, Rule]  # kind, what was changed, the changed rule


def _all(rule: Rule, found: Sorts) -> Iterator[Change]:
    yield from _premises(rule)
    for side in ("left", "right"):
        yield from _swaps(rule, side, found)
        yield from _opcodes(rule, side)
    for where in _computing(rule):
        yield from _expressions(rule, where, found)
    yield from _constants(rule)
    for side in ("left", "right") if rule.both else ("right",):
        yield from _terms(rule, side, found)
    yield from _links(rule, found)
    for contract in _STRONGER.get(rule.contract, ()):
        if not _analysed(rule):
            change = f"{rule.contract} to {contract}"
            yield "contract-strengthened", change, replace(rule, contract=contract)


# Next, and next but one.
_STRONGER = {
    "approx": ("real",),
    "real": ("ieee", "bitwise"),
    "ieee": ("bitwise",),
}


def _analysed(rule: Rule) -> bool:
    return any(isinstance(w, Form) and w.head in ANALYSED for w in rule.when)


def _changed(rule: Rule, where: str | int, path: Path, new: Expr) -> Rule:
    """The rule with `new` at a place of a side, or of the premise with that number."""
    if isinstance(where, int):
        when = list(rule.when)
        when[where] = put(when[where], path, new)
        return replace(rule, when=tuple(when))
    side = put(getattr(rule, where), path, new)
    return replace(rule, left=side) if where == "left" else replace(rule, right=side)


def _at(rule: Rule, where: str | int) -> Expr:
    return rule.when[where] if isinstance(where, int) else getattr(rule, where)


_COMPARISONS = {
    ">": (">=", "<"), ">=": (">", "<"), "<": ("<=", ">"), "<=": ("<", ">"),
    "!=": ("=",), "=": ("!=",),
}  # fmt: skip
_RELATIONS = {
    "floating": "integral", "integral": "floating", "ample": "floating",
    "commutes": "keeps", "keeps": "tests",
}  # fmt: skip


def _premises(rule: Rule) -> Iterator[Change]:
    for i, fact in enumerate(rule.when):
        rest = (*rule.when[:i], *rule.when[i + 1 :])
        yield "premise-dropped", str(fact), replace(rule, when=rest)
        assert isinstance(fact, Form)
        near = _COMPARISONS.get(fact.head, ())
        if fact.head in _RELATIONS:
            near = (_RELATIONS[fact.head],)
        for head in near:
            new = form(head, *fact.args)
            yield "premise-changed", f"{fact} to {new}", _changed(rule, i, (), new)


def _swaps(rule: Rule, side: str, found: Sorts) -> Iterator[Change]:
    """Two arguments of one sort exchanged, where the op is not symmetric in them."""
    known = _commuting(rule)
    for path, e in sites(_at(rule, side)):
        if not isinstance(e, Form):
            continue
        wanted = found.arguments(e)
        for i in range(len(e.args) - 1):
            alike = (j for j in range(i + 1, len(wanted)) if wanted[j] == wanted[i])
            j = next(alike, 0)
            same = not j or str(e.args[i]) == str(e.args[j])
            if same or wanted[i] == "String" or _symmetric(e, i, known):
                continue
            items = list(e.items)
            items[i + 1], items[j + 1] = items[j + 1], items[i + 1]
            new = Form(tuple(items), e.place)
            yield "operands-swapped", f"{e} to {new}", _changed(rule, side, path, new)


# Functions of two arguments that give the same in either order, whatever they are:
# a test tries them on all small vectors.
SYMMETRIC = frozenset(
    ("+", "*", "min", "max", "vadd", "vmul", "vmax", "masked", "steps", "same1")
)


def _commuting(rule: Rule) -> frozenset[str]:
    """The variables that premises make opcodes that commute."""
    found: set[str] = set()
    for fact in rule.when:
        assert isinstance(fact, Form)
        if fact.head == "commutes":
            found.add(str(fact.args[0]))
        elif fact.head == "=" and any(str(a).startswith("(folds ") for a in fact.args):
            found |= {a.text for a in fact.args if isinstance(a, Atom)}
    return frozenset(found)


def _symmetric(e: Form, i: int = 0, commuting: frozenset[str] = frozenset()) -> bool:
    """Whether the argument at `i` and the next of its sort may change places."""
    if e.head in SYMMETRIC:
        return i == 0
    first = e.args[0] if e.args else None
    if e.head == "Bin":
        if not isinstance(first, Atom):
            return False
        known = first.is_string and first.string in COMMUTATIVE
        return known or first.text in commuting
    # A product commutes; a padding takes a tensor of rank 0, and nothing else does.
    return (e.head == "Contract" and i == 0) or (e.head == "Pad" and i == 0)


# Opcodes, monoids and macros that are taken for one another.
_NEAR: dict[str, tuple[str, ...]] = {
    "add": ("sub", "mul"), "sub": ("add",), "mul": ("div", "add"), "div": ("mul",),
    "max": ("min", "sum"), "min": ("max",), "sum": ("max", "prod"), "prod": ("sum",),
    "exp": ("exp2", "log"), "log": ("exp", "log2"), "neg": ("abs",), "abs": ("neg",),
    "lt": ("le",), "le": ("lt",), "eq": ("ne", "le"), "ne": ("eq",), "and": ("or",),
    "or": ("and", "xor"), "recip": ("neg", "rsqrt"), "sqrt": ("square", "rsqrt"),
    "pow": ("mul",), "tanh": ("erf",), "erf": ("tanh",), "not": ("neg",),
    "isnan": ("isfinite",), "log1p": ("log",), "square": ("abs",), "relu": ("abs",),
    "rsqrt": ("sqrt",), "sigmoid": ("tanh",), "silu": ("relu",),
    "gelu": ("gelu_tanh",), "gelu_tanh": ("gelu",), "softplus": ("relu",),
    "softmax": ("log_softmax",), "log_softmax": ("softmax",),
    "logsumexp": ("mean",), "mean": ("logsumexp",), "any": ("all",), "all": ("any",),
}  # fmt: skip
_OF_REDUCE = frozenset(("sum", "prod", "max", "min", "any", "all"))


def _opcodes(rule: Rule, side: str) -> Iterator[Change]:
    for path, e in sites(_at(rule, side)):
        if not isinstance(e, Form) or not e.args:
            continue
        op = e.args[0]
        if not isinstance(op, Atom) or not op.is_string:
            continue
        for near in _NEAR.get(op.string, ()):
            if (near in ("sum", "prod")) and e.head != "Reduce":
                continue
            if e.head == "Reduce" and near not in _OF_REDUCE:
                continue
            new = put(e, (1,), atom(f'"{near}"'))
            change = f"{e.head} {op} to {near} in {side}"
            yield "opcode-replaced", change, _changed(rule, side, path, new)


_NEAR_FUNCTIONS: dict[str, tuple[str, ...]] = {
    "vadd": ("vmul", "vmax"), "vmul": ("vmax",), "vmax": ("vmul",),
    "masked": ("without",), "without": ("masked", "vmul"), "zeros": ("ones",),
    "ones": ("zeros",), "units": ("nonunit",), "nonunit": ("units",),
    "inverse": ("upto",), "core": ("nonunit",), "grown": ("misfit",),
    "misfit": ("grown",), "smallest": ("largest",), "largest": ("smallest",),
    "tiny": ("smallest",), "+": ("-",), "-": ("+",), "*": ("+", "/"), "/": ("*",),
    "min": ("max",), "max": ("min",), "abs": ("neg",), "upto": ("zeros",),
}  # fmt: skip


def _computing(rule: Rule) -> Iterator[str | int]:
    """The places where attributes are computed: the right side, and the premises."""
    yield "right"
    yield from range(len(rule.when))


def _expressions(rule: Rule, where: str | int, found: Sorts) -> Iterator[Change]:
    """An attribute that is computed otherwise: a call undone, its arguments exchanged,
    a near function called; or another variable of its sort."""
    root = _at(rule, where)
    for path, e in sites(root):
        sort = _sort_at(root, path, found)
        if sort == "T" or not path:
            continue
        for new in _others(e, sort, found):
            change = f"{e} to {new} in {where}"
            yield "expression-changed", change, _changed(rule, where, path, new)


def _sort_at(root: Expr, path: Path, found: Sorts) -> str | None:
    if not path:
        return "T"
    parent = root
    for i in path[:-1]:
        assert isinstance(parent, Form)
        parent = parent.items[i]
    assert isinstance(parent, Form)
    return found.arguments(parent)[path[-1] - 1]


def _others(e: Expr, sort: str | None, found: Sorts) -> Iterator[Expr]:
    if isinstance(e, Atom):
        if e.is_symbol:
            alike = (v for v, s in found.variables.items() if s == sort)
            yield from (atom(v) for v in sorted(alike) if v != e.text)
        return
    wanted = found.arguments(e)
    yield from (a for a, s in zip(e.args, wanted, strict=True) if s == sort)
    if len(e.args) > 1 and wanted[0] == wanted[1] and not _symmetric(e, 0):
        yield Form((e.items[0], e.items[2], e.items[1], *e.items[3:]), e.place)
    for near in _NEAR_FUNCTIONS.get(e.head, ()):
        yield form(near, *e.args)


def _constants(rule: Rule) -> Iterator[Change]:
    for where in ("left", "right", *range(len(rule.when))):
        root = _at(rule, where)
        for path, e in sites(root):
            if not isinstance(e, Atom) or not e.is_number or _of_macro(root, path):
                continue
            for text in _numbers(e.text):
                change = f"{e} to {text} in {where}"
                new = _changed(rule, where, path, atom(text))
                yield "constant-changed", change, new


def _of_macro(root: Expr, path: Path) -> bool:
    """Whether the place is the number of a macro that has none, and is always 0."""
    for i in path[:-1]:
        assert isinstance(root, Form)
        root = root.items[i]
    assert isinstance(root, Form)
    return root.head.startswith("Macro")


def _numbers(text: str) -> Iterator[str]:
    if "." not in text:
        yield str(int(text) + 1)
        if int(text) > 0:
            yield str(int(text) - 1)
        return
    value = float(text)
    for other in (-value if value else 1.0, value * 2 if value else -1.0, 1 - value):
        if other != value:
            yield f"{other + 0.0!r}"


def _terms(rule: Rule, side: str, found: Sorts) -> Iterator[Change]:
    """A tensor of the side replaced: by one of its own operands, or by another."""
    root = _at(rule, side)
    names = sorted(
        v
        for v, s in found.variables.items()
        if s == "T" and v in variables(_at(rule, "left")) & variables(rule.right)
    )
    for path, e in sites(root):
        if _sort_at(root, path, found) != "T":
            continue
        if isinstance(e, Atom):
            for v in names:
                if v != e.text and e.is_symbol:
                    change = f"{e} to {v} in {side}"
                    new = _changed(rule, side, path, atom(v))
                    yield "variable-replaced", change, new
            continue
        for a, s in zip(e.args, found.arguments(e), strict=True):
            if s == "T":
                change = f"{e} to {a} in {side}"
                yield "term-dropped", change, _changed(rule, side, path, a)


def _links(rule: Rule, found: Sorts) -> Iterator[Change]:
    """A variable that stands twice in the left side, and then need not be the same."""
    counts: dict[str, int] = {}
    for path, e in sites(rule.left):
        if not isinstance(e, Atom) or not e.is_symbol:
            continue
        counts[e.text] = counts.get(e.text, 0) + 1
        if counts[e.text] > 1:
            fresh = next(n for n in _fresh() if n not in found.variables)
            change = f"occurrence {counts[e.text]} of {e} to {fresh}"
            yield "link-cut", change, _changed(rule, "left", path, atom(fresh))


def _fresh() -> Iterator[str]:
    yield from (f"new{i}" if i else "new" for i in range(99))


__all__ = ["KINDS", "Head", "Mapping", "Mutant", "loaded", "mutants", "parsed"]
