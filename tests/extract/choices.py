"""What a choice costs, and the best one, by nothing but the definition."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import pytest

from rewrite.extract.dag.dag import Extraction, Problem
from rewrite.extract.dag.methods import Answer


def acyclic(p: Problem, picked: Mapping[int, int]) -> bool:
    """Whether all that the roots need can be put in an order, operands first."""
    done, stack = set[int](), [(r, False) for r in p.roots]
    opened = set[int]()
    while stack:
        c, leaving = stack.pop()
        if leaving:
            done.add(c)
        elif c in opened:
            if c not in done:
                return False
        else:
            opened.add(c)
            stack.append((c, True))
            kids = p.classes[c][picked[c]].children
            stack += [(d, False) for d in kids if d not in done]
    return True


def brute(p: Problem) -> float:
    """The optimum, by trying every node of every class that is needed."""

    def choices(todo: tuple[int, ...], picked: dict[int, int]) -> Iterator[float]:
        todo = tuple(c for c in todo if c not in picked)
        if not todo:
            if acyclic(p, picked):
                yield math.fsum(p.classes[c][i].cost for c, i in picked.items())
            return
        c = todo[0]
        for i, node in enumerate(p.classes[c]):
            yield from choices(todo[1:] + node.children, {**picked, c: i})

    return min(choices(p.roots, {}), default=math.inf)


def check(p: Problem, choice: Extraction | Answer) -> None:
    """Just what is needed is picked, without a cycle; the cost is its own."""
    picked = dict(choice.picked)
    needed, todo = set[int](), list(p.roots)
    while todo:
        c = todo.pop()
        if c not in needed:
            needed.add(c)
            todo += p.classes[c][picked[c]].children
    assert set(picked) == needed
    assert acyclic(p, picked)
    total = math.fsum(p.classes[c][i].cost for c, i in picked.items())
    assert choice.cost == pytest.approx(total, rel=1e-12)
    if choice.bound is not None:
        assert choice.bound <= choice.cost * (1 + 1e-12)
