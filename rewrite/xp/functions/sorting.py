"""Sorts, and what is found in what is sorted.

NaN comes after every number, equal elements stay as they stand, and descending is the
order reversed but for those: `egraph/ir/indexing.py` says it in full.
"""

from __future__ import annotations

from typing import Any

from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.dtypes import I64

from ..tracer import Operand, TraceError, Tracer, lift, promote, wrap
from .axes import axis_of, whole
from .creation import broadcast_to, full
from .elementwise import where
from .indexing import take, take_along_axis
from .manipulation import reshape
from .statistical import any as some


def sort(x: Operand, /, *, axis: int = -1, descending: bool = False,
         stable: bool = True) -> Tracer:  # fmt: skip
    """Every sort is stable."""
    x = lift(x)
    return wrap(x.builder.sort(x.node, axis_of(axis, x.ndim, "sort"), descending))


def argsort(x: Operand, /, *, axis: int = -1, descending: bool = False,
            stable: bool = True) -> Tracer:  # fmt: skip
    """The positions that `sort` takes its elements from."""
    x = lift(x)
    return wrap(x.builder.argsort(x.node, axis_of(axis, x.ndim, "argsort"), descending))


def top_k(x: Operand, k: int, /, *, axis: int = -1, largest: bool = True
          ) -> tuple[Tracer, Tracer]:  # fmt: skip
    """The `k` greatest (or least) elements along an axis, in order, and where they
    stand; of equal ones the first."""
    x = lift(x)
    at = axis_of(axis, x.ndim, "top_k")
    n: Dim = x.shape[at]
    k = whole(k, "top_k: how many")
    if k < 0 or (isinstance(n, int) and k > n):
        raise TraceError(f"top_k of {x.type} along axis {at} keeps 0 to {n}, not {k}")
    where_from = wrap(x.builder.argsort(x.node, at, largest, k))
    return take_along_axis(x, where_from, axis=at), where_from


def searchsorted(x1: Operand, x2: Operand, /, *, side: str = "left",
                 sorter: Any = None) -> Tracer:  # fmt: skip
    """Where each element of `x2` would stand in `x1`, which is sorted and of one axis:
    bisection of all at once, as many steps as the length has digits."""
    if side not in ("left", "right"):
        raise TraceError(f"side is 'left' or 'right', found {side!r}")
    row, wanted = promote(x1, x2)
    n: Dim = row.shape[0] if row.ndim == 1 else row.size
    if row.ndim != 1 or not isinstance(n, int):
        raise TraceError(f"searchsorted in one axis of a known size, not in {row.type}")
    if sorter is not None:
        row = take(row, sorter, axis=0)
    flat = reshape(wanted, (-1,))
    low = full(flat.shape, 0, dtype=I64)
    if not n:
        return reshape(low, wanted.shape)
    high = full(flat.shape, n, dtype=I64)
    for _ in range(n.bit_length()):
        middle = (low + high) >> 1
        met = take(row, middle, axis=0)
        before = met < flat if side == "left" else met <= flat
        before = before & (low < high)
        low, high = where(before, middle + 1, low), where(before, high, middle)
    return reshape(low, wanted.shape)


def isin(x1: Operand, x2: Operand, /, *, invert: bool = False) -> Tracer:
    """Whether each element of `x1` is one of `x2`."""
    x, among = promote(x1, x2)
    among = reshape(among, (-1,))
    pairs = broadcast_to(reshape(x, (*x.shape, 1)), (*x.shape, among.shape[0]))
    found = some(pairs == among, axis=-1)
    return ~found if invert else found
