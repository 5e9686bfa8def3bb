"""Proofs without detours.

A path between two terms goes by equations that were there before what rests on it.  So
it may leave by a rule and come back by the same rule, though both terms are one op
on operands that the proof shows to be equal anyway.  Where fewer uses of rules do, the
congruence itself takes the place of such a stretch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .closure import Closure, Pair, Steps

type Found = Mapping[Pair, Steps]


def straightened(
    closure: Closure, found: Found, ends: Sequence[Pair]
) -> dict[Pair, Steps]:
    """The proofs of `ends`, what is used before its users, without detours."""
    best = _in_order(found, ends)
    assert best is not None, "a path rests on older equations alone"
    while (less := _once(closure, best, ends)) is not None:
        best = less
    return best


def _once(
    closure: Closure, found: dict[Pair, Steps], ends: Sequence[Pair]
) -> dict[Pair, Steps] | None:
    """With one stretch less, or None where none can be spared."""
    for pair in found:
        for steps in _shorter(closure, found[pair]):
            other = _in_order(_filled(closure, {**found, pair: steps}, pair), ends)
            if other is not None and uses(other) < uses(found):
                return other
    return None


def uses(found: Found) -> int:
    """How many equations that were given a proof takes."""
    steps = (e.given for path in found.values() for e in path)
    return len({given for given in steps if given is not None})


def _shorter(closure: Closure, steps: Steps) -> Iterator[Steps]:
    """The path with a congruence for a stretch of it, the longest stretch first."""
    count = len(steps)
    for length in range(count, 1, -1):
        for i in range(count - length + 1):
            j = i + length
            a, b = steps[i].start, steps[j - 1].end
            if closure.signature(a) == closure.signature(b):
                edge = closure.congruence(a, b, 0)
                yield closure.joined((*steps[:i], edge, *steps[j:]))


def _filled(closure: Closure, found: dict[Pair, Steps], pair: Pair) -> Found:
    """With paths for all that the path of a pair newly rests on."""
    todo = [pair]
    while todo:
        for need in (n for e in found[todo.pop()] for n in e.rests_on):
            if need not in found:
                found[need] = closure.path(*need)
                todo.append(need)
    return found


def _in_order(found: Found, ends: Sequence[Pair]) -> dict[Pair, Steps] | None:
    """What the ends rest on, each after what it rests on; None if that is itself."""
    out: dict[Pair, Steps] = {}
    begun = set[tuple[int, int]]()
    todo = [(pair, False) for pair in reversed(ends)]
    while todo:
        pair, closing = todo.pop()
        if closing:
            out[pair] = found[pair]
        elif pair in begun:
            if pair not in out:
                return None
        else:
            begun.add(pair)
            todo.append((pair, True))
            needs = [need for e in found[pair] for need in e.rests_on]
            todo.extend((need, False) for need in reversed(needs))
    return out
