"""Small floats: their bits to f32 and back, to nearest even, overflow as in NumPy."""

from __future__ import annotations

from dataclasses import dataclass

from ...egraph.ir.dtypes import BF16, BOOL, F8E4M3, F8E5M2, F16, F32, U32, DType
from .inline import Body, Maker, Term, bits, call, cast, lit, select


@dataclass(frozen=True, slots=True)
class Format:
    """Field widths of a binary float; `ieee`: the top exponent is inf and NaN, else
    only the all-ones pattern is NaN and there is no infinity."""

    exponent: int
    mantissa: int
    ieee: bool = True

    @property
    def bias(self) -> int:
        return (1 << (self.exponent - 1)) - 1

    @property
    def magnitude(self) -> int:
        """Mask of all bits but the sign."""
        return (1 << (self.exponent + self.mantissa)) - 1

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent) - 1) << self.mantissa

    @property
    def nan(self) -> int:
        return self.infinity | 1 << (self.mantissa - 1) if self.ieee else self.magnitude

    @property
    def overflow(self) -> int:
        """The pattern that stands for every magnitude beyond the largest."""
        return self.infinity if self.ieee else self.magnitude


FORMATS: dict[DType, Format] = {
    F16: Format(5, 10),
    BF16: Format(8, 7),
    F8E4M3: Format(4, 3, ieee=False),
    F8E5M2: Format(5, 2),
}


def _decode(form: Format) -> Maker:
    """The f32 value of the bits in the low end of a u32."""
    drop = 23 - form.mantissa

    def make(k: Body, a: Term) -> Term:
        m = k.let("m", a & form.magnitude)
        sign = (a << (31 - form.exponent - form.mantissa)) & 0x80000000
        if form.exponent == 8:
            return bits(a << drop, F32)
        normal = (m << drop) + ((127 - form.bias) << 23)
        unit = 2.0 ** (1 - form.bias - form.mantissa)
        subnormal = bits(cast(m, F32) * unit, U32)
        v = k.let("v", select(m < (1 << form.mantissa), subnormal, normal))
        if form.ieee:
            v = v | select(m < form.infinity, lit(0, U32), 0x7F800000)
        else:
            v = select(m.eq(form.nan), lit(0x7FC00000, U32), v)
        return bits(v | sign, F32)

    return make


def _encode(form: Format) -> Maker:
    """The bits, in the low end of a u32, of the nearest value to an f32."""
    drop = 23 - form.mantissa
    width = 1 + form.exponent + form.mantissa

    def make(k: Body, a: Term) -> Term:
        u = k.let("u", bits(a, U32))
        sign = (u >> (32 - width)) & (1 << (width - 1))
        m = k.let("m", u & 0x7FFFFFFF)
        odd = (m >> drop) & 1
        y = (m + ((1 << (drop - 1)) - 1) + odd) >> drop
        if form.exponent < 8:
            first = 127 - form.bias + 1  # the f32 exponent of the least normal value
            # Adding a power of two whose last bit is the subnormal unit rounds to it.
            magic = (first + drop) << 23
            low = bits(bits(m, F32) + bits(lit(magic, U32), F32), U32) - magic
            y = select(m < (first << 23), low, y - ((127 - form.bias) << form.mantissa))
        y = k.let("y", y)
        if form.exponent < 8:
            y = select(y > form.overflow, lit(form.overflow, U32), y)
        return select(m > 0x7F800000, lit(form.nan, U32), y) | sign

    return make


def _round(dtype: DType) -> Maker:
    def make(_: Body, a: Term) -> Term:
        return call(f"decode_{dtype}", call(f"encode_{dtype}", a, dtype=U32), dtype=F32)

    return make


def _narrow(_: Body, a: Term) -> Term:
    """f64 to f32, inexact results made odd: a second rounding then cannot err."""
    near = cast(a, F32)
    back = cast(near, a.dtype)
    u = bits(near, U32)
    toward_zero = u - select(call("abs", back) > call("abs", a), lit(1, U32), 0)
    keep = back.eq(a) | call("isnan", a, dtype=BOOL)
    return bits(select(keep, u, toward_zero | 1), F32)


CONVERT: dict[str, Maker] = {"narrow": _narrow}
for _dtype, _form in FORMATS.items():
    CONVERT[f"decode_{_dtype}"] = _decode(_form)
    CONVERT[f"encode_{_dtype}"] = _encode(_form)
    CONVERT[f"round_{_dtype}"] = _round(_dtype)
