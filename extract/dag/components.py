"""Components of a directed graph (Tarjan 1972), without recursion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence


def strong(
    vertices: Sequence[int], below: Callable[[int], Iterable[int]]
) -> dict[int, int]:
    """Vertex -> the number of its strongly connected component, children first."""
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    part: dict[int, int] = {}
    open_: list[int] = []
    count = 0
    for start in vertices:
        if start in number:
            continue
        number[start] = low[start] = len(number)
        open_.append(start)
        path: list[tuple[int, Iterator[int]]] = [(start, iter(below(start)))]
        while path:
            v, rest = path[-1]
            for w in rest:
                if w not in number:
                    number[w] = low[w] = len(number)
                    open_.append(w)
                    path.append((w, iter(below(w))))
                    break
                if w not in part:
                    low[v] = min(low[v], number[w])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[v])
                if low[v] == number[v]:
                    _close(v, open_, part, count)
                    count += 1
    return part


def _close(v: int, open_: list[int], part: dict[int, int], count: int) -> None:
    while True:
        w = open_.pop()
        part[w] = count
        if w == v:
            return


def connected(size: int, edges: Iterable[tuple[int, int]]) -> list[list[int]]:
    """The vertices 0, 1, ... by connected component, each ascending."""
    head = list(range(size))

    def find(v: int) -> int:
        while head[v] != v:
            head[v] = head[head[v]]
            v = head[v]
        return v

    for a, b in edges:
        a, b = find(a), find(b)
        head[max(a, b)] = min(a, b)
    parts: dict[int, list[int]] = {}
    for v in range(size):
        parts.setdefault(find(v), []).append(v)
    return list(parts.values())
