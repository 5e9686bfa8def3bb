"""How ops stand in the e-graph: their constructors, and numbers as literals there."""

from __future__ import annotations

import math

import numpy as np

# Constructor -> kinds of its fields: t tensor, T tensors, s string, i int, f float,
# v vector of ints.  `rules/ir.egg` declares the same; a test holds them together.
SIGNATURES: dict[str, str] = {
    "Input": "ssv", "Const": "fsv", "Odd": "ssv", "Data": "ssv", "Iota": "isv",
    "Un": "st", "Bin": "stt", "Select": "ttt", "Cast": "ts",
    "Bitcast": "ts", "Barrier": "ti", "Reshape": "tv", "Permute": "tv",
    "Expand": "tvv", "Pad": "tvvt", "Slice": "tvvv", "Window": "tiiiii",
    "Concat": "tti", "Reduce": "stvs",
    "Argreduce": "stis", "Scan": "stis", "Contract": "ttvvs", "Gather": "tti",
    "Scatter": "sttti", "Sort": "tiii", "Argsort": "tiiis", "Call": "sisvT",
    "Macro1": "stvf", "Macro2": "sttvf", "Macro3": "stttvf",
}  # fmt: skip
# All that many graphs have, and that few rules make others of.
COMMON = frozenset((
    "Input", "Const", "Odd", "Data", "Un", "Bin", "Select", "Cast",
    "Reshape", "Permute", "Expand", "Reduce", "Contract", "Macro1", "Macro2", "Macro3",
))  # fmt: skip
SORTS = {"t": "T", "T": "TV", "s": "String", "i": "i64", "f": "f64", "v": "IV"}

# f64 holds every integer up to here as itself.
EXACT_INT = 1 << 53


def number(x: float) -> str:
    """A literal of the rule language; floats keep every bit."""
    if isinstance(x, int):
        return str(x)
    text = repr(float(x))
    if "e" in text or "n" in text:  # 1e-05, inf, nan: only digits and a point parse
        text = np.format_float_positional(x, trim="0") if math.isfinite(x) else text
    return {"nan": "NaN"}.get(text, text)
