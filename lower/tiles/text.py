"""The text form of tile programs: `show` prints one, `parse` reads it back exactly.

    tiles softmax(b0: f32[32768], out b1: f32[32768]) {
      grid r < 32 over c < 1024 {
        x: f32[c] = load b0[r * 1024 + c]
        m: f32[] = reduce max x over c
        e: f32[c] = exp(x - m)
        s: f32[] = reduce sum e over c
        store b1[r * 1024 + c] = e / s over c
      }
    }

Both follow the `SYNTAX` of each statement.  Expressions are those of the text of loops
(`lower/text/`).  A layout is a list of digits: `c/register 4, c/thread 64, c/lane 4`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from typing import Any, NamedTuple, cast

from ...egraph.ir.dtypes import BOOL, I32, DType
from ...egraph.ir.tokens import Token
from ..loops import Param
from ..text import ParseError
from ..text.expressions import Expressions
from ..text.show import ex_text
from ..text.syntax import KEYWORDS as OF_LOOPS
from ..text.syntax import Names, word
from . import ir
from .ir import KINDS, Axis, Digit, Grid, Layout, Role, Space, Stmt, Tile, TileProgram

SPACES: tuple[Space, ...] = ("shared", "held")
WORDS = frozenset(
    ("tiles", "grid", "loop", "load", "store", "copy", "reduce", "update", "mutable",
     "over", "where", "by", "team", "laid", "index", "out", "in", "scratch", *SPACES,
     "register", "thread", "lane", "stages", "ahead", "wait", "mma", "and", "warps",
     "products", "resident", "together", "beside", "full", "release",
     "through", "settle")
)  # fmt: skip


class _Part(NamedTuple):
    """A word of a statement's syntax, or a field of it; `optional`: with the word."""

    word: str
    field: str
    optional: bool


@cache
def _syntax(kind: type[Any]) -> tuple[_Part, ...]:
    out: list[_Part] = []
    for m in re.finditer(r"\?(\w+) {(\w+)}|{(\w+)}|(\S+)", kind.SYNTAX):
        if m[1]:
            out.append(_Part(m[1], m[2], True))
        else:
            out.append(_Part(m[4] or "", m[3] or "", False))
    return tuple(out)


@cache
def _defaults(kind: type[Any]) -> Mapping[str, Any]:
    return {f.name: f.default for f in fields(kind) if f.default is not MISSING}


# ---- printing


def show(program: TileProgram) -> str:
    printer = _Printer(program.index)
    params = [_param(p) for p in program.params]
    params += [f"scratch {_param(p)}" for p in program.scratch]
    kind = "" if program.index is I32 else f" index {program.index}"
    head = f"tiles {program.name}({', '.join(params)}){kind} {{"
    return "\n".join((head, *printer.block(program.body, 1, {}), "}", ""))


def _param(p: Param) -> str:
    way = ("shared " if p.shared else "") + ("out " if p.writable else "")
    return f"{way}{p.name}: {p.dtype}[{p.size}]"


class _Printer:
    def __init__(self, index: DType) -> None:
        self.index = index

    def block(self, body: tuple[Stmt, ...], depth: int, names: Names) -> list[str]:
        names = dict(names)
        lines: list[str] = []
        for s in body:
            lines += self.statement(s, depth, names)
            names |= {t.name: (t.dtype, 1) for t in ir.seen_after(s)}
        return lines

    def statement(self, s: Stmt, depth: int, names: Names) -> list[str]:
        inner = dict(names)
        for axes in ir.parts(s, "axes"):
            inner |= {a.name: (self.index, 1) for a in axes}
        roles = dict(ir.roles(type(s)))
        pieces: list[str] = []
        tail: list[str] = []
        for part in _syntax(type(s)):
            if not part.field:
                pieces.append(part.word)
                continue
            value = getattr(s, part.field)
            if part.optional and value == _absent(s, part.field):
                continue
            if part.word:
                pieces.append(part.word)
            if roles[part.field] == "body":
                tail = [*self.block(value, depth + 1, inner), "  " * depth + "}"]
                pieces.append("{")
            else:
                pieces.append(self.piece(roles[part.field], value, inner))
        text = " ".join(p for p in pieces if p)
        return ["  " * depth + text.replace(" [ ", "[").replace(" ]", "]"), *tail]

    def piece(self, role: Role, value: Any, names: Names) -> str:
        match role:
            case "tile":
                return self.tile(value)
            case "axes":
                return ", ".join(f"{a.name} < {a.extent}" for a in value)
            case "names":
                return ", ".join(value)
            case "value" | "index" | "test":
                return ex_text(value, names, BOOL if role == "test" else None)
            case "layout":
                return _layout(value)
            case "word":
                return "" if isinstance(value, bool) else word(value)
            case _:
                return str(value)

    def tile(self, t: Tile) -> str:
        laid = f" laid {_layout(t.layout)}" if t.layout else ""
        space = "" if t.space == "register" else f"{t.space} "
        return f"{t.name}: {space}{t.dtype}[{', '.join(t.axes)}]{laid}"


def _absent(s: Stmt, name: str) -> Any:
    """What a field holds where the text leaves it out."""
    return _defaults(type(s)).get(name, ())


def _layout(layout: Layout) -> str:
    return ", ".join(f"{d.axis}/{d.place} {d.size}" for d in layout)


# ---- parsing


def parse(text: str, filename: str = "<text>") -> TileProgram:
    """The one program in `text`; a `ParseError` gives file, line and column."""
    return _Parser(text, filename).program()


class _Parser(Expressions):
    index: DType = I32

    def token(self, kind: str, m: re.Match[str]) -> Token:
        made = super().token(kind, m)
        if made.kind == "keyword" and made.text in OF_LOOPS and made.text not in WORDS:
            return made._replace(kind="word")
        own = made.kind == "word" and made.text in WORDS and kind != "quoted"
        return made._replace(kind="keyword") if own else made

    def program(self) -> TileProgram:
        self.blank()
        self.expect("tiles")
        name = self.word("the program's name").text
        params: list[Param] = []
        scratch: list[Param] = []
        self.expect("(")
        while not self.at(")"):
            (scratch if self.skip("scratch") else params).append(self.param())
            if not self.skip(","):
                break
        self.expect(")")
        if self.skip("index"):
            self.index = self.dtype()
        body = self.block()
        self.blank()
        if self.peek.kind != "end":
            raise self.expected("the end of the text")
        for s in body:
            if not isinstance(s, Grid):
                raise self.error(self.tokens[0], "expected grids alone in a program")
        grids = cast(tuple[Grid, ...], body)
        return TileProgram(name, tuple(params), grids, tuple(scratch), self.index)

    def param(self) -> Param:
        shared, writable = self.skip("shared"), self.skip("out")
        name = self.word("a buffer's name").text
        self.expect(":")
        dtype = self.dtype()
        self.expect("[")
        size = self.integer("a number of elements")
        self.expect("]")
        return Param(name, dtype, size, writable, shared)

    def block(self) -> tuple[Stmt, ...]:
        self.expect("{")
        names = self.names.copy()
        body: list[Stmt] = []
        self.blank()
        while not self.at("}"):
            body.append(self.statement())
            self.end_line()
            self.blank()
        self.expect("}")
        self.names = names
        return tuple(body)

    def statement(self) -> Stmt:
        kind = self.kind()
        roles = dict(ir.roles(kind))
        found: dict[str, Any] = {}
        names = self.names.copy()
        for part in _syntax(kind):
            if part.optional:
                if self.skip(part.word):
                    found[part.field] = self.piece(roles[part.field])
            elif part.word:
                self.expect(part.word)
            else:
                found[part.field] = self.piece(roles[part.field])
        self.names = names
        made = kind(**{n: () for n, r in roles.items() if r == "axes"} | found)
        self.names |= {t.name: (t.dtype, 1) for t in ir.seen_after(made)}
        return made

    def kind(self) -> Callable[..., Stmt]:
        """Of the statement that begins here: by its first word, or by the one after
        the first `=`."""
        first = self.peek.text
        for k in KINDS:
            if _syntax(k)[0].word == first and self.peek.kind == "keyword":
                return k
        ahead = self.next
        while self.tokens[ahead].text != "=":
            if self.tokens[ahead].kind in ("newline", "end"):
                raise self.expected("a statement")
            ahead += 1
        then = self.tokens[ahead + 1]
        for k in KINDS:
            parts = [p for p in _syntax(k) if not p.optional]
            if parts[0].field == "tile" and parts[2].word == then.text:
                return k
        return ir.Map

    def piece(self, role: Role) -> Any:
        match role:
            case "tile":
                return self.tile()
            case "axes":
                axes = tuple(self.several(self.axis))
                self.names |= {a.name: (self.index, 1) for a in axes}
                return axes
            case "names":
                return tuple(self.several(lambda: self.word("an axis").text))
            case "value" | "index":
                return self.expression()
            case "test":
                return self.expression(BOOL)
            case "layout":
                return tuple(self.several(self.digit))
            case "body":
                return self.block()
            case "number":
                return self.integer("a number")
            case "word":
                # a flag is its own keyword; other words stand for themselves
                before = self.tokens[self.next - 1].text
                return True if before == "mutable" else self.word("a word").text
            case "reads" | "writes" | "changes":
                return self.word("a name").text

    def several[T](self, one: Callable[[], T]) -> list[T]:
        out: list[T] = []
        if self.peek.kind != "word":
            return out
        out.append(one())
        while self.skip(","):
            out.append(one())
        return out

    def axis(self) -> Axis:
        name = self.word("an axis").text
        self.expect("<")
        return Axis(name, self.integer("the axis's extent"))

    def digit(self) -> Digit:
        axis = self.word("an axis").text
        self.expect("/")
        token = self.take()
        if token.text not in ("register", "thread", "lane"):
            raise self.expected("register, thread or lane", token)
        return Digit(axis, token.text, self.integer("a size"))

    def tile(self) -> Tile:
        name = self.word("a tile's name").text
        self.expect(":")
        space: Space = "register"
        for other in SPACES:
            space = other if self.skip(other) else space
        dtype = self.dtype()
        self.expect("[")
        axes = tuple(self.several(lambda: self.word("an axis").text))
        self.expect("]")
        layout = tuple(self.several(self.digit)) if self.skip("laid") else ()
        return Tile(name, dtype, axes, layout, space)


__all__ = ["WORDS", "ParseError", "parse", "show"]
