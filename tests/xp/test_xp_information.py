"""What the standard tells of dtypes and shapes, and what works on arrays alone."""

from __future__ import annotations

from typing import Any

import array_api_strict as strict
import numpy as np
import pytest

from rewrite import xp
from rewrite.egraph.ir.dims import MAX_RANK

NAMES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
         "uint64", "float32", "float64", "complex64", "complex128")  # fmt: skip
KINDS = ("bool", "signed integer", "unsigned integer", "integral", "real floating",
         "complex floating", "numeric")  # fmt: skip
ROWS = np.array([[3, 1, 3], [0, 1, 7]], np.int32)


@pytest.mark.parametrize("name", NAMES)
def test_kinds_and_casts_are_the_standards(name: str) -> None:
    own, its = getattr(xp, name), getattr(strict, name)
    for kind in KINDS:
        assert xp.isdtype(own, kind) == strict.isdtype(its, kind)
    assert xp.isdtype(own, ("integral", own)) and not xp.isdtype(own, ())
    for other in NAMES:
        to, its_to = getattr(xp, other), getattr(strict, other)
        assert xp.isdtype(own, to) == (name == other)
        if own.kind == to.kind or {own.kind, to.kind} == {"int", "uint"}:
            assert xp.can_cast(own, to) == strict.can_cast(its, its_to), (own, to)
        elif own.kind == "bool" or to.kind == "bool":  # between kinds it is NumPy's
            assert xp.can_cast(own, to) == np.can_cast(name, other), (own, to)
    with pytest.raises(ValueError, match="kind 'whole' of a dtype; known: bool"):
        xp.isdtype(own, "whole")


def test_limits() -> None:
    for name in ("float32", "float64"):
        own, its = xp.finfo(getattr(xp, name)), strict.finfo(getattr(strict, name))
        for field in ("bits", "eps", "max", "min", "smallest_normal"):
            assert getattr(own, field) == getattr(its, field)
        assert own.dtype is getattr(xp, name)
    assert xp.finfo(xp.bfloat16).eps == 2**-7
    assert xp.iinfo(ROWS).max == 2**31 - 1 and xp.iinfo(xp.uint64).max == 2**64 - 1
    with pytest.raises(TypeError, match="iinfo has integers"):
        xp.finfo(xp.int8)
    with pytest.raises(TypeError, match="finfo has floats"):
        xp.iinfo(xp.float32)


def test_shapes_meet() -> None:
    assert xp.broadcast_shapes() == ()
    assert xp.broadcast_shapes((3, 1), (4,), (1, 1, 1)) == (1, 3, 4)
    assert xp.broadcast_shapes((0,), (1,)) == (0,)
    with pytest.raises(
        TypeError, match=r"\(3,\), \(4,\) do not meet: axis 0 has 3 and 4"
    ):
        xp.broadcast_shapes((3,), (4,))


def test_the_namespace_tells_of_itself() -> None:
    info = xp.__array_namespace_info__()
    assert info.default_device() in info.devices()
    assert info.capabilities()["max dimensions"] == MAX_RANK
    for kind, dtype in info.default_dtypes().items():
        kind = "integral" if kind == "indexing" else kind
        assert dtype in info.dtypes(kind=kind).values()
    assert list(info.dtypes()) == list(NAMES)
    assert list(info.dtypes(kind=("bool", "unsigned integer")))[:2] == ["bool", "uint8"]
    assert xp.__array_api_version__ >= "2024.12"


def test_what_depends_on_values_works_on_arrays() -> None:
    for got, want in zip(xp.nonzero(ROWS), np.nonzero(ROWS), strict=True):
        np.testing.assert_array_equal(got, want)
    values, first, inverse, counts = xp.unique_all(ROWS)
    np.testing.assert_array_equal(values, [0, 1, 3, 7])
    np.testing.assert_array_equal(values[inverse], ROWS)
    np.testing.assert_array_equal(ROWS.ravel()[first], values)
    np.testing.assert_array_equal(counts, xp.unique_counts(ROWS).counts)
    np.testing.assert_array_equal(inverse, xp.unique_inverse(ROWS).inverse_indices)
    assert xp.unique_values(np.array([np.nan, np.nan, 1])).size == 3
    with pytest.raises(ValueError, match="at least one axis"):
        xp.nonzero(np.float32(3))


def test_arrays_of_other_libraries_are_taken_as_they_are() -> None:
    assert np.shares_memory(xp.from_dlpack(ROWS), ROWS)
    assert not np.shares_memory(xp.from_dlpack(ROWS, copy=True), ROWS)


@pytest.mark.parametrize("name", ["nonzero", "unique_values", "from_dlpack"])
def test_in_a_trace_they_say_why_not(name: str) -> None:
    def f(x: Any) -> Any:
        return getattr(xp, name)(x)

    with pytest.raises(TypeError, match=rf"xp\.{name}: "):
        xp.trace(f, ROWS)


def test_arrays_are_real() -> None:
    x = np.array([-1.5, 2, np.inf], np.float32)
    np.testing.assert_array_equal(xp.conj(x), x)
    np.testing.assert_array_equal(xp.real(x), x)
    np.testing.assert_array_equal(xp.imag(x), [0, 0, 0])
    assert xp.imag(x).dtype == np.float32


def test_the_next_float_has_its_sign() -> None:
    least = np.float32(1e-45)
    a = np.array([0, -0.0, 0, -least, least, np.inf, np.inf, 3, np.nan], np.float32)
    b = np.array([-1, 1, -0.0, 1, -1, 0, np.inf, 3, 1], np.float32)
    got, want = xp.nextafter(a, b), np.nextafter(a, b)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got[:-1]), np.signbit(want[:-1]))
