"""Functions and statements of the text of loops."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

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
    LoopKind,
    Matrix,
    Mma,
    Pack,
    Param,
    Regroup,
    Ring,
    Row,
    Send,
    Settle,
    Sort,
    Space,
    Stmt,
    Store,
    Tensor,
    Var,
    Windows,
)  # fmt: skip
from .expressions import Expressions
from .syntax import KINDS


def parse(text: str, filename: str = "<text>") -> Function:
    """The one function in `text`; a `ParseError` gives file, line and column."""
    parser = _Parser(text, filename)
    result = parser.one()
    parser.finish()
    return result


def parse_all(text: str, filename: str = "<text>") -> tuple[Function, ...]:
    """Every function in `text`, in order."""
    parser = _Parser(text, filename)
    result: list[Function] = []
    while parser.more():
        result.append(parser.one())
    return tuple(result)


class _Parser(Expressions):
    """Functions and statements."""

    def more(self) -> bool:
        self.blank()
        return self.peek.kind != "end"

    def finish(self) -> None:
        if self.more():
            raise self.expected("the end of the text")

    def one(self) -> Function:
        self.blank()
        self.expect("function")
        name = self.word("the function's name").text
        params: list[Param] = []
        scratch: list[Param] = []
        self.expect("(")
        while not self.at(")"):
            apart = self.skip("scratch")
            (scratch if apart else params).append(self.param(apart))
            if not self.skip(","):
                break
        self.expect(")")
        threads = self.integer("the size of a group") if self.skip("threads") else 1
        self.names = {}
        self.arrays = {p.name: p.dtype for p in (*params, *scratch)}
        body = self.block()
        return Function(name, tuple(params), body, tuple(scratch), threads)

    def param(self, scratch: bool) -> Param:
        shared = self.skip("shared")
        writable = not self.skip("in") if scratch else self.skip("out")
        name = self.word("a buffer's name").text
        self.expect(":")
        return Param(name, *self.sized(), writable, shared)

    def sized(self) -> tuple[DType, int]:
        dtype = self.dtype()
        self.expect("[")
        size = self.integer("a number of elements")
        self.expect("]")
        return dtype, size

    def block(self) -> tuple[Stmt, ...]:
        self.expect("{")
        names, arrays = self.names.copy(), self.arrays.copy()
        body: list[Stmt] = []
        self.blank()
        while not self.at("}"):
            body.append(self.statement())
            self.end_line()
            self.blank()
        self.expect("}")
        self.names, self.arrays = names, arrays
        return tuple(body)

    def statement(self) -> Stmt:
        token = self.peek
        if token.kind == "keyword":
            if token.text in KINDS:
                return self.loop()
            match token.text:
                case "let" | "var" | "hold":
                    return self.let()
                case "local" | "shared":
                    return self.array()
                case "if":
                    self.take()
                    cond = self.expression(BOOL)
                    return If(cond, self.block())
                case "fetch":
                    self.take()
                    write = self.skip("out")
                    at = self.place(self.word("a buffer's name"))
                    return Fetch(at.at.text, self.typed(at.index, None), write)
                case "stream":
                    self.take()
                    return replace(self.store(), stream=True)
                case "barrier":
                    self.take()
                    return Barrier()
                case "reduce":
                    self.take()
                    monoid = self.word("a monoid").text
                    var = self.variable()
                    width = self.integer("a number") if self.skip("by") else 0
                    return GroupReduce(var, monoid, width)
                case "transfer":
                    self.take()
                    return self.transfer()
                case "regroup":
                    self.take()
                    return self.regroup()
                case "pack":
                    self.take()
                    to = self.word("an array's name").text
                    self.expect("=")
                    source = self.word("an array's name").text
                    return Pack(to, source, *self.of_bytes())
                case "settle":
                    self.take()
                    return self.settle()
                case "commit":
                    self.take()
                    return Commit()
                case "await":
                    self.take()
                    pending = self.integer("a number of groups")
                    late = self.integer("of products") if self.skip(",") else 0
                    return Await(pending, late)
                case "ring":
                    self.take()
                    name = self.word("a ring's name").text
                    self.expect("of")
                    return Ring(name, self.integer("a number of places"))
                case "beside":
                    self.take()
                    threads = self.integer("a number of threads")
                    aside = self.block()
                    self.expect("group")
                    return Beside(threads, aside, self.block())
                case "fill":
                    self.take()
                    return self.fill()
                case "send":
                    self.take()
                    m, n = (self.integer("a size") for _ in range(2))
                    self.expect("by")
                    across = self.integer("a number of warps")
                    self.expect(":")
                    source = self.word("an array's name").text
                    turned = self.skip("turned")
                    self.expect("to")
                    return Send(m, n, across, source, self.box(), turned)
                case "full":
                    self.take()
                    return Full(*self.turn())
                case "free":
                    self.take()
                    ring, turn = self.turn()
                    late = self.integer("of products") if self.skip(",") else 0
                    return Free(ring, turn, late)
                case "mma":
                    self.take()
                    return self.mma()
                case "sort":
                    self.take()
                    return self.sort()
                case "product":
                    self.take()
                    return self.product()
                case _:
                    raise self.expected("a statement")
        if token.kind == "word" and self.after.text == "[":
            return self.store()
        if token.kind != "word" and token.text != "(":
            raise self.expected("a statement")
        var = self.variable()
        self.expect("=")
        return Assign(var, self.expression(var.dtype))

    def product(self) -> Gemm:
        m, n, k = (self.integer("a size") for _ in range(3))
        self.expect(":")
        out = self.matrix()
        self.expect("=")
        a = self.matrix()
        self.expect(",")
        return Gemm(m, n, k, out, a, self.matrix())

    def sort(self) -> Sort:
        n, count = (self.integer("a size") for _ in range(2))
        what = self.word("values or places")
        if what.text not in ("values", "places"):
            raise self.expected("values or places", what)
        self.expect(":")
        out = self.row()
        self.expect("=")
        source = self.row()
        descending = self.skip("descending")
        self.expect("in")
        held = self.word("an array's name").text
        parts = self.integer("a number of parts")
        places = what.text == "places"
        return Sort(n, count, descending, places, out, source, held, parts)

    def row(self) -> Row:
        at = self.place(self.word("an array's name"))
        self.expect("by")
        step = self.integer("a step")
        return Row(at.at.text, self.typed(at.index, None), step)

    def transfer(self) -> AsyncCopy:
        to = self.place(self.word("a shared array's name"))
        self.expect("=")
        source = self.place(self.word("a buffer's name"))
        where = self.expression(BOOL) if self.skip("if") else None
        index, at = (self.typed(x.index, None) for x in (to, source))
        name, lanes = to.at.text, to.lanes
        return AsyncCopy(name, index, source.at.text, at, lanes, where)

    def turn(self) -> tuple[str, Ex]:
        at = self.place(self.word("a ring's name"))
        return at.at.text, self.typed(at.index, None)

    def fill(self) -> Fill:
        ring, turn = self.turn()
        boxes: list[Box] = []
        self.expect("{")
        self.blank()
        while not self.at("}"):
            boxes.append(self.box())
            self.end_line()
            self.blank()
        self.expect("}")
        return Fill(ring, turn, tuple(boxes))

    def box(self) -> Box:
        at = self.place(self.word("a shared array's name"))
        self.expect("=")
        source = self.word("a buffer's name").text
        self.expect("at")
        corner = [self.expression()]
        while self.skip(","):
            corner.append(self.expression())
        self.expect("in")
        sizes: list[int] = []
        extents: list[int] = []
        strides: list[int] = []
        while True:
            sizes.append(self.integer("elements of a box"))
            self.expect("of")
            extents.append(self.integer("elements of a tensor"))
            self.expect("by")
            strides.append(self.integer("a step"))
            if not self.skip(","):
                break
        lie = self.windows() if self.skip("windows") else None
        tensor = Tensor(source, tuple(extents), tuple(strides), tuple(sizes), lie)
        both = self.skip("both")
        place = self.typed(at.index, None)
        return Box(at.at.text, place, tensor, tuple(corner), both)

    def windows(self) -> Windows:
        parts: list[tuple[int, int, int]] = []
        while True:
            count = self.integer("a number of places")
            self.expect("at")
            first = self.integer("the first place")
            self.expect("by")
            parts.append((first, self.integer("a step"), count))
            if not self.skip(","):
                return Windows(*zip(*parts, strict=True))

    def regroup(self) -> Regroup:
        to = self.word("an array's name").text
        self.expect("=")
        source = self.word("an array's name").text
        self.expect("by")
        return Regroup(to, source, self.integer("a number"), self.integer("a number"))

    def settle(self) -> Settle:
        left = self.integer("a number of products")
        return Settle(left, self.names_after(":"), self.names_after("beside"))

    def of_bytes(self) -> tuple[int, ...]:
        """Of what small integers are unpacked from bytes."""
        if not self.skip("of"):
            return ()
        bits = self.integer("a number of bits")
        self.expect("by")
        run = self.integer("a number of bytes")
        less = self.skip("-")
        more = self.integer("a number") if less or self.skip("+") else 0
        return bits, -more if less else more, run

    def names_after(self, head: str) -> tuple[str, ...]:
        """Names after a word, if it is there."""
        out: list[str] = []
        more = self.skip(head)
        while more:
            out.append(self.word("an array's name").text)
            more = self.skip(",")
        return tuple(out)

    def mma(self) -> Mma:
        m, n, k = (self.integer("a size") for _ in range(3))
        self.expect("by")
        across = self.integer("a number of warps")
        warps = self.integer("a number of warps") if self.skip("of") else 1
        own = self.skip("own")
        fresh = self.skip("fresh")
        self.expect(":")
        out = self.word("an array's name").text
        self.expect("=")
        a = self.matrix(warps > 1)
        self.expect(",")
        b = self.matrix(warps > 1)
        return Mma(m, n, k, across, out, a, b, warps, own, fresh)

    def matrix(self, panels: bool = False) -> Matrix:
        at = self.place(self.word("an array's name"))
        self.expect("by")
        down, across = (self.integer("a step") for _ in range(2))
        apart = self.integer("a step") if panels else 0
        return Matrix(at.at.text, self.typed(at.index, None), down, across, apart)

    def variable(self) -> Var:
        at = self.peek
        result = self.typed(self.primary(), None)
        if not isinstance(result, Var):
            raise self.expected("a variable", at)
        return result

    def loop(self) -> For:
        kind = cast(LoopKind, self.take().text)
        var = self.binding("the loop's variable")
        self.expect("<")
        extent = self.integer("the loop's extent")
        step = self.integer("the loop's step") if self.skip("by") else 1
        names = self.names
        self.names = {**names, var.name: (var.dtype, var.lanes)}
        body = self.block()
        self.names = names
        return For(var, extent, kind, body, step)

    def binding(self, what: str) -> Var:
        name = self.word(what).text
        return Var(name, *(self.type() if self.skip(":") else (I32, 1)))

    def let(self) -> Let:
        head = self.take().text
        name = self.word("a variable's name").text
        told = self.type() if self.skip(":") else None
        self.expect("=")
        value = self.expression(told[0] if told else None)
        dtype, lanes = told or (value.dtype, value.lanes)
        self.names[name] = (dtype, lanes)
        return Let(Var(name, dtype, lanes), value, head == "var", head == "hold")

    def array(self) -> Array:
        space = cast(Space, self.take().text)
        name = self.word("an array's name").text
        self.expect(":")
        dtype, size = self.sized()
        self.arrays[name] = dtype
        swizzle = self.integer("elements of a row") if self.skip("by") else 0
        return Array(name, dtype, size, space, swizzle)

    def store(self) -> Store:
        at = self.place(self.take())
        self.expect("=")
        to = self.arrays.get(at.at.text)
        index = self.typed(at.index, None)
        value = self.expression(compute(to) if to else None)
        return Store(at.at.text, index, value, at.lanes)
