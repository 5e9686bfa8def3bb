"""A function as a sequence of launches: what emitters share before any text.

A top-level `grid` or `block` nest is a stage of its own, and so is a call of the
library with the loops around it; the statements between them are one single-threaded
stage.  Immutable top-level lets are repeated in each later stage that reads them, since
a launch cannot see another's locals.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ...egraph.ir.dtypes import DType
from ..device import DeviceError
from ..loops import (
    Array,
    Assign,
    AsyncCopy,
    Ex,
    Fetch,
    Fill,
    For,
    Free,
    Full,
    Function,
    Gemm,
    GroupReduce,
    If,
    Let,
    Load,
    Op,
    Send,
    Sort,
    Stmt,
    Store,
    Var,
)
from ..walking import subterms, trips, values, variables, walk

type StageKind = Literal["grid", "block", "single", "library"]


@dataclass(frozen=True, slots=True)
class Stage:
    """`body` for each point (one at least) of the perfect nest `loops`, outermost
    first; those around a call of the library are in the body."""

    name: str
    kind: StageKind
    loops: tuple[For, ...]
    body: tuple[Stmt, ...]

    @property
    def points(self) -> int:
        return math.prod(trips(loop) for loop in self.loops)

    @property
    def coordinates(self) -> Iterator[tuple[For, str]]:
        """The loops, the innermost first, and where `rw_point` stands along each."""
        inner = 1
        for loop in reversed(self.loops):
            n = trips(loop)
            text = "rw_point" if inner == 1 else f"rw_point / {inner}"
            if inner * n < self.points:
                text = f"{text} % {n}"
            if loop.step > 1:
                text = f"{text} * {loop.step}"
            yield loop, text
            inner *= n


def halving(stmt: GroupReduce, threads: int) -> tuple[int, str, str]:
    """A reduction of a group in steps of `rw_s`: the first one, the test that a thread
    takes part in a step, and whose place has the total."""
    width = stmt.width or threads
    first = 1 << (width - 1).bit_length() >> 1
    if width < threads:
        return first, f"rw_thread % {width} < rw_s", f"rw_thread / {width} * {width}"
    return first, f"rw_thread < rw_s && rw_thread + rw_s < {width}", "0"


def dtypes_of(function: Function) -> frozenset[DType]:
    """Every dtype that the function stores or computes in."""
    result = {p.dtype for p in (*function.params, *function.scratch)}
    for stmt in walk(function.body):
        if isinstance(stmt, Array):
            result.add(stmt.dtype)
        result |= {e.dtype for v in values(stmt) for e in subterms(v)}
    return frozenset(result)


def check_name(name: str) -> None:
    """Names reach source text: nothing but an identifier may pass."""
    if not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII):
        raise DeviceError(f"{name!r} is not a name for generated code")


def stages(function: Function) -> tuple[Stage, ...]:
    check_name(function.name)
    if not any(_is_nest(s) or is_call(s) for s in function.body):
        return (Stage(f"{function.name}_0", "single", (), function.body),)
    result: list[Stage] = []
    lets: list[Let] = []
    run: list[Stmt] = []

    def add(kind: StageKind, loops: tuple[For, ...], body: tuple[Stmt, ...]) -> None:
        name = f"{function.name}_{len(result)}"
        result.append(Stage(name, kind, loops, (*_needed(lets, body), *body)))

    def flush() -> None:
        if run:
            add("single", (), tuple(run))
        run.clear()

    for i, stmt in enumerate(function.body):
        if isinstance(stmt, For) and _is_nest(stmt):
            flush()
            loops, body = _perfect_nest(stmt)
            add("grid" if stmt.kind == "grid" else "block", loops, body)
        elif is_call(stmt):
            flush()
            add("library", (), (stmt,))
        elif isinstance(stmt, Let) and not stmt.mutable:
            _refuse_stale(function, stmt, function.body[i:])
            lets.append(stmt)
        else:
            _refuse_local(function, stmt)
            run.append(stmt)
    flush()
    return tuple(s for s in result if s.points)


def _refuse_local(function: Function, stmt: Stmt) -> None:
    if isinstance(stmt, Array | Let):
        raise DeviceError(
            f"function {function.name!r}: a top-level array or mutable variable cannot "
            "be seen by several launches; make it a scratch buffer"
        )


def _refuse_stale(function: Function, let: Let, rest: tuple[Stmt, ...]) -> None:
    """A repeated let must find what it found at first."""
    written = {s.array for s in walk(rest) if isinstance(s, Store)}
    written |= {s.out.array for s in walk(rest) if isinstance(s, Gemm | Sort)}
    for ex in subterms(let.value):
        if isinstance(ex, Load) and ex.array in written:
            raise DeviceError(
                f"function {function.name!r}: top-level {let.var.name!r} reads "
                f"{ex.array!r}, which later statements write; read it where it is used"
            )


def _is_nest(stmt: Stmt) -> bool:
    return isinstance(stmt, For) and stmt.kind in ("grid", "block")


def is_call(stmt: Stmt) -> bool:
    """Whether it calls the library, in loops or not."""
    calls = (s for s in walk((stmt,)) if isinstance(s, Gemm | Sort))
    return any(isinstance(s, Gemm) or s.parts for s in calls)


def _perfect_nest(loop: For) -> tuple[tuple[For, ...], tuple[Stmt, ...]]:
    loops, body = [loop], loop.body
    while len(body) == 1 and isinstance(body[0], For) and body[0].kind == loop.kind:
        loops.append(body[0])
        body = body[0].body
    return tuple(loops), body


def _needed(lets: Sequence[Let], body: tuple[Stmt, ...]) -> tuple[Let, ...]:
    """The lets that the body reads, and those that they read."""
    names = {v.name for s in walk(body) for e in values(s) for v in variables(e)}
    kept: list[Let] = []
    for let in reversed(lets):
        if let.var.name in names:
            kept.append(let)
            names |= {v.name for v in variables(let.value)}
    return tuple(reversed(kept))


def work(body: tuple[Stmt, ...]) -> int:
    """Scalar operations of one run of `body`, roughly."""
    total = 0
    for stmt in body:
        match stmt:
            case For():
                total += trips(stmt) * work(stmt.body)
            case If():
                total += 1 + work(stmt.body)
            case Sort():
                total += stmt.n * max(stmt.count.bit_length(), 1)
            case _:
                own = (e for v in values(stmt) for e in subterms(v))
                total += 1 + sum(getattr(e, "lanes", 1) for e in own)
    return total


def index_lets(body: tuple[Stmt, ...]) -> frozenset[str]:
    """Integer lets that reach nothing but indices of loads, stores and fetches.

    Such arithmetic does not overflow, by contract, so it needs no wrapping.
    """
    feeds: dict[str, set[str]] = {}
    data: set[str] = set()
    for stmt in walk(body):
        match stmt:
            case Let(var=var, value=value, mutable=False) if var.dtype.is_int:
                feeds[var.name] = set(_direct(value))
            case Let(var=var, value=value):
                data |= {var.name, *_direct(value)}
            case Store(value=value):
                data |= set(_direct(value))
            case Fetch() | Fill() | Full() | Free() | Send():
                pass
            case AsyncCopy(where=where):
                data |= set(_direct(where)) if where is not None else set()
            case _:
                data |= {n for v in values(stmt) for n in _direct(v)}
    frontier = list(data)
    while frontier:
        for name in feeds.get(frontier.pop(), set()) - data:
            data.add(name)
            frontier.append(name)
    return frozenset(feeds.keys() - data)


def _direct(ex: Ex) -> Iterator[str]:
    """Names in `ex` outside of the indices of its loads."""
    if isinstance(ex, Var):
        yield ex.name
    if isinstance(ex, Op):
        for arg in ex.args:
            yield from _direct(arg)


def carries(loop: For) -> bool:
    """Whether an iteration assigns a variable from outside the loop."""
    inner = {s.var.name for s in walk(loop.body) if isinstance(s, Let)}
    assigned = {s.var.name for s in walk(loop.body) if isinstance(s, Assign)}
    return not assigned <= inner
