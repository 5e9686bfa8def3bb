"""Elementary functions on f32, without a branch, so that loops over them vectorise.

Each reduces its argument to a short interval and evaluates a polynomial fitted there
(weighted least squares iterated to equal ripple, then rounded to f32).  Errors over the
whole range are at most 4 units in the last place; infinities, NaN, overflow and
subnormal results come out as IEEE has them.
"""

from __future__ import annotations

import math

from ...egraph.dtypes import F32, I32, U32
from .inline import Body, Maker, Term, bits, call, cast, lit, polynomial, select

INF = math.inf
LN2_HIGH = 0.693145751953125  # ln 2 to 12 bits: n * LN2_HIGH is exact for |n| < 4096
LN2_LOW = 1.428606765330187e-06
LOG2_E = 1.4426950408889634

# (e**r - 1 - r) / r**2 on |r| <= ln(2) / 2
EXP = (0.5, 0.16666667, 0.04166627, 0.008333268, 0.0013946148, 0.00019916595)
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


def _reduce(k: Body, x: Term) -> tuple[Term, Term]:
    """n and r with x = n ln 2 + r, |r| <= ln(2) / 2."""
    n = k.let("n", call("round", x * LOG2_E))
    r = k.let("r", (x - n * LN2_HIGH) - n * LN2_LOW)
    return n, r


def _integer(k: Body, n: Term) -> Term:
    """The f32 n, a whole number or NaN, as i32: 0 for NaN."""
    return k.let("i", cast(select(n.eq(n), n, 0.0), I32))


def _exp(k: Body, a: Term) -> Term:
    x = k.let("x", _clamp(a, -105.0, 89.0))
    n, r = _reduce(k, x)
    p = k.let("p", r * r * polynomial(r, EXP) + r + 1.0)
    return _scale(k, p, _integer(k, n))


def _exp2(k: Body, a: Term) -> Term:
    x = k.let("x", _clamp(a, -151.0, 129.0))
    n = k.let("n", call("round", x))
    r = k.let("r", x - n)
    p = k.let("p", r * polynomial(r, EXP2) + 1.0)
    return _scale(k, p, _integer(k, n))


def _expm1(k: Body, a: Term) -> Term:
    x = k.let("x", _clamp(a, -25.0, 89.0))
    n, r = _reduce(k, x)
    p = k.let("p", r * r * polynomial(r, EXP) + r)
    s = k.let("s", _power_of_two(_integer(k, n) - 1))  # half: 2**128 overflows
    return select(n.eq(0.0), select(r.eq(0.0), a, p), (s * p + (s - 0.5)) * 2.0)


def _split(k: Body, a: Term) -> tuple[Term, Term]:
    """e and f with a = 2**e * (1 + f), sqrt(1/2) <= 1 + f < sqrt(2), for normal or
    subnormal a > 0."""
    tiny = k.let("tiny", a < 1.1754943508222875e-38)
    u = k.let("u", bits(select(tiny, a * 8388608.0, a), U32))
    shifted = k.let("shifted", u + (0x3F800000 - 0x3F3504F3))
    bias = select(tiny, lit(150, I32), 127)
    e = k.let("e", cast(bits(shifted >> 23, I32) - bias, F32))
    m = bits((shifted & 0x007FFFFF) + 0x3F3504F3, F32)
    return e, k.let("f", m - 1.0)


def _log_of_1p(f: Term) -> tuple[Term, Term]:
    """log(1 + f) as a head and a small rest."""
    return f, f * f * (f * polynomial(f, LOG) - 0.5)


def _log_edges(a: Term, y: Term) -> Term:
    """`y` where a is positive and finite, else the logarithm's limits."""
    below = select(a.eq(0.0), lit(-INF, F32), lit(math.nan, F32))
    return select((a > 0.0) & (a < INF), y, select(a.eq(INF), a, below))


def _log(k: Body, a: Term) -> Term:
    e, f = _split(k, a)
    head, rest = _log_of_1p(f)
    return _log_edges(a, (e * LN2_LOW + rest + head) + e * LN2_HIGH)


def _log2(k: Body, a: Term) -> Term:
    e, f = _split(k, a)
    head, rest = _log_of_1p(f)
    # log2(e) in two parts; the first product is rounded once, where it matters least
    low = rest * LOG2_E + head * 0.44269504
    return _log_edges(a, (low + head) + e)


def _log1p(k: Body, a: Term) -> Term:
    """Near 0, twice the inverse hyperbolic tangent of a / (a + 2)."""
    t = k.let("t", a / (a + 2.0))
    s = k.let("s", t * t)
    odd = (0.6666667, 0.4, 0.2857143, 0.22222222, 0.18181819, 0.15384616)
    near = k.let("near", t * s * polynomial(s, odd) + (t + t))
    far = call("log", a + 1.0)
    small = k.let("small", (a > -0.25) & (a < 0.375))
    return select(small, select(s.eq(0.0), a, near), far)


def _tanh(k: Body, a: Term) -> Term:
    """-t / (t + 2) with t = exp(-2 |a|) - 1."""
    t = k.let("t", call("expm1", call("abs", a) * -2.0))
    return call("copysign", -t / (t + 2.0), a)


def _erf(k: Body, a: Term) -> Term:
    x = k.let("x", call("abs", a))
    s = k.let("s", x * x)
    near = k.let("near", x * polynomial(s, ERF_NEAR) + x)
    g = polynomial(_clamp(x, 0.0, 4.0), ERF_FAR)
    far = k.let("far", lit(1.0, F32) - call("exp", -g))
    return call("copysign", select(x < 0.9, near, far), a)


ELEMENTARY: dict[str, Maker] = {
    "exp": _exp,
    "exp2": _exp2,
    "expm1": _expm1,
    "log": _log,
    "log2": _log2,
    "log1p": _log1p,
    "tanh": _tanh,
    "erf": _erf,
}
