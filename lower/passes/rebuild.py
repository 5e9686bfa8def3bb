"""What passes share: expressions and statements made again, and what a body touches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from ..intervals import Linear, linear
from ..loops import (
    Array,
    Assign,
    AsyncCopy,
    Await,
    Barrier,
    Beside,
    Box,
    Commit,
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
    Lit,
    Load,
    Mma,
    Op,
    Pack,
    Regroup,
    Ring,
    Send,
    Settle,
    Sort,
    Stmt,
    Store,
    Var,
)
from ..walking import subterms, walk, with_bodies

type Change = Callable[[Ex], Ex]


def bottom_up(x: Ex, change: Change) -> Ex:
    """`x` with `change` made to every part, inner parts first; shares what is equal."""
    match x:
        case Load(index=index):
            new = bottom_up(index, change)
            x = x if new is index else replace(x, index=new)
        case Op(args=args):
            made = tuple(bottom_up(a, change) for a in args)
            same = all(a is b for a, b in zip(made, args, strict=True))
            x = x if same else replace(x, args=made)
        case _:
            pass
    return change(x)


def with_values(s: Stmt, change: Change) -> Stmt:
    """The statement with the expressions that it evaluates itself changed."""
    match s:
        case Let(value=value) | Assign(value=value):
            new = change(value)
            return s if new is value else replace(s, value=new)
        case Store(index=index, value=value):
            to, new = change(index), change(value)
            return (
                s if to is index and new is value else replace(s, index=to, value=new)
            )
        case Fetch(index=index):
            new = change(index)
            return s if new is index else replace(s, index=new)
        case AsyncCopy(index=index, at=at, where=where):
            test = None if where is None else change(where)
            return replace(s, index=change(index), at=change(at), where=test)
        case Mma(a=a, b=b):
            a, b = (x._replace(at=change(x.at)) for x in (a, b))
            return replace(s, a=a, b=b)
        case Fill(_, turn, boxes):
            made = tuple(_box(b, change) for b in boxes)
            return replace(s, turn=change(turn), boxes=made)
        case Send(box=box):
            return replace(s, box=_box(box, change))
        case Full(turn=turn) | Free(turn=turn):
            return replace(s, turn=change(turn))
        case If(cond=cond):
            new = change(cond)
            return s if new is cond else replace(s, cond=new)
        case Sort(out=out, source=source):
            out, source = (x._replace(at=change(x.at)) for x in (out, source))
            return replace(s, out=out, source=source)
        case Gemm(out=out, a=a, b=b):
            out, a, b = (x._replace(at=change(x.at)) for x in (out, a, b))
            return replace(s, out=out, a=a, b=b)
        case _:
            return s


def _box(b: Box, change: Change) -> Box:
    return b._replace(at=change(b.at), corner=tuple(map(change, b.corner)))


def substituted(x: Ex, by: Mapping[str, Ex]) -> Ex:
    if not by:
        return x
    return bottom_up(x, lambda p: by.get(p.name, p) if isinstance(p, Var) else p)


def renamed(body: Iterable[Stmt], names: Mapping[str, str]) -> tuple[Stmt, ...]:
    """Variables and arrays of a body under other names, also where they are bound."""

    def name(old: str) -> str:
        return names.get(old, old)

    def var(v: Var) -> Var:
        return replace(v, name=names[v.name]) if v.name in names else v

    def box(b: Box) -> Box:
        tensor = b.tensor._replace(source=name(b.tensor.source))
        return b._replace(array=name(b.array), tensor=tensor)

    def change(x: Ex) -> Ex:
        match x:
            case Var():
                return var(x)
            case Load(array=array) if array in names:
                return replace(x, array=names[array])
            case _:
                return x

    def statement(s: Stmt) -> Stmt:
        s = with_values(s, lambda x: bottom_up(x, change))
        match s:
            case For():
                return replace(s, var=var(s.var), body=tuple(map(statement, s.body)))
            case If() | Beside():
                return with_bodies(s, lambda body: tuple(map(statement, body)))
            case Let() | Assign() | GroupReduce():
                return replace(s, var=var(s.var))
            case Array() | Ring():
                return replace(s, name=name(s.name))
            case Fill(ring, _, boxes):
                return replace(s, ring=name(ring), boxes=tuple(map(box, boxes)))
            case Send(source=source):
                return replace(s, source=name(source), box=box(s.box))
            case Full() | Free():
                return replace(s, ring=name(s.ring))
            case Store() | Fetch():
                return replace(s, array=name(s.array))
            case Gemm(out=out, a=a, b=b):
                out, a, b = (x._replace(array=name(x.array)) for x in (out, a, b))
                return replace(s, out=out, a=a, b=b)
            case Sort(out=out, source=source):
                out, source = (x._replace(array=name(x.array)) for x in (out, source))
                return replace(s, out=out, source=source, work=name(s.work))
            case AsyncCopy():
                return replace(s, array=name(s.array), source=name(s.source))
            case Mma(out=out, a=a, b=b):
                a, b = (x._replace(array=name(x.array)) for x in (a, b))
                return replace(s, out=name(out), a=a, b=b)
            case Regroup(to, source):
                return replace(s, to=name(to), source=name(source))
            case Pack(to, source):
                return replace(s, to=name(to), source=name(source))
            case Settle(left, sums, made):
                return Settle(left, tuple(map(name, sums)), tuple(map(name, made)))
            case Barrier() | Commit() | Await():
                return s

    return tuple(map(statement, body)) if names else tuple(body)


def bound(body: Iterable[Stmt]) -> list[str]:
    """Names that a body binds, at any depth, in order."""
    names: list[str] = []
    for s in walk(tuple(body)):
        match s:
            case For(var=var) | Let(var=var):
                names.append(var.name)
            case Array(name=name) | Ring(name=name):
                names.append(name)
            case _:
                pass
    return names


class Names:
    """Gives names that a function does not have yet."""

    def __init__(self, function: Function) -> None:
        params = (*function.params, *function.scratch)
        self.taken = {p.name for p in params} | set(bound(function.body))

    def fresh(self, stem: str) -> str:
        stem = stem.rstrip("0123456789") or stem
        n = 1
        while f"{stem}{n}" in self.taken:
            n += 1
        self.taken.add(f"{stem}{n}")
        return f"{stem}{n}"


def unique(function: Function) -> Function:
    """Each name bound at one place of the function, so that statements may be moved."""
    names = Names(function)
    seen = {p.name for p in (*function.params, *function.scratch)}

    def again(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        rest = list(body)
        while rest:
            s = rest.pop(0)
            own = _binds(s)
            if own in seen:
                s, rest = _bound_anew(s, rest, own, names.fresh(own))
            if own is not None:
                seen.add(own)
            out.append(with_bodies(s, again))
        return tuple(out)

    found = bound(function.body)
    if len({*found, *seen}) == len(found) + len(seen):
        return function
    return replace(function, body=again(function.body))


def _binds(s: Stmt) -> str | None:
    match s:
        case For(var=var) | Let(var=var):
            return var.name
        case Array(name=name) | Ring(name=name):
            return name
        case _:
            return None


def _bound_anew(
    s: Stmt, rest: list[Stmt], old: str, new: str
) -> tuple[Stmt, list[Stmt]]:
    """The statement that binds `old` with another name, and what follows it in scope;
    the value of a let still means the old one."""
    names = {old: new}
    if isinstance(s, Let):
        return replace(s, var=replace(s.var, name=new)), list(renamed(rest, names))
    (s,) = renamed([s], names)
    return s, rest if isinstance(s, For) else list(renamed(rest, names))


def with_simd(
    body: tuple[Stmt, ...], change: Callable[[For], Iterable[Stmt]]
) -> tuple[Stmt, ...]:
    """The body with what `change` makes of each `simd` loop in it."""
    out: list[Stmt] = []
    for s in body:
        if isinstance(s, For) and s.kind == "simd":
            out += change(s)
        elif isinstance(s, For | If):
            out.append(replace(s, body=with_simd(s.body, change)))
        else:
            out.append(s)
    return tuple(out)


def written_arrays(body: Iterable[Stmt]) -> frozenset[str]:
    """The arrays that a body stores to."""
    inner = tuple(walk(tuple(body)))
    stored = frozenset(s.array for s in inner if isinstance(s, Store | AsyncCopy))
    stored |= {s.out for s in inner if isinstance(s, Mma)}
    stored |= {b.array for s in inner if isinstance(s, Fill) for b in s.boxes}
    sends = [s.box for s in inner if isinstance(s, Send)]
    stored |= {name for b in sends for name in (b.array, b.tensor.source)}
    stored |= {s.to for s in inner if isinstance(s, Regroup | Pack)}
    stored |= {x for s in inner if isinstance(s, Sort) for x in (s.out.array, s.work)}
    return stored.union(s.out.array for s in inner if isinstance(s, Gemm))


def first_of(index: Ex, turn: Var) -> Ex | None:
    """The index of a loop's first turn, if those of the others lie next to it."""
    form = linear(index, {v: Linear(((v, 1),), 0) for v in variables_of(index)})
    if form is None or dict(form.terms).get(turn.name) != 1:
        return None
    return substituted(index, {turn.name: Lit(0, turn.dtype)})


def variables_of(x: Ex) -> frozenset[str]:
    return frozenset(p.name for p in subterms(x) if isinstance(p, Var))


def arrays_of(x: Ex) -> frozenset[str]:
    return frozenset(p.array for p in subterms(x) if isinstance(p, Load))


def constant_arrays(function: Function) -> frozenset[str]:
    """Buffers that no statement writes."""
    return frozenset(p.name for p in function.params if not p.writable)
