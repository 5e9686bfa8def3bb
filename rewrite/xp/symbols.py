"""Sizes that are symbols, as users name them."""

from __future__ import annotations

import re

from rewrite.egraph.ir import dims
from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.tokens import WORD


def symbol(name: str) -> Dim:
    """The size `name` of any tensor; the text of graphs can spell it."""
    if not isinstance(name, str) or not re.fullmatch(WORD, name):  # pyright: ignore
        raise ValueError(f"symbol({name!r}): a name was expected, as in 'b'")
    return dims.symbol(name)


__all__ = ["symbol"]
