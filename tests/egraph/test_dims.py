"""Dimension polynomials: ring laws, exact division, text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewrite.egraph.ir import dims
from rewrite.egraph.ir.dims import Dim, bind, exact_div, floor_div, parse, symbol
from rewrite.egraph.ir.primes import witness

VALUES = {"a": 3, "b": 5, "c": 11}

divisors = st.sampled_from([*range(1, 9), -1, -2, -3])
polynomials = st.recursive(
    st.one_of(st.integers(-4, 4), st.sampled_from("abc").map(symbol)),
    lambda inner: st.builds(
        lambda op, x, y: x + y if op == "+" else x - y if op == "-" else x * y,
        st.sampled_from("+-*"), inner, inner,
    )
    | st.builds(floor_div, inner, divisors),
    max_leaves=6,
)  # fmt: skip


@given(polynomials, polynomials, polynomials)
def test_equal_polynomials_are_equal_values(x: Dim, y: Dim, z: Dim) -> None:
    assert x * (y + z) == x * y + x * z
    assert x + y == y + x and x * y == y * x and (x - y) + y == x


@given(polynomials, polynomials)
def test_binding_is_a_homomorphism(x: Dim, y: Dim) -> None:
    assert bind(x + y, VALUES) == bind(x, VALUES) + bind(y, VALUES)
    assert bind(x * y, VALUES) == bind(x, VALUES) * bind(y, VALUES)


@given(polynomials, polynomials)
def test_exact_division_undoes_products(x: Dim, y: Dim) -> None:
    if y != 0:
        assert exact_div(x * y, y) == x
    q = exact_div(x, y)
    assert q is None or q * y == x


@given(polynomials, polynomials, divisors, st.tuples(*[st.integers(0, 40)] * 3))
def test_quotients_are_those_of_integers(
    x: Dim, y: Dim, n: int, sizes: tuple[int, ...]
) -> None:
    values = dict(zip("abc", sizes, strict=True))
    assert bind(floor_div(x, n), values) == bind(x, values) // n
    assert floor_div(x + n * y, n) == y + floor_div(x, n)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 4)), max_size=6))
def test_windows_over_windows_are_one_quotient(layers: list[tuple[int, int]]) -> None:
    h = size = symbol("h")
    for shift, stride in layers:
        size = (size + shift) // stride
    assert sum("//" in a for a in dims.atoms((size,))) <= 1
    assert dims.symbols((size,)) == dims.symbols((h,))


@given(polynomials, st.integers(0, 2), st.tuples(*[st.integers(0, 40)] * 3))
def test_lower_bounds_hold(x: Dim, least: int, more: tuple[int, ...]) -> None:
    low = dims.lower_bound(x, least)
    sizes = {s: least + n for s, n in zip("abc", more, strict=True)}
    assert low is None or bind(x, sizes) >= low


def test_lower_bounds_that_padding_needs() -> None:
    h = symbol("h")
    missing = (h + 1) // 2 * 2 - h  # entries, for windows that fill the axis
    assert (dims.lower_bound(missing), dims.lower_bound(-missing)) == (0, -1)
    assert dims.lower_bound(h // 2 + h // 3) == 0
    assert dims.lower_bound(h * (h // 4) + 3) == 3
    assert dims.lower_bound(h - 4) == -3 and dims.lower_bound(4 - h) is None


def test_quotients_take_one_form() -> None:
    h, w = symbol("h"), symbol("w")
    assert str((h - 1) // 2 + 1) == "(1+h)//2"
    assert ((h + 1) // 2 + 1) // 2 == (h + 3) // 4
    assert (4 * h + 6 * w + 3) // 2 == 2 * h + 3 * w + 1
    assert (3 * h) // 4 == h - (h + 3) // 4 and str((6 * h + 5) // 4) == "1+h+h//2"
    assert h % 4 == h - 4 * (h // 4) and (8 * h + 3) % 4 == 3
    with pytest.raises(ZeroDivisionError):
        floor_div(h, 0)


def test_division_that_leaves_a_rest() -> None:
    b = symbol("b")
    assert exact_div(b + 1, b) is None
    assert exact_div(2 * b, 4) is None
    assert exact_div(7, 0) is None
    assert exact_div(b * b - 1, b - 1) == b + 1


@given(polynomials)
def test_text_round_trip(x: Dim) -> None:
    assert parse(str(x)) == x


@pytest.mark.parametrize(
    "text",
    [
        "",
        "b+",
        "2b",
        "b**2",
        "1.5",
        "b 2",
        "+",
        "a-*b",
        "a//b",
        "a//0",
        "(a",
        "a)",
        "a/2",
        "(" * 999 + "a",
    ],
)
def test_text_that_is_no_dimension(text: str) -> None:
    with pytest.raises(ValueError, match="is not a dimension"):
        parse(text)


def test_witness_primes_divide_no_fixed_size() -> None:
    a, b = symbol("a"), symbol("b")
    values = witness([(a, 1009 * 2, b), (a * b, 1013)])
    assert len(set(values.values())) == 2
    assert all(2018 % p and 1013 % p for p in values.values())


def test_unbound_symbols_are_named() -> None:
    with pytest.raises(KeyError, match="'b'"):
        bind(symbol("b"), {})
    assert dims.symbols((symbol("b") * symbol("a"), 3)) == {"a", "b"}
    assert dims.numel(()) == 1


def test_a_symbolic_size_that_is_asked_for_a_number_says_what_to_do() -> None:
    b = symbol("b")
    with pytest.raises(TypeError, match=r"b is symbolic, so it is no number.*fix the"):
        range(b)
    with pytest.raises(TypeError, match="2\\*b is symbolic, so it is not compared"):
        assert 2 * b > 3
