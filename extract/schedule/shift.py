"""Shifting cuts: storing the operand or the user of a stored value in its place.

That is two moves of the search at once, to inline and to store, of which neither pays
alone: a product whose bias is then added where it is made and not where it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator

from .chosen import ELEMENTWISE, VIEWS
from .kernel import nbytes
from .search import Search

NEAR = 12  # ops around a stored value that a cut may move to


def shift(search: Search, budget: int) -> None:
    """Shifts and the moves that they open up, until nothing helps or `budget` of them
    have been tried."""
    tried: dict[int, int] = {}
    while budget > 0:
        kept = 0
        for c in search.kernels_in_order():
            if budget <= 0 or not _movable(search, c):
                continue
            if search.touched.get(c, 0) <= tried.get(c, -1):
                continue
            tried[c] = search.stamp
            for d in _around(search, c):
                budget -= 1
                if search.change(c, None, {c, d}):
                    search.touched[c] = search.touched[d] = search.stamp
                    kept += 1
                    break
        if not kept:
            return
        budget = search.run(budget)


def _movable(search: Search, c: int) -> bool:
    """Whether a kernel makes `c` for others, and they are kernels, too."""
    if c in search.roots or c not in search.kern:
        return False
    made = {c, *search.readers[c]}
    return all(search.kern[r].traced is not None for r in made)


def _around(search: Search, c: int) -> list[int]:
    """The ops near `c` in the kernels that read and make it, the nearest first: beyond
    what is next to it (a conversion, say, to a wider dtype) a cut may be cheaper.  What
    comes after it may be as large as `c`, since it is then computed once an element;
    what comes before it is smaller."""
    above = {m for r in search.readers[c] for m in search.kern[r].members}
    below = set(search.kern[c].members)

    def size(d: int) -> int:
        return nbytes(search.type(d))

    users = [d for d in _users(search, c, above) if size(d) <= size(c)]
    operands = [d for d in _operands(search, c, below) if size(d) < size(c)]
    return [d for d in dict.fromkeys(users + operands) if d not in search.stored]


def _users(search: Search, c: int, inside: set[int]) -> Iterator[int]:
    def users(x: int) -> list[int]:
        return [m for m in sorted(inside) if x in search.node(m).args]

    return _near(search, users(c), users)


def _operands(search: Search, c: int, inside: Container[int]) -> Iterator[int]:
    def operands(x: int) -> list[int]:
        return [a for a in search.node(x).args if a in inside]

    return _near(search, operands(c), operands)


def _near(
    search: Search, edge: list[int], further: Callable[[int], list[int]]
) -> Iterator[int]:
    """What a chain of elementwise ops leads to, views aside."""
    seen = set[int]()
    while edge and len(seen) < NEAR:
        beyond: list[int] = []
        for x in edge:
            if x in seen:
                continue
            seen.add(x)
            op = search.node(x).op
            if op not in VIEWS:
                yield x
            if op in VIEWS or op in ELEMENTWISE:
                beyond += further(x)
        edge = beyond
