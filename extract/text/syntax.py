"""What the printer and the parser of schedules must agree on."""

from __future__ import annotations

from ...egraph.ir.scalars import BY_NAME
from ...egraph.ir.tokens import tokens

KINDS = ("input", "data", "kept", "temp", "output")  # of buffers
KEYWORDS = frozenset((*KINDS, "alias", "once", "return"))  # no buffer's name

# Operands of an expression that says no more than these.
ARITY = {
    **{name: op.arity for name, op in BY_NAME.items()},
    "select": 3, "cast": 1, "bitcast": 1,
}  # fmt: skip

TOKEN = tokens(r"<-|<=|//|[-+*(){}\[\]:,=<]")
