"""Contractions and convolutions as MatMul, Gemm and Conv."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from rewrite.egraph.ir.convolution import Frame
from rewrite.egraph.saturate.encode import ENode
from rewrite.extract.operators.broadcast import operands, spread
from rewrite.extract.operators.roles import Roles, roles_of

from .cover import Cover
from .tiles import has, takes, tile

MOST_SHAPES = 6  # of one operand that are tried against those of the other


@tile("contract")
def contract(t: Cover, c: int, node: ENode) -> None:
    a, b = node.args
    if not has(t, "MatMul", a):
        return
    for left, right in ((a, b), (b, a)):
        roles = roles_of(t, left, right, node)
        if roles is not None and roles.summed:
            _matmul(t, c, left, right, roles)
        elif roles is not None and left == a:  # sums over nothing: a product
            spread(t, c, "Mul", (a, b), t.shape(c))


def _matmul(t: Cover, c: int, a: int, b: int, r: Roles) -> None:
    """c = a b with the rows of `a` before the columns of `b`."""
    if tuple(sorted((*r.batch, *r.rows, *r.columns))) != (
        *r.batch,
        *r.rows,
        *r.columns,
    ):
        return  # the other order of operands, or a transposition, serves
    left = _ordered(t, a, (*r.batch, *r.rows, *r.summed))
    right = _ordered(t, b, (*r.batch, *r.summed, *r.columns))
    k = math.prod(t.shape(a)[i] for i in r.summed)
    n = math.prod(t.shape(b)[i] for i in r.columns)
    batch = [t.shape(a)[i] for i in r.batch]
    for s in _lefts(t, left, batch, k):
        for w in _rights(t, right, batch, k, n, s):
            shape = (*s[:-1], n)
            target = t.reshaped(c, shape)
            t.way(target, "MatMul", (t.reshaped(left, s), t.reshaped(right, w)))
            if len(s) == 2:
                _transposed(t, target, t.reshaped(left, s), t.reshaped(right, w))


def _ordered(t: Cover, c: int, axes: Sequence[int]) -> int:
    """The class with these axes in order, units dropped."""
    shape = t.shape(c)
    here = sorted(axes)
    flat = t.reshaped(c, [shape[i] for i in here])
    return t.permuted(flat, [here.index(i) for i in axes])


def _lefts(t: Cover, c: int, batch: Sequence[int], k: int) -> Iterator[tuple[int, ...]]:
    """Shapes [batch..., rows, k] of a class; without a batch rows may be many axes."""
    m = math.prod(t.shape(c)) // max(math.prod(batch) * k, 1)
    result = {(*batch, m, k): None}
    for shape in list(t.members(c)):
        if len(shape) < 2 or shape[-1] != k:
            continue
        lead = [d for d in shape[:-2] if d != 1]
        if not batch or (lead == list(batch) and shape[-2] == m):
            result[shape] = None
    yield from list(result)[:MOST_SHAPES]


def _rights(
    t: Cover, c: int, batch: Sequence[int], k: int, n: int, left: tuple[int, ...]
) -> Iterator[tuple[int, ...]]:
    """Shapes [..., k, n] that fit beside a left shape."""
    if not batch:
        yield (k, n)
        return
    yield (*left[:-2], k, n)


def _transposed(t: Cover, c: int, a: int, b: int) -> None:
    """A Gemm that reads an operand backwards, where it lies so."""
    if not takes("Gemm", t.opset, t.type(a).dtype):
        return
    for (x, i), (y, j) in product(_sides(t, a), _sides(t, b)):
        if (i or j) and not (t.cells[x].constant or t.cells[y].constant):
            attrs = [("transA", 1)] * i + [("transB", 1)] * j
            t.way(c, "Gemm", (x, y), *attrs)


def _sides(t: Cover, c: int) -> list[tuple[int, int]]:
    result = [(c, 0)]
    turned = (n for n in t.cells[c].terms if n.op == "permute" and n.attrs[0] == (1, 0))
    return [*result, *((n.args[0], 1) for n in turned)]


@tile("bin")
def gemm(t: Cover, c: int, node: ENode) -> None:
    """A product of matrices plus a row."""
    if node.attrs[0] != "add" or len(t.shape(c)) != 2:
        return
    if not has(t, "Gemm", c):
        return
    for x, y in (node.args, node.args[::-1]):
        plain = ("MatMul", 2), ("Gemm", 2)  # a Gemm of three operands has its row
        products = [w for w in t.cells[x].ways if (w.op, len(w.args)) in plain]
        for w in products:
            shapes = [len(t.shape(a)) for a in w.args if a is not None]
            if shapes == [2, 2]:
                row = operands(t, y)[0]
                t.way(c, "Gemm", (*w.args, row), *w.attrs)


@tile("conv")
def conv(t: Cover, c: int, node: ENode) -> None:
    x, w, bias = node.args
    if not has(t, "Conv", x):
        return
    axes = len(t.shape(x)) - 2
    frame = Frame.of(node.attrs[0], axes)
    attrs = (
        ("kernel_shape", t.shape(w)[2:]),
        ("group", frame.groups),
        ("strides", frame.strides),
        ("dilations", frame.dilations),
        ("pads", (*frame.lows, *frame.highs)),
    )
    none = t.number(bias) == 0
    t.way(c, "Conv", (x, w) if none else (x, w, bias), *attrs)


@tile("bin")
def conv_transpose(t: Cover, c: int, node: ENode) -> None:
    """A term for each channel is the bias of a node that has none."""
    shape = t.shape(c)
    if node.attrs[0] != "add" or len(shape) < 3:
        return
    channels = (1, shape[1], *(1 for _ in shape[2:]))
    for x, y in (node.args, node.args[::-1]):
        row = operands(t, y)[0]
        lead = (1,) * (len(shape) - len(t.shape(row)))
        if (*lead, *t.shape(row)) != channels:
            continue
        for w in list(t.cells[x].ways):
            if w.op == "ConvTranspose" and len(w.args) == 2:
                bias = t.reshaped(row, (shape[1],))
                t.cells[c].ways[replace(w, args=(*w.args, bias))] = None
