"""Opcodes with one exact result, in terms of what every device computes natively."""

from __future__ import annotations

from ...egraph.ir.dtypes import BY_NAME, F32, U32, U64, DType, Kind
from ...egraph.ir.scalars import CALLS, PARITY, ROTATIONS
from .inline import Body, Maker, Term, bits, call, cast, lit, select

MAX_FINITE = {"f32": 3.4028234663852886e38, "f64": 1.7976931348623157e308}


def unsigned(dtype: DType) -> DType:
    return BY_NAME[f"u{dtype.bits}"]


# The first choice is computed before it is asked for: it is an instruction of many
# processors (b where one is a NaN), where one test of both is a branch to compilers.


def _max_float(body: Body, a: Term, b: Term) -> Term:
    larger = body.let("t", select(a > b, a, b))
    return select(call("isnan", a, dtype=(a > b).dtype), a, larger)


def _min_float(body: Body, a: Term, b: Term) -> Term:
    smaller = body.let("t", select(a < b, a, b))
    return select(call("isnan", a, dtype=(a < b).dtype), a, smaller)


def _max_int(_: Body, a: Term, b: Term) -> Term:
    return select(a > b, a, b)


def _min_int(_: Body, a: Term, b: Term) -> Term:
    return select(a < b, a, b)


def _or(_: Body, a: Term, b: Term) -> Term:
    return a | b


def _and(_: Body, a: Term, b: Term) -> Term:
    return a & b


def _same(_: Body, a: Term) -> Term:
    return a


def _abs_signed(_: Body, a: Term) -> Term:
    return select(a < 0, -a, a)


def _sign(_: Body, a: Term) -> Term:
    neither = select(a.eq(0), lit(0, a.dtype), a)  # a NaN stays one
    return select(a > 0, lit(1, a.dtype), select(a < 0, lit(-1, a.dtype), neither))


def _sign_unsigned(_: Body, a: Term) -> Term:
    return select(a > 0, lit(1, a.dtype), 0)


def _isfinite(_: Body, a: Term) -> Term:
    return call("abs", a) <= MAX_FINITE[a.dtype.name]


def _not_bool(_: Body, a: Term) -> Term:
    return a ^ True


def _not_int(_: Body, a: Term) -> Term:
    return a ^ (-1 if a.dtype.kind == "int" else (1 << a.dtype.bits) - 1)


def _amount(b: Term) -> tuple[Term, Term]:
    """Whether a shift amount lies within the width, and one that always does."""
    u = bits(b, unsigned(b.dtype))
    return u < b.dtype.bits, u & (b.dtype.bits - 1)


def _shl(_: Body, a: Term, b: Term) -> Term:
    inside, amount = _amount(b)
    moved = bits(bits(a, unsigned(a.dtype)) << amount, a.dtype)
    return select(inside, moved, 0)


def _shr(_: Body, a: Term, b: Term) -> Term:
    inside, amount = _amount(b)
    signed = a.dtype.kind == "int"
    beyond = select(a < 0, lit(-1, a.dtype), 0) if signed else lit(0, a.dtype)
    return select(inside, a >> bits(amount, a.dtype), beyond)


def _divisor(k: Body, b: Term) -> Term:
    """`b`, or 1 where dividing by it traps or is answered apart."""
    odd = b.eq(0) | b.eq(-1) if b.dtype.kind == "int" else b.eq(0)
    return k.let("d", select(odd, lit(1, b.dtype), b))


def _floordiv_unsigned(k: Body, a: Term, b: Term) -> Term:
    return select(b.eq(0), lit(0, a.dtype), a.div_trunc(_divisor(k, b)))


def _mod_unsigned(k: Body, a: Term, b: Term) -> Term:
    return select(b.eq(0), lit(0, a.dtype), a.mod_trunc(_divisor(k, b)))


def _floordiv_signed(k: Body, a: Term, b: Term) -> Term:
    d = _divisor(k, b)
    q = k.let("q", a.div_trunc(d))
    r = k.let("r", a - q * d)
    floored = select(r.ne(0) & ((r ^ d) < 0), q - 1, q)
    return select(b.eq(0), b, select(b.eq(-1), -a, floored))


def _mod_signed(k: Body, a: Term, b: Term) -> Term:
    d = _divisor(k, b)
    r = k.let("r", a.mod_trunc(d))
    floored = select(r.ne(0) & ((r ^ d) < 0), r + d, r)
    return select(b.eq(0) | b.eq(-1), lit(0, a.dtype), floored)


def _intpow(k: Body, a: Term, b: Term) -> Term:
    """By squarings of the unsigned number: products wrap alike, and never overflow.
    From the first bit of the exponent on: powers of an `a` that is the same in a loop
    are a chain of squares apart, on which gcc takes time and memory without end."""
    signed = a.dtype.kind == "int"
    u = unsigned(a.dtype)
    base = bits(a, u) if signed else a
    n = bits(b, u) if signed else b
    result = lit(1, u)
    for i in reversed(range(u.bits - signed)):
        square = k.let(f"s{i}", result * result)
        odd = ((n >> lit(i, U32)) & 1).ne(0)
        result = k.let(f"r{i}", select(odd, square * base, square))
    if not signed:
        return result
    odd = (b & 1).ne(0)
    inverse = select(a.eq(1), a, select(a.eq(-1), select(odd, a, -a), 0))
    return select(b < 0, inverse, bits(result, a.dtype))


def _mod_float(k: Body, a: Term, b: Term) -> Term:
    """The remainder with the sign of the divisor, a zero included."""
    r = k.let("r", call("fmod", a, b))
    moved = select((r < 0).ne(b < 0), r + b, r)
    return select(r.eq(0), call("copysign", r, b), moved)


def _floordiv_float(k: Body, a: Term, b: Term) -> Term:
    """The whole number nearest to (a - mod) / b, so that it fits `mod`."""
    r = k.let("r", call("fmod", a, b))
    q = k.let("q", (a - r) / b)
    shift = r.ne(0) & (r < 0).ne(b < 0)
    q1 = k.let("q1", select(shift, q - 1, q))
    low = k.let("low", call("floor", q1))
    near = select(q1 - low > 0.5, low + 1, low)
    whole = select(q1.eq(0), call("copysign", q1 * 0, a / b), near)
    return select(b.eq(0), a / b, whole)


def _copysign_bits(_: Body, a: Term, b: Term) -> Term:
    magnitude = bits(a, U32) & 0x7FFFFFFF
    return bits(magnitude | (bits(b, U32) & 0x80000000), F32)


def _threefry(k: Body, key: Term, counter: Term) -> Term:
    def halves(name: str, x: Term) -> tuple[Term, Term]:
        x = cast(x, U64) if x.dtype is not U64 else x
        return (k.let(f"{name}0", cast(x >> 32, U32)), k.let(f"{name}1", cast(x, U32)))

    k0, k1 = halves("k", key)
    keys = k0, k1, k.let("k2", k0 ^ k1 ^ PARITY)
    x0, x1 = halves("x", counter)
    x0, x1 = k.let("y0", x0 + k0), k.let("y1", x1 + k1)
    for n in range(CALLS):
        for i, r in enumerate(ROTATIONS[n % 2]):
            x0 = k.let(f"y0{n}{i}", x0 + x1)
            x1 = k.let(f"y1{n}{i}", (x1 << r | x1 >> 32 - r) ^ x0)
        x0 = k.let(f"y0{n}", x0 + keys[(n + 1) % 3])
        x1 = k.let(f"y1{n}", x1 + keys[(n + 2) % 3] + (n + 1))
    whole = cast(x0, U64) << 32 | cast(x1, U64)
    return cast(whole, counter.dtype) if counter.dtype is not U64 else whole


EXACT: dict[tuple[str, Kind], Maker] = {
    ("max", "float"): _max_float,
    ("min", "float"): _min_float,
    ("max", "bool"): _or,
    ("min", "bool"): _and,
    ("abs", "int"): _abs_signed,
    ("abs", "uint"): _same,
    ("sign", "float"): _sign,
    ("sign", "int"): _sign,
    ("sign", "uint"): _sign_unsigned,
    ("isfinite", "float"): _isfinite,
    ("not", "bool"): _not_bool,
    ("floordiv", "uint"): _floordiv_unsigned,
    ("mod", "uint"): _mod_unsigned,
    ("threefry", "uint"): _threefry,
    ("floordiv", "int"): _floordiv_signed,
    ("mod", "int"): _mod_signed,
    ("floordiv", "float"): _floordiv_float,
    ("mod", "float"): _mod_float,
    ("copysign", "float"): _copysign_bits,
}
for _kind in ("int", "uint"):
    EXACT["max", _kind] = _max_int
    EXACT["min", _kind] = _min_int
    EXACT["not", _kind] = _not_int
    EXACT["shl", _kind] = _shl
    EXACT["shr", _kind] = _shr
    EXACT["intpow", _kind] = _intpow
