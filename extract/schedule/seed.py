"""Schedules to begin with, from one that stores all but views.

With sides: elementwise values are inlined in what reads them, so that products compute
their operands.  With epilogues: a sum or product is inlined in the only elementwise
value that follows it, and so on, and what a fold reads again and again, such as an
image that filters slide over, is stored.  Which costs less depends on the device.
"""

from __future__ import annotations

from .chosen import ELEMENTWISE, FOLDS, HOST, VIEWS
from .kernel import nbytes
from .state import State

LARGEST = 64  # ops that it puts in one kernel
REPEATS = frozenset(("expand", "window"))

type Users = dict[int, list[int]]


def with_sides(s: State) -> frozenset[int]:
    """The classes to be stored; elementwise values with a single use are not."""
    users, stored, size = _users(s), set(s.stored), dict[int, int]()
    for c in sorted(s.pos, key=s.pos.__getitem__):
        op, inner = s.node(c).op, [a for a in s.node(c).args if a not in stored]
        size[c] = 1 + sum(size[a] for a in inner)
        single = len(users.get(c, ())) == 1 and c not in s.roots
        fits = op in ELEMENTWISE and single and size[c] < LARGEST
        if fits and s.node(users[c][0]).op not in HOST:
            stored.discard(c)
    return frozenset(stored)


def _users(s: State) -> Users:
    found: Users = {}
    for c in s.pos:
        for a in set(s.node(c).args):
            found.setdefault(a, []).append(c)
    return found


def with_epilogues(s: State) -> frozenset[int]:
    """The classes to be stored; products that one value follows are not."""
    users, stored, size = _users(s), set(s.stored), dict[int, int]()
    folds = dict[int, int]()  # that a value's kernel computes
    for c in sorted(s.pos, key=s.pos.__getitem__):
        op, inner = s.node(c).op, [a for a in s.node(c).args if a not in stored]
        size[c] = 1 + sum(size[a] for a in inner)
        folds[c] = folds.get(c, 0) + (op in FOLDS)
        reader = _reader(s, users, c) if op in FOLDS | ELEMENTWISE else None
        if reader is None or size[c] >= LARGEST:
            continue
        u, again = reader
        if c in s.space.constant and u not in s.space.constant:
            continue  # it is computed once, when the program is made
        if s.node(u).op in ELEMENTWISE:
            fits = not folds[c] or (not again and not folds.get(u))
        elif s.node(u).op == "contract":
            fits = _widens(s, c) and not folds[c]
        else:
            fits = s.node(u).op not in HOST and not again and not folds[c]
        if fits:
            stored.discard(c)
            folds[u] = folds.get(u, 0) + folds[c]
    return frozenset(stored)


def _reader(s: State, users: Users, c: int) -> tuple[int, bool] | None:
    """The only op that reads a value, through views, and whether it reads elements
    again; a cast to a wider dtype is part of the fold that it is for."""
    again = False
    while len(users.get(c, ())) == 1 and c not in s.roots:
        (u,) = users[c]
        op = s.node(u).op
        if op not in VIEWS:
            beyond = _reader(s, users, u) if _widens(s, u) else None
            if beyond is None or s.node(beyond[0]).op in ELEMENTWISE:
                return u, again
            return beyond[0], again or beyond[1]
        again |= op in REPEATS and nbytes(s.type(u)) > nbytes(s.type(c))
        c = u
    return None


def _widens(s: State, c: int) -> bool:
    node = s.node(c)
    return node.op == "cast" and s.type(node.args[0]).dtype.bits < s.type(c).dtype.bits
