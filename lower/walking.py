"""Ways through the statements and expressions of the loop IR."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from .loops import (
    Assign,
    AsyncCopy,
    Beside,
    Ex,
    Fetch,
    Fill,
    For,
    Free,
    Full,
    Gemm,
    GroupReduce,
    If,
    Let,
    Load,
    Mma,
    Op,
    Send,
    Sort,
    Stmt,
    Store,
    Var,
)  # fmt: skip


def trips(loop: For) -> int:
    return -(-loop.extent // loop.step)


def walk(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Every statement, outer before inner."""
    todo = [*reversed(body)]
    while todo:
        stmt = todo.pop()
        yield stmt
        for inner in reversed(bodies(stmt)):
            todo.extend(reversed(inner))


def bodies(stmt: Stmt) -> tuple[tuple[Stmt, ...], ...]:
    """What a statement has others in."""
    match stmt:
        case For(body=body) | If(body=body):
            return (body,)
        case Beside(_, aside, body):
            return aside, body
        case _:
            return ()


def with_bodies(stmt: Stmt, change: Callable[[tuple[Stmt, ...]], tuple[Stmt, ...]]
                ) -> Stmt:  # fmt: skip
    """The statement with each of its bodies changed."""
    match stmt:
        case For(body=body) | If(body=body):
            return replace(stmt, body=change(body))
        case Beside(_, aside, body):
            return replace(stmt, aside=change(aside), body=change(body))
        case _:
            return stmt


def values(stmt: Stmt) -> tuple[Ex, ...]:
    """The expressions a statement itself evaluates."""
    match stmt:
        case Let(value=value) | Assign(value=value):
            return (value,)
        case Store(index=index, value=value):
            return (index, value)
        case Fetch(index=index):
            return (index,)
        case If(cond=cond):
            return (cond,)
        case GroupReduce(var=var):
            return (var,)
        case AsyncCopy(index=index, at=at, where=where):
            return (index, at) if where is None else (index, at, where)
        case Fill(_, turn, boxes):
            return (turn, *(x for b in boxes for x in (b.at, *b.corner)))
        case Send(box=box):
            return (box.at, *box.corner)
        case Full(turn=turn) | Free(turn=turn):
            return (turn,)
        case Gemm() | Mma():
            return tuple(x.at for x, _, _ in stmt.matrices)
        case Sort():
            return tuple(x.at for x, _ in stmt.rows)
        case _:
            return ()


def parts(ex: Ex) -> tuple[Ex, ...]:
    match ex:
        case Load(index=index):
            return (index,)
        case Op(args=args):
            return args
        case _:
            return ()


def subterms(ex: Ex) -> Iterator[Ex]:
    todo = [ex]
    while todo:
        ex = todo.pop()
        yield ex
        todo.extend(reversed(parts(ex)))


def variables(ex: Ex) -> Iterator[Var]:
    return (e for e in subterms(ex) if isinstance(e, Var))
