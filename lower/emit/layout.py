"""Generated text as people read it: comments, long heads, no needless parentheses."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from ...egraph.ir.printable import printable
from ..loops import Function, Param

BACKSLASH = "\\"  # at the end of a line it would go on with the next one
WIDTH = 84  # of a comment; a head of a function may be longer by its indent
LEGEND = """\
/* A name is a word and a number.  b, s: buffers, scratch.  i: where a loop stands;
   t: the number of a tile; m, n, k: where a product stands; p, o: positions, offsets.
   v: a value; c: a condition, or an accumulator of a tile; r: a reduction's result.
   acc, sum, row, tile, left, right, state: arrays.  rw_: the same in every kernel. */
"""


def comment(function: Function) -> str:
    """Above a function: what it computes, if it says so, and its buffers."""
    buffers = (
        *(f"writes {_sized(p)}" if p.writable else _sized(p) for p in function.params),
        *(f"scratch {_sized(p)}" for p in function.scratch),
    )
    lines = [*_wrapped(function.note), *_wrapped(", ".join(buffers))]
    text = "\n   ".join(lines).replace("/*", "/ *").replace("*/", "* /")
    return f"/* {text.replace('??/', '?? /').replace(BACKSLASH, '/')} */\n"


def functions_of(source: str) -> tuple[str, list[str]]:
    """What all functions share, and the text of each."""
    head, legend, rest = source.partition(LEGEND)
    return head + legend, re.split(r"(?=^/\* )", rest, flags=re.M)[1:]


def headed(start: str, params: Sequence[str], end: str) -> str:
    """The head of a function, a line for each parameter where one line is too long."""
    line = f"{start}({', '.join(params)}){end}"
    if len(line) <= WIDTH or not params:
        return line
    return f"{start}(\n    " + ",\n    ".join(params) + f"){end}"


def bare(text: str) -> str:
    """An expression without the parentheses around all of it."""
    if text[:1] != "(" or text[-1:] != ")":
        return text
    depth = 0
    for i, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return text[1:-1] if i == len(text) - 1 else text
    return text


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        printable(" ".join(text.split())), WIDTH, subsequent_indent="  "
    )


def _sized(p: Param) -> str:
    return f"{p.name}: {p.dtype}[{p.size}]"
