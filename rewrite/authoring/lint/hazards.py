"""Findings in a rule's own text: variables, unstable laws, laws that never end."""

from __future__ import annotations

from collections.abc import Iterator

from rewrite.egraph.ir.constructors import SIGNATURES
from rewrite.egraph.ir.scalars import HOMOMORPHISMS
from rewrite.egraph.rules.ruleset import Rule
from rewrite.egraph.rules.sexpr import Atom, Expr, Form, variables

from .findings import Finding
from .patterns import Tables, bound, directions, occurrences, operation, subterms

# What exp, log and pow turn into each other: their arguments' range is far from that of
# their values, so a split leaves what floats hold.
STEEP = frozenset(("exp", "exp2", "log", "log2"))
INVERSE = {"add": "sub", "mul": "div"}
AVERAGES = (("Macro1", "mean"), ("Reduce", "sum"))


def hazards(rule: Rule, tables: Tables, explosive: bool) -> Iterator[Finding]:
    """What the text of one rule shows."""
    yield from _unbound(rule, tables)
    yield from _unused(rule)
    if rule.contract != "unstable":
        yield from _unstable(rule)
    if not explosive:
        yield from _endless(rule)
        yield from _duplicates(rule)


def _say(rule: Rule, code: str, message: str, fix: str) -> Finding:
    return Finding(rule.place, code, rule.name, f"{rule.name}: {message}", fix)


# ---- variables -----------------------------------------------------------------------


def _unbound(rule: Rule, tables: Tables) -> Iterator[Finding]:
    free = set[str]()
    for matched, made in directions(rule):
        needed = frozenset[str]().union(*map(variables, (made, *rule.when)))
        free |= needed - bound(matched, rule.when, tables)
    for v in sorted(free):
        yield _say(
            rule, "unbound", f"nothing gives {v} a value",
            "match it in the pattern or bind it in :when",
        )  # fmt: skip


def _unused(rule: Rule) -> Iterator[Finding]:
    count = occurrences([rule.left, rule.right, *rule.when])
    for w in rule.when:
        for v in sorted(variables(w)):
            if count[v] == 1:
                yield Finding(
                    w.place, "unused", rule.name,
                    f"{rule.name}: {v} is bound in {w} and used nowhere",
                    "use it or leave the premise out",
                )  # fmt: skip


# ---- unstable laws -------------------------------------------------------------------


def _unstable(rule: Rule) -> Iterator[Finding]:
    for matched, made in directions(rule):
        split = _split(matched, made)
        if split:
            yield _say(
                rule, "unstable",
                f"it splits {split}, whose parts overflow or cancel where the whole "
                f"does not, and is marked {rule.contract}",
                "mark it ';;@ equal unstable', or keep it as ';;@ refused'",
            )  # fmt: skip
        if _one_pass(made) and not _one_pass(matched):
            yield _say(
                rule, "unstable",
                "it makes a variance of E[x²] - E[x]², which cancels where the mean "
                f"is large, and is marked {rule.contract}",
                "mark it ';;@ equal unstable', or keep the deviations from the mean",
            )  # fmt: skip


def _split(matched: Expr, made: Expr) -> str:
    """A steep function of a sum (or product) that is gone on the other side."""
    for e in subterms(matched):
        inner = _argument(e)
        if inner is None or any(str(e) == str(f) for f in subterms(made)):
            continue
        f, c = operation(e)[-1], operation(inner)[-1]
        parts = [a for a in inner.args if variables(a) and not _constant(a)]
        for part in parts:
            if any(operation(g) == operation(e) and _alone(g, e, part)
                   for g in subterms(made)):  # fmt: skip
                return f"{f} of {c}"
    return ""


def _argument(e: Form) -> Form | None:
    """The sum or product that a steep function is taken of."""
    f = operation(e)[-1]
    steep = [c for g, c in HOMOMORPHISMS if g == f and g in STEEP]
    joined = {*steep, *(INVERSE[c] for c in steep)}
    if e.head == "Bin" and f == "pow":  # x ** (a + b), (x y) ** a
        operands = [(e.args[1], ("mul", "div")), (e.args[2], ("add", "sub"))]
    elif e.head == "Un" and joined:
        operands = [(e.args[1], tuple(joined))]
    else:
        return None
    for a, ops in operands:
        if isinstance(a, Form) and a.head == "Bin" and operation(a)[-1] in ops:
            return a
    return None


def _alone(g: Form, e: Form, part: Expr) -> bool:
    """Whether `g` is the function `e` of one part of e's argument, by itself."""
    whole = _argument(e)
    return str(g) != str(e) and str(part) in [str(a) for a in g.args[1:]] and (
        str(whole) not in [str(a) for a in g.args[1:]]
    )  # fmt: skip


def _constant(e: Expr) -> bool:
    return isinstance(e, Form) and e.head in ("Const", "Odd")


def _one_pass(e: Expr) -> bool:
    """Whether a mean of squares less a squared mean stands in a term."""
    for f in subterms(e):
        if f.head == "Bin" and operation(f)[-1] == "sub":
            squares = _averaged_square(f.args[1])
            if squares & _squared_average(f.args[2]):
                return True
    return False


def _averaged_square(e: Expr) -> set[str]:
    """The x of each average of x² in a term."""
    out = set[str]()
    for f in subterms(e):
        if _is_average(f):
            out |= {x for g in subterms(f.args[1]) for x in _squared(g)}
    return out


def _squared_average(e: Expr) -> set[str]:
    """The x of each squared average of x in a term."""
    out = set[str]()
    for f in subterms(e):
        if _squared(f):
            out |= {str(g.args[1]) for g in subterms(f) if _is_average(g)}
    return out


def _is_average(f: Form) -> bool:
    return any(operation(f)[: len(a)] == a for a in AVERAGES)


def _squared(f: Form) -> set[str]:
    """What a term is the square of."""
    match operation(f):
        case ("Bin", "mul") if str(f.args[1]) == str(f.args[2]):
            return {str(f.args[1])}
        case ("Un", "square"):
            return {str(f.args[1])}
        case ("Bin", "pow") if str(f.args[2]).startswith(("2", "(Const 2.0 ")):
            return {str(f.args[1])}
        case _:
            return set()


# ---- laws that never end, work done twice --------------------------------------------


def _endless(rule: Rule) -> Iterator[Finding]:
    left, right = rule.left, rule.right
    ops = {operation(f) for e in (left, right) for f in subterms(e)}
    first, second = _leaves(left), _leaves(right)
    if len(ops) != 1 or first is None or second is None:
        return
    if sorted(first) != sorted(second) or len(set(first)) < len(first):
        return
    law = "commutativity" if len(first) == 2 else "associativity"
    yield _say(
        rule, "commutes", f"bare {law} doubles every sum again and again",
        "direct it by what the operands are, or move it to a ruleset that is marked "
        "';;@ explosive'",
    )  # fmt: skip


def _leaves(e: Expr) -> list[str] | None:
    """The variables of a tree of binary ops in order; None: it holds something else."""
    if isinstance(e, Atom):
        return [e.text] if e.is_symbol else None
    if e.head != "Bin":
        return None
    sides = [_leaves(a) for a in e.args[1:]]
    if any(s is None for s in sides):
        return None
    return [v for s in sides if s for v in s]


def _duplicates(rule: Rule) -> Iterator[Finding]:
    for matched, made in directions(rule):
        before, after = _operands(matched), _operands(made)
        for v in sorted(after):
            for op, n in after[v].items():
                once = before.get(v, {}).get(op, 0)
                if once and n > once and _times(made, op) > _times(matched, op):
                    yield _say(
                        rule, "duplicates",
                        f"{op[-1]} is applied to {v} {n} times on one side, "
                        f"{once} on the other",
                        "direct it the other way, or move it to a ruleset that is "
                        "marked ';;@ explosive'",
                    )  # fmt: skip


def _operands(e: Expr) -> dict[str, dict[tuple[str, ...], int]]:
    """For each tensor variable, how many different terms apply each op to it."""
    out: dict[str, dict[tuple[str, ...], int]] = {}
    for text in sorted({str(f) for f in subterms(e) if f.head in ("Un", "Bin")}):
        f = next(f for f in subterms(e) if str(f) == text)
        kinds = SIGNATURES[f.head]
        for kind, a in zip(kinds, f.args, strict=True):
            if kind == "t" and isinstance(a, Atom) and a.is_symbol:
                of = out.setdefault(a.text, {})
                of[operation(f)] = of.get(operation(f), 0) + 1
    return out


def _times(e: Expr, op: tuple[str, ...]) -> int:
    """How many different terms do this."""
    return len({str(f) for f in subterms(e) if operation(f) == op})
