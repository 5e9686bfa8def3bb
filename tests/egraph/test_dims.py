"""Dimension polynomials: ring laws, exact division, text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewrite.egraph.ir import dims
from rewrite.egraph.ir.dims import Dim, bind, exact_div, parse, symbol, witness

VALUES = {"a": 3, "b": 5, "c": 11}

polynomials = st.recursive(
    st.one_of(st.integers(-4, 4), st.sampled_from("abc").map(symbol)),
    lambda inner: st.builds(
        lambda op, x, y: x + y if op == "+" else x - y if op == "-" else x * y,
        st.sampled_from("+-*"), inner, inner,
    ),
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


def test_division_that_leaves_a_rest() -> None:
    b = symbol("b")
    assert exact_div(b + 1, b) is None
    assert exact_div(2 * b, 4) is None
    assert exact_div(7, 0) is None
    assert exact_div(b * b - 1, b - 1) == b + 1


@given(polynomials)
def test_text_round_trip(x: Dim) -> None:
    assert parse(str(x)) == x


@pytest.mark.parametrize("text", ["", "b+", "2b", "b**2", "1.5", "b 2", "+", "a-*b"])
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
