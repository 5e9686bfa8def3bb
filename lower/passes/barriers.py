"""Threads of a group meet where one may read or overwrite what another one stored, and
nowhere else.

All barriers are taken away, and one is placed before each statement that may touch, of
what they share, an element that another thread touched since they last met, and one of
the two stores.  A loop whose turns meet so has one at its end.  A reduction of a group
is none: with few threads it passes through registers (`emit/kernels.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..loops import Await, Barrier, Beside, For, Function, If, Stmt
from ..verify.kinds import Kinds
from ..walking import trips
from .rebuild import unique
from .touches import Touch, Touches

type Pending = list[Touch]  # since the threads last met


def barriers(function: Function) -> Function:
    """The function itself where the threads meet as they should, or never."""
    if not any(isinstance(s, For) and s.kind == "block" for s in function.body):
        return function
    again = unique(function)
    placer = _Placer(again)
    body = tuple(map(placer.top, again.body))
    return function if body == again.body else replace(again, body=body)


class Parting(Kinds):
    """Finds the branches that some threads of a group may take and others not: `found`,
    by identity."""

    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.found: dict[int, If] = {}
        self.run()

    def statement(self, s: Stmt) -> None:
        if isinstance(s, If) and (self.apart or self.varies(s.cond)):
            self.found[id(s)] = s
        super().statement(s)


class _Placer:
    def __init__(self, function: Function) -> None:
        self.touches = Touches(function)
        self.parting = Parting(function).found

    def top(self, s: Stmt) -> Stmt:
        if not (isinstance(s, For) and s.kind == "block"):
            return s
        if (
            len(s.body) == 1
            and isinstance(s.body[0], For)
            and s.body[0].kind == "block"
        ):
            return replace(s, body=(self.top(s.body[0]),))
        return replace(s, body=self.body(s.body, [])[0])

    def body(
        self, body: Sequence[Stmt], pending: Pending
    ) -> tuple[tuple[Stmt, ...], Pending]:
        """Runs by all threads of a group together."""
        out: list[Stmt] = []
        for s in body:
            if isinstance(s, Barrier):
                continue
            made, heads, last, met = self.statement(s)
            if made is None:
                continue
            if self.touches.clash(pending, heads):
                out.append(Barrier())
                pending = []
            out.append(made)
            last = [t for t in last if not t.late]
            pending = last if met else pending + last
        return tuple(out), pending

    def statement(self, s: Stmt) -> tuple[Stmt | None, Pending, Pending, bool]:
        """The statement with barriers inside, none if it was nothing but barriers; what
        it touches before the first one; after the last one; whether there is one."""
        if isinstance(s, If) and id(s) not in self.parting:
            cond = list(self.touches.heads(s))
            inner, last = self.body(s.body, cond)
            made = replace(s, body=inner) if inner else None
            return made, cond + self.heads(inner), cond + last, False
        if isinstance(s, For) and s.kind != "thread":
            return self.loop(s)
        if isinstance(s, Beside):
            inner, last = self.body(s.body, [])
            made = replace(s, body=inner)
            return made, self.heads(inner), last, _meets(inner)
        mine = self.touches.of((s,))
        return s, mine, mine, isinstance(s, Await)

    def loop(self, s: For) -> tuple[Stmt | None, Pending, Pending, bool]:
        inner, last = self.body(s.body, [])
        heads = self.heads(inner)
        if trips(s) > 1 and self.touches.clash(last, heads, s):
            inner, last = (*inner, Barrier()), []
        made = replace(s, body=inner) if inner else None
        if not trips(s):
            return made, [], [], False
        return made, heads, last, _meets(inner)

    def heads(self, body: Iterable[Stmt]) -> Pending:
        """What a body touches before its first barrier that is always reached."""
        result: Pending = []
        for s in body:
            if isinstance(s, Barrier | Await):
                break
            if isinstance(s, For | Beside) and _meets((s,)):
                return result + self.heads(s.body)
            result += self.touches.of((s,))
        return result


def _meets(body: Iterable[Stmt]) -> bool:
    """Whether there is a barrier that is always reached."""
    return any(
        isinstance(s, Barrier | Await)
        or (isinstance(s, Beside) and _meets(s.body))
        or (
            isinstance(s, For)
            and s.kind != "thread"
            and trips(s) > 0
            and _meets(s.body)
        )
        for s in body
    )
