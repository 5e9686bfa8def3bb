"""Elementary functions on f32, without a branch, so that loops over them vectorise.

Each reduces its argument to a short interval and evaluates a polynomial fitted there
(weighted least squares iterated to equal ripple, then rounded to f32).  Errors over the
whole range are at most 4 units in the last place (`pow`: 20); infinities, NaN, overflow
and subnormal results come out as IEEE has them.
"""

from __future__ import annotations

import math
from functools import partial

from ...egraph.ir.dtypes import BOOL, F32, I32, U32, U64
from .inline import Body, Maker, Term, bits, call, cast, fma, lit, polynomial, select

INF = math.inf
LN2_HIGH = 0.693145751953125  # ln 2 to 12 bits: n * LN2_HIGH is exact for |n| < 4096
LN2_LOW = 1.428606765330187e-06
LOG2_E = 1.4426950408889634
ROUND = 12582912.0  # 1.5 * 2**23: the sum with it is rounded to a whole number
ROUND_BITS = 0x4B400000  # of that number
LOG2_E_HIGH = 1.4423828125  # 12 bits
LOG2_E_LOW = 0.00031222846

# (e**r - 1 - r) / r**2 on |r| <= ln(2) / 2
EXP = (0.49999994, 0.16666521, 0.04166839, 0.008368745, 0.001381454)
# (2**r - 1) / r on |r| <= 1/2
EXP2 = (0.6931472, 0.2402265, 0.05550411, 0.009618036, 0.0013333431, 0.0001546711,
        1.5314943e-05)  # fmt: skip
# (log(1 + f) - f + f**2 / 2) / f**3 on sqrt(1/2) - 1 <= f <= sqrt(2) - 1
LOG = (0.3333331, -0.24999987, 0.20002231, -0.16669261, 0.14218563, -0.12384102,
       0.118734896, -0.11791582, 0.0691634)  # fmt: skip
# erf(x) / x - 1 in x**2 on |x| <= 0.9
ERF_NEAR = (0.12837917, -0.37612635, 0.112837195, -0.026860753, 0.005204436,
            -0.00081819267, 8.538836e-05)  # fmt: skip
# -log(erfc(x)) on 0.88 <= x <= 4
ERF_FAR = (-0.00016500933, 1.1294681, 0.63344204, 0.10817493, -0.025051175,
           0.0041450686, -0.0004290861, 2.0629333e-05)  # fmt: skip
# (atan(x) / x - 1) / x**2 in x**2 on |x| <= 1
ATAN = (-0.333333, 0.19998549, -0.14264242, 0.10952186, -0.08403451, 0.057957605,
        -0.031177856, 0.010914612, -0.001793623)  # fmt: skip
QUARTER_HIGH = 1.5707963705062866  # pi / 2 as f32 has it
QUARTER_LOW = -4.371139000186241e-08
# (sin(x) / x - 1) / x**2 and (cos(x) - 1 + x**2 / 2) / x**4 in x**2, |x| <= pi / 4
SIN = (-0.16666667, 0.008333329, -0.00019839325, 2.7182168e-06)
COS = (0.041666668, -0.0013888883, 2.479951e-05, -2.7209356e-07)
# pi / 2; the first three have 11 bits, so that n times each is exact for n < 8192
HALF_PI = (1.5703125, 0.0004837512969970703, 7.549533620476723e-08,
           2.563344151594519e-12)  # fmt: skip
NEAR = 8192.0  # arguments beyond are reduced by integers
# 2 / pi after the point, behind a word of zeros
TWO_OVER_PI = (0, 0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599,
               0x3C439041, 0xFE5163AB)  # fmt: skip


def _power_of_two(n: Term) -> Term:
    """2**n for an i32 n in -126 .. 127."""
    return bits((n + 127) << 23, F32)


def _clamp(x: Term, low: float, high: float) -> Term:
    """Within the bounds; NaN stays."""
    return select(x > high, lit(high, F32), select(x < low, lit(low, F32), x))


def _scale(k: Body, p: Term, n: Term) -> Term:
    """p * 2**n for n in -252 .. 254: two factors reach subnormals and overflow."""
    half = k.let("half", n >> 1)
    return p * _power_of_two(half) * _power_of_two(n - half)


def _power(p: Term, n: Term, a: Term, low: float, none: float, most: float) -> Term:
    """p * 2**n, which grows with `a`: above `most` infinite, below `low` perhaps
    subnormal, below `none` 0 (n may be anything at either end).

    What is 0 is no product: one that underflows takes CPUs a hundred times as long,
    and masked scores do so all the time.
    """
    small = a < low  # then 2**(n + 63) is the first factor
    first = bits((n + select(small, lit(190, I32), 126)) << 23, F32)
    size = p * first * select(small, lit(2.0**-63, F32), 2.0)
    return select(a > most, lit(INF, F32), select(a < none, lit(0.0, F32), size))


def _nearest(k: Body, t: Term) -> Term:
    """The i32 n from t = n + ROUND: the last bits of t; anything where a NaN is."""
    return k.let("n", bits(t, I32) - ROUND_BITS)


def _reduce(k: Body, x: Term) -> tuple[Term, Term]:
    """n (i32) and r with x = n ln 2 + r, |r| <= ln(2) / 2, for |x| < 2**21."""
    n = _nearest(k, fma(x, LOG2_E, ROUND))
    whole = k.let("whole", cast(n, F32))
    r = k.let("r", fma(whole, -LN2_LOW, fma(whole, -LN2_HIGH, x)))
    return n, r


def _exp(k: Body, a: Term) -> Term:
    n, r = _reduce(k, a)
    p = k.let("p", fma(r, fma(r, polynomial(r, EXP), 1.0), 1.0))
    return _power(p, n, a, -86.0, -104.0, 89.0)


def _exp2(k: Body, a: Term) -> Term:
    n = _nearest(k, a + ROUND)
    r = k.let("r", a - cast(n, F32))
    p = k.let("p", fma(r, polynomial(r, EXP2), 1.0))
    return _power(p, n, a, -124.0, -150.0, 128.0)


def _expm1(k: Body, a: Term) -> Term:
    x = k.let("x", _clamp(a, -25.0, 89.0))
    n, r = _reduce(k, x)
    p = k.let("p", fma(r * r, polynomial(r, EXP), r))
    s = k.let("s", _power_of_two(n - 1))  # half: 2**128 overflows
    return select(n.eq(0), select(r.eq(0.0), a, p), fma(s, p, s - 0.5) * 2.0)


def _split(k: Body, a: Term) -> tuple[Term, Term]:
    """e and f with a = 2**e * (1 + f), sqrt(1/2) <= 1 + f < sqrt(2), for normal or
    subnormal a > 0."""
    tiny = k.let("tiny", a < 1.1754943508222875e-38)
    n, f = _split_normal(k, k.let("scaled", select(tiny, a * 8388608.0, a)))
    e = k.let("e", cast(n, F32))
    return k.let("power", select(tiny, e - 23.0, e)), f


def _split_normal(k: Body, a: Term) -> tuple[Term, Term]:
    top = k.let("top", bits(a, I32) - 0x3F3504F3)
    m = bits(bits(a, I32) - (top & -0x800000), F32)
    return k.let("binary", top >> 23), k.let("f", m - 1.0)


def _log_of_1p(k: Body, f: Term) -> tuple[Term, Term]:
    """log(1 + f) as a head and a small rest.  Two chains of half the polynomial's
    length, of even and of odd powers, wait less for each other than one."""
    square = k.let("square", f * f)
    even, odd = polynomial(square, LOG[::2]), polynomial(square, LOG[1::2])
    return f, square * fma(f, fma(odd, f, even), -0.5)


def _log_edges(a: Term, y: Term) -> Term:
    """`y` where a is positive and finite, else the logarithm's limits."""
    below = select(a.eq(0.0), lit(-INF, F32), lit(math.nan, F32))
    return select(a > 0.0, select(a < INF, y, a), below)


def _log(k: Body, a: Term) -> Term:
    e, f = _split(k, a)
    head, rest = _log_of_1p(k, f)
    return _log_edges(a, fma(e, LN2_HIGH, fma(e, LN2_LOW, rest) + head))


def _log2(k: Body, a: Term) -> Term:
    e, f = _split(k, a)
    head, rest = _log_of_1p(k, f)
    # log2(e) in two parts; the first product is rounded once, where it matters least
    low = fma(rest, LOG2_E, head * 0.44269504)
    return _log_edges(a, (low + head) + e)


def _log1p(k: Body, a: Term) -> Term:
    """log(u), u = 1 + a as rounded, and of what that lost the part that counts; u is
    put together again, since some compilers hold u - 1 for a."""
    u = k.let("u", a + 1.0)
    n, f = _split_normal(k, u)
    half = k.let("half", _power_of_two(n - 1))  # 2**128 overflows
    lost = k.let("lost", (a * 0.5 - fma(f, half, half - 0.5)) / (u * 0.5))
    e = k.let("e", cast(n, F32))
    head, rest = _log_of_1p(k, f)
    y = fma(e, LN2_HIGH, fma(e, LN2_LOW, rest + lost) + head)
    return _log_edges(u, k.let("y", select(u.eq(1.0), a, y)))


def _tanh(k: Body, a: Term) -> Term:
    """t / (t + 1) with t = (exp(-2 |a|) - 1) / 2."""
    x = call("abs", a) * -2.0
    x = k.let("x", select(x < -25.0, lit(-25.0, F32), x))
    n, r = _reduce(k, x)
    p = k.let("p", fma(r * r, polynomial(r, EXP), r))
    s = k.let("s", _power_of_two(n - 1))
    t = k.let("t", fma(s, p, s - 0.5))
    return call("copysign", t / (t + 1.0), a)


def _erf(k: Body, a: Term) -> Term:
    x = k.let("x", call("abs", a))
    s = k.let("s", x * x)
    near = k.let("near", fma(x, polynomial(s, ERF_NEAR), x))
    g = polynomial(_clamp(x, 0.0, 4.0), ERF_FAR)
    far = k.let("far", lit(1.0, F32) - call("exp", -g))
    return call("copysign", select(x < 0.9, near, far), a)


def _atan(k: Body, a: Term) -> Term:
    """atan(x) up to 1, pi / 2 - atan(1 / x) beyond."""
    x = k.let("x", call("abs", a))
    far = k.let("far", x > 1.0)
    t = k.let("t", select(far, lit(1.0, F32) / x, x))
    s = k.let("s", t * t)
    near = k.let("near", fma(t * s, polynomial(s, ATAN), t))
    rest = lit(QUARTER_HIGH, F32) - (near - QUARTER_LOW)
    return call("copysign", select(far, rest, near), a)


def _circular(k: Body, a: Term, op: str) -> Term:
    """Sine, or cosine as the sine a quarter turn on."""
    near = k.let("near", call("abs", a) < NEAR)
    x = k.let("x", select(near, a, 0.0))
    n = k.let("n", call("round", x * 0.6366197723675814))
    r = x
    for part in HALF_PI:
        r = fma(n, -part, r)
    value = _turned(k, k.let("r", r), cast(n, I32), op)
    return select(near, value, call(f"far_{op}", a))


def _turned(k: Body, r: Term, quarters: Term, op: str) -> Term:
    """The function of so many quarter turns and `r`, which is within half a one."""
    s = k.let("s", r * r)
    sine = k.let("sine", fma(r * s, polynomial(s, SIN), r))
    cosine = k.let("cosine", fma(s * s, polynomial(s, COS), fma(s, -0.5, 1.0)))
    quarter = k.let("quarter", quarters + (1 if op == "cos" else 0))
    value = select((quarter & 1).ne(0), cosine, sine)
    return select((quarter & 2).ne(0), -value, value)


def _far(k: Body, a: Term, op: str) -> Term:
    """The same of 2**12 and more, on devices with integers of 64 bits (Payne and Hanek,
    SIGNUM Newsletter 18, 1983): a = m 2**e is m times those digits of 2 / pi that make
    quarter turns, up to 4, and parts of them; what is left out makes whole turns."""
    b = k.let("b", bits(a, U32))
    m = k.let("m", cast((b & 0x7FFFFF) | 0x800000, U64))
    start = k.let("start", ((b >> 23) & 0xFF) - 120)  # of those digits: e + 30
    word, by = k.let("word", start >> 5), k.let("by", start & 31)
    w = [k.let(f"w{i}", _word(word, i)) for i in range(4)]
    digits = [
        k.let(f"d{i}", cast(w[i] << by | ((w[i + 1] >> 1) >> (lit(31, U32) - by)), U64))
        for i in range(3)
    ]
    # In units of 2**-62 quarter turns, modulo 4 of them.
    turns = (m * digits[0] << 32) + m * digits[1] + (m * digits[2] >> 32)
    turns = k.let("turns", turns)
    quarters = k.let("quarters", cast((turns + (1 << 61)) >> 62, U32))
    rest = k.let("rest", turns - (cast(quarters, U64) << 62))
    high, low = bits(cast(rest >> 32, U32), I32), bits(cast(rest, U32) >> 1, I32)
    unit = math.pi / 2 * 2.0**-62
    r = k.let("r", fma(cast(high, F32), unit * 2.0**32, cast(low, F32) * (unit * 2.0)))
    negative = k.let("negative", b >= 0x80000000)
    q = k.let("q", bits(quarters, I32))
    value = _turned(k, select(negative, -r, r), select(negative, -q, q), op)
    return select(call("abs", a) < INF, value, a - a)


def _word(word: Term, plus: int) -> Term:
    """Of `TWO_OVER_PI`, the one at `word`, 0 to 4, and so many more.  Bit by bit: of a
    chain of equations gcc makes a table, which no loop over vectors reads."""
    t = [lit(w, U32) for w in TWO_OVER_PI[plus : plus + 5]]
    odd, above = (word & 1).ne(0), (word & 2).ne(0)
    low = select(above, select(odd, t[3], t[2]), select(odd, t[1], t[0]))
    return select(word > 3, t[4], low)


def _sin(k: Body, a: Term) -> Term:
    return select(a.eq(0.0), a, _circular(k, a, "sin"))


def _cos(k: Body, a: Term) -> Term:
    return _circular(k, a, "cos")


def _high(x: Term) -> Term:
    """The leading 12 bits: products of two such are exact."""
    return bits(bits(x, U32) & 0xFFFFF000, F32)


def _power_magnitude(k: Body, x: Term, b: Term) -> Term:
    """x**b for x > 0: 2**(b log2(x)), the exponent as a whole number and a rest."""
    e, f = _split(k, x)
    fh = k.let("fh", _high(f))
    h = k.let("h", _high(f - f * f * 0.5))  # log(1 + f) = h + l
    low = ((f - h) - fh * fh * 0.5) - (f - fh) * (f + fh) * 0.5
    l = k.let("l", low + f * f * f * polynomial(f, LOG))  # noqa: E741
    t = k.let("t", h * LOG2_E_HIGH)  # exact: log2(1 + f) = t + h LOG2_E_LOW + l log2(e)
    th = k.let("th", _high(t))
    tl = k.let("tl", (t - th) + (h * LOG2_E_LOW + l * LOG2_E))
    y = k.let("y", b * (e + (th + tl)))
    inside = k.let("inside", call("abs", y) < 200.0)
    n = k.let("n", call("round", select(inside, y, 0.0)))
    bh = k.let("bh", _high(b))
    whole = (bh * e - n) + bh * th
    power = call("exp2", whole + ((b - bh) * (e + th) + b * tl))
    i = k.let("i", cast(n, I32))
    return select(inside, _scale(k, power, i), call("exp2", y))


def _pow(k: Body, a: Term, b: Term) -> Term:
    x = k.let("x", call("abs", a))
    size = k.let("size", _power_magnitude(k, x, b))
    grows = (x > 1.0).eq(b > 0.0)
    limit = select(grows, lit(INF, F32), 0.0)
    edge = x.eq(0.0) | x.eq(INF) | call("abs", b).eq(INF)
    size = k.let("r", select(edge, select(x.eq(1.0), x, limit), size))
    whole = k.let("whole", call("round", b).eq(b))
    small = select(call("abs", b) < 16777216.0, b, 0.0)
    odd = (cast(select(small.eq(small), small, 0.0), I32) & 1).ne(0) & whole
    negative = k.let("negative", bits(a, U32) >= 0x80000000)
    lost = (a < 0.0) & (x < INF) & (call("abs", b) < INF) & (whole ^ True)
    signed = select(negative & odd, -size, size)
    missing = call("isnan", a, dtype=BOOL) | call("isnan", b, dtype=BOOL) | lost
    value = select(missing, lit(math.nan, F32), signed)
    return select(b.eq(0.0) | a.eq(1.0), lit(1.0, F32), value)


ELEMENTARY: dict[str, Maker] = {
    "exp": _exp,
    "exp2": _exp2,
    "expm1": _expm1,
    "log": _log,
    "log2": _log2,
    "log1p": _log1p,
    "tanh": _tanh,
    "erf": _erf,
    "atan": _atan,
    "sin": _sin,
    "cos": _cos,
    "pow": _pow,
    "far_sin": partial(_far, op="sin"),
    "far_cos": partial(_far, op="cos"),
}
