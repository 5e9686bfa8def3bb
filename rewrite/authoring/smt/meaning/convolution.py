"""What the macro `conv` means, for any frame.

    y[n, m, o…] = bias[m] + Σ_{c, k…} w[m, c, k…] * x'[n, g C + c, o… s + k… d - low]

with x' = x inside of it and 0 outside, g the group of output channel m, and C channels
a group.  The expansion in `egraph/ir/convolution.py` needs a known frame; a test holds
the two together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewrite.egraph.ir import dims
from rewrite.egraph.ir.dims import Dim

from .conditions import at_least, below, inside, same
from .elements import PRODUCT, Apply, Branch, Elem, Fold, Literal, Str, number
from .paths import BOUND, Infeasible
from .tensors import branch
from .world import Failed, Index, Tensor, World


def conv(w: World, args: Sequence[Tensor], frame: Sequence[Dim]) -> Tensor:
    x, filters, bias = args
    dtype = w.string(x.dtype)
    axes = _fitting(w, args, frame)
    group, *rest = frame
    stride, dilation, low, high = (rest[i * axes : (i + 1) * axes] for i in range(4))
    m, c, *kernel = filters.shape
    sizes = zip(x.shape[2:], kernel, stride, dilation, low, high, strict=True)
    counts = [_windows(w, *each) for each in sizes]
    shape = (x.shape[0], m, *counts)
    folded = [(1 + i, n) for i, n in enumerate((c, *kernel))]

    def at(index: Index) -> Elem:
        n, out, *spot = w.explicit(index, shape)
        with w.binders(folded) as bound:
            names = [dims.symbol(bound[1 + i][0]) for i in range(1 + axes)]
            steps = zip(spot, names[1:], stride, dilation, low, strict=True)
            where = [o * s + k * d - b for o, k, s, d, b in steps]
            from_ = _group_of(w, out, m, group) * c + names[0]
            product = Apply(PRODUCT, (
                _padded(w, x, (n, from_, *where), dtype),
                filters.at((out, *names)),
            ), w.wide(dtype))  # fmt: skip
        total = Fold("sum", tuple(bound.values()), product, w.wide(dtype), dtype)
        return Apply("add", (total, bias.at((out,))), dtype)

    return Tensor(dtype, shape, at)


def _padded(w: World, x: Tensor, at: tuple[Dim, ...], dtype: Str) -> Elem:
    """x, and 0 around its last axes; below a binder both, chosen by the index."""
    zero = Literal(number(0), dtype)
    out: Elem | None = None
    tests = [inside(i, n) for i, n in zip(at[2:], x.shape[2:], strict=True)]
    for c in reversed(tests):
        inner = x.at(at) if out is None else out
        out = Branch(c, inner, zero, dtype)
    assert out is not None
    bound = any(s.startswith(BOUND) for s in dims.symbols(at))
    return out if bound else branch(w, tests[0], lambda: out, lambda: zero, dtype)


def _fitting(w: World, args: Sequence[Tensor], frame: Sequence[Dim]) -> int:
    x, filters, bias = args
    for t in args[1:]:
        w.agree(x.dtype, t.dtype, "the dtypes of a convolution's operands differ")
    w.want("number", w.string(x.dtype))
    axes = len(x.shape) - 2
    ok = len(filters.shape) == len(x.shape) and len(bias.shape) == 1
    if axes < 1 or not ok or len(frame) != 1 + 4 * axes:
        if w.right:
            raise Failed("images, filters, a bias and a frame that fits are needed")
        raise Infeasible
    for n in frame[: 1 + 2 * axes]:
        w.need(at_least(n, 1), "groups, strides and dilations are at least 1")
    for n in filters.shape[2:]:
        w.need(at_least(n, 1), "a kernel of no entries")
    for n in frame[1 + 2 * axes :]:
        w.need(at_least(n, 0), "a negative padding")
    w.need(same(bias.shape[0], filters.shape[0]), "a bias of another size")
    w.need(same(x.shape[1], filters.shape[1] * frame[0]), "channels that do not fit")
    if not w.right:  # whole groups; on the right the same filters and frame say so
        each = w.path.fresh("each")
        w.path.assume(same(filters.shape[0], each * frame[0]))
        w.known.add(("groups", w.path.normal(filters.shape[0]), frame[0]))
    elif ("groups", w.path.normal(filters.shape[0]), frame[0]) not in w.known:
        raise Failed("filters that are not of whole groups")
    return axes


def _windows(
    w: World, n: Dim, k: Dim, stride: Dim, dilation: Dim, low: Dim, high: Dim
) -> Dim:
    """How many windows there are: 1 + room // stride, 0 where one does not fit."""
    room = w.path.normal(n + low + high - ((k - 1) * dilation + 1))
    if w.path.decide(below(room, 0)):
        return 0
    return 1 + quotient(w, room, stride)


def quotient(w: World, a: Dim, b: Dim) -> Dim:
    """a // b of what is not negative; one integer for one pair."""
    a, b = w.path.normal(a), w.path.normal(b)
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    if b == 1:
        return a
    for key in w.known:
        if key[0] == "quotient" and key[1:3] == (a, b):
            return key[3]  # type: ignore[return-value]
    q = w.path.fresh("quotient")
    w.path.assume(at_least(a, q * b))
    w.path.assume(below(a, q * b + b))
    w.known.add(("quotient", a, b, q))
    return q


def _group_of(w: World, out: Dim, m: Dim, groups: Dim) -> Dim:
    """The group of an output channel: out // (m // groups)."""
    out, m, groups = (w.path.normal(d) for d in (out, m, groups))
    if groups == 1:
        return 0
    return quotient(w, out, quotient(w, m, groups))


__all__ = ["Any", "conv"]
