"""Readers of primitives that compute each entry by itself."""

from __future__ import annotations

from .site import Site, primitive

UNARY = {
    "neg": "neg", "abs": "abs", "sign": "sign", "sqrt": "sqrt", "rsqrt": "rsqrt",
    "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log1p": "log1p",
    "sin": "sin", "cos": "cos", "tanh": "tanh", "erf": "erf", "atan": "atan",
    "floor": "floor", "ceil": "ceil", "is_finite": "isfinite", "not": "not",
    "square": "square", "logistic": "sigmoid",
}  # fmt: skip
BINARY = {
    "add": "add", "add_any": "add", "sub": "sub", "mul": "mul", "max": "max",
    "min": "min", "and": "and", "or": "or", "xor": "xor",
    "eq": "eq", "ne": "ne", "lt": "lt", "le": "le",
}  # fmt: skip
MOST = 16  # an exponent that is written out as products


@primitive(*UNARY)
def unary(site: Site) -> int:
    return site.b.un(UNARY[site.params["name"]], site.x())


@primitive(*BINARY)
def binary(site: Site) -> int:
    return site.b.bin(BINARY[site.params["name"]], *site.spread())


@primitive("gt", "ge")
def greater(site: Site) -> int:
    a, b = site.spread()
    return site.b.bin({"gt": "lt", "ge": "le"}[site.params["name"]], b, a)


@primitive("div", "pow")
def of_floats(site: Site) -> int:
    floats = all(site.b.type(x).dtype.is_float for x in site.xs)
    site.want(floats and site.dtype(0) == site.dtype(1), "not of floats")
    return site.b.bin(site.params["name"], *site.spread())


@primitive("round")
def round_(site: Site) -> int:
    site.want(int(site.params["rounding_method"]) == 1, "rounds halves away from zero")
    return site.b.un("round", site.x())


@primitive("integer_pow")
def integer_pow(site: Site) -> int:
    """x to a whole power, by squares as XLA has it."""
    n, b, x = int(site.params["y"]), site.b, site.x()
    site.want(0 < abs(n) <= MOST and (n > 0 or site.dtype().is_float), f"power {n}")
    result, rest = None, abs(n)
    while rest:
        if rest & 1:
            result = x if result is None else b.bin("mul", result, x)
        rest >>= 1
        x = b.un("square", x) if rest else x
    assert result is not None
    return b.un("recip", result) if n < 0 else result


@primitive("one_minus_square")
def one_minus_square(site: Site) -> int:
    one = site.full(site.b.const(1.0 if site.dtype().is_float else 1, site.dtype()))
    return site.b.bin("sub", one, site.b.un("square", site.x()))


@primitive("select_n")
def select_n(site: Site) -> int:
    site.want(len(site.operands) == 3 and site.dtype().name == "bool", "many cases")
    which, no, yes = site.spread()
    return site.b.select(which, yes, no)


@primitive("clamp")
def clamp(site: Site) -> int:
    low, x, high = site.spread()
    return site.b.bin("min", site.b.bin("max", x, low), high)


@primitive("convert_element_type")
def convert(site: Site) -> int:
    return site.b.cast(site.x(), site.out.dtype)


@primitive("stop_gradient", "copy", "copy_p")
def same(site: Site) -> int:
    return site.x()
