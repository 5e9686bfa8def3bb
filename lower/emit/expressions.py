"""Expressions of the loop IR as C, OpenCL C or CUDA C++ text.

Printing collects the helper functions that the text calls, each after those it calls.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from ...egraph.ir.dtypes import BOOL, F32, F64, U8, U16, U32, DType, compute
from ...egraph.ir.scalars import BY_NAME
from ..device import DeviceError
from ..intervals import divisor
from ..loops import Ex, Lit, Load, Op, Store, Var
from .convert import FORMATS
from .dialects import C_TYPES, KEYWORDS
from .lanes import Lanes, held, lane_of, stored
from .layout import bare
from .library import define, function_name, refusal
from .stages import check_name


@lru_cache(maxsize=1 << 12)
def name_of(name: str) -> str:
    """A name of the IR as an identifier; keywords get an underscore."""
    check_name(name)
    reserved = name in KEYWORDS or name.startswith("rw_") or name.isupper()
    return f"{name}_" if reserved or name.endswith("_") else name


@dataclass(frozen=True, slots=True)
class Scope:
    """What the names in reach stand for."""

    arrays: dict[str, DType]
    wide: frozenset[str] = frozenset()  # index names, in the dialect's index type
    multiple: dict[str, int] = field(default_factory=dict[str, int])  # known divisors
    rows: dict[str, int] = field(default_factory=dict[str, int])  # `Array.swizzle`

    def with_array(self, name: str, dtype: DType, swizzle: int = 0) -> Scope:
        rows = {**self.rows, name: swizzle} if swizzle else self.rows
        return replace(self, arrays={**self.arrays, name: dtype}, rows=rows)

    def with_index(self, name: str, multiple: int, wide: bool) -> Scope:
        """A loop variable or an index of which `multiple` is a divisor."""
        known = {**self.multiple, name: multiple}
        names = self.wide | {name} if wide else self.wide
        return replace(self, wide=names, multiple=known)

    def divisor(self, ex: Ex) -> int:
        return divisor(ex, self.multiple)


@dataclass(slots=True)
class Expressions(Lanes):
    """`index_only`: the lets of the function in print that only feed indices."""

    index_only: frozenset[str] = frozenset()

    def value(self, ex: Ex, scope: Scope) -> str:
        match ex:
            case Var(name=name, dtype=dtype):
                text = name_of(name)
                return f"({dtype}){text}" if name in scope.wide else text
            case Lit(value=value, dtype=dtype):
                return self.literal(value, dtype)
            case Load():
                return self.load(ex, scope)
            case Op():
                args = [self.value(a, scope) for a in ex.args]
                return self.op(ex, args)

    def index(self, ex: Ex, scope: Scope) -> str:
        """Index arithmetic: no overflow, by contract, so no wrapping."""
        match ex:
            case Var(name=name):
                return name_of(name)
            case Lit(value=value):
                return str(int(value))
            case Op(op="add" | "sub" | "mul" as op, args=(a, b)):
                sign = {"add": "+", "sub": "-", "mul": "*"}[op]
                left, right = self.index(a, scope), self.index(b, scope)
                if op == "add" and "0" in (left, right):
                    return left if right == "0" else right
                return f"({left} {sign} {right})"
            case Op(op="idiv" | "imod" as op, args=(a, b), dtype=dtype):
                kind = self.dialect.index or dtype
                texts = [self.index(a, scope), self.index(b, scope)]
                return f"({kind}){_divide(op, texts, dtype)}"
            case _:
                return self.value(ex, scope)

    def op(self, ex: Op, args: list[str]) -> str:
        dtype, n = ex.dtype, ex.lanes
        sources = tuple(a.dtype for a in ex.args)
        match ex.op:
            case "splat":
                return self.splat(args[0], dtype, n)
            case "select" if n > 1:
                return self.lane_select(args, dtype, n)
            case "select" if dtype.is_int and ex.args[2] == Lit(0, dtype):
                # No branch: gcc 12 makes wrong masked loads of an index in a branch.
                return f"({dtype})({args[1]} & -({dtype}){args[0]})"
            case "select":
                return f"({args[0]} ? {args[1]} : {args[2]})"
            case "idiv" | "imod":
                return f"({dtype}){_divide(ex.op, args, dtype)}"
            case "cast" if n > 1 and dtype.is_int and not sources[0].is_float:
                return self.convert_lanes(args[0], lane_of(sources[0]), str(dtype), n)
            case "cast" | "bitcast" if n > 1:
                form = self.conversion(ex.op, sources[0], dtype, "{a}")
                name = f"rw_{ex.op}_{sources[0]}_{dtype}_x{n}"
                kinds = [lane_of(sources[0])]
                return (
                    f"{self.lanewise(name, lane_of(dtype), kinds, form, n)}({args[0]})"
                )
            case "cast" | "bitcast":
                return self.conversion(ex.op, sources[0], dtype, args[0])
            case "fma":
                text = self.fma(args, compute(dtype), n)
            case "max" | "min" if self.bounds(ex):
                text = self.bounded(ex, args)
            case _:
                text = self.opcode(ex.op, sources, dtype, args, n)
        return self.rounded(text, dtype, n)

    def rounded(self, text: str, dtype: DType, lanes: int = 1) -> str:
        """A result of a small float type is rounded to it, though held as f32."""
        if dtype not in FORMATS:
            return text
        return self.call(f"round_{dtype}", (F32,), [text], F32, lanes)

    def opcode(
        self, op: str, sources: tuple[DType, ...], dtype: DType, args: list[str], n: int
    ) -> str:
        of = compute(sources[0])
        if op.startswith("raw_"):
            return _raw(op, of, args)
        vectors = self.dialect.infix and of.is_float and dtype is not BOOL
        if _infix(op) and (n == 1 or vectors):
            return self.infix(op, of, args)
        kinds = tuple(compute(s) for s in sources)
        return self.call(op, kinds, args, compute(dtype), n)

    def bounds(self, ex: Op) -> bool:
        """Whether the second operand is a number, and the device has no instruction
        for any two."""
        of, value = compute(ex.dtype), _literal(ex.args[1])
        if value is None or not of.is_float or math.isnan(value):
            return False
        native = (ex.op, of.name) in self.dialect.native
        return not native and (value != 0 or math.copysign(1, value) > 0)

    def bounded(self, ex: Op, args: list[str]) -> str:
        """The number stands first, where a test for NaN is none: what is left of both
        is one instruction.  Of two equal operands the other is then the result; they
        differ where both are zeros, and adding zero makes that the one it was."""
        sources = tuple(a.dtype for a in reversed(ex.args))
        text = self.opcode(ex.op, sources, ex.dtype, args[::-1], ex.lanes)
        if _literal(ex.args[1]):
            return text
        return self.infix("add", compute(ex.dtype), [text, args[1]])

    def fma(self, args: list[str], of: DType, n: int) -> str:
        """The one place where a product need not be rounded before it is added.

        Elsewhere it must be: a value that is computed twice, for the maximum of a row
        and for its distance to the maximum, has to be the same both times.
        """
        if of.is_int:
            return self.integer_fma(args, of, n)
        if self.dialect.contract:
            return self.contracted(args, of, n)
        return self.call("fma", (of,) * 3, args, of, n)

    def infix(self, op: str, of: DType, args: list[str]) -> str:
        if of.is_int and op in ("add", "sub", "mul", "neg"):
            return _wrapped(op, of, args)
        code = BY_NAME[op].code
        return code.format(**dict(zip("ab", args, strict=False)))

    def conversion(self, op: str, source: DType, to: DType, text: str) -> str:
        return (self.cast if op == "cast" else self.bitcast)(source, to, text)

    def cast(self, source: DType, to: DType, text: str) -> str:
        if to is source:
            return text
        if to is BOOL:
            return f"({text} != 0)"
        if to not in FORMATS:
            return text if compute(source) is to else f"({to}){text}"
        if source is F64:
            return self.rounded(self.call("narrow", (F64,), [text], F32), to)
        return self.rounded(f"(f32){text}", to)

    def bitcast(self, source: DType, to: DType, text: str) -> str:
        if source in FORMATS:
            encoded = self.call(f"encode_{source}", (F32,), [text], U32)
            source, text = BY_WIDTH[source.bits], f"(u{source.bits}){encoded}"
        if to in FORMATS:
            return self.call(f"decode_{to}", (U32,), [f"(u32)(u{to.bits}){text}"], F32)
        if source.is_float == to.is_float:
            return f"({to}){text}"
        if self.dialect.bitcast:
            return self.dialect.bitcast.format(a=text, c=C_TYPES[to.name])
        name = f"rw_bits_{source}_{to}"
        self.helpers.setdefault(
            name,
            f"{self.dialect.helper} {to} {name}({source} a) {{\n  {to} r;\n"
            "  memcpy(&r, &a, sizeof r);\n  return r;\n}\n",
        )
        return f"{name}({text})"

    def load(self, ex: Load, scope: Scope) -> str:
        dtype, n = scope.arrays[ex.array], ex.lanes
        array, index = name_of(ex.array), self.index(ex.index, scope)
        index = self.swizzled(ex.array, index, scope)
        if n == 1:
            text = f"{array}[{bare(index)}]"
        else:
            text = self.load_lanes(array, index, stored(dtype), n, self.fits(ex, scope))
        if dtype not in FORMATS:
            return text
        text = self.convert_lanes(text, stored(dtype), "u32", n)
        return self.call(f"decode_{dtype}", (U32,), [text], F32, n)

    def swizzled(self, array: str, index: str, scope: Scope) -> str:
        """Where an element lies, in an array whose rows are mixed."""
        row = scope.rows.get(array)
        if row is None:
            return index
        size = scope.arrays[array].itemsize
        name = f"rw_swizzle_{row}" + (f"_{size}" if size != 2 else "")
        if name not in self.helpers:
            turn, within = swizzle(row, size)
            head = f"{self.dialect.helper} u32 {name}(u32 i) {{"
            mixed = f"i ^ i / {row * turn} % {within} * {BYTES // size}"
            self.helpers[name] = f"{head}\n  return {mixed};\n}}\n"
        return f"{name}({index})"

    def fits(self, ex: Load | Store, scope: Scope) -> bool:
        """Whether the device's vector access may be used at this index."""
        return not self.dialect.aligned or scope.divisor(ex.index) % ex.lanes == 0

    def literal(self, value: float | int | bool, dtype: DType) -> str:
        if not dtype.is_float:
            return _integer(int(value), dtype)
        kind = compute(dtype)
        x = float(np.asarray(value, np.float64).astype(dtype.numpy))
        if np.isnan(x):
            return self.dialect.nan[kind.name]
        if np.isinf(x):
            text = self.dialect.infinity[kind.name]
            return f"(-{text})" if x < 0 else text
        text = str(np.float32(x)) + "f" if kind is F32 else repr(x)
        return f"({text})" if text.startswith("-") else text

    # ---- helper functions

    def call(
        self, op: str, sources: tuple[DType, ...], args: list[str],
        result: DType, lanes: int = 1,
    ) -> str:  # fmt: skip
        """A call of the helper for `op`, which is defined on its first use."""
        name = function_name(op, sources[0])
        if name not in self.helpers:
            lines = self.definition(op, sources)
            of = list(zip(sources, "abc", strict=False))
            params = ", ".join(f"{held(d)} {p}" for d, p in of)
            head = f"{self.dialect.helper} {held(result)} {name}({params}) {{"
            self.helpers[name] = "\n".join((head, *lines, "}", ""))
        if lanes > 1:
            name = self.lane_call(name, sources, result, lanes)
        return f"{name}({', '.join(args)})"

    def definition(self, op: str, sources: tuple[DType, ...]) -> list[str]:
        native = self.dialect.native.get((op, sources[0].name))
        if native:
            return [f"  return {native.format(a='a', b='b', c='c')};"]
        if _infix(op):
            return [f"  return {self.infix(op, sources[0], ['a', 'b'])};"]
        inline = define(op, sources)
        if inline is None:
            raise DeviceError(refusal(self.dialect.name, op, sources[0]))
        scope = Scope({})
        lines = [
            f"  const {held(s.var.dtype)} {name_of(s.var.name)} = "
            f"{bare(self.value(s.value, scope))};"
            for s in inline.lets
        ]
        return [*lines, f"  return {bare(self.value(inline.result, scope))};"]


BY_WIDTH = {8: U8, 16: U16}
BYTES = 16  # of a piece, which lie together
PIECE = 8  # elements of two bytes there
BANKS = 8  # pieces that memory hands out at once


def swizzle(row: int, size: int = 2) -> tuple[int, int]:
    """Of rows of so many elements of `size` bytes: how many in turn keep their pieces
    alike, and among how many places a piece moves."""
    pieces = row * size // BYTES
    return max(BANKS // pieces, 1), min(pieces, BANKS)


def _literal(ex: Ex) -> float | None:
    """The number that an expression is, in all lanes."""
    if isinstance(ex, Op) and ex.op == "splat":
        return _literal(ex.args[0])
    return float(ex.value) if isinstance(ex, Lit) else None


def _infix(op: str) -> bool:
    return op in BY_NAME and BY_NAME[op].code[:1] == "("


def _raw(op: str, of: DType, args: list[str]) -> str:
    """C's own shifts and divisions, on operands for which they are defined."""
    sign = {"raw_shl": "<<", "raw_shr": ">>", "raw_div": "/", "raw_mod": "%"}[op]
    left = f"({_wide(of)}){args[0]}" if op == "raw_shl" else args[0]
    return f"({of})({left} {sign} {args[1]})"


def _wrapped(op: str, of: DType, args: list[str]) -> str:
    """Arithmetic modulo 2**bits: signed overflow is undefined in C."""
    u = _wide(of)
    if op == "neg":
        return f"({of})(0 - ({u}){args[0]})"
    sign = {"add": "+", "sub": "-", "mul": "*"}[op]
    return f"({of})(({u}){args[0]} {sign} ({u}){args[1]})"


def _wide(of: DType) -> str:
    return "u64" if of.bits == 64 else "u32"


def _divide(op: str, args: list[str], dtype: DType) -> str:
    """Operands are not negative, so the cheaper unsigned division serves."""
    u = _wide(dtype)
    return f"(({u}){args[0]} {'/' if op == 'idiv' else '%'} ({u}){args[1]})"


def _integer(value: int, dtype: DType) -> str:
    if dtype.kind == "uint":
        return f"{value}u"
    low = -(1 << (dtype.bits - 1))
    if dtype.bits >= 32 and value == low:
        return f"({dtype})(-{-low - 1} - 1)"
    text = f"(-{-value})" if value < 0 else str(value)
    return f"(i64){text}" if dtype.bits == 64 else text
