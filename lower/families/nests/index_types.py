"""How large index forms become, and so which integer type holds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....egraph.ir.dtypes import I32, I64, DType
from ....extract.schedule.kernel import Affine, Kernel, Mod, Val
from ...axes import affines
from ...loops import Param

UNKNOWN = 1 << 62

type Span = tuple[int, int]  # the first and the last place of an axis


def bounds(
    v: Affine, kernel: Kernel, spans: Mapping[int, Span] | None = None
) -> tuple[int, int]:
    """The least and the largest value of an index form; axes that are not in `spans`
    run over all of their extent."""
    low = high = v.const
    for a, c in v.terms:
        ends = [c * x for x in _ends(a, kernel, spans or {})]
        low, high = low + min(ends), high + max(ends)
    return low, high


def _ends(a: Any, kernel: Kernel, spans: Mapping[int, Span]) -> Span:
    if isinstance(a, int):
        return spans.get(a) or (0, max(kernel.extents[a] - 1, 0))
    if isinstance(a, Val):
        return 0, _clipped(kernel, a.expr)
    top = max(bounds(a.value, kernel, spans)[1], 0)
    return 0, min(a.by - 1, top) if isinstance(a, Mod) else top // a.by


def _clipped(kernel: Kernel, i: int) -> int:
    """A gathered index is `min(x, top)`: tracing clips it."""
    e = kernel.exprs[i]
    last = kernel.exprs[e.args[-1]] if e.op == "min" else e
    return last.attr[0] if last.op == "const" else UNKNOWN


def index_type(kernel: Kernel, buffers: tuple[Param, ...]) -> DType:
    """I32 where every buffer, loop and index form fits it."""
    largest = max((b.size for b in buffers), default=0)
    for n in kernel.extents:
        largest = max(largest, n)
    for v in affines(kernel):
        low, high = bounds(v, kernel)
        largest = max(largest, -low, high)
    points = 1
    for o in kernel.outputs:
        size = 1
        for a in o.axes:
            size *= kernel.extents[a]
        points = max(points, size)
    return I32 if max(largest, points) < 1 << 30 else I64
