"""The printer of loop functions; the text form is described in this package."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ...egraph.ir.dtypes import BOOL, I32, DType, compute
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
    Param,
    Regroup,
    Ring,
    Send,
    Settle,
    Sort,
    Stmt,
    Store,
    Var,
)  # fmt: skip
from .syntax import (
    COMPARE,
    INFIX,
    SELECT,
    TIGHT,
    Arrays,
    Names,
    default,
    own,
    result,
    typed,
    wanted,
    word,
)  # fmt: skip

WIDTH = 88


def show(function: Function) -> str:
    """The text of one function."""
    return _Printer().function(function)


def show_all(functions: Iterable[Function]) -> str:
    return "\n".join(show(f) for f in functions)


def line(stmt: Stmt) -> str:
    """A statement's first line, for messages; names keep their types."""
    return _Printer(bare=True).statement(stmt, 0, {}, {})[0]


class _Printer:
    def __init__(self, bare: bool = False) -> None:
        self.bare = bare  # leaves out what tells a type, for messages

    def function(self, f: Function) -> str:
        params = [self.param(p) for p in f.params]
        params += [f"scratch {self.param(p, True)}" for p in f.scratch]
        tail = f") threads {f.threads} {{" if f.threads != 1 else ") {"
        head = f"function {word(f.name)}({', '.join(params)}{tail}"
        if len(head) > WIDTH:
            lines = "".join(f"  {p},\n" for p in params)
            head = f"function {word(f.name)}(\n{lines}{tail}"
        arrays = {p.name: p.dtype for p in (*f.params, *f.scratch)}
        return "\n".join((head, *self.block(f.body, 1, {}, arrays), "}", ""))

    def param(self, p: Param, scratch: bool = False) -> str:
        way = "shared " if p.shared else ""
        if p.writable != scratch:  # what is said of either kind of buffer
            way += "in " if scratch else "out "
        return f"{way}{word(p.name)}: {p.dtype}[{p.size}]"

    def block(
        self, body: tuple[Stmt, ...], depth: int, names: Names, arrays: Arrays
    ) -> list[str]:
        names, arrays = dict(names), dict(arrays)
        lines: list[str] = []
        for stmt in body:
            lines += self.statement(stmt, depth, names, arrays)
            if isinstance(stmt, Let):
                names[stmt.var.name] = (stmt.var.dtype, stmt.var.lanes)
            elif isinstance(stmt, Array):
                arrays[stmt.name] = stmt.dtype
        return lines

    def statement(
        self, stmt: Stmt, depth: int, names: Names, arrays: Arrays
    ) -> list[str]:
        pad = "  " * depth
        ex = _Expressions(names, arrays, self.bare)
        match stmt:
            case For(var, extent, kind, body, step):
                head = f"{kind} {self.binding(var)} < {extent}"
                head += f" by {step} {{" if step != 1 else " {"
                inner = {**names, var.name: (var.dtype, var.lanes)}
                lines = self.block(body, depth + 1, inner, arrays)
                return [pad + head, *lines, pad + "}"]
            case If(cond, body):
                lines = self.block(body, depth + 1, names, arrays)
                return [f"{pad}if {ex.show(cond, BOOL)} {{", *lines, pad + "}"]
            case Let():
                return [pad + self.let(stmt, ex)]
            case Assign(var, value):
                return [f"{pad}{ex.var(var)} = {ex.show(value, var.dtype)}"]
            case Array(name, dtype, size, space, swizzle):
                rows = f" by {swizzle}" if swizzle else ""
                return [f"{pad}{space} {word(name)}: {dtype}[{size}]{rows}"]
            case Store(array, index, value, lanes, stream):
                to = compute(arrays[array]) if array in arrays else None
                place = ex.place(array, index, lanes)
                head = "stream " if stream else ""
                return [f"{pad}{head}{place} = {ex.show(value, to)}"]
            case Fetch(array, index, write):
                head = "fetch out" if write else "fetch"
                return [f"{pad}{head} {ex.place(array, index, 1)}"]
            case Barrier():
                return [pad + "barrier"]
            case GroupReduce(var, monoid, width):
                apart = f" by {width}" if width else ""
                return [f"{pad}reduce {word(monoid)} {ex.var(var)}{apart}"]
            case AsyncCopy(array, index, source, at, lanes, where):
                place, start = ex.place(array, index, lanes), ex.place(source, at, 1)
                test = "" if where is None else f" if {ex.show(where, BOOL)}"
                return [f"{pad}transfer {place} = {start}{test}"]
            case Regroup(to, source, mid, last):
                return [f"{pad}regroup {word(to)} = {word(source)} by {mid} {last}"]
            case Pack(to, source, bits, more, run):
                tail = f" of {bits} by {run}" if bits else ""
                tail += f" {'-' if more < 0 else '+'} {abs(more)}" if more else ""
                return [f"{pad}pack {word(to)} = {word(source)}{tail}"]
            case Settle(left, sums, made):
                ended, other = (", ".join(map(word, x)) for x in (sums, made))
                other = " beside " * bool(made) + other
                return [f"{pad}settle {left}{': ' * bool(sums)}{ended}{other}"]
            case Commit():
                return [pad + "commit"]
            case Await(pending, products):
                late = f", {products}" if products else ""
                return [f"{pad}await {pending}{late}"]
            case Ring(name, places):
                return [f"{pad}ring {word(name)} of {places}"]
            case Beside(threads, aside, body):
                lines = self.block(aside, depth + 1, names, arrays)
                rest = self.block(body, depth + 1, names, arrays)
                head = f"{pad}beside {threads} {{"
                return [head, *lines, pad + "} group {", *rest, pad + "}"]
            case Fill(ring, turn, boxes):
                lines = [f"{pad}  {_box(b, ex)}" for b in boxes]
                head = f"{pad}fill {word(ring)}[{ex.show(turn, None)}] {{"
                return [head, *lines, pad + "}"]
            case Send(m, n, across, source, box, turned):
                head = f"{pad}send {m} {n} by {across}: {word(source)}"
                head += " turned" * turned
                return [f"{head} to {_box(box, ex)}"]
            case Full(ring, turn):
                return [f"{pad}full {word(ring)}[{ex.show(turn, None)}]"]
            case Free(ring, turn, products):
                late = f", {products}" if products else ""
                return [f"{pad}free {word(ring)}[{ex.show(turn, None)}]{late}"]
            case Mma(m, n, k, across, out, a, b, warps):
                sides = (
                    f"{ex.place(x.array, x.at, 1)} by {x.down} {x.across}"
                    + (f" {x.apart}" if warps > 1 else "")
                    for x in (a, b)
                )
                many = f" of {warps}" if warps > 1 else ""
                many += " own" * stmt.own + " fresh" * stmt.fresh
                head = f"mma {m} {n} {k} by {across}{many}: {word(out)}"
                return [f"{pad}{head} = {', '.join(sides)}"]
            case Sort(n, count, descending, places, out, source, held, parts):
                rows = [f"{ex.place(x.array, x.at, 1)} by {x.step}"
                        for x in (out, source)]  # fmt: skip
                head = "places" if places else "values"
                down = " descending" if descending else ""
                tail = f"{down} in {word(held)} {parts}"
                return [f"{pad}sort {n} {count} {head}: {' = '.join(rows)}{tail}"]
            case Gemm():
                out, a, b = (
                    f"{ex.place(x.array, x.at, 1)} by {x.down} {x.across}"
                    for x, _, _ in stmt.matrices
                )
                return [f"{pad}product {stmt.m} {stmt.n} {stmt.k}: {out} = {a}, {b}"]

    def binding(self, var: Var) -> str:
        plain = var.dtype is I32 and var.lanes == 1
        return word(var.name) + ("" if plain else f": {typed(var.dtype, var.lanes)}")

    def let(self, s: Let, ex: _Expressions) -> str:
        var, value = s.var, s.value
        same = (value.dtype, value.lanes) == (var.dtype, var.lanes)
        own_type = same and ex.own(value) is var.dtype
        told = "" if own_type and not s.mutable else f": {typed(var.dtype, var.lanes)}"
        head = "var" if s.mutable else "hold" if s.held else "let"
        return f"{head} {word(var.name)}{told} = {ex.show(value, var.dtype)}"


class _Expressions:
    """Expressions where `names` and `arrays` are in scope."""

    def __init__(self, names: Names, arrays: Arrays, bare: bool) -> None:
        self.names, self.arrays, self.bare = names, arrays, bare

    def told(self, x: Ex) -> bool:
        """Whether the text must say the type of `x`."""
        match x:
            case _ if self.bare:
                return False
            case Var(name, dtype, lanes):
                return self.names.get(name) != (dtype, lanes)
            case Load(array, _, dtype):
                held = self.arrays.get(array)
                return held is None or compute(held) is not dtype
            case Op(op, args, dtype, lanes):
                of, n = result(op, args)
                if op in ("cast", "bitcast"):
                    of = dtype
                return (of, lanes if op == "splat" else n) != (dtype, lanes)
            case Lit():
                return False

    def own(self, x: Ex) -> DType | None:
        match x:
            case Lit():
                return None
            case Op(op, args) if op not in ("cast", "bitcast") and not self.told(x):
                return own(op, [self.own(a) for a in args])
            case _:
                return x.dtype

    def show(self, x: Ex, around: DType | None, tight: int = 0) -> str:
        """Text of `x` where numbers take `around`; in brackets if it binds looser than
        `tight`."""
        if self.told(x):
            return f"({self.plain(x, x.dtype)[0]}: {typed(x.dtype, x.lanes)})"
        text, binds = self.plain(x, around)
        return f"({text})" if binds < tight else text

    def var(self, v: Var) -> str:
        return self.show(v, None)

    def place(self, array: str, index: Ex, lanes: int) -> str:
        wide = f" +: {lanes}" if lanes != 1 else ""
        return f"{word(array)}[{self.show(index, None)}{wide}]"

    def plain(self, x: Ex, around: DType | None) -> tuple[str, int]:
        """Text, and how tightly it binds."""
        match x:
            case Var(name):
                return word(name), TIGHT
            case Lit(value, dtype):
                given = around or default(value)
                bare = self.bare or given is dtype
                return number(value) + ("" if bare else f"_{dtype}"), TIGHT
            case Load(array, index, _, lanes):
                return self.place(array, index, lanes), TIGHT
            case Op():
                return self.op(x, around)

    def op(self, x: Op, around: DType | None) -> tuple[str, int]:
        to = wanted(x.op, [self.own(a) for a in x.args], around)
        if _is_infix(x):
            sign, level = INFIX[x.op]
            a = self.show(x.args[0], to[0], level + (level == COMPARE))
            return f"{a} {sign} {self.show(x.args[1], to[1], level + 1)}", level
        if x.op == "select" and len(x.args) == 3:
            c, a, b = (self.show(v, t, 1) for v, t in zip(x.args, to, strict=True))
            return f"{c} ? {a} : {b}", SELECT
        args = [self.show(a, t) for a, t in zip(x.args, to, strict=True)]
        name = x.op
        if name == "cast":
            name = str(x.dtype)
        elif name == "bitcast":
            args.append(str(x.dtype))
        elif name == "splat":
            args.append(str(x.lanes))
        return f"{word(name)}({', '.join(args)})", TIGHT


def _box(b: Box, ex: _Expressions) -> str:
    t = b.tensor
    corner = ", ".join(ex.show(x, None) for x in b.corner)
    axes = ", ".join(
        f"{size} of {extent} by {stride}"
        for size, extent, stride in zip(t.sizes, t.extents, t.strides, strict=True)
    )
    to = ex.place(b.array, b.at, 1)
    both = " both" * b.both
    if t.windows is not None:
        walked = (
            f"{count} at {first} by {step}"
            for first, step, count in zip(*t.windows, strict=True)
        )
        axes += f" windows {', '.join(walked)}"
    return f"{to} = {word(t.source)} at {corner} in {axes}{both}"


def _is_infix(x: Op) -> bool:
    if x.op not in INFIX or len(x.args) != 2:
        return False
    match x.op:
        case "div":
            return x.args[0].dtype.is_float
        case "idiv" | "imod":
            return not x.args[0].dtype.is_float
        case _:
            return True


def number(value: float | int | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return "nan" if math.isnan(value) else float.__repr__(float(value))


def ex_text(x: Ex, names: Names, around: DType | None) -> str:
    """One expression, where `names` are in scope."""
    return _Expressions(names, {}, False).show(x, around)
