"""Depth-first order of a DAG without recursion: graphs may be thousands deep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence


def postorder(
    roots: Sequence[int], operands: Callable[[int], Iterable[int]]
) -> list[int]:
    """All that the roots need, each after its operands, in order of first need."""
    out: list[int] = []
    seen: set[int] = set()
    stack = [(c, False) for c in reversed(roots)]
    while stack:
        c, leaving = stack.pop()
        if leaving:
            out.append(c)
        elif c not in seen:
            seen.add(c)
            stack.append((c, True))
            stack += [(a, False) for a in reversed(tuple(operands(c))) if a not in seen]
    return out
