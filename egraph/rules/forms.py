"""What the forms of a rule file are made of: names, sorts, literals, variables.

`whitelist.py` walks a file with these.  Each refuses, at its place, what the engine
might read as something else than it was checked as.
"""

from __future__ import annotations

import functools
import re

from ..ir.constructors import SIGNATURES
from .ruleset import ANALYSED
from .sexpr import Atom, Expr, Form, heads, variables

# Words of the engine's language, and what graphs and the journal are sent under.  A
# relation called as a command would make commands of its rows.
KEYWORDS = (
    "set union delete subsume panic let extract check fail run push pop input output "
    "include sort datatype function constructor relation ruleset rule rewrite "
    "birewrite datatype* prove prove-exists print-stats print-function print-size "
    "print-table-stats run-schedule run-with saturate seq repeat let-scheduler "
    "unstable-combined-ruleset multi-extract keep-best set-cost with-dynamic-cost "
    "with-ruleset for scoped begin simplify query-extract run-program back-off "
    "get-size! get-node-size! primitive"
)
OWN = "Node Twin Step rep P PV Made Met load instances backoff"
TAKEN = frozenset(f"{KEYWORDS} {OWN}".split())
RESERVED = TAKEN | {f"p{c}" for c in SIGNATURES}
SORTS = ("i64", "f64", "String", "bool")  # the engine's own; ir.egg declares others
TRUTHS = ("true", "false")  # literals of the engine
# Form -> how many items it has, and how it is written.
SHAPES = {
    "ruleset": (2, "(ruleset NAME)"),
    "relation": (3, "(relation NAME (SORT …))"),
    "constructor": (4, "(constructor NAME (SORT …) SORT)"),
    "primitive": (5, "(primitive NAME (SORT …) SORT BODY)"),
}


def check_variable(e: Atom, places: int | None) -> None:
    if not e.is_symbol:
        return
    if places is not None:
        if not re.fullmatch("_[0-9]", e.text) or int(e.text[1]) >= places:
            raise e.place.error(
                f"{e} is no input of this primitive of {places} "
                f"input{'s' * (places != 1)}; they are _0, _1 and so on"
            )
    elif not _is_variable(e.text):
        vector = "; a vector is (vec-of 0 1)" if e.text.startswith("[") else ""
        raise e.place.error(f"a variable, number or string expected, found {e}{vector}")


@functools.lru_cache(maxsize=1 << 14)
def _is_variable(text: str) -> bool:
    word = re.fullmatch("[A-Za-z][A-Za-z0-9_'-]*", text)
    return word is not None and text not in TRUTHS


def sort_of(literal: Atom) -> str:
    if literal.is_string:
        return "String"
    return "i64" if re.fullmatch("-?[0-9]+", literal.text) else "f64"


def shaped(form: Form) -> None:
    """Refuses a declaration with an item more or less than it has."""
    size, shape = SHAPES.get(form.head, (len(form.items), ""))
    if len(form.items) != size:
        raise form.place.error(f"{shape} was expected, found {form}")


def check_pattern(e: Expr, name: str) -> None:
    bad = sorted(heads(e) - frozenset(SIGNATURES))
    if bad:
        raise e.place.error(
            f"{name}: a pattern is made of constructors, found ({bad[0]} …); "
            "bind it in :when"
        )


def check_bound(form: Form, name: str, left: Expr, right: Expr,
    when: tuple[Expr, ...], both: bool,
) -> None:  # fmt: skip
    given = frozenset[str]().union(*(variables(w) for w in when))
    sides = [(left, right), (right, left)] if both else [(left, right)]
    for a, b in sides:
        free = sorted(variables(b) - variables(a) - given)
        if free:
            raise form.place.error(
                f"{name}: {free[0]} stands on one side only; bind it in "
                "the pattern or in :when"
            )


def check_contract(
    form: Form, name: str, when: tuple[Expr, ...], contract: str
) -> None:
    read = frozenset[str]().union(*(heads(w) for w in when)) & ANALYSED
    if read and contract in ("bitwise", "ieee"):
        raise form.place.error(
            f"{name}: ({min(read)} …) takes the inputs to be finite, so the rule is "
            "'real' at best"
        )


def check_subsume(key: Expr, name: str, left: Expr, right: Expr, both: bool) -> None:
    if both or count(right) > count(left):
        raise key.place.error(
            f"{name}: :subsume forgets the left side, so the right one must not be "
            "larger; leave :subsume out"
        )


def count(e: Expr) -> int:
    """How many operations a pattern holds; constants are none."""
    if isinstance(e, Atom):
        return 0
    operation = e.head in SIGNATURES and e.head not in ("Const", "Odd")
    return operation + sum(map(count, e.args))


def symbol(form: Form, i: int, what: str) -> str:
    item = form.items[i] if len(form.items) > i else None
    good = isinstance(item, Atom) and item.is_symbol and item.text not in TRUTHS
    if not good or not re.fullmatch("[A-Za-z][A-Za-z0-9_>-]*", str(item)):
        raise form.place.error(f"{what} was expected in ({form.head} …), found {item}")
    return str(item)
