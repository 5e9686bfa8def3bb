"""The words that stand as strings in terms: opcodes, monoids, macros, dtypes.

The engine takes any string there, so a misspelt one would be a rule that never fires.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from types import MappingProxyType

from ..ir import dtypes
from ..ir.constructors import SIGNATURES
from ..ir.indexing import SCATTER
from ..ir.macros import MACROS
from ..ir.scalars import BINARY, MONOIDS, UNARY
from .sexpr import Atom, Form

# Constructor -> what its word is called, and the words there are.
WORDS: Mapping[str, tuple[str, Collection[str]]] = MappingProxyType({
    "Un": ("opcode of one operand", [s.name for s in UNARY]),
    "Bin": ("opcode of two operands", [s.name for s in BINARY]),
    "Reduce": ("monoid", list(MONOIDS)),
    "Scan": ("monoid", list(MONOIDS)),
    "Argreduce": ("arg-reduction", ("argmax", "argmin")),
    "Scatter": ("way to scatter", list(SCATTER)),
    **{
        head: (f"macro of {head[-1]}", [
            name for name, m in MACROS.items() if m.arity == int(head[-1])
        ])
        for head in ("Macro1", "Macro2", "Macro3")
    },
})  # fmt: skip
# Constructor -> the field that holds its dtype.
DTYPES: Mapping[str, int] = MappingProxyType({
    "Input": 1, "Const": 1, "Odd": 1, "Data": 1, "Iota": 1, "Cast": 1,
    "Bitcast": 1, "Reduce": 3, "Argreduce": 3, "Scan": 3, "Argsort": 4,
    "Contract": 4,
})  # fmt: skip


def check_words(e: Form) -> None:
    """Refuses a literal that is no word of its place; `e` has the right arity."""
    if e.head not in SIGNATURES:
        return
    if e.head in WORDS:
        _check(e.args[0], *WORDS[e.head])
    if e.head in DTYPES:
        _check(e.args[DTYPES[e.head]], "dtype", dtypes.BY_NAME)


def _check(e: Atom | Form, what: str, known: Collection[str]) -> None:
    if not isinstance(e, Atom) or not e.is_string or e.string in known:
        return
    near = difflib.get_close_matches(e.string, known, 3)
    hint = f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(known)}"
    raise e.place.error(f"{e} is no {what}; {hint}")
