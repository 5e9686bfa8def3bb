"""Slices of one value along one axis that do not overlap are one Split."""

from __future__ import annotations

from collections.abc import Iterable

from .cover import Cover, Instruction
from .tiles import takes

MOST_PARTS = 64


def split(t: Cover, count: int) -> None:
    """Offers Splits for the slices among the first `count` classes."""
    result: dict[tuple[int, int], dict[int, list[tuple[int, int]]]] = {}
    for c in range(count):
        for node in t.cells[c].terms:
            if node.op != "slice" or t.cells[c].constant:
                continue
            source = node.args[0]
            axis = _axis(t.shape(source), *node.attrs)
            if axis is not None:
                start, size = node.attrs[0][axis], node.attrs[1][axis]
                if not t.fixed((start, size)):
                    continue
                at = result.setdefault((source, axis), {}).setdefault(start, [])
                if (size, c) not in at:
                    at.append((size, c))
    for (source, axis), starts in result.items():
        n = t.shape(source)[axis]
        if t.fixed((n,)) and takes("Split", t.opset, t.type(source).dtype):
            for parts in _covers(starts, n):
                _offer(t, source, axis, parts)


def _axis(
    shape: tuple[int, ...], starts: tuple[int, ...], sizes: tuple[int, ...],
    steps: tuple[int, ...],
) -> int | None:  # fmt: skip
    """The one axis along which a slice takes a part."""
    axes = [i for i, n in enumerate(shape) if (starts[i], sizes[i]) != (0, n)]
    plain = all(s == 1 for s in steps)
    return axes[0] if len(axes) == 1 and plain else None


type Part = tuple[int, int, int]  # start, size, class


def _covers(starts: dict[int, list[tuple[int, int]]], n: int) -> Iterable[list[Part]]:
    """From left to right: the shortest part at each place, and the longest."""
    seen: set[tuple[Part, ...]] = set()
    for choose in (min, max):
        parts: list[Part] = []
        for start in sorted(starts):
            size, c = choose(starts[start])
            if not parts or start >= parts[-1][0] + parts[-1][1]:
                parts.append((start, size, c))
        key = tuple(parts)
        if 1 < len(parts) <= MOST_PARTS and key not in seen:
            seen.add(key)
            yield parts


def _offer(t: Cover, source: int, axis: int, parts: list[Part]) -> None:
    n, at = t.shape(source)[axis], 0
    sizes: list[int] = []
    places: list[tuple[int, int]] = []
    for start, size, c in parts:
        if start > at:
            sizes.append(start - at)
        places.append((len(sizes), c))
        sizes.append(size)
        at = start + size
    if at < n:
        sizes.append(n - at)
    whole = t.add(None)
    if t.opset >= 13:
        t.way(whole, "Split", (source, t.vector(sizes)), ("axis", axis))
    else:
        t.way(whole, "Split", (source,), ("axis", axis), ("split", tuple(sizes)))
    for i, c in places:
        t.cells[c].ways[Instruction("project", (whole,), (("index", i),))] = None
    t.parts[whole] = len(sizes)
