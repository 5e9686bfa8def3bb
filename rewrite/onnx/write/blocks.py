"""Attention and rotary embeddings, which opset 23 has as operators.

Both are looked for among the ways that tiles have offered: a class may hold several
forms, so each step asks for a term of the form that it needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from rewrite.egraph.ir.scalars import Array
from rewrite.egraph.saturate.encode import ENode
from rewrite.extract.operators.broadcast import operands
from rewrite.extract.operators.constants import values

from .cover import Cover
from .tiles import has

SINCE = 23  # the opset that has these operators
SMALL = 1 << 22  # bytes of a constant that is looked into


def blocks(t: Cover, data: Mapping[str, Array]) -> None:
    """Offers what it finds; after all other tiles."""
    count = len(t.cells)
    for c in range(count):
        if t.cells[c].type is None or len(t.shape(c)) != 4:
            continue
        if has(t, "Attention", c):
            for p, v in _matmuls(t, c):
                _attention(t, c, p, v)
        if has(t, "RotaryEmbedding", c):
            for node in t.cells[c].terms:
                if node.op == "bin" and node.attrs == ("add",):
                    a, b = node.args
                    _rotary(t, c, a, b, data)


def _matmuls(t: Cover, c: int) -> Iterator[tuple[int, int]]:
    """The products of batches of heads that a class is."""
    for way in list(t.cells[c].ways):
        if way.op != "MatMul":
            continue
        a, b = (c for c in way.args if c is not None)
        if len(t.shape(a)) == len(t.shape(b)) == 4:
            yield a, b


def terms(t: Cover, c: int, op: str, name: str = "") -> Iterator[ENode]:
    for node in t.cells[c].terms:
        if node.op == op and (not name or node.attrs[0] == name):
            yield node


# ---- attention -----------------------------------------------------------------------


def _attention(t: Cover, c: int, p: int, v: int) -> None:
    """softmax(scale q kᵀ + mask) v."""
    for soft in terms(t, p, "softmax"):
        if soft.attrs[0] != (0, 0, 0, 1):
            continue
        for scores, mask in _masked(t, soft.args[0]):
            for product, scale in _scaled(t, scores):
                for q, k in _products(t, product):
                    _offer(t, c, (q, k, v), mask, scale)


def _masked(t: Cover, s: int) -> Iterator[tuple[int, int | None]]:
    """Scores and mask.  The standard fills up a mask whose last axis is short, and the
    runtime wants all queries, so both axes must be whole."""
    yield s, None
    for node in terms(t, s, "bin", "add"):
        for scores, mask in (node.args, node.args[::-1]):
            for m in (*operands(t, mask), mask):
                if t.shape(m)[-2:] == t.shape(s)[-2:]:
                    yield scores, m
                    break


def _scaled(t: Cover, s: int) -> Iterator[tuple[int, float]]:
    yield s, 1.0
    for node in terms(t, s, "bin", "mul"):
        scale = t.number(node.args[1])
        if scale is not None and scale > 0:
            yield node.args[0], float(scale)


def _products(t: Cover, s: int) -> Iterator[tuple[int, int]]:
    """q and k of q kᵀ."""
    for q, k in _matmuls(t, s):
        yield q, t.permuted(k, (0, 1, 3, 2))


def _offer(
    t: Cover, c: int, qkv: tuple[int, int, int], mask: int | None, scale: float
) -> None:
    q, k, v = qkv
    few_k, few_v = _ungrouped(t, k), _ungrouped(t, v)
    if few_k is not None and few_v is not None:
        k, v = few_k, few_v
    if t.shape(k)[:3] == t.shape(v)[:3] and t.shape(q)[0] == t.shape(k)[0]:
        args = (q, k, v) if mask is None else (q, k, v, mask)
        t.way(c, "Attention", args, ("scale", scale))


def _ungrouped(t: Cover, c: int) -> int | None:
    """The heads of which each is repeated for a group of queries."""
    b, h, s, d = t.shape(c)
    for merged in terms(t, c, "reshape"):
        whole = merged.args[0]
        shape = t.shape(whole)
        if len(shape) != 5 or (shape[0], *shape[3:]) != (b, s, d):
            continue
        for grown in terms(t, whole, "expand"):
            few = t.shape(grown.args[0])
            if few == (b, shape[1], 1, s, d) and shape[1] * shape[2] == h:
                return t.reshaped(grown.args[0], (b, shape[1], s, d))
    return None


# ---- rotary embeddings ---------------------------------------------------------------


def _rotary(t: Cover, c: int, a: int, b: int, data: Mapping[str, Array]) -> None:
    """x cos + [-x₂, x₁] sin, both halves turned by the same angles."""
    for straight, turned in ((a, b), (b, a)):
        for first in terms(t, straight, "bin", "mul"):
            for second in terms(t, turned, "bin", "mul"):
                for x, cos in (first.args, first.args[::-1]):
                    for r, sin in (second.args, second.args[::-1]):
                        if _turned(t, r, x):
                            _rotate(t, c, x, cos, sin, data)


def _turned(t: Cover, c: int, x: int) -> bool:
    """Whether `c` is [-x₂, x₁] along the last axis."""
    shape = t.shape(x)
    half = shape[-1] // 2
    for node in terms(t, c, "concat"):
        if node.attrs[0] != 3 or shape[-1] % 2:
            continue
        negated, plain = node.args
        if _part(t, plain, x, 0, half) and any(
            _part(t, n.args[0], x, half, half) for n in terms(t, negated, "un", "neg")
        ):
            return True
    return False


def _part(t: Cover, c: int, x: int, start: int, size: int) -> bool:
    """Whether `c` is a part of `x` along its last axis."""
    lead = t.shape(x)[:-1]
    want = ((*(0 for _ in lead), start), (*lead, size), (1,) * (len(lead) + 1))
    return any(n.args[0] == x and n.attrs == want for n in terms(t, c, "slice"))


def _rotate(
    t: Cover, c: int, x: int, cos: int, sin: int, data: Mapping[str, Array]
) -> None:
    b, _, s, d = t.shape(x)
    caches = [_cache(t, a, (s, d), data) for a in (cos, sin)]
    if b == 1 and t.fixed((s, d)) and all(k is not None for k in caches):
        t.way(c, "RotaryEmbedding", (x, *caches))


def _cache(
    t: Cover, c: int, shape: tuple[int, int], data: Mapping[str, Array]
) -> int | None:
    """The angles' first half [1, s, d / 2], where they are known, alike in both halves
    and for all heads."""
    s, d = shape
    for small in operands(t, c):
        known = t.cells[small].constant is not None or t.cells[small].array is not None
        fits = t.shape(small)[-2:] == (s, d) and s * d == np.prod(t.shape(small))
        if known and fits and s * d * t.type(small).dtype.itemsize <= SMALL:
            table = values(t, [small], data)[small].reshape(s, d)
            if np.array_equal(table[:, : d // 2], table[:, d // 2 :]):
                return t.array(table[:, : d // 2].reshape(1, s, d // 2))
    return None
