"""Opcodes as the solver has them agree with NumPy, in every theory; lemmas hold."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
import z3

from rewrite.authoring.smt.theory.functions import RISING
from rewrite.authoring.smt.theory.lemmas import LEMMAS
from rewrite.authoring.smt.theory.theories import FORMATS, REAL, opcode
from rewrite.egraph.ir.dtypes import BY_NAME as DTYPES
from rewrite.egraph.ir.ops import Array
from rewrite.egraph.ir.scalars import BY_NAME, Scalar

SMALL = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 448.0)
SPECIAL = (*SMALL, np.inf, -np.inf, np.nan, 1e30)
REALS = (0.5, -0.5, 1.0, 2.0, -3.0, 0.25)
# Opcodes without a meaning in a theory are functions that nobody knows there.
HARD = {s.name for s in BY_NAME.values() if not s.exact and s.expansion is None}
HARD |= {"floor", "ceil", "trunc", "round"}
UNKNOWN = {
    REAL: {*HARD, "sqrt", "isnan", "isfinite", "floordiv", "mod"},
    "float": {*HARD, "sign", "floordiv", "mod"},
    "int": {"floordiv", "mod", "intpow", "threefry"},
    "bool": set[str](),
}


def values(kind: str) -> list[Any]:
    if kind == REAL:
        return list(REALS)
    dtype = DTYPES[kind]
    if dtype.kind == "bool":
        return [False, True]
    if dtype.is_float:
        return [dtype.numpy.type(v) for v in SPECIAL]
    info = np.iinfo(dtype.numpy)
    some = {0, 1, 2, 3, 7, dtype.bits - 1, dtype.bits, info.max, info.min, info.max - 1}
    return [dtype.numpy.type(v) for v in sorted(some)]


def term(v: Any, kind: str) -> Any:
    if kind == REAL:
        return z3.RealVal(str(Fraction(float(v))))
    if kind == "bool":
        return z3.BoolVal(bool(v))
    if kind in FORMATS:
        return float_term(float(v), kind)
    return z3.BitVecVal(int(v), DTYPES[kind].bits)


def float_term(v: float, kind: str) -> Any:
    sort = z3.FPSort(*FORMATS[kind])
    if np.isnan(v):
        return z3.fpNaN(sort)
    if np.isinf(v):
        return z3.fpInfinity(sort, v < 0)
    return z3.fpZero(sort, bool(np.signbit(v))) if v == 0 else z3.FPVal(v, sort)


def numpy(op: Scalar, args: tuple[Any, ...], kind: str) -> Array:
    dtype = np.float64 if kind == REAL else DTYPES[kind].numpy
    found = op.numpy(*(np.asarray([a], dtype) for a in args))
    return found if op.gives_bool else np.asarray(found).astype(dtype)


def is_same(found: Any, want: Array, op: Scalar, kind: str) -> bool:
    w = want[0]
    if op.gives_bool or kind == "bool":
        return z3.is_true(z3.simplify(found == bool(w)))
    if kind == REAL:
        value = z3.simplify(found).as_fraction()
        return bool(np.isclose(float(value), float(w), rtol=1e-12))
    if kind not in FORMATS:
        return z3.is_true(z3.simplify(found == term(w, kind)))
    goal = found == float_term(float(w), kind)
    if op.name in ("max", "min") and w == 0:
        goal = z3.fpIsZero(found)  # which of two zeros comes out is left open
    return z3.is_true(z3.simplify(goal)) or proved(goal)


def proved(goal: Any) -> bool:
    s = z3.Solver()
    s.add(z3.Not(goal))
    return s.check() == z3.unsat


def kinds(op: Scalar) -> list[str]:
    out = [REAL] if "float" in op.takes else []
    out += [n for n in ("f8e5m2", "f16", "f32") if "float" in op.takes]
    out += [n for n in ("i8", "i32", "u8", "u64") if DTYPES[n].kind in op.takes]
    return [*out, *(["bool"] if "bool" in op.takes else [])]


@pytest.mark.parametrize("name", BY_NAME)
def test_opcodes_agree_with_numpy(name: str) -> None:
    op = BY_NAME[name]
    for kind in kinds(op):
        family = kind if kind in (REAL, "bool") else DTYPES[kind].kind
        family = "int" if family == "uint" else family
        for args in product(values(kind), repeat=op.arity):
            if kind == REAL and name in ("div", "recip") and args[-1] == 0:
                continue
            found = opcode(name, kind, [term(a, kind) for a in args])
            if found is None:
                assert name in UNKNOWN[family] or op.expansion is not None
                break
            with np.errstate(all="ignore"):
                want = numpy(op, args, kind)
            assert is_same(found, want, op, kind), (name, kind, args, found, want)


def every(dtype: str) -> Array:
    """All values of a dtype of at most 16 bits."""
    d = DTYPES[dtype]
    bits = np.arange(1 << d.bits, dtype=np.uint16 if d.bits == 16 else np.uint8)
    return bits.view(d.numpy)


def alike(a: Array, b: Array, *, zeros: bool = False) -> bool:
    """The same bits, of NaN aside; zeros of either sign are one where `zeros`."""
    wide = [x.astype(np.float64) for x in (a, b)]
    nan = np.isnan(wide[0]) & np.isnan(wide[1])
    same = wide[0] == wide[1]
    if not zeros:
        same &= np.signbit(wide[0]) == np.signbit(wide[1])
    return bool((nan | same).all())


@pytest.mark.parametrize("dtype", ["f8e4m3", "f8e5m2"])
def test_ieee_lemmas_for_every_pair(dtype: str) -> None:
    """signs, subtraction, commuted, difference: on all 65,536 pairs of 8-bit floats."""
    x = every(dtype)
    a, b = (g.ravel() for g in np.meshgrid(x, x))
    f = {n: BY_NAME[n].numpy for n in ("add", "sub", "mul", "div", "neg", "abs")}
    assert alike(f["sub"](a, b), f["add"](a, f["neg"](b)))
    assert alike(f["add"](a, b), f["add"](b, a))
    assert alike(f["mul"](a, b), f["mul"](b, a))
    for op in ("mul", "div"):
        assert alike(f[op](f["neg"](a), b), f["neg"](f[op](a, b)))
        assert alike(f[op](a, f["neg"](b)), f["neg"](f[op](a, b)))
    assert alike(f["neg"](f["sub"](a, b)), f["sub"](b, a), zeros=True)


@pytest.mark.parametrize("dtype", ["f8e4m3", "f8e5m2", "f16", "bf16"])
def test_ieee_lemmas_for_every_value(dtype: str) -> None:
    """unit, zero, signs: on all values of the small formats."""
    x = every(dtype)
    one, two, zero = (np.full_like(x, v) for v in (1, 2, 0))
    f = {n: BY_NAME[n].numpy for n in ("add", "sub", "mul", "div", "neg", "abs", "pow")}
    assert alike(f["mul"](x, one), x) and alike(f["div"](x, one), x)
    assert alike(f["pow"](x, one).astype(x.dtype), x)
    assert alike(f["sub"](x, zero), x)
    assert alike(f["mul"](x, -one), f["neg"](x))
    assert alike(f["add"](x, x), f["mul"](x, two))
    assert alike(f["add"](x, zero), x, zeros=True)
    assert not alike(f["add"](x, zero), x), "the sign of zero is lost"
    assert alike(f["neg"](f["neg"](x)), x)
    assert alike(f["abs"](f["neg"](x)), f["abs"](x))


def test_f8e4m3_lies_in_f16() -> None:
    """embedding: the values are f16 values, and max, min, signs keep them."""
    x = every("f8e4m3")
    wide = x.astype(np.float16)
    assert alike(wide.astype(x.dtype), x)
    a, b = (g.ravel() for g in np.meshgrid(x, x))
    for op in ("max", "min"):
        narrow = BY_NAME[op].numpy(a, b).astype(np.float16)
        both = BY_NAME[op].numpy(a.astype(np.float16), b.astype(np.float16))
        assert alike(narrow, both, zeros=True)


def test_lemmas_of_scaled_and_shifted_maxima() -> None:
    """The step from n elements to n + 1, over the reals."""
    a, b, c = z3.Reals("a b c")
    top = z3.If(a >= b, a, b)
    low = z3.If(a <= b, a, b)
    scaled = z3.If(c * a >= c * b, c * a, c * b)
    assert proved(z3.Implies(c >= 0, scaled == c * top))
    assert proved(z3.Implies(c <= 0, scaled == c * low))
    assert proved(z3.If(a + c >= b + c, a + c, b + c) == top + c)
    assert not proved(scaled == c * top)


@pytest.mark.parametrize("name", sorted(RISING))
def test_opcodes_that_do_not_fall(name: str) -> None:
    x = np.linspace(1e-3, 20, 4001)
    x = x if name in ("log", "log2", "log1p", "sqrt") else np.concatenate([-x[::-1], x])
    y = BY_NAME[name].numpy(x).astype(np.float64)
    assert (np.diff(y) >= 0).all()


def test_every_lemma_says_why() -> None:
    assert all(lemma.says and lemma.because for lemma in LEMMAS.values())
