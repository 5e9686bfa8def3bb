"""Which dtypes the terms of a pattern can have, as its words alone decide.

Nothing need be drawn to know that there is no sigmoid of integers.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import dtypes
from ..ir.dtypes import BOOL, DType
from ..ir.graph import GraphError, exact
from ..ir.scalars import BY_NAME, MONOIDS
from ..rules.sexpr import Atom, Expr

# The operands that are of the dtype of the whole, of ops with no more to say.
ALIKE: dict[str, tuple[int, ...]] = {
    "Reshape": (0,), "Permute": (0,), "Expand": (0,), "Pad": (0,), "Slice": (0,),
    "Window": (0,), "Concat": (0, 1), "Gather": (0,), "Scatter": (1, 3), "Sort": (0,),
}  # fmt: skip
FLOATS = frozenset(("Odd", "Macro1", "Macro2", "Macro3"))


def admits(e: Expr, dtype: DType) -> bool:
    """Whether a term of this dtype can be an instance; when in doubt, it can."""
    if isinstance(e, Atom):
        return True
    a = e.args
    match e.head:
        case "Un" | "Bin":
            return _scalar(a[0], a[1:], dtype)
        case "Select":
            return admits(a[0], BOOL) and _all(a[1:], dtype)
        case "Reduce" | "Scan":
            monoid = _word(a[0])
            takes = monoid not in MONOIDS or MONOIDS[monoid].takes(dtype)
            return takes and admits(a[1], dtype)
        case "Contract":
            return dtype.kind != "bool" and _all(a[:2], dtype)
        case "Const":
            return _holds(a[0], dtype) and _word(a[1]) in (None, dtype.name)
        case "Argreduce" | "Argsort":
            return dtype.is_int
        case "Macro3" if _word(a[0]) == "conv":
            return dtype.kind != "bool"
        case head if head in FLOATS:
            return dtype.is_float
        case head:
            return _all([a[i] for i in ALIKE.get(head, ())], dtype)


def _all(terms: Sequence[Expr], dtype: DType) -> bool:
    return all(admits(e, dtype) for e in terms)


def _scalar(op: Expr, args: Sequence[Expr], dtype: DType) -> bool:
    known = BY_NAME.get(_word(op) or "")
    if known is None:
        return dtype is BOOL or _all(args, dtype)
    if known.gives_bool:
        of = [d for d in dtypes.ALL if d.kind in known.takes]
        return dtype is BOOL and any(_all(args, d) for d in of)
    return dtype.kind in known.takes and _all(args, dtype)


def _word(e: Expr) -> str | None:
    """The literal that stands in a pattern, or None for a variable."""
    return e.string if isinstance(e, Atom) and e.is_string else None


def _holds(number: Expr, dtype: DType) -> bool:
    if not isinstance(number, Atom) or not number.is_number:
        return True
    try:
        return exact(float(number.text), dtype) == float(number.text)
    except GraphError:
        return False


__all__ = ["admits"]
