"""Sequences and optionals: their length is known when the model is read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..site import Site, Unread, op
from ..value import Value, materialise
from .shape import part


def items(s: Site, i: int) -> Sequence[Value]:
    result = s.value(i).items
    if result is None:
        s.fail(f"operand {i} is no sequence")
    return result


def _place(s: Site, i: int, count: int) -> int:
    at = int(s.number(i, "the position"))
    if not -count <= at < count:
        s.fail(f"position {at} is outside of {count} items")
    return at % count


@op("SequenceConstruct")
def construct(s: Site) -> Value:
    return Value(items=tuple(s.value(i) for i in range(s.count)))


@op("SequenceEmpty")
def empty(s: Site) -> Value:
    return Value(items=())


@op("SequenceAt")
def at(s: Site) -> Value:
    result = items(s, 0)
    return result[_place(s, 1, len(result))]


@op("SequenceInsert")
def insert(s: Site) -> Value:
    result = list(items(s, 0))
    place = int(s.number(2, "the position")) if s.has(2) else len(result)
    if abs(place) > len(result):
        s.fail(f"position {place} is outside of {len(result)} items")
    result.insert(place, s.value(1))  # a negative one counts from the end, as in Python
    return Value(items=tuple(result))


@op("SequenceErase")
def erase(s: Site) -> Value:
    result = list(items(s, 0))
    del result[_place(s, 1, len(result)) if s.has(1) else -1]
    return Value(items=tuple(result))


@op("SequenceLength")
def length(s: Site) -> Value:
    return Value(known=np.asarray(len(items(s, 0)), np.int64))


@op("ConcatFromSequence")
def concat(s: Site) -> int:
    nodes = [materialise(s.b, v) for v in items(s, 0)]
    if not nodes:
        s.fail("an empty sequence")
    stack = bool(s.attr("new_axis", 0))
    rank = len(s.b.shape(nodes[0])) + stack
    axis = s.axis(rank=rank)
    if stack:
        nodes = [_widened(s, x, axis) for x in nodes]
    return s.b.concat(nodes, axis)


def _widened(s: Site, x: int, axis: int) -> int:
    shape = s.b.shape(x)
    return s.b.reshape(x, (*shape[:axis], 1, *shape[axis:]))


@op("SplitToSequence")
def split(s: Site) -> Value:
    axis = s.axis()
    n = s.shape(0)[axis]
    if not isinstance(n, int):
        raise Unread(f"a sequence of {n} parts")
    sizes, keep = [1] * n, True
    if not s.has(1):
        keep = bool(s.attr("keepdims", 1))
    elif s.rank(1) == 0:
        each = int(s.number(1, "the size of parts"))
        sizes = [min(each, n - at) for at in range(0, n, each)]
    else:
        sizes = s.ints("split", 1) or []
    parts: list[Value] = []
    start = 0
    for size in sizes:
        one = part(s, s.x(0), axis, start, size)
        if not keep:
            shape = s.b.shape(one)
            one = s.b.reshape(one, (*shape[:axis], *shape[axis + 1 :]))
        parts.append(Value(one))
        start += size
    return Value(items=tuple(parts))


@op("Optional")
def optional(s: Site) -> Value:
    if not s.has(0):
        raise Unread("an empty optional")
    return s.value(0)


@op("OptionalGetElement")
def element(s: Site) -> Value:
    return s.value(0)


@op("OptionalHasElement")
def has_element(s: Site) -> Value:
    return Value(known=np.asarray(s.has(0)))
