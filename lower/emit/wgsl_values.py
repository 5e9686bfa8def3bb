"""Expressions of the loop IR as WGSL text.

WGSL lets a device flush subnormals, divide to 2.5 ulp, and assume that neither NaN nor
infinity occurs; NaN tests here look at the bits, and infinities come from a variable.
A factor or divisor that is zero comes from the launch: Mesa takes what is multiplied by
a zero that it knows, or divided by one, for 0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from ...egraph.ir.dtypes import BOOL, F32, U32, DType, compute
from ...egraph.ir.scalars import BY_NAME
from ..device import DeviceError
from ..loops import Ex, Lit, Load, Op, Var
from .convert import FORMATS
from .layout import bare
from .library import define, function_name, refusal
from .stages import check_name

HEADER = """\
var<private> rw_inf_bits: u32 = 0x7f800000u;
var<private> rw_nan_bits: u32 = 0x7fc00000u;
"""

ZERO = "rw_zero_bits"  # a variable that holds what only the launch says: no group in z

# Exact: whole multiples of the divisor's last place, eight bits of quotient a step.
FMOD = """\
fn rw_fmod_f32(a: f32, b: f32) -> f32 {
  let x = bitcast<u32>(a) & 0x7fffffffu;
  let y = bitcast<u32>(b) & 0x7fffffffu;
  if (y == 0u || x >= 0x7f800000u || y > 0x7f800000u) {
    return bitcast<f32>(rw_nan_bits);
  }
  if (x < y) { return a; }
  let ex = max(x >> 23u, 1u);
  let ey = max(y >> 23u, 1u);
  let mx = select(x, (x & 0x007fffffu) | 0x00800000u, x >= 0x00800000u);
  let my = select(y, (y & 0x007fffffu) | 0x00800000u, y >= 0x00800000u);
  var r = mx % my;
  var left = ex - ey;
  while (left > 0u) {
    let step = min(left, 8u);
    r = (r << step) % my;
    left -= step;
  }
  let up = f32(r) * bitcast<f32>((ey / 2u + 64u) << 23u);
  let v = up * bitcast<f32>((ey - ey / 2u + 40u) << 23u);
  return select(v, -v, bitcast<u32>(a) >= 0x80000000u);
}
"""

NATIVE = {
    ("far_sin", "f32"): "sin({a})",
    ("far_cos", "f32"): "cos({a})",
    **{(op, "f32"): op + "({a})" for op in
       ("sqrt", "floor", "ceil", "trunc", "round", "abs")},
    ("isnan", "f32"): "((bitcast<u32>({a}) & 0x7fffffffu) > 0x7f800000u)",
    ("isfinite", "f32"): "((bitcast<u32>({a}) & 0x7fffffffu) < 0x7f800000u)",
    ("ne", "f32"): "(!({a} == {b}))",
    ("neg", "u32"): "(0u - {a})",
    ("neg", "u64"): "(0lu - {a})",
    ("xor", "bool"): "({a} != {b})",
    ("lt", "bool"): "(!{a} & {b})",
    ("le", "bool"): "(!{a} | {b})",
}  # fmt: skip


def name_of(name: str) -> str:
    """WGSL reserves over a hundred words, but none that ends so."""
    check_name(name)
    return f"{name}_"


def cell(dtype: DType) -> str:
    """The type of an array's element outside of buffers."""
    return "u32" if dtype is BOOL or dtype in FORMATS else held(dtype)


def held(dtype: DType) -> str:
    """The type of a value: integers of under 32 bits are kept in 32, in their range."""
    if dtype.is_int and dtype.bits < 32:
        return "i32" if dtype.kind == "int" else "u32"
    return str(compute(dtype))


def ranged(text: str, dtype: DType) -> str:
    """The low bits of a 32-bit integer as an integer of so many."""
    if not dtype.is_int or dtype.bits >= 32:
        return text
    if dtype.kind == "uint":
        return f"({text} & {(1 << dtype.bits) - 1}u)"
    return f"(({text} << {32 - dtype.bits}u) >> {32 - dtype.bits}u)"


def one_lane(lanes: int) -> None:
    if lanes > 1:
        raise DeviceError("WGSL is emitted with 1 lane; lower without vectors")


def packed(dtype: DType) -> bool:
    return dtype.bits < 32


@dataclass(frozen=True, slots=True)
class Place:
    """What an array of the IR is called, and whether its elements are packed."""

    name: str
    dtype: DType
    packed: bool = False


@dataclass(slots=True)
class Values:
    """`places`: the arrays in reach; `helpers`: functions, callees first."""

    helpers: dict[str, str] = field(default_factory=dict[str, str])
    places: dict[str, Place] = field(default_factory=dict[str, Place])

    def value(self, ex: Ex) -> str:
        match ex:
            case Var(name=name):
                return name_of(name)
            case Lit(value=value, dtype=dtype):
                return literal(value, dtype)
            case Load():
                return self.load(ex)
            case Op():
                if ex.op in ("mul", "div"):
                    return self.op(ex, [zero(a) or self.value(a) for a in ex.args])
                return self.op(ex, [self.value(a) for a in ex.args])

    def load(self, ex: Load) -> str:
        one_lane(ex.lanes)
        place, index = self.places[ex.array], self.value(ex.index)
        dtype = place.dtype
        text = (
            f"{place.name}_get({index})"
            if place.packed
            else f"{place.name}[{bare(index)}]"
        )
        if dtype is BOOL or dtype in FORMATS:
            return self.decoded(dtype, text)
        return self.decoded(dtype, text) if place.packed else text

    def encoded(self, dtype: DType, value: str) -> str:
        """The bits of a value of under 32, in a u32."""
        if dtype in FORMATS:
            return self.call(f"encode_{dtype}", (F32,), [value])
        if dtype is BOOL:
            return f"select(0u, 1u, {value})"
        return f"(u32({value}) & {(1 << dtype.bits) - 1}u)"

    def decoded(self, dtype: DType, bits: str) -> str:
        if dtype in FORMATS:
            return self.call(f"decode_{dtype}", (U32,), [bits])
        if dtype is BOOL:
            return f"({bits} != 0u)"
        return ranged(f"{held(dtype)}({bits})", dtype)

    def op(self, ex: Op, args: list[str]) -> str:
        sources = tuple(a.dtype for a in ex.args)
        one_lane(ex.lanes)
        match ex.op:
            case "select":
                return f"select({args[2]}, {args[1]}, {args[0]})"
            case "fma":
                # Devices contract it at will; Mesa adds up the constants of nested
                # fma(), which undoes a reduction in two steps.
                text = f"({args[0]} * {args[1]} + {args[2]})"
            case "idiv" | "imod":
                return f"({args[0]} {'/' if ex.op == 'idiv' else '%'} {args[1]})"
            case "cast":
                return self.cast(sources[0], ex.dtype, args[0])
            case "bitcast":
                return self.bitcast(sources[0], ex.dtype, args[0])
            case _:
                text = self.opcode(ex.op, sources, args)
        return self.rounded(text, ex.dtype)

    def rounded(self, text: str, dtype: DType) -> str:
        if dtype in FORMATS:
            return self.call(f"round_{dtype}", (F32,), [text])
        return ranged(text, dtype)

    def opcode(self, op: str, sources: tuple[DType, ...], args: list[str]) -> str:
        of = compute(sources[0])
        raw = {"raw_shl": "<<", "raw_shr": ">>", "raw_div": "/", "raw_mod": "%"}
        if op in raw:
            right = _amount(args[1]) if op in ("raw_shl", "raw_shr") else args[1]
            return f"({args[0]} {raw[op]} {right})"
        native = NATIVE.get((op, held(of)))
        if native is None and op in BY_NAME and BY_NAME[op].code[:1] == "(":
            native = BY_NAME[op].code
        if native and native.startswith("("):
            return native.format(**dict(zip("ab", args, strict=False)))
        return self.call(op, tuple(compute(s) for s in sources), args)

    def cast(self, source: DType, to: DType, text: str) -> str:
        if to is source:
            return text
        if to in FORMATS:
            return self.rounded(f"f32({text})", to)
        if source is BOOL and to.bits == 64:
            return f"{to}(select(0u, 1u, {text}))"
        if to is BOOL:
            return f"bool({text})"
        if to.is_int and to.bits == 64 and source.is_int and source.kind != to.kind:
            # Naga widens by the sign of the target, not by that of the source.
            text = f"{'u64' if source.kind == 'uint' else 'i64'}({text})"
        same = held(source) == held(to)
        return self.rounded(text if same else f"{held(to)}({text})", to)

    def bitcast(self, source: DType, to: DType, text: str) -> str:
        if packed(source):
            return self.decoded(to, self.encoded(source, text))
        return f"bitcast<{to}>({text})"

    def call(self, op: str, sources: tuple[DType, ...], args: list[str]) -> str:
        name = function_name(op, sources[0])
        if name not in self.helpers:
            self.helpers[name] = self.definition(name, op, sources)
        return f"{name}({', '.join(args)})"

    def definition(self, name: str, op: str, sources: tuple[DType, ...]) -> str:
        if op == "fmod":
            return FMOD
        native = NATIVE.get((op, held(sources[0])))
        if native:
            typed = zip(sources, "ab", strict=False)
            params = ", ".join(f"{p}: {held(d)}" for d, p in typed)
            body = native.format(a="a", b="b")
            result = "bool" if op in ("isnan", "isfinite") else held(sources[0])
            return f"fn {name}({params}) -> {result} {{ return {body}; }}\n"
        inline = define(op, sources)
        if inline is None:
            raise DeviceError(refusal("WGSL", op, sources[0]))
        params = ", ".join(f"{name_of(p.name)}: {held(p.dtype)}" for p in inline.params)
        lines = [
            f"  let {name_of(s.var.name)} = {self.value(s.value)};" for s in inline.lets
        ]
        lines.append(f"  return {self.value(inline.result)};")
        head = f"fn {name}({params}) -> {held(inline.result.dtype)} {{"
        return "\n".join((head, *lines, "}", ""))


def _amount(text: str) -> str:
    """A shift amount as a u32; Naga narrows no literal of 64 bits."""
    wide = re.fullmatch(r"\(?(\d+)l[iu]\)?", text)
    return f"{wide[1]}u" if wide else f"u32({text})"


def zero(ex: Ex) -> str:
    """A zero of floats that no compiler knows; "" for anything else."""
    if not (isinstance(ex, Lit) and ex.dtype.is_float and ex.value == 0):
        return ""
    text = f"bitcast<f32>({ZERO})"
    return f"(-{text})" if np.signbit(ex.value) else text


def literal(value: float | int | bool, dtype: DType) -> str:
    if dtype is BOOL:
        return "true" if value else "false"
    if dtype.kind == "uint":
        return f"{int(value)}{'lu' if dtype.bits == 64 else 'u'}"
    if dtype.bits == 64 and dtype.is_int:
        low = int(value) == -(1 << 63)  # the literal without its sign has no type
        return "(-9223372036854775807li - 1li)" if low else f"({int(value)}li)"
    if dtype.is_int:
        return f"i32({int(value)})"
    x = np.asarray(value, np.float64).astype(dtype.numpy).astype(np.float32)
    if np.isnan(x):
        return "bitcast<f32>(rw_nan_bits)"
    if np.isinf(x):
        return f"({'-' if x < 0 else ''}bitcast<f32>(rw_inf_bits))"
    return f"f32({x!s})"
