"""The parser of kernels: recursive descent; whatever a line names stands above it."""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from ...egraph.ir.dtypes import DType
from ...egraph.ir.scalars import CHOICES, MONOIDS
from ...egraph.ir.tokens import Token
from ...egraph.ir.values import Values
from ..schedule.kernel import (
    Affine,
    Atom,
    Cond,
    Div,
    Expr,
    Kernel,
    Mod,
    Order,
    Output,
    Update,
    Val,
    bits,
    exactly,
)  # fmt: skip
from .syntax import ARITY, TOKEN

FLAGS = ("constant", "over")  # of buffers that are read, in the order of the fields


class ScheduleError(ValueError):
    """A text that is no kernel or schedule: where, and what was expected."""


class Indices(Values):
    """Values, buffers and loops by number, and index arithmetic over them."""

    PATTERN = TOKEN
    ERROR = ScheduleError

    def __init__(self, text: str, filename: str) -> None:
        super().__init__(text, filename)
        self.count = {"i": 0, "v": 0, "b": 0}  # of a kind there are so far

    def number(self, kind: str, what: str) -> int:
        """The number of a loop, value or buffer that there is."""
        token = self.take()
        if not re.fullmatch(rf"{kind}[0-9]+", token.text):
            raise self.expected(f"{what}, as {kind}0", token)
        if int(token.text[1:]) >= self.count[kind]:
            raise self.error(token, f"{token.text} is not defined above")
        return int(token.text[1:])

    def new(self, kind: str, what: str) -> int:
        """The next number of a kind, as it is written where it is defined."""
        wanted = f"{kind}{self.count[kind]}"
        token = self.take()
        if token.text != wanted:
            raise self.expected(f"{what} called {wanted}", token)
        self.count[kind] += 1
        return self.count[kind] - 1

    def axis(self) -> int:
        return self.number("i", "a loop")

    def value(self) -> int:
        return self.number("v", "a value")

    def axes(self) -> tuple[int, ...]:
        return tuple(self._list(self.axis))

    def conds(self) -> tuple[Cond, ...]:
        """`low <= index < high and ...`; without any, nothing is written."""
        result: list[Cond] = []
        while self.peek.kind != "newline":
            low = self._int()
            self.expect("<=")
            value = self.affine()
            self.expect("<")
            result.append(Cond(value, low, self._int()))
            if not self.skip("and"):
                break
        return tuple(result)

    def affine(self, first: Atom | None = None) -> Affine:
        """A sum; the number that stands alone is the last of its terms."""
        terms: list[tuple[Atom, int]] = [] if first is None else [(first, 1)]
        while True:
            if terms and not self.at("+", "-"):
                return Affine(tuple(terms))
            sign = -1 if self.skip("-") else 1
            if terms and sign == 1:
                self.expect("+")
            if self.peek.kind != "number":
                terms.append((self.atom(), sign))
                continue
            coef = sign * self._int()
            if not self.skip("*"):
                return Affine(tuple(terms), coef)
            terms.append((self.atom(), coef))

    def atom(self) -> Atom:
        if self.at("("):
            at = self.peek
            inside = self.quotient()
            if isinstance(inside, Affine):
                raise self.error(at, "expected a quotient, as (i0 // 4) or (i0 mod 4)")
            return inside
        if self.peek.text.startswith("v"):
            return Val(self.value())
        return self.axis()

    def quotient(self) -> Atom | Affine:
        """A quotient or remainder in brackets; or the sum that one is of."""
        self.expect("(")
        value = self.dividend()
        kind = Div if self.skip("//") else Mod if self.skip("mod") else None
        made = value if kind is None else kind(value, self._int())
        self.expect(")")
        return made

    def dividend(self) -> Affine:
        if not self.at("("):
            return self.affine()
        inside = self.quotient()
        return inside if isinstance(inside, Affine) else self.affine(inside)


class Kernels(Indices):
    """Kernels, one after the other."""

    def kernel(self) -> tuple[str, Kernel]:
        self.blank()
        self.expect("kernel")
        name = self._name("the kernel's name")
        self.count = dict.fromkeys(self.count, 0)
        flags, slots = self.params()
        extents = self.extents()
        self.expect("{")
        self.end_line()
        exprs: list[Expr] = []
        free: list[int] = []
        while self.peek.text.startswith("v"):
            e, axes = self.computed()
            exprs.append(e)
            free.append(axes)
            self.end_line()
        outputs: list[Output] = []
        while not self.at("}"):
            outputs.append(self.output())
            self.end_line()
        self.expect("}")
        given = [s for s, words in enumerate(flags) if "out" not in words]
        marks = (bits(tuple(s for s in given if m in flags[s])) for m in FLAGS)
        return name, Kernel(
            extents, tuple(exprs), tuple(free), tuple(outputs), tuple(slots),
            len(given), *marks,
        )  # fmt: skip

    def params(self) -> tuple[list[set[str]], list[tuple[DType, int]]]:
        """What is said of each buffer, and the buffers."""
        flags: list[set[str]] = []
        slots: list[tuple[DType, int]] = []
        self.expect("(")
        while not self.at(")"):
            at = self.peek
            words = {w for w in (*FLAGS, "out") if self.skip(w)}
            if flags and "out" in flags[-1] and words != {"out"}:
                raise self.error(at, "expected `out`: buffers that are read come first")
            flags.append(words)
            self.new("b", "a buffer")
            self.expect(":")
            dtype = self._dtype()
            self.expect("[")
            slots.append((dtype, self._int()))
            self.expect("]")
            if not self.skip(","):
                break
        self.expect(")")
        return flags, slots

    def extents(self) -> tuple[int, ...]:
        found: list[int] = []
        if self.skip("over"):
            while not found or self.skip(","):
                self.new("i", "a loop")
                self.expect("<")
                found.append(self._int())
        return tuple(found)

    def computed(self) -> tuple[Expr, int]:
        """A value, and the loops that it varies along as a bit set."""
        at = self.take()
        if at.text != f"v{self.count['v']}":
            raise self.expected(f"a value called v{self.count['v']}", at)
        free = bits(self.axes()) if self.at("[") else 0
        self.expect(":")
        dtype = self._dtype()
        self.expect("=")
        made = self.expr(dtype)
        self.count["v"] += 1  # it may not name itself
        return made, free

    def expr(self, dtype: DType) -> Expr:
        at = self.peek
        if self.after.text == "[":
            slot, offset = self.place()
            guard = self.conds() if self.skip("if") else ()
            return Expr("load", (), (slot, offset, guard), dtype)
        op = self._name("an expression")
        forms: dict[str, Callable[[], tuple[Any, ...]]] = {
            "const": lambda: exactly(self.constant()),
            "index": lambda: (self.affine(),),
            "inside": lambda: (self.conds(),),
        }
        if op in forms:
            return Expr(op, (), forms[op](), dtype)
        if op in ("reduce", "scan"):
            return self.folded(op, dtype)
        if op not in ARITY:
            near = get_close_matches(op, (*ARITY, *forms, "reduce", "scan"), 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise self.error(at, f"expected an expression, found {op!r}{hint}")
        return Expr(op, self.operands(at, op, ARITY[op]), (), dtype)

    def operands(self, at: Token, op: str, count: int) -> tuple[int, ...]:
        args: list[int] = []
        while re.fullmatch(r"v[0-9]+", self.peek.text):
            args.append(self.value())
        if len(args) != count:
            raise self.error(at, f"expected {count} operands of {op!r}")
        return tuple(args)

    def folded(self, op: str, dtype: DType) -> Expr:
        at = self.peek
        monoid = self._name("a monoid")
        known = (*MONOIDS, *CHOICES) if op == "reduce" else (*MONOIDS,)
        if monoid not in known:
            raise self.error(
                at, f"expected one of {', '.join(known)}, found {monoid!r}"
            )
        args = self.operands(at, monoid, 2 if monoid in CHOICES else 1)
        self.expect("over")
        axes = self.axes()
        self.expect("acc")
        self.expect("=")
        return Expr(op, args, (monoid, axes, self._dtype()), dtype)

    def constant(self) -> float | int | bool:
        if self.at("true", "false"):
            return self.take().text == "true"
        token = self.after if self.at("-") else self.peek
        return self._int() if token.text.isdigit() else self._float()

    def place(self) -> tuple[int, Affine]:
        slot = self.number("b", "a buffer")
        self.expect("[")
        offset = self.affine()
        self.expect("]")
        return slot, offset

    def output(self) -> Output:
        slot, offset = self.place()
        self.expect("=")
        at = self.peek
        mode = "" if re.fullmatch(r"v[0-9]+", at.text) else self._name("a value")
        if mode in ("sort", "argsort"):
            return self.ordered(slot, offset, mode)
        if mode and ARITY.get(mode) != 2 and mode != "set":
            raise self.expected(
                "a value, `set`, `sort`, `argsort` or an opcode of two operands", at
            )
        expr, update = self.value(), None
        if mode:
            self.expect("when")
            when = self.value()
            self.expect("serial")
            update = Update(mode, when, self.axes())
        self.expect("over")
        return Output(slot, expr, self.axes(), offset, update)

    def ordered(self, slot: int, offset: Affine, mode: str) -> Output:
        expr, descending = self.value(), self.skip("descending")
        self.expect("first")
        count = self._int()
        self.expect("along")
        order = Order(self.axes(), count, descending, mode == "argsort")
        self.expect("over")
        return Output(slot, expr, self.axes(), offset, None, order)
