"""Depth-first order of a DAG without recursion: graphs may be thousands deep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence


def postorder(
    roots: Sequence[int], operands: Callable[[int], Iterable[int]]
) -> list[int]:
    """All that the roots need, each after its operands, in order of first need."""
    out: list[int] = []
    seen: set[int] = set()
    stack = [*reversed(roots)]  # ~c: where c is left
    while stack:
        c = stack.pop()
        if c < 0:
            out.append(~c)
        elif c not in seen:
            seen.add(c)
            stack.append(~c)
            stack.extend([a for a in operands(c) if a not in seen][::-1])
    return out
