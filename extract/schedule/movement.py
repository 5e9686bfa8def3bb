"""Movement ops as maps of indices: where in its operand an element of the result lies.

`pad` and `concat`, whose elements lie there only under a condition, are in
`sources.py`.
"""

from __future__ import annotations

from ...egraph.ir.ops import Attrs
from .affine import ZERO, Ranges
from .kernel import Affine

type Index = tuple[Affine, ...]  # one affine form per axis
type Shape = tuple[int, ...]


def operand_index(
    op: str, attrs: Attrs, index: Index, source: Shape, out: Shape, ranges: Ranges
) -> Index:
    """The index into the operand, of shape `source`, of an op with one."""
    match op:
        case "barrier":
            return index
        case "permute":
            inner = list(index)
            for v, p in zip(index, attrs[0], strict=True):
                inner[p] = v
            return tuple(inner)
        case "expand":
            mask = attrs[1]
            return tuple(ZERO if m else v for v, m in zip(index, mask, strict=True))
        case "slice":
            start, _, step = attrs
            parts = zip(index, start, step, strict=True)
            return tuple(
                v if a == 0 and s == 1 else ranges.combine([(v, s)], a)
                for v, a, s in parts
            )
        case "window":
            axis: int = attrs[0]
            stride, dilation = attrs[3:]
            kept, last = list(index[:-1]), index[-1]
            kept[axis] = ranges.combine([(kept[axis], stride), (last, dilation)])
            return tuple(kept)
        case "reshape":
            return _reshaped(index, out, source, ranges)
        case _:
            raise NotImplementedError(
                f"the view {op} has no index rule: add a case to `operand_index`"
                " in extract/schedule/movement.py"
            )


def _reshaped(index: Index, out: Shape, source: Shape, ranges: Ranges) -> Index:
    if 0 in out:
        return (ZERO,) * len(source)
    inner = [ZERO] * len(source)
    i, j = 0, 0
    while i < len(out) or j < len(source):
        i0, j0 = i, j
        p, i = (out[i], i + 1) if i < len(out) else (1, i)
        q, j = (source[j], j + 1) if j < len(source) else (1, j)
        while p != q:
            if p < q:
                p, i = p * out[i], i + 1
            else:
                q, j = q * source[j], j + 1
        _regroup(index, out, (i0, i), inner, source, (j0, j), ranges)
    return tuple(inner)


def _regroup(
    index: Index, out: Shape, left: tuple[int, int], inner: list[Affine],
    source: Shape, right: tuple[int, int], ranges: Ranges,
) -> None:  # fmt: skip
    """The axes `left` of the result and `right` of the operand hold one block."""
    a = [x for x in range(*left) if out[x] > 1]
    b = [x for x in range(*right) if source[x] > 1]
    if len(a) == len(b) == 1:
        inner[b[0]] = index[a[0]]
        return
    place, parts = 1, list[tuple[Affine, int]]()
    for x in reversed(a):
        parts.append((index[x], place))
        place *= out[x]
    linear = ranges.combine(parts)
    place = 1
    for x in reversed(b):
        inner[x] = ranges.window(linear, place, source[x])
        place *= source[x]
