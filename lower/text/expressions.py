"""Expressions of the text of loops: a tree is read first, then typed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches

from ...egraph.ir import dtypes
from ...egraph.ir.dtypes import DType, compute
from ...egraph.ir.tokens import Token
from ..loops import (
    Ex,
    Lit,
    Load,
    Op,
    Var,
)  # fmt: skip
from .cursor import Cursor
from .syntax import (
    ARITY,
    COMPARE,
    CONSTANTS,
    INFIX,
    TIGHT,
    Arrays,
    Names,
    default,
    own,
    result,
    wanted,
)  # fmt: skip

_BY_SIGN: dict[str, tuple[str, int]] = {}
for _op, (_sign, _level) in INFIX.items():
    _BY_SIGN.setdefault(_sign, (_op, _level))


# ---- expressions before their types are known


@dataclass(frozen=True, slots=True)
class _Number:
    at: Token
    value: float | int | bool
    dtype: DType | None


@dataclass(frozen=True, slots=True)
class _Name:
    at: Token


@dataclass(frozen=True, slots=True)
class _Place:
    at: Token
    index: _Node
    lanes: int


@dataclass(frozen=True, slots=True)
class _Call:
    """`sign`: an infix, of which the operands' type decides the opcode."""

    at: Token
    op: str
    args: tuple[_Node, ...]
    dtype: DType | None = None
    lanes: int | None = None
    sign: bool = False


@dataclass(frozen=True, slots=True)
class _Told:
    at: Token
    node: _Node
    dtype: DType
    lanes: int


type _Node = _Number | _Name | _Place | _Call | _Told


class Expressions(Cursor):
    """Expressions: a tree is read first, then typed with the names in scope."""

    def __init__(self, text: str, filename: str) -> None:
        super().__init__(text, filename)
        self.names: Names = {}
        self.arrays: Arrays = {}

    def expression(self, around: DType | None = None) -> Ex:
        return self.typed(self.node(), around)

    # ---- reading

    def node(self) -> _Node:
        cond = self.infix(1)
        at = self.peek
        if not self.skip("?"):
            return cond
        a = self.infix(1)
        self.expect(":")
        return _Call(at, "select", (cond, a, self.infix(1)))

    def infix(self, level: int) -> _Node:
        left = self.infix(level + 1) if level + 1 < TIGHT else self.primary()
        while self.peek.kind == "mark":
            sign, binds = _BY_SIGN.get(self.peek.text, ("", -1))
            if binds != level:
                break
            at = self.take()
            right = self.infix(level + 1) if level + 1 < TIGHT else self.primary()
            left = _Call(at, sign, (left, right), sign=True)
            if level == COMPARE:
                break
        return left

    def primary(self) -> _Node:
        token = self.take()
        if token.kind == "number":
            return self.number(token, "")
        if token.text == "-" and self.peek.kind == "number":
            return self.number(self.take(), "-")
        if token.text == "(" and token.kind == "mark":
            inside = self.node()
            if self.skip(":"):
                inside = _Told(token, inside, *self.type())
            self.expect(")")
            return inside
        if token.kind != "word":
            raise self.expected("a value", token)
        if self.at("("):
            return self.call(token)
        if self.at("["):
            return self.place(token)
        return _Name(token)

    def number(self, token: Token, sign: str) -> _Node:
        text, _, suffix = token.text.partition("_")
        dtype = dtypes.of(suffix) if suffix else None
        if text in ("true", "false") and not sign:
            return _Number(token, text == "true", dtype)
        if text in CONSTANTS or not text.isdecimal():
            return _Number(token, float(sign + text), dtype)
        return _Number(token, int(sign + text), dtype)

    def place(self, array: Token) -> _Place:
        self.expect("[")
        index = self.node()
        lanes = self.integer("a number of lanes") if self.skip("+:") else 1
        self.expect("]")
        return _Place(array, index, lanes)

    def call(self, name: Token) -> _Node:
        self.expect("(")
        op = name.text
        args = [] if self.at(")") else [self.node()]
        lanes: int | None = None
        to: DType | None = None
        while self.skip(","):
            if op == "splat":
                lanes = self.integer("a number of lanes")
            elif op == "bitcast":
                to = self.dtype()
            else:
                args.append(self.node())
        self.expect(")")
        if op in dtypes.BY_NAME:
            op, to = "cast", dtypes.of(op)
        if len(args) != ARITY.get(op) or (op == "splat") != (lanes is not None):
            raise self.error(name, _signature(op))
        if op == "bitcast" and to is None:
            raise self.error(name, "expected bitcast(value, dtype)")
        return _Call(name, op, tuple(args), to, lanes)

    # ---- typing

    def own(self, n: _Node) -> DType | None:
        match n:
            case _Number():
                return None
            case _Name(at):
                return self.known(at)[0]
            case _Place(at):
                return self.held(at)
            case _Told(_, _, dtype):
                return dtype
            case _Call():
                return n.dtype or own(n.op, [self.own(a) for a in n.args])

    def known(self, name: Token) -> tuple[DType, int]:
        if name.text not in self.names:
            near = get_close_matches(name.text, self.names, 1)
            hint = (
                f"did you mean {near[0]!r}?"
                if near
                else f"({name.text}: f32) tells the type"
            )
            message = f"expected a variable in scope, found {name.text!r}; {hint}"
            raise self.error(name, message)
        return self.names[name.text]

    def held(self, array: Token) -> DType:
        if array.text not in self.arrays:
            near = get_close_matches(array.text, self.arrays, 1)
            hint = f"did you mean {near[0]!r}?" if near else "declare it before"
            message = f"expected an array in scope, found {array.text!r}; {hint}"
            raise self.error(array, message)
        return compute(self.arrays[array.text])

    def typed(self, n: _Node, around: DType | None) -> Ex:
        match n:
            case _Number(_, value, dtype):
                return Lit(value, dtype or around or default(value))
            case _Name(at):
                return Var(at.text, *self.known(at))
            case _Place(at, index, lanes):
                return Load(at.text, self.typed(index, None), self.held(at), lanes)
            case _Told():
                return self.told(n)
            case _Call():
                return self.applied(n, around)

    def told(self, n: _Told) -> Ex:
        match n.node:
            case _Name(at):
                return Var(at.text, n.dtype, n.lanes)
            case _Place(at, index, lanes):
                return Load(at.text, self.typed(index, None), n.dtype, lanes)
            case _:
                made = self.typed(n.node, n.dtype)
        if isinstance(made, Op):
            return replace(made, dtype=n.dtype, lanes=n.lanes)
        return replace(made, dtype=n.dtype)

    def applied(self, n: _Call, around: DType | None) -> Op:
        to = wanted(n.op, [self.own(a) for a in n.args], around)
        args = tuple(self.typed(a, t) for a, t in zip(n.args, to, strict=True))
        of, lanes = result(n.op, args)
        dtype = n.dtype or of
        assert dtype is not None
        op = n.op
        if n.sign and n.at.text in "/%":
            whole = not args[0].dtype.is_float
            if not whole and n.at.text == "%":
                raise self.error(n.at, "expected integers; of floats it is mod(a, b)")
            op = "imod" if n.at.text == "%" else "idiv" if whole else "div"
        return Op(op, args, dtype, lanes if n.lanes is None else n.lanes)


def _signature(op: str) -> str:
    if op == "splat":
        return "expected splat(value, lanes)"
    if op not in ARITY:
        near = get_close_matches(op, (*ARITY, *dtypes.BY_NAME), 1)
        return f"expected an opcode, found {op!r}" + (
            f"; did you mean {near[0]!r}?" if near else ""
        )
    return f"expected {ARITY[op]} operands of {op!r}"
