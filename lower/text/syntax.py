"""What the printer and the parser of loop functions must agree on: words, infixes, and
the type that the text around an expression gives it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...egraph.ir.dtypes import BOOL, F32, I32, DType
from ...egraph.ir.scalars import BY_NAME
from ..loops import Ex

KINDS = ("grid", "block", "thread", "serial", "simd", "unroll")
CONSTANTS = ("true", "false", "inf", "nan")
KEYWORDS = frozenset(
    (*KINDS, *CONSTANTS, "function", "threads", "out", "in", "scratch", "by", "let",
     "var", "hold", "local", "shared", "if", "fetch", "stream", "barrier", "reduce",
     "product", "transfer", "commit", "await", "mma", "of", "regroup", "ring",
     "beside", "group",
     "fill", "full", "free", "at", "send", "to", "sort", "descending", "pack", "own",
     "settle", "fresh", "both", "turned", "windows")
)  # fmt: skip
WORD = r"[^\W\d]\w*"

# How tightly each infix binds; only + - * / % & ^ | repeat without brackets.
SELECT, COMPARE, TIGHT = 0, 4, 7
INFIX = {
    "or": ("|", 1), "xor": ("^", 2), "and": ("&", 3),
    "lt": ("<", 4), "le": ("<=", 4), "eq": ("==", 4), "ne": ("!=", 4),
    "add": ("+", 5), "sub": ("-", 5),
    "mul": ("*", 6), "div": ("/", 6), "idiv": ("/", 6), "imod": ("%", 6),
}  # fmt: skip

# Operands of all that an `Op` may be.
ARITY = {
    **{name: op.arity for name, op in BY_NAME.items()}, "select": 3, "fma": 3,
    "idiv": 2, "imod": 2, "cast": 1, "bitcast": 1, "splat": 1, "ex2": 1,
    "tanh_approx": 1,
}  # fmt: skip

type Names = dict[str, tuple[DType, int]]  # of a variable: dtype, lanes
type Arrays = dict[str, DType]


def result(op: str, args: Sequence[Ex]) -> tuple[DType | None, int]:
    """Dtype and lanes of an operation, as its operands give them."""
    lanes = max((a.lanes for a in args), default=1)
    if op in BY_NAME and BY_NAME[op].gives_bool:
        return BOOL, lanes
    at = 1 if op == "select" and len(args) > 1 else 0
    return (args[at].dtype if args else None), lanes


def default(value: float | int | bool) -> DType:
    """The dtype of a number that stands alone."""
    if isinstance(value, bool):
        return BOOL
    return I32 if isinstance(value, int) else F32


def own(op: str, owns: Sequence[DType | None]) -> DType | None:
    """The dtype that an operation has whatever stands around it, from its operands'."""
    if op in BY_NAME and BY_NAME[op].gives_bool:
        return BOOL
    rest = owns[1:] if op == "select" else owns
    return next((d for d in rest if d is not None), None)


def wanted(
    op: str, owns: Sequence[DType | None], around: DType | None
) -> list[DType | None]:
    """The dtype that numbers take as operands."""
    if op in ("cast", "bitcast"):
        return [None for _ in owns]
    each = own("select" if op == "select" else "", owns)
    if each is None and not (op in BY_NAME and BY_NAME[op].gives_bool):
        each = around
    out = [each for _ in owns]
    return [BOOL, *out[1:]] if op == "select" else out


def word(name: str) -> str:
    number = re.fullmatch(rf"({'|'.join(CONSTANTS)})(_\w*)?", name)
    if re.fullmatch(WORD, name) and name not in KEYWORDS and not number:
        return name
    if not name or re.search(r"[`\n]", name):
        raise ValueError(f"a name without backticks and line ends expected: {name!r}")
    return f"`{name}`"


def typed(dtype: DType, lanes: int) -> str:
    return f"{dtype}x{lanes}" if lanes != 1 else str(dtype)
