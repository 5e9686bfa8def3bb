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
from numpy.lib.stride_tricks import as_strided

from ..egraph.ir.dtypes import BF16, BOOL, F16, compute
from ..egraph.ir.indexing import positions
from ..egraph.ir.scalars import BY_NAME, MONOIDS, Array
from . import fragments
from .aside import Aside, Moved
from .evaluate import Env, Trap, Values
from .loops import (
    PANEL,
    Assign,
    AsyncCopy,
    Await,
    Barrier,
    Beside,
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
    Matrix,
    Mma,
    Pack,
    Regroup,
    Ring,
    Row,
    Send,
    Settle,
    Sort,
    Stmt,
    Store,
    Var,
)  # fmt: skip
from .loops import Array as ArrayDecl
from .walking import bodies, variables

type Run = Callable[[Env], None]
type Meeting = tuple[str, Any]  # what a thread waits for, and what it brings
type Meet = Callable[[Env], Generator[Meeting]]

THREAD = "thread number"  # names in an environment that no variable has
SHARED = "shared arrays"
COPIES = "copies under way, by group"
PRODUCTS = "products under way"
LEFT = "the left side of a product, as all threads hold it"
ASIDE = "what runs beside the group"


def run(function: Function, buffers: Sequence[Array]) -> None:
    """Runs `function` on flat arrays, in parameter order."""
    env: Env = {}
    for p, b in zip(function.params, buffers, strict=True):
        if b.shape != (p.size,) or b.dtype != p.dtype.numpy:
            want = f"{p.name}: {p.dtype}[{p.size}] expected"
            raise Trap(f"{want}, found {b.dtype}{b.shape}")
        env[p.name] = b
    for p in function.scratch:
        env[p.name] = _garbage(p.dtype.numpy, p.size)
    readonly = frozenset(p.name for p in function.params if not p.writable)
    with np.errstate(all="ignore"):
        machine = _Machine(function.threads, readonly)
        for s in function.body:
            machine.top(s)(env)


def _garbage(dtype: np.dtype[Any], size: int) -> Array:
    return np.frombuffer(b"\xa5" * (dtype.itemsize * size), dtype).copy()


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


class _Machine(Values):
    def __init__(self, threads: int, readonly: frozenset[str]) -> None:
        self.threads, self.readonly = threads, readonly
        self.grouped = False

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
                return
            self.reduce([m for m in met if m is not None])

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

    def put_together(self, s: Mma, envs: list[Env]) -> None:
        """A left side that threads hold."""
        places = fragments.places(s.m, s.k, self.threads, s.across, s.warps)
        held = [e[s.a.array] for e in envs]
        whole = np.zeros((s.m, s.k), held[0].dtype)
        whole[places] = np.stack(held)
        for e in envs:
            e[LEFT] = whole, e[s.a.array].copy()

    def multiply(self, s: Mma, env: Env) -> None:
        """A thread's own elements of the product, in its own array."""
        *left_shared, right = (
            self.panels(x, env[x.array], int(self.ex(x.at)(env)), rows, columns)
            for x, rows, columns in s.matrices
        )
        if s.own:
            left, before = env[LEFT]
            if not np.array_equal(before, env[s.a.array]):
                left = _garbage(left.dtype, left.size).reshape(left.shape)
        else:
            (left,) = left_shared
        t = env[THREAD]
        places = fragments.places(s.m, s.n, self.threads, s.across, s.warps)
        rows, columns = (p[t] for p in places)
        if s.warps == fragments.FOUR:
            left, right = fragments.seen(left), fragments.seen(right)
        total = left.astype(np.float32)[rows] * right.astype(np.float32).T[columns]
        if s.fresh:
            env[s.out][:] = 0
        env[s.out] += total.sum(1)

    def send(self, s: Send, envs: list[Env]) -> None:
        """What threads hold, put together, then by each warp its pieces."""
        places = fragments.places(s.m, s.n, self.threads, s.across, fragments.FOUR)
        whole = np.zeros((s.m, s.n), np.float32)
        whole[places] = np.stack([e[s.source] for e in envs])
        env = envs[0]
        first = tuple(int(self.ex(c)(env)) for c in s.box.corner)
        pieces = env[s.box.array][int(self.ex(s.box.at)(env)) :]
        rows, columns = (p.reshape(-1, fragments.WARP * p.shape[1]) for p in places)
        each = pieces.reshape(len(rows), -1, s.box.size)
        for mine, i, j in zip(each, rows, columns, strict=True):
            corners = sorted(
                {
                    *zip(
                        i // fragments.ROWS * fragments.ROWS,
                        j // PANEL * PANEL,
                        strict=True,
                    )
                }
            )
            buffer = env[s.box.tensor.source]
            env[ASIDE].send(s.box.tensor, first, whole, corners, mine, buffer)

    def regroup(self, s: Regroup, envs: list[Env]) -> None:
        for first in range(0, len(envs), 4):
            quad = envs[first : first + 4]
            held = [e[s.source].reshape(-1, 4, s.mid, s.last) for e in quad]
            for q, env in enumerate(quad):
                made = np.stack([x[:, q] for x in held], axis=2)
                env[s.to] = made.reshape(-1).copy()

    def kept(self, s: Mma, env: Env) -> Env:
        """What the places of both sides are computed from, as it is now."""
        names = {v.name for x, _, _ in s.matrices for v in variables(x.at)}
        more = {LEFT: env[LEFT]} if s.own else {}
        return {**{n: env[n] for n in names}, **more}

    def finish(self, env: Env, left: int) -> None:
        """Products that go on are as late as they can be."""
        late = env[PRODUCTS]
        while len(late) > left:
            s, at = late.pop(0)
            self.multiply(s, {**env, **at})

    # ---- statements ----

    def body(self, body: Sequence[Stmt]) -> Run:
        steps = [self.stmt(s) for s in body]

        def every(env: Env) -> None:
            for s in steps:
                s(env)

        return steps[0] if len(steps) == 1 else every

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
                    if s.warps == 1:
                        self.multiply(s, env)
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
                at, there = b.tensor.places(tuple(int(x(env)) for x in corner))
                source, to = env[b.tensor.source], int(place(env))
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

    def stmt(self, s: Stmt) -> Run:
        match s:
            case For():
                return self.loop(s)
            case Let(var, value) | Assign(var, value):
                return self.assign(var, value)
            case ArrayDecl():
                return self.declare(s)
            case Store():
                return self.store(s)
            case If(cond, inner):
                test, then = self.ex(cond), self.body(inner)
                return lambda env: then(env) if test(env) else None
            case Fetch():
                return lambda env: None
            case Gemm():
                return self.gemm(s)
            case Sort():
                return self.sort(s)
            case AsyncCopy():
                return self.copy(s)
            case Commit():
                return lambda env: env[COPIES].append([])
            case Ring(name, places):
                return lambda env: env[ASIDE].ring(name, places)
            case Pack(to, source):

                def pack(env: Env) -> None:
                    env[to][:] = env[source].astype(env[to].dtype)

                return pack
            case (
                Barrier() | GroupReduce() | Await() | Mma() | Regroup()
                | Beside() | Fill() | Full() | Free() | Send() | Settle()
            ):  # fmt: skip
                raise Trap("threads meet outside a group")

    def gemm(self, s: Gemm) -> Run:
        """The product of matrices that lie in arrays."""
        places = [self.ex(x.at) for x, _, _ in s.matrices]

        def run(env: Env) -> None:
            views: list[Array] = []
            for (x, rows, columns), place in zip(s.matrices, places, strict=True):
                at = int(place(env))
                views.append(self.view(x, env[x.array], at, rows, columns))
            wide = np.result_type(views[0], np.float32)
            views[0][...] = views[1].astype(wide) @ views[2].astype(wide)

        return run

    def sort(self, s: Sort) -> Run:
        """By the meaning of the op."""
        places = [self.ex(x.at) for x, _ in s.rows]

        def run(env: Env) -> None:
            out, source = (
                self.row(x, n, env[x.array], int(place(env)))
                for (x, n), place in zip(s.rows, places, strict=True)
            )
            made = positions(source, 0, s.descending, s.count)
            out[...] = (made if s.places else source[made]).astype(out.dtype)

        return run

    def row(self, x: Row, n: int, flat: Array, at: int) -> Array:
        if at < 0 or at + (n - 1) * x.step >= flat.size:
            raise Trap(f"a sort reaches beyond {x.array!r}")
        return flat[at : at + (n - 1) * x.step + 1 : x.step]

    def view(self, x: Matrix, flat: Array, at: int, rows: int, columns: int) -> Array:
        if at < 0 or at + x.span(rows, columns) > flat.size:
            raise Trap(f"a product reaches beyond {x.array!r}")
        steps = tuple(d * flat.itemsize for d in (x.down, x.across))
        return as_strided(flat[at:], (rows, columns), steps)

    def panels(self, x: Matrix, flat: Array, at: int, rows: int, columns: int) -> Array:
        if at < 0 or at + x.span(rows, columns) > flat.size:
            raise Trap(f"a product reaches beyond {x.array!r}")
        i, j = np.ogrid[:rows, :columns]
        return flat[at + x.place(i, j)]

    def copy(self, s: AsyncCopy) -> Run:
        """The place is garbage until the copy has to be there."""
        to = self.place(s.array, s.index, s.lanes)
        source = self.place(s.source, s.at, s.lanes)
        test = self.ex(s.where or Lit(True, BOOL))

        def copy(env: Env) -> None:
            target, place = env[s.array], to(env)
            value = np.zeros(s.lanes, target.dtype)
            if test(env):
                value = np.array(env[s.source][source(env)])
            target[place] = _garbage(target.dtype, s.lanes)
            env[COPIES][-1].append((target, place, value))

        return copy

    def loop(self, s: For) -> Run:
        inner, name, to = self.body(s.body), s.var.name, s.var.dtype.numpy.type
        dealt = s.kind == "thread"
        if dealt != (self.grouped and dealt):
            raise Trap("a thread loop outside a block loop")
        if s.kind in ("grid", "block") and self.grouped:
            raise Trap(f"a {s.kind} loop inside a group")
        step = s.step * (self.threads if dealt else 1)

        def loop(env: Env) -> None:
            first = env[THREAD] * s.step if dealt else 0
            for i in range(first, s.extent, step):
                env[name] = to(i)
                inner(env)

        return loop

    def assign(self, var: Var, value: Ex) -> Run:
        make, name, want = self.ex(value), var.name, var.dtype.numpy
        lanes = var.lanes

        def assign(env: Env) -> None:
            v = make(env)
            if v.dtype != want or v.size != lanes:
                expected = f"{name}: {lanes} x {want} expected"
                raise Trap(f"{expected}, found {v.size} x {v.dtype}")
            env[name] = v

        return assign

    def declare(self, s: ArrayDecl) -> Run:
        packed = s.dtype in (F16, BF16)
        if compute(s.dtype) is not s.dtype and s.space != "shared" and not packed:
            raise Trap(f"array {s.name} has the storage type {s.dtype}")
        dtype, size, name = s.dtype.numpy, s.size, s.name
        if s.space == "shared" and not self.grouped:
            raise Trap(f"shared array {name} outside a block loop")

        def local(env: Env) -> None:
            env[name] = _garbage(dtype, size)

        def shared(env: Env) -> None:
            env[name] = env[SHARED].setdefault(name, _garbage(dtype, size))

        return local if s.space == "local" else shared

    def store(self, s: Store) -> Run:
        if s.array in self.readonly:
            raise Trap(f"a store to the read-only buffer {s.array}")
        place, value = self.place(s.array, s.index, s.lanes), self.ex(s.value)

        def store(env: Env) -> None:
            env[s.array][place(env)] = value(env)

        return store


__all__ = ["Trap", "run"]
