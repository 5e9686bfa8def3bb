"""Every op's derivative against differences of its values, in f64.

Tangents: central differences along a random direction.  Cotangents: the transpose,
⟨c, J t⟩ = ⟨Jᵀ c, t⟩.  The second order: the same of x -> J(x)ᵀ c.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.egraph.ir.macros import MACROS
from rewrite.egraph.ir.scalars import BY_NAME
from rewrite.egraph.ir.slopes import differentiable
from rewrite.transforms.derivatives import CONSTANT, RULES, UNKNOWN
from rewrite.xp import TraceError
from rewrite.xp.staging import at_once

from .cases import CASES, FLOAT_OPCODES, OPS, Array, Case, Draw, binary, unary

STEP = 1e-5  # of central differences: errors of about 1e-10 relative to third slopes
type F = Callable[..., Any]


def difference(f: F, at: tuple[Array, ...], along: tuple[Array, ...]) -> list[Array]:
    """(f(x + h t) - f(x - h t)) / 2 h."""
    ahead = f(*(x + STEP * t for x, t in zip(at, along, strict=True)))
    behind = f(*(x - STEP * t for x, t in zip(at, along, strict=True)))
    return [(a - b) / (2 * STEP) for a, b in zip(ahead, behind, strict=True)]


def like(d: Draw, arrays: Any) -> tuple[Array, ...]:
    return tuple(d.rng.standard_normal(np.shape(a)) for a in arrays)


def check(f: F, at: tuple[Array, ...], d: Draw, tolerance: float) -> F:
    """`f` gives a tuple.  Returns x -> J(x)ᵀ c, for the next order."""
    along = like(d, at)
    values, tangents = rw.jvp(f, at, along)
    for t, expected in zip(tangents, difference(at_once(f), at, along), strict=True):
        np.testing.assert_allclose(t, expected, rtol=tolerance, atol=tolerance)
    cotangent = like(d, values)
    back = rw.vjp(f, *at)[1](cotangent)
    assert [b.shape for b in back] == [x.shape for x in at]
    ahead = sum(np.vdot(c, t) for c, t in zip(cotangent, tangents, strict=True))
    there = sum(np.vdot(b, t) for b, t in zip(back, along, strict=True))
    np.testing.assert_allclose(there, ahead, rtol=1e-9, atol=1e-9)
    return lambda *x: rw.vjp(f, *x)[1](cotangent)


def check_both_orders(case: Case, d: Draw) -> None:
    slope = check(lambda *x: (case.of_floats(*x),), case.floats, d, 1e-7)
    check(slope, case.floats, d, 1e-5)


@pytest.mark.parametrize("op", OPS)
def test_an_op_has_a_derivative_or_a_reason_and_a_case(op: str) -> None:
    known = op in RULES or op in CONSTANT or op in UNKNOWN or op in MACROS
    assert known, (
        f"{op}: add a rule to rewrite/transforms/derivatives/, an expansion, or the "
        "reason why it has none"
    )
    assert op in CASES, f"{op}: add a way to draw it to tests/transforms/cases.py"


@pytest.mark.parametrize("name", FLOAT_OPCODES)
def test_an_opcode_of_floats_has_a_slope(name: str) -> None:
    assert differentiable(name), f"{name}: add its slope to egraph/ir/slopes.py"


@pytest.mark.parametrize("name", FLOAT_OPCODES)
def test_slopes(name: str) -> None:
    d = Draw(len(name))
    draw = unary if BY_NAME[name].arity == 1 else binary
    for _ in range(2):
        check_both_orders(draw(d, name), d)


JUMPS = ("argreduce", "bitcast")  # between which they are constant


@pytest.mark.parametrize("op", sorted({*OPS} - {"un", "bin", *JUMPS, *UNKNOWN}))
def test_ops(op: str) -> None:
    for seed in range(6):
        d = Draw(seed)
        check_both_orders(CASES[op](d), d)


@pytest.mark.parametrize("op", JUMPS)
def test_what_jumps_is_constant(op: str) -> None:
    case = CASES[op](Draw(1))
    slope = rw.grad(lambda x: xp.sum(x * case.of_floats(x)))(*case.floats)
    value = at_once(case.of_floats)(*case.floats)
    np.testing.assert_allclose(slope, np.broadcast_to(value, slope.shape))


def test_a_call_has_no_derivative_and_says_what_to_do() -> None:
    case = CASES["call"](Draw(0))
    with pytest.raises(TraceError, match=r"call 'sorted': .*rewrite\.stop_gradient"):
        rw.grad(lambda x: xp.sum(case.of_floats(x)))(*case.floats)
    slope = rw.grad(lambda x: xp.sum(x * case.of_floats(rw.stop_gradient(x))))
    np.testing.assert_allclose(slope(*case.floats), at_once(case.apply)(*case.floats))


@pytest.mark.parametrize("name", ["abs", "relu", "max", "min", "pow", "clip", "amax"])
def test_kinks(name: str) -> None:
    """What is chosen where there is no derivative: JAX's choices."""
    zero = np.float64(0)
    f, at, expected = {
        "abs": (xp.abs, (zero,), (1.0,)),
        "relu": (xp.nn.relu, (zero,), (0.0,)),
        "max": (xp.maximum, (zero, zero), (0.5, 0.5)),
        "min": (xp.minimum, (zero, zero), (0.5, 0.5)),
        "pow": (xp.pow, (zero, zero), (0.0, 0.0)),
        "clip": (lambda x: xp.clip(x, 0.0, 1.0), (zero,), (0.5,)),
        "amax": (xp.max, (np.array([1.0, 3.0, 3.0]),), ([0.0, 0.5, 0.5],)),
    }[name]
    slopes = rw.grad(f, argnums=tuple(range(len(at))))(*at)
    for slope, e in zip(slopes, expected, strict=True):
        np.testing.assert_array_equal(slope, e)


def test_products_with_zeros() -> None:
    x = np.array([2.0, 0.0, 3.0, 0.0, 5.0])
    one = np.array([2.0, 0.0, 3.0])
    np.testing.assert_array_equal(rw.grad(xp.prod)(x), np.zeros(5))
    np.testing.assert_array_equal(rw.grad(xp.prod)(one), [0.0, 6.0, 0.0])
    last = rw.grad(lambda x: xp.cumulative_prod(x)[2])(one)
    np.testing.assert_array_equal(last, [0.0, 6.0, 0.0])
