"""A slow, exact interpreter of the loop IR over NumPy scalars: what a family means.

A function becomes closures over an environment of names.  Threads of a group run as
generators that meet at barriers, so that a missing barrier shows as a wrong value and
one that not all threads reach as an error.  Arrays start as garbage; every access is
checked against its array.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np

from ..egraph.ir.scalars import BY_NAME, MONOIDS, Array
from .aside import Aside, Half, Moved
from .evaluate import Env, Trap
from .loops import (
    Await,
    Barrier,
    Beside,
    Fill,
    For,
    Free,
    Full,
    Function,
    GroupReduce,
    If,
    Mma,
    Regroup,
    Send,
    Settle,
    Stmt,
)
from .statements import ASIDE, COPIES, SHARED, THREAD, Run, garbage
from .together import PRODUCTS, Products
from .walking import bodies

type Meeting = tuple[str, Any]  # what a thread waits for, and what it brings
type Meet = Callable[[Env], Generator[Meeting]]


def run(function: Function, buffers: Sequence[Array]) -> None:
    """Runs `function` on flat arrays, in parameter order."""
    env: Env = {}
    for p, b in zip(function.params, buffers, strict=True):
        if b.shape != (p.size,) or b.dtype != p.dtype.numpy:
            want = f"{p.name}: {p.dtype}[{p.size}] expected"
            raise Trap(f"{want}, found {b.dtype}{b.shape}")
        env[p.name] = b
    for p in function.scratch:
        env[p.name] = garbage(p.dtype.numpy, p.size)
    readonly = frozenset(p.name for p in function.params if not p.writable)
    with np.errstate(all="ignore"):
        machine = Machine(function.threads, readonly)
        for s in function.body:
            machine.top(s)(env)
            if machine.halves:
                raise Trap("a block without one beside it brings halves")


def _own(thread: int) -> Env:
    """What a thread of a group begins with."""
    copies: list[list[Any]] = [[]]
    products: list[Any] = []
    return {THREAD: thread, COPIES: copies, PRODUCTS: products}


MEETINGS = (
    Barrier | GroupReduce | Await | Mma | Regroup | Beside | Fill | Full | Free | Send
    | Settle
)  # fmt: skip


def _meets(body: Sequence[Stmt]) -> bool:
    return any(isinstance(s, MEETINGS) or any(map(_meets, bodies(s))) for s in body)


class Machine(Products):
    """Whole functions: groups of threads, and where these meet."""

    halves: list[Half] | None = None  # that the block before brings to this one

    # ---- who runs what ----

    def top(self, s: Stmt) -> Run:
        if not (isinstance(s, For) and s.kind == "block"):
            return self.stmt(s)
        body = self.blocks(s.body)

        def blocks(env: Env) -> None:
            for i in range(0, s.extent, s.step):
                body({**env, s.var.name: s.var.dtype.numpy.type(i)})

        return blocks

    def blocks(self, body: tuple[Stmt, ...]) -> Run:
        """The body of a block loop: another one alone, or what a group runs."""
        if len(body) == 1 and isinstance(body[0], For) and body[0].kind == "block":
            return self.top(body[0])
        self.grouped = True
        inner = self.meet(body)
        self.grouped = False
        return lambda env: self.group(inner, env)

    def group(self, body: Meet, env: Env) -> None:
        """The body once by all threads, each advancing to the next meeting in turn."""
        shared: dict[str, Array] = {}
        aside = Aside()
        every = {**env, SHARED: shared, ASIDE: aside}
        runs = [body({**every, **_own(t)}) for t in range(self.threads)]
        while True:
            met = [next(r, None) for r in runs]
            kinds = {None if m is None else m[0] for m in met}
            if len(kinds) > 1:
                raise Trap(f"threads of a group part: {kinds}")
            if met[0] is None:
                aside.end()
                self.both(aside.halves)
                return
            self.reduce([m for m in met if m is not None])

    def both(self, mine: list[Half]) -> None:
        """Blocks side by side bring halves of the same boxes, in the same turns."""
        first, self.halves = self.halves, None
        if first is None:
            self.halves = mine
        elif first != mine:
            raise Trap("blocks side by side bring halves of different boxes")

    def reduce(self, met: list[Meeting]) -> None:
        kind = met[0][0]
        if kind == "product":
            s, envs = met[0][1][0], [env for _, (_, env) in met]
            if s.own:
                self.put_together(s, envs)
            return
        if kind == "barrier":
            return
        if kind in ("full", "free"):
            (s, aside), turns = met[0][1][:2], {brought[2] for _, brought in met}
            if len(turns) > 1:
                raise Trap(f"threads of a group are in turns {turns} of {s.ring!r}")
            (aside.full if kind == "full" else aside.free)(s.ring, *turns)
            return
        if kind == "send":
            self.send(met[0][1][0], [env for _, (_, env) in met])
            return
        if kind == "beside":
            runs, env = met[0][1]
            env[ASIDE].start(runs({**env, **_own(self.threads)}))
            return
        if kind == "regroup":
            self.regroup(met[0][1][0], [env for _, (_, env) in met])
            return
        monoid, _, width = kind.split()
        combine = BY_NAME[MONOIDS[monoid].op].numpy
        each = int(width) or len(met)
        if len(met) % each:
            raise Trap(f"{len(met)} threads of a group do not divide by {each}")
        for first in range(0, len(met), each):
            boxes = [box for _, box in met[first : first + each]]
            total = boxes[0][0]
            for box in boxes[1:]:
                total = combine(total, box[0])[()]
            for box in boxes:
                box[0] = total

    # ---- statements ----

    def meet(self, body: Sequence[Stmt]) -> Meet:
        """A body in which threads may meet."""
        steps: list[tuple[Run | None, Meet | None]] = [
            (None, self.meeting(s)) if _meets([s]) else (self.stmt(s), None)
            for s in body
        ]

        def every(env: Env) -> Generator[Meeting]:
            for plain, meeting in steps:
                if plain:
                    plain(env)
                elif meeting:
                    yield from meeting(env)

        return every

    def meeting(self, s: Stmt) -> Meet:
        match s:
            case For():
                return self.meeting_loop(s)
            case If(cond, inner):
                test, then = self.ex(cond), self.meet(inner)

                def branch(env: Env) -> Generator[Meeting]:
                    if test(env):
                        yield from then(env)

                return branch
            case GroupReduce(var, monoid, width):
                met = f"{monoid} {var.name} {width}"

                def total(env: Env) -> Generator[Meeting]:
                    box = [env[var.name]]
                    yield (met, box)
                    env[var.name] = box[0]

                return total
            case Mma():

                def product(env: Env) -> Generator[Meeting]:
                    yield ("product", (s, env))
                    if s.warps == 1 and not s.own:
                        self.multiply(s, env)
                    elif s.warps == 1:
                        pass  # of a warp, where its threads met
                    else:
                        env[PRODUCTS].append((s, self.kept(s, env)))

                return product
            case Settle(left):

                def settle(env: Env) -> Generator[Meeting]:
                    self.finish(env, left)
                    yield ("barrier", None)

                return settle
            case Send():

                def send(env: Env) -> Generator[Meeting]:
                    yield ("send", (s, env))

                return send
            case Regroup():

                def regroup(env: Env) -> Generator[Meeting]:
                    yield ("regroup", (s, env))

                return regroup
            case Beside(_, beside, inner):
                runs, goes_on = self.meet(beside), self.meet(inner)

                def fork(env: Env) -> Generator[Meeting]:
                    yield ("beside", (runs, env))
                    yield from goes_on(env)

                return fork
            case Fill():
                return self.fill(s)
            case Full(_, turn) | Free(_, turn):
                number = self.ex(turn)
                kind = type(s).__name__.lower()

                def waits(env: Env) -> Generator[Meeting]:
                    if isinstance(s, Free):
                        self.finish(env, s.products)
                    yield (kind, (s, env[ASIDE], int(number(env))))

                return waits
            case Await(pending, products):

                def arrived(env: Env) -> Generator[Meeting]:
                    self.finish(env, products)
                    groups = env[COPIES]
                    while len(groups) - 1 > pending:
                        for target, place, value in groups.pop(0):
                            target[place] = value
                    yield ("barrier", None)

                return arrived
            case _:

                def barrier(env: Env) -> Generator[Meeting]:
                    yield ("barrier", None)

                return barrier

    def fill(self, s: Fill) -> Meet:
        turn = self.ex(s.turn)
        places = [self.ex(b.at) for b in s.boxes]
        corners = [[self.ex(x) for x in b.corner] for b in s.boxes]

        def fill(env: Env) -> Generator[Meeting]:
            number = int(turn(env))
            yield ("fill", (s.ring, number))
            moved: list[Moved] = []
            for b, place, corner in zip(s.boxes, places, corners, strict=True):
                first = tuple(int(x(env)) for x in corner)
                if not b.tensor.begins(first):
                    raise Trap(f"no window of {b.tensor.source!r} is at {first}")
                at, there = b.tensor.places(first)
                source, to = env[b.tensor.source], int(place(env))
                if b.both:
                    half = ((s.ring, number), b.array, to, first, b.tensor)
                    env[ASIDE].halves.append(half)
                if not 0 <= to <= len(env[b.array]) - b.size:
                    raise Trap(f"a box of {b.size} elements at {b.array}[{to}]")
                value = np.where(there, source[np.where(there, at, 0)], 0)
                part = env[b.array][to : to + b.size]
                moved.append(Moved(part, value.astype(source.dtype)))
            env[ASIDE].fill(s.ring, number, moved)

        return fill

    def meeting_loop(self, s: For) -> Meet:
        if s.kind in ("thread", "grid", "block"):
            raise Trap(f"threads meet inside a {s.kind} loop")
        inner, name, to = self.meet(s.body), s.var.name, s.var.dtype.numpy.type

        def loop(env: Env) -> Generator[Meeting]:
            for i in range(0, s.extent, s.step):
                env[name] = to(i)
                yield from inner(env)
            self.finish(env, 0)

        return loop


__all__ = ["Trap", "run"]
