"""Which elements threads of a group touch between two barriers, as a function runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rewrite.lower.evaluate import Env, Value
from rewrite.lower.interpret import Machine, Meet, Meeting
from rewrite.lower.loops import (
    Array,
    Barrier,
    Ex,
    For,
    Function,
    If,
    Load,
    Stmt,
    Store,
)
from rewrite.lower.statements import THREAD, Run
from rewrite.lower.walking import walk


class Race(AssertionError):
    """Two threads touch an element, and one of them stores it."""


class _Watched(Machine):
    """`seen`: since the last barrier, by element: who touched it, by which statement,
    None for a read.  A reduction of the group is no barrier for memory."""

    def __init__(self, function: Function) -> None:
        params = (*function.params, *function.scratch)
        readonly = frozenset(p.name for p in function.params if not p.writable)
        super().__init__(function.threads, readonly)
        self.together = {p.name for p in params if p.writable}
        self.together |= {
            s.name
            for s in walk(function.body)
            if isinstance(s, Array) and s.space == "shared"
        }
        self.seen: dict[tuple[str, int], set[tuple[int, int | None]]] = {}

    def touch(self, env: Env, array: str, at: int, by: int | None) -> None:
        if array not in self.together or THREAD not in env:
            return
        me = env[THREAD]
        others = self.seen.setdefault((array, at), set())
        for thread, how in others:
            # A statement outside of thread loops stores the same from all threads.
            if thread != me and how != by:
                raise Race(f"{array}[{at}] by threads {thread} and {me}")
        others.add((me, by))

    def ex(self, x: Ex) -> Value:
        made = super().ex(x)
        if not isinstance(x, Load):
            return made
        index = super().ex(x.index)

        def load(env: Env) -> Any:
            at = int(index(env))
            for lane in range(x.lanes):
                self.touch(env, x.array, at + lane, None)
            return made(env)

        return load

    def store(self, s: Store) -> Run:
        made, index = super().store(s), self.ex(s.index)

        def store(env: Env) -> None:
            made(env)
            at = int(index(env))
            for lane in range(s.lanes):
                self.touch(env, s.array, at + lane, id(s))

        return store

    def group(self, body: Meet, env: Env) -> None:
        self.seen.clear()
        super().group(body, env)

    def reduce(self, met: list[Meeting]) -> None:
        if met[0][0] == "barrier":
            self.seen.clear()
        super().reduce(met)


def watched(function: Function, buffers: Sequence[np.ndarray[Any, Any]]) -> None:
    """Runs the function; a `Race` if there is one."""
    env: Env = dict(zip((p.name for p in function.params), buffers, strict=True))
    env |= {p.name: np.zeros(p.size, p.dtype.numpy) for p in function.scratch}
    machine = _Watched(function)
    with np.errstate(all="ignore"):
        for s in function.body:
            machine.top(s)(env)


def barriers_in(body: Sequence[Stmt]) -> int:
    return sum(isinstance(s, Barrier) for s in walk(tuple(body)))


def without_barriers(body: Sequence[Stmt]) -> tuple[Stmt, ...]:
    return tuple(
        replace(s, body=without_barriers(s.body)) if isinstance(s, For | If) else s
        for s in body
        if not isinstance(s, Barrier)
    )
