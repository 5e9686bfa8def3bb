"""Expressions of the loop IR as WGSL text.

WGSL lets a device flush subnormals, divide to 2.5 ulp, and assume that neither NaN nor
infinity occurs; NaN tests here look at the bits, and infinities come from a variable.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...egraph.dtypes import BOOL, F32, U32, DType, compute
from ...egraph.scalars import BY_NAME
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
    ("native_sin", "f32"): "sin({a})",
    ("native_cos", "f32"): "cos({a})",
    **{(op, "f32"): op + "({a})" for op in
       ("sqrt", "floor", "ceil", "trunc", "round", "abs")},
    ("isnan", "f32"): "((bitcast<u32>({a}) & 0x7fffffffu) > 0x7f800000u)",
    ("isfinite", "f32"): "((bitcast<u32>({a}) & 0x7fffffffu) < 0x7f800000u)",
    ("ne", "f32"): "(!({a} == {b}))",
    ("neg", "u32"): "(0u - {a})",
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
    return "u32" if dtype is BOOL or dtype in FORMATS else str(dtype)


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
        if dtype is BOOL:
            return f"({text} != 0u)"
        if dtype in FORMATS:
            return self.call(f"decode_{dtype}", (U32,), [text])
        return text

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
        return self.call(f"round_{dtype}", (F32,), [text]) if dtype in FORMATS else text

    def opcode(self, op: str, sources: tuple[DType, ...], args: list[str]) -> str:
        of = compute(sources[0])
        raw = {"raw_shl": "<<", "raw_shr": ">>", "raw_div": "/", "raw_mod": "%"}
        if op in raw:
            right = f"u32({args[1]})" if op in ("raw_shl", "raw_shr") else args[1]
            return f"({args[0]} {raw[op]} {right})"
        native = NATIVE.get((op, of.name))
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
        return text if compute(source) is to else f"{to}({text})"

    def bitcast(self, source: DType, to: DType, text: str) -> str:
        if source in FORMATS and to in FORMATS:
            encoded = self.call(f"encode_{source}", (F32,), [text])
            return self.call(f"decode_{to}", (U32,), [encoded])
        return f"bitcast<{to}>({text})"

    def call(self, op: str, sources: tuple[DType, ...], args: list[str]) -> str:
        name = function_name(op, sources[0])
        if name not in self.helpers:
            self.helpers[name] = self.definition(name, op, sources)
        return f"{name}({', '.join(args)})"

    def definition(self, name: str, op: str, sources: tuple[DType, ...]) -> str:
        if op == "fmod":
            return FMOD
        native = NATIVE.get((op, sources[0].name))
        if native:
            typed = zip(sources, "ab", strict=False)
            params = ", ".join(f"{p}: {d}" for d, p in typed)
            body = native.format(a="a", b="b")
            result = BOOL if op in ("isnan", "isfinite") else sources[0]
            return f"fn {name}({params}) -> {result} {{ return {body}; }}\n"
        inline = define(op, sources)
        if inline is None:
            raise DeviceError(refusal("WGSL", op, sources[0]))
        params = ", ".join(f"{name_of(p.name)}: {p.dtype}" for p in inline.params)
        lines = [
            f"  let {name_of(s.var.name)} = {self.value(s.value)};" for s in inline.lets
        ]
        lines.append(f"  return {self.value(inline.result)};")
        head = f"fn {name}({params}) -> {compute(inline.result.dtype)} {{"
        return "\n".join((head, *lines, "}", ""))


def literal(value: float | int | bool, dtype: DType) -> str:
    if dtype is BOOL:
        return "true" if value else "false"
    if dtype.kind == "uint":
        return f"{int(value)}u"
    if dtype.is_int:
        return f"i32({int(value)})"
    x = np.asarray(value, np.float64).astype(dtype.numpy).astype(np.float32)
    if np.isnan(x):
        return "bitcast<f32>(rw_nan_bits)"
    if np.isinf(x):
        return f"({'-' if x < 0 else ''}bitcast<f32>(rw_inf_bits))"
    return f"f32({x!s})"
