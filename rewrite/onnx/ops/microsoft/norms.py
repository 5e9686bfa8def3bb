"""Sums that are normalised, and the embeddings of words that are."""

from __future__ import annotations

from rewrite.egraph.ir.dtypes import I32, compute

from ...site import MICROSOFT, Site, first, op
from ...value import Value
from ..norm import rms_norm
from ..shape import part

EPSILON = 1e-12  # where the node says nothing


@op("SimplifiedLayerNormalization")
def simplified(s: Site) -> int:
    return first(s, rms_norm(s))


@op("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", domain=MICROSOFT)
def skipped(s: Site) -> list[Value]:
    """The sum of both operands and a bias, normalised; and the sum."""
    b, plain, dtype = s.b, s.kind == "SkipLayerNormalization", s.type(0).dtype
    bias, work = 4 if plain else 3, compute(dtype)
    total = b.cast(s.x(0), work)
    for i in (1, bias):
        total = s.bin("add", total, b.cast(s.x(i), work)) if s.has(i) else total
    y = _normalised(s, total, s.value(2), s.maybe(3) if plain else None, plain)
    results = [Value(b.cast(x, dtype)) for x in (y, total)]
    return [results[0], Value(), Value(), results[1]]


def _normalised(s: Site, x: int, gain: Value, bias: Value | None, layer: bool) -> int:
    kind = "LayerNormalization" if layer else "RMSNormalization"
    operands = (x, gain, bias) if layer else (x, gain)
    return s.made(kind, *operands, axis=-1, epsilon=s.attr("epsilon", EPSILON))


@op("EmbedLayerNormalization", domain=MICROSOFT)
def embedded(s: Site) -> list[Value]:
    """The embeddings of a word, its place and its segment, summed and normalised; how
    many words of each sentence count; and the sum."""
    b, (batch, length) = s.b, s.shape(0)
    s.idle("mask_index_type")  # for the inference of types
    total = _rows(s, 2, 0)
    places = _rows(s, 3, 8) if s.has(8) else part(s, s.x(3), 0, 0, length)
    total = s.bin("add", total, places)
    if s.has(4) and s.has(1):
        total = s.bin("add", total, _rows(s, 4, 1))
    y = _normalised(s, total, s.value(5), s.value(6), layer=True)
    counts = b.const(0, I32, (batch,))
    if s.has(7):
        ones = b.bin("eq", s.x(7), s.full(1, s.x(7)))
        counts = b.reshape(b.reduce("sum", b.cast(ones, I32), [1]), (batch,))
    return [Value(y), Value(counts), Value(total)]


def _rows(s: Site, table: int, index: int) -> int:
    """The rows of a table that an operand names."""
    return s.made("Gather", s.value(table), s.value(index), axis=0)
