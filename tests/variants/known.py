"""Losses that are known, by workload and seed, with what is missing.  To be emptied:
a variant that is lost and not listed fails the test."""

from __future__ import annotations

ORDER = "no rule exchanges the order of two contractions"
SIGNS = "no rule makes |c| * |c| of a variance c * c"

_CHAIN = (0, 3, 6, 7, 10, 11, 12, 14, 16, 17, 20, 21, 22, 23, 24, 26, 27, 28)
LOST: dict[str, dict[int, str]] = {
    "softmax": {},
    "layer_norm": {},
    "cross_entropy": {},
    "attention": {},
    "qkv": {},
    "conv": {},
    "chain": dict.fromkeys(_CHAIN, ORDER),
    "moments": dict.fromkeys((0, 6), SIGNS),
    "transposed": {},
    "rotary": {},
}
