"""Reductions, scans and contractions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.graph import Node
from rewrite.egraph.ir.ops import OpError
from rewrite.egraph.ir.scalars import MONOIDS

from ...xp.functions.creation import broadcast_to, ones
from ...xp.functions.manipulation import (
    flip,
    pad,
    permute_dims,
    reshape,
    slice_axis,
)
from ...xp.staging import emit
from ...xp.tracer import Tracer, astype, binary
from ..linear import Linear, linear, linear_by


def reduce(node: Node, args: Sequence[Tracer], y: Tracer) -> list[Linear | None]:
    """Sums are linear; all elements that are the greatest (or the least) share."""
    (x,) = args
    name, mask, acc = node.attrs

    def total(t: Tracer) -> Tracer:
        return emit("reduce", ("sum", mask, acc), t)

    def out(t: Tracer) -> Tracer:
        return broadcast_to(t, x.shape)

    if name == "sum":
        return [linear(total, out)]
    best = astype(x == out(y), x.dtype)
    share = best / out(total(best))
    return [linear_by(share, lambda t, s: total(t * s), lambda t, s: out(t) * s)]


def scan(node: Node, args: Sequence[Tracer], _: Tracer) -> list[Linear | None]:
    """A running sum; its transpose runs from the other end."""
    axis = int(node.attrs[1])

    def run(t: Tracer) -> Tracer:
        return emit("scan", node.attrs, t)

    return [linear(run, lambda t: flip(run(flip(t, axis=axis)), axis=axis))]


def contract(node: Node, args: Sequence[Tracer], _: Tracer) -> list[Linear | None]:
    """Linear in each operand; the transpose is the contraction with the other one over
    the axes along which this one was broadcast."""
    full, mask, acc = node.attrs

    def of(x: Tracer, other: Tracer) -> Linear:
        pairs = zip(x.shape, full, strict=True)
        over = tuple(int(n == 1 and m != 1) for n, m in pairs)
        ahead = partial(emit, "contract", (full, mask, acc))
        back = partial(emit, "contract", (full, over, acc))
        return Linear(ahead, back, (other,))

    a, b = args
    return [of(a, b), of(b, a)]


# ---- what is differentiated by its expansion -----------------------------------------


def products(node: Node, args: Sequence[Tracer]) -> Tracer:
    """A product of all elements in pairs, so that zeros among them do no harm."""
    (x,), (_, mask, acc) = args, node.attrs
    own, kept = x.dtype, [i for i, m in enumerate(mask) if not m]
    over = [i for i, m in enumerate(mask) if m]
    count = _fixed([x.shape[i] for i in over], node)
    lead = [x.shape[i] for i in kept]
    x = reshape(permute_dims(astype(x, acc), [*kept, *over]), (*lead, count))
    last = len(lead)
    if count == 0:
        return ones(node.shape, dtype=own)
    while count > 1:
        if count % 2:
            x = pad(x, [*([(0, 0)] * last), (0, 1)], 1)
        count = (count + 1) // 2
        x = slice_axis(x, last, 0, count) * slice_axis(x, last, count, count)
    return astype(reshape(x, node.shape), own)


def steps(node: Node, args: Sequence[Tracer]) -> Tracer:
    """A running fold in log2(n) steps: each folds in what lies twice as far back."""
    (x,), (name, axis, acc) = args, node.attrs
    own, n = x.dtype, _fixed([x.shape[int(axis)]], node)
    x, first, back = astype(x, acc), MONOIDS[name].identity(acc), 1
    while back < n:
        widths = [(back if i == axis else 0, 0) for i in range(x.ndim)]
        earlier = slice_axis(pad(x, widths, first), axis, 0, n)
        x, back = binary(MONOIDS[name].op, earlier, x), 2 * back
    return astype(x, own)


def _fixed(sizes: Sequence[Dim], node: Node) -> int:
    count = 1
    for n in sizes:
        if not isinstance(n, int):
            raise OpError(
                f"the derivative of {node.op} {node.attrs[0]} over the symbolic size "
                f"{n} is not known: call it with arrays of a fixed size"
            )
        count *= n
    return count


__all__ = ["contract", "products", "reduce", "scan", "steps"]
