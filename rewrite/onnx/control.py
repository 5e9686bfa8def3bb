"""If, Loop and Scan whose course is known when the model is read: they are unrolled, or
one loop where there are many rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx

from rewrite.egraph.ir.dims import Dim, Poly, lower_bound
from rewrite.egraph.ir.graph import Builder

from .course import Course
from .looping import Inner, Reader, counted, scanned
from .ops.cumulative import flipped
from .ops.shape import part
from .site import Site, Unknown, Unread
from .value import Value, materialise

STEPS = 256  # of a loop that is unrolled


def _map(s: Site, inner: Inner) -> Sequence[Value]:
    """The body for each item of the first sequence; other sequences go along."""
    body: onnx.GraphProto = s.attributes["body"]
    first = s.value(0).items
    if first is None:
        raise Unread("a sequence that comes from outside")
    rows: list[list[Value]] = []
    for i in range(len(first)):
        values = [s.value(k) for k in range(s.count)]
        rows.append(inner.read(body, [v.items[i] if v.items is not None else v
                                      for v in values]))  # fmt: skip
    columns = zip(*rows, strict=True) if rows else ((),) * len(body.output)
    return [Value(items=tuple(c)) for c in columns]


def _if(s: Site, inner: Inner) -> Sequence[Value]:
    taken = "then_branch" if s.number(0, "the condition") else "else_branch"
    return inner.read(s.attributes[taken], [])


def _loop(s: Site, inner: Inner) -> Sequence[Value]:
    """As many rounds as `M` says, or until the condition, known each time, is false."""
    body: onnx.GraphProto = s.attributes["body"]
    go = s.value(1) if s.has(1) else Value(known=np.asarray(True))
    states = [s.value(i) for i in range(2, s.count)]
    course = Course(body, tuple(states), inner.scope)
    if s.loops and go.known is not None and _holds(s, go):
        count, decided = _many(s, course)
        looped = None if count is None else counted(s, inner, count, course, decided)
        if looped is not None:
            return looped
    most = int(s.number(0, "the trip count")) if s.has(0) else STEPS + 1
    rows: list[list[Value]] = []
    while len(rows) < most and _holds(s, go):
        if len(rows) == STEPS:
            raise Unread(f"a loop of over {STEPS} rounds")
        at = Value(known=np.asarray(len(rows), np.int64))
        out = inner.read(body, [at, go, *states])
        go, states = out[0], out[1 : 1 + len(states)]
        rows.append(out[1 + len(states) :])
    scans = [list(column) for column in zip(*rows, strict=True)]
    if not rows and len(body.output) > 1 + len(states):
        raise Unread("a loop without rounds")
    return [*states, *(_stacked(s.b, column, 0) for column in scans)]


def _many(s: Site, course: Course) -> tuple[Dim | None, bool]:
    """The number of rounds, where that is more than is unrolled, or a size of the
    inputs; and whether the condition has had its say in that."""
    known = s.known(0) if s.has(0) else None
    most = known.reshape(-1)[0] if known is not None and known.size == 1 else None
    limit = None if known is None or most is None else _whole(most)
    until = course.rounds if limit is not None or not s.has(0) else None
    if until is None or (limit is not None and _never_less(until, limit)):
        return _if_many(limit), False
    if limit is None or _never_less(limit, until):
        return _if_many(until), True
    return None, False


def _whole(count: Any) -> Dim:
    return count if isinstance(count, Poly) else int(count)


def _never_less(a: Dim, b: Dim) -> bool:
    low = lower_bound(a - b)
    return low is not None and low >= 0


def _if_many(count: Dim | None) -> Dim | None:
    return None if isinstance(count, int) and count <= STEPS else count


def _holds(s: Site, go: Value) -> bool:
    if go.known is None:
        raise Unknown("the condition", materialise(s.b, go))
    return bool(go.known.reshape(-1)[0])


def _scan(s: Site, inner: Inner) -> Sequence[Value]:
    """The entries of an axis one after the other."""
    if s.opset < 9:
        raise Unread("a scan over a batch")
    body: onnx.GraphProto = s.attributes["body"]
    count = s.attr("num_scan_inputs")
    first = s.count - count
    inputs = list(range(first, s.count))
    ranks = [s.rank(i) for i in inputs]
    given: list[int] = list(s.attr("scan_input_axes") or [0] * count)
    axes = [a % r for a, r in zip(given, ranks, strict=True)]
    back: list[int] = list(s.attr("scan_input_directions") or [0] * count)
    steps = s.shape(first)[axes[0]]
    if s.loops and not (isinstance(steps, int) and steps <= STEPS):
        return _looped(s, inner, axes, back)
    if not isinstance(steps, int):
        raise Unread("a scan of symbolic length")
    if not 0 < steps <= STEPS:
        raise Unread(f"a scan of {steps} rounds")
    states = [s.value(i) for i in range(first)]
    rows: list[list[Value]] = []
    for step in range(steps):
        entries = [
            _entry(s, i, axis, steps - 1 - step if reverse else step)
            for i, axis, reverse in zip(inputs, axes, back, strict=True)
        ]
        out = inner.read(body, [*states, *entries])
        states, row = out[:first], out[first:]
        rows.append(row)
    return [*states, *_scanned(s, [list(c) for c in zip(*rows, strict=True)])]


def _looped(
    s: Site, inner: Inner, axes: Sequence[int], back: Sequence[int]
) -> Sequence[Value]:
    """The same as one loop along first axes; what runs backward is flipped."""
    first = s.count - len(axes)
    entries: list[int] = []
    for i, axis, reverse in zip(range(first, s.count), axes, back, strict=True):
        x = _moved(s.b, s.x(i), axis, 0)
        entries.append(flipped(s, x, 0) if reverse else x)
    lasts, stacks = scanned(s, inner, [s.x(i) for i in range(first)], entries)
    given: list[int] = list(s.attr("scan_output_axes") or [0] * len(stacks))
    turned: list[int] = list(s.attr("scan_output_directions") or [0] * len(stacks))
    made: list[int] = []
    for y, axis, reverse in zip(stacks, given, turned, strict=True):
        y = flipped(s, y, 0) if reverse else y
        made.append(_moved(s.b, y, 0, axis % len(s.b.shape(y))))
    return [Value(i) for i in (*lasts, *made)]


def _moved(b: Builder, x: int, source: int, to: int) -> int:
    order = [i for i in range(len(b.shape(x))) if i != source]
    order.insert(to, source)
    return b.permute(x, order)


def _entry(s: Site, i: int, axis: int, at: int) -> Value:
    one = part(s, s.x(i), axis, at, 1)
    return Value(s.b.reshape(one, _without(s.b.shape(one), axis)))


def _without(shape: Sequence[Any], axis: int) -> list[Any]:
    return [d for i, d in enumerate(shape) if i != axis]


def _scanned(s: Site, columns: list[list[Value]]) -> list[Value]:
    axes: list[int] = list(s.attr("scan_output_axes") or [0] * len(columns))
    back: list[int] = list(s.attr("scan_output_directions") or [0] * len(columns))
    return [
        _stacked(s.b, column[::-1] if reverse else column, axis)
        for column, axis, reverse in zip(columns, axes, back, strict=True)
    ]


def _stacked(b: Builder, column: Sequence[Value], axis: int) -> Value:
    """Equal tensors side by side along a new axis."""
    known = [v.known for v in column]
    if all(k is not None and k.dtype != object for k in known):
        return Value(known=np.stack([k for k in known if k is not None], axis))
    nodes = [materialise(b, v) for v in column]
    shape = list(b.shape(nodes[0]))
    axis = axis + len(shape) + 1 if axis < 0 else axis
    wide = [*shape[:axis], 1, *shape[axis:]]
    return Value(b.concat([b.reshape(n, wide) for n in nodes], axis))


READERS: dict[str, Reader] = {
    "If": _if, "Loop": _loop, "Scan": _scan, "SequenceMap": _map,
}  # fmt: skip
