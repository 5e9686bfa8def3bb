"""Derivatives of elementwise opcodes, as data beside their meaning in `scalars.py`.

For each operand, the partial derivative as an S-expression over the operands `a` and
`b` and the result `y`; `select` chooses.  A composite opcode without an entry has the
derivative of its expansion.

Where there is none: `relu` has slope 0 at 0 and `abs` 1; `max` and `min` of equal
operands share it, one half each; what jumps (`floor`, `sign`, `mod` at multiples) has
the slope of what lies between.  A power has slope 0 in a base whose exponent is 0, and
in the exponent of 0.
"""

from __future__ import annotations

from .scalars import BY_NAME, SExpr, read

_TEXT: dict[str, tuple[str, ...]] = {
    "neg": ("-1",),
    "abs": ("(select (lt a 0) -1 1)",),
    "sign": ("0",),
    "recip": ("(neg (mul y y))",),
    "sqrt": ("(div 0.5 y)",),
    "exp": ("y",),
    "exp2": ("(mul y 0.6931471805599453)",),
    "expm1": ("(add y 1)",),
    "log": ("(recip a)",),
    "log2": ("(div 1.4426950408889634 a)",),
    "log1p": ("(recip (add a 1))",),
    "sin": ("(cos a)",),
    "cos": ("(neg (sin a))",),
    "tanh": ("(sub 1 (mul y y))",),
    "erf": ("(mul 1.1283791670955126 (exp (neg (mul a a))))",),
    "atan": ("(recip (add 1 (mul a a)))",),
    "floor": ("0",),
    "ceil": ("0",),
    "trunc": ("0",),
    "round": ("0",),
    "add": ("1", "1"),
    "sub": ("1", "-1"),
    "mul": ("b", "a"),
    "div": ("(recip b)", "(neg (div y b))"),
    "floordiv": ("0", "0"),
    "mod": ("1", "(neg (floordiv a b))"),
    "pow": (
        "(select (eq b 0) 0 (mul b (pow a (sub b 1))))",
        "(mul y (log (select (eq a 0) 1 a)))",
    ),
    "max": (
        "(select (lt b a) 1 (select (eq a b) 0.5 0))",
        "(select (lt a b) 1 (select (eq a b) 0.5 0))",
    ),
    "min": (
        "(select (lt a b) 1 (select (eq a b) 0.5 0))",
        "(select (lt b a) 1 (select (eq a b) 0.5 0))",
    ),
    "square": ("(mul 2 a)",),
    "relu": ("(select (lt 0 a) 1 0)",),
    "rsqrt": ("(mul -0.5 (div y a))",),
    "sigmoid": ("(mul y (sub 1 y))",),
    "softplus": ("(sigmoid a)",),
}

SLOPES: dict[str, tuple[SExpr, ...]] = {
    name: tuple(map(read, texts)) for name, texts in _TEXT.items()
}


def differentiable(opcode: str) -> bool:
    """Whether an opcode of floats has a derivative, by itself or by its expansion."""
    known = BY_NAME[opcode]
    return opcode in SLOPES or known.expansion is not None


__all__ = ["SLOPES", "differentiable"]
