"""Names are bound once and in scope; dtypes, lanes and index types of values agree."""

from __future__ import annotations

import math
import re

from ...egraph.ir.dtypes import BOOL, I32, I64, DType, compute
from ...egraph.ir.scalars import BY_NAME
from ..intervals import of_type
from ..loops import Array, Ex, Function, Lit, Load, Op, Param, Stmt, Var
from ..text.syntax import ARITY
from .walk import Walk

INDEX = (I32, I64)
INTEGER = ("idiv", "imod")


class Values(Walk):
    """`vars` and `arrays` are what is in scope; one space of names holds both."""

    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.vars: dict[str, tuple[Var, bool]] = {}  # and whether it is mutable
        self.arrays: dict[str, Array | Param] = {}
        self.rings: set[str] = set()
        for p in (*function.params, *function.scratch):
            self.param(p, p in function.scratch)
        if function.threads < 1:
            self.fault(f"a group of {function.threads} threads")

    def param(self, p: Param, scratch: bool) -> None:
        self.bind(p.name)
        self.arrays[p.name] = p
        if p.size < 0:
            self.fault(f"buffer {p.name} of {p.size} elements")
        if scratch and not p.writable:
            self.fault(f"scratch {p.name} that nothing may write")

    # ---- names

    def bind(self, name: str) -> None:
        if name in self.vars or name in self.arrays or name in self.rings:
            self.fault(f"{name!r} is bound already")
        if not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII):
            self.fault(f"{name!r} is no name")

    def use(self, v: Var) -> bool:
        """Faults unless it is bound so; says whether it is mutable."""
        bound, mutable = self.vars.get(v.name, (None, False))
        if bound is None:
            self.fault(f"{v.name!r} is not in scope")
            return True
        if bound != v:
            want, got = (f"{x.dtype} of {x.lanes} lanes" for x in (bound, v))
            self.fault(f"{v.name!r} is {want}, used as {got}")
        return mutable

    def body(self, body: tuple[Stmt, ...]) -> None:
        known = self.vars.copy(), self.arrays.copy(), self.rings.copy()
        super().body(body)
        self.vars, self.arrays, self.rings = known

    # ---- expressions

    def want(self, x: Ex, dtype: DType, lanes: int, what: str) -> None:
        """`x` is well typed, and of this type."""
        self.value(x)
        if x.dtype is not dtype or x.lanes != lanes:
            result = f"{x.dtype} of {x.lanes} lanes"
            self.fault(f"{what} is {dtype} of {lanes} lanes, its value {result}")

    def place(self, array: str, index: Ex, lanes: int) -> DType | None:
        """The dtype of the array, if there is one."""
        self.value(index)
        if index.dtype not in INDEX or index.lanes != 1:
            self.fault(f"an index of {index.dtype}, {index.lanes} lanes")
        if lanes < 1:
            self.fault(f"{lanes} lanes")
        if array not in self.arrays:
            self.fault(f"array {array!r} is not in scope")
            return None
        return self.arrays[array].dtype

    def value(self, x: Ex) -> None:
        match x:
            case Var():
                self.use(x)
            case Lit(value, dtype):
                self.literal(value, dtype)
            case Load(array, index, dtype, lanes):
                held = self.place(array, index, lanes)
                if held is not None and compute(held) is not dtype:
                    self.fault(f"{array!r} holds {held}, loaded as {dtype}")
            case Op():
                for a in x.args:
                    self.value(a)
                message = wrong(x)
                if message:
                    self.fault(f"{x.op}: {message}")

    def literal(self, value: float | int | bool, dtype: DType) -> None:
        if dtype.is_float:
            return
        whole = math.isfinite(value) and value == int(value)
        if not whole or not of_type(dtype).within(*_at_most(int(value), dtype)):
            self.fault(f"{value} is no {dtype}")


def _at_most(value: int, dtype: DType) -> tuple[int, int]:
    """Bounds that the type's range lies within unless `value` is outside of it."""
    low, high = of_type(dtype)
    inside = low <= value <= high
    return (low, high) if inside else (high, low)


def wrong(x: Op) -> str | None:
    """Why the operands of an operation and its type do not go together."""
    dtypes = [a.dtype for a in x.args]
    lanes = [a.lanes for a in x.args]
    if x.op not in ARITY:
        return "no such opcode"
    if len(x.args) != ARITY[x.op]:
        return f"{len(x.args)} operands"
    if x.op == "splat":
        fits = lanes == [1] and dtypes == [x.dtype]
        return None if fits else "a scalar of the same type expected"
    if set(lanes) != {x.lanes}:
        return f"{x.lanes} lanes of operands with {lanes}"
    if x.op in ("cast", "bitcast"):
        return _converted(x)
    if x.op == "select":
        fits = dtypes == [BOOL, x.dtype, x.dtype]
        return None if fits else f"{x.dtype} of {dtypes}"
    gives = BOOL if x.op in BY_NAME and BY_NAME[x.op].gives_bool else dtypes[0]
    if len(set(dtypes)) > 1 or x.dtype is not gives:
        return f"{x.dtype} of {dtypes}"
    of = dtypes[0]
    if compute(of) is not of:
        return f"computed in the storage type {of}"
    if x.op in INTEGER:
        return None if of.is_int else f"of {of}"
    takes = BY_NAME[x.op].takes if x.op in BY_NAME else BY_NAME["mul"].takes
    return None if of.kind in takes else f"of {of}"


def _converted(x: Op) -> str | None:
    """A bitcast is from the argument's own type, of the same width."""
    source = x.args[0].dtype
    if x.op == "bitcast" and source.bits != x.dtype.bits:
        return f"{source} has not the width of {x.dtype}"
    return None
