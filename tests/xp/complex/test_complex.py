"""Complex arrays beside NumPy: outside a trace, traced, and as kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import rewrite as rw
from rewrite import xp
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.xp import TraceError

RNG = np.random.default_rng(11)
type Call = Callable[..., Any]


def draw(*shape: int, dtype: Any = np.complex128) -> Any:
    z = RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)
    return z.astype(dtype)


Z, W, V, X = draw(3, 4), draw(3, 4), draw(4), RNG.standard_normal((3, 4))
AT = np.array([[2, 0, 1, 1]])

# A function of a namespace, of arrays; NumPy's own answer is the one expected.
BOTH: dict[str, tuple[Call, tuple[Any, ...]]] = {
    **{name: (lambda m, x, f=name: getattr(m, f)(x), (Z,)) for name in (
        "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "conj", "cos", "cosh",
        "exp", "expm1", "imag", "isfinite", "isinf", "isnan", "log", "log10", "log2",
        "logical_not", "negative", "positive", "real", "reciprocal", "round", "sign",
        "sin", "sinh", "sqrt", "square", "tan", "tanh",
        "all", "any", "count_nonzero", "mean", "prod", "std", "sum", "var",
        "matrix_transpose", "tril", "triu", "zeros_like", "ones_like",
    )},
    **{name: (lambda m, x, y, f=name: getattr(m, f)(x, y), (Z, W)) for name in (
        "add", "divide", "equal", "logical_and", "logical_or", "logical_xor",
        "multiply", "not_equal", "pow", "subtract",
    )},
    "mixed": (lambda m, x, y: (x * y - y) / x + y / (x - 2j) - (3 + x) * 0.5, (Z, X)),
    "broadcast": (lambda m, x, y: x * y, (Z, V)),
    "numbers": (lambda m, x: 1j * x + 2 - x / (1 - 2j) + (0.5 + 1j) / x, (X,)),
    "powers": (lambda m, x: x**3 + x**-2 + x**0 + x**0.5 + x**1.25 + x ** (1 + 2j),
               (Z,)),
    "power of a real": (lambda m, x, y: m.abs(x) ** y, (X, Z)),
    "where": (lambda m, x, y: m.where(m.real(x) > 0, x, y), (Z, X)),
    "getitem": (lambda m, x: x[1:, ::-2] + x[0, 1] - x[None, -1, ..., :2], (Z,)),
    "take": (lambda m, x, i: m.take(x, i, axis=1), (Z, AT[0])),
    "take_along_axis": (lambda m, x, i: m.take_along_axis(x, i, axis=1),
                        (Z[:1], AT)),
    "concat": (lambda m, x, y: m.concat([x, y, x], axis=1), (Z, X)),
    "stack": (lambda m, x, y: m.stack([x, y], axis=-1), (X, Z)),
    "moves": (lambda m, x: m.roll(m.flip(m.permute_dims(m.reshape(x, (2, 3, 2)),
                                                       (2, 0, 1)), axis=0), 1, axis=2),
              (Z,)),
    "expand": (lambda m, x: m.squeeze(m.expand_dims(x, axis=1), axis=1), (Z,)),
    "tile": (lambda m, x: m.tile(x, (2, 3)), (V,)),
    "repeat": (lambda m, x: m.repeat(x, 2, axis=0), (Z,)),
    "broadcast_to": (lambda m, x: m.broadcast_to(x, (2, 4)), (V,)),
    "moveaxis": (lambda m, x: m.moveaxis(x, 0, 1), (Z,)),
    "diff": (lambda m, x: m.diff(x, axis=1, n=2, prepend=x[:, :1]), (Z,)),
    "sum by axis": (lambda m, x: m.sum(x, axis=0, keepdims=True), (Z,)),
    "sum of reals": (lambda m, x: m.sum(x, dtype=m.complex128), (X,)),
    "prod by axis": (lambda m, x: m.prod(x, axis=1), (Z[:, :3],)),
    "prod of none": (lambda m, x: m.prod(x, axis=0, keepdims=True), (Z[:0],)),
    "mean by axis": (lambda m, x: m.mean(x, axis=(0, 1)), (Z,)),
    "cumulative_sum": (lambda m, x: m.cumulative_sum(x, axis=1), (Z,)),
    "cumulative_prod": (lambda m, x: m.cumulative_prod(x, axis=1), (Z,)),
    "cumulative_prod from 1": (lambda m, x: m.cumulative_prod(
        x, axis=0, include_initial=True), (Z,)),
    "matmul": (lambda m, x, y: m.matmul(x, m.matrix_transpose(y)), (Z, W)),
    "matmul of a real": (lambda m, x, y: x.T @ y, (Z, X)),
    "matmul vector": (lambda m, x, y: x @ y, (X, V)),
    "tensordot": (lambda m, x, y: m.tensordot(x, y, axes=((0, 1), (0, 1))), (Z, W)),
    "vecdot": (lambda m, x, y: m.vecdot(x, y), (Z, W)),
    "outer": (lambda m, x, y: m.outer(x, y), (V, V)),
    "einsum": (lambda m, x, y, z: m.einsum("ij,kj,j->ik", x, y, z), (Z, W, V)),
    "astype": (lambda m, x: m.astype(x, m.complex64), (Z,)),
    "astype of a real": (lambda m, x: m.astype(x, m.complex128), (X,)),
    "meshgrid": (lambda m, x: m.meshgrid(x, x * 2)[1], (V,)),
    "unstack": (lambda m, x: m.unstack(x, axis=1)[2], (Z,)),
    "split": (lambda m, x: m.split(x, 2, axis=1)[1], (Z,)),
    "asarray": (lambda m, x: x + m.asarray([1j, 2, 3.5, 0]), (Z,)),
    "linspace": (lambda m, x: x * m.linspace(1j, 2 - 1j, 4), (Z,)),
    "full": (lambda m, x: x * m.full((3, 4), 2 + 1j) + m.eye(3, 4, dtype=m.complex128),
             (Z,)),
}  # fmt: skip


def matches(got: Any, want: Any, tight: float = 1e-13) -> None:
    want = np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=tight, atol=tight)


def traced(f: Call, *args: Any) -> Any:
    """The value of a graph whose inputs are the arguments' parts."""
    names = [f"a{i}" for i in range(len(args))]
    graph = xp.trace(f, *args, names=names)
    given: dict[str, Any] = {}
    for name, x in zip(names, args, strict=True):
        if x.dtype.kind == "c":
            given |= {f"{name}.real": x.real, f"{name}.imag": x.imag}
        else:
            given[name] = x
    made = list(evaluate(graph, given).values())
    return made[0] + 1j * made[1] if len(made) == 2 else made[0]


@pytest.mark.parametrize("name", BOTH)
def test_beside_numpy(name: str) -> None:
    f, args = BOTH[name]
    with np.errstate(all="ignore"):
        want = f(np, *args)
    if name in ("asarray", "linspace", "full"):  # whose default is complex64
        want = want.astype(np.complex128)
    loose = 1e-7 if name in ("asarray", "linspace", "full", "astype") else 1e-12
    matches(f(xp, *args), want, loose)
    matches(traced(lambda *a: f(xp, *a), *args), want, loose)


@pytest.mark.parametrize("name", [
    "abs", "exp", "log", "sqrt", "mixed", "where", "prod", "matmul", "einsum",
])  # fmt: skip
def test_as_kernels(name: str) -> None:
    f, given = BOTH[name]
    small = {"c": np.complex64, "f": np.float32}
    args = [a.astype(small.get(a.dtype.kind, a.dtype)) for a in given]
    want = f(np, *args)
    fast: Any = rw.optimize(
        lambda *a: f(xp, *a), *args, device="c", effort=0, fallback=False
    )
    matches(fast(*args), want, 2e-5)


def test_dtypes() -> None:
    assert xp.complex64 == np.complex64 and np.zeros(2, xp.complex128).dtype == "c16"
    assert xp.result_type(xp.float32, xp.complex64) is xp.complex64
    assert xp.result_type(xp.float64, xp.complex64) is xp.complex128
    assert xp.result_type(xp.int8, 1j) is xp.complex128
    assert xp.result_type(xp.bfloat16, 1j) is xp.complex64
    assert xp.result_type(2.5, 1j) is xp.complex64
    assert xp.result_type(xp.complex64, 1.5, 2) is xp.complex64
    for name in ("int8", "int32", "uint16", "float16", "float64", "bool"):
        for other in (np.complex64, np.complex128):
            want = np.result_type(np.dtype(name), other)
            assert xp.result_type(np.dtype(name), other) == want, (name, other)
            assert xp.add(np.ones(2, name), np.ones(2, other)).dtype == want
            assert xp.can_cast(name if name != "bool" else "?", other) == np.can_cast(
                name, other
            )
    assert xp.isdtype(xp.complex64, "complex floating")
    assert xp.isdtype(xp.complex64, "numeric")
    assert not xp.isdtype(xp.complex64, "real floating")
    assert xp.finfo(xp.complex128).eps == np.finfo(np.float64).eps
    assert xp.finfo(xp.complex64).dtype is xp.float32
    with pytest.raises(TypeError, match="iinfo"):
        xp.iinfo(xp.complex64)
    assert xp.zeros(3, dtype=xp.complex64).dtype == np.complex64
    assert xp.zeros(3, dtype=complex).dtype == np.complex64
    for spec in (
        xp.complex64,
        "complex64",
        "c64",
        np.complex64,
        np.dtype("c8"),
        complex,
    ):
        assert xp.astype(X, spec).dtype == xp.asarray(X, dtype=spec).dtype == "c8"
        graph = xp.trace(lambda x, s=spec: x.astype(s), X)
        assert len(graph.outputs) == 2


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("name", [
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "log",
    "log1p", "sin", "sinh", "sqrt", "tan", "tanh",
])  # fmt: skip
def test_special_values_are_those_of_c(name: str) -> None:
    """Signs beside an infinity without an angle are left open there."""
    z = np.array([complex(a, b) for a in SPECIAL for b in SPECIAL])
    with np.errstate(all="ignore"):
        want = getattr(np, name)(z)
    got = getattr(xp, name)(z)
    angled = np.isfinite(z.real) | np.isfinite(z.imag)
    for a, b in ((got.real, want.real), (got.imag, want.imag)):
        a, b = np.where(angled, a, np.abs(a)), np.where(angled, b, np.abs(b))
        np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-16)
        known = ~np.isnan(b) & np.isfinite(z)
        np.testing.assert_array_equal(np.signbit(a)[known], np.signbit(b)[known])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_nothing_leaves_the_range_on_the_way(dtype: Any) -> None:
    big = float(np.finfo(dtype).max)
    z = np.array([0.9 * big * (1 + 1j), 0.5 * big, 1j * big, 1e-30 * (1 - 1j)], dtype)
    for name in ("abs", "log", "sqrt", "sign", "asinh", "acosh", "tanh"):
        got, tight = getattr(xp, name)(z), 8 * np.finfo(dtype).eps
        want = getattr(np, name)(z.astype(np.clongdouble))
        with np.errstate(over="ignore"):
            want = want.astype(got.dtype)
        np.testing.assert_allclose(got, want, rtol=tight)
    np.testing.assert_allclose(xp.divide(z / 4, z / 4), 1 + 0 * z, rtol=1e-6)
    top = np.log(big) + 0.3
    angle = dtype(complex(top, 1.3))
    want = np.exp(np.clongdouble(angle)).real  # in range, unlike exp(top)
    np.testing.assert_allclose(xp.exp(angle).real, want, rtol=1e-4)


@pytest.mark.parametrize("name", ["exp", "log", "log1p", "expm1", "sqrt", "tanh"])
def test_digits(name: str) -> None:
    """Beside many more digits: also near 0, and where |z| is near 1."""
    turns = np.exp(1j * RNG.uniform(-3, 3, 200)) * (1 + RNG.normal(0, 1e-4, 200))
    z = np.concatenate([draw(200) * 1e-4, turns, draw(200) * 20])
    wide = z.astype(np.clongdouble)
    if name == "log1p":  # NumPy's adds 1 first, and the sum forgets what is small
        x, y = wide.real, wide.imag
        want = np.log1p(x * (2 + x) + y * y) / 2 + 1j * np.arctan2(y, 1 + x)
    else:
        want = getattr(np, name)(wide)
    got = getattr(xp, name)(z)
    assert np.max(np.abs(got - want) / np.abs(want)) < 5e-15


STRICT = (
    "abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atanh", "conj", "cos",
    "cosh", "cumulative_prod", "cumulative_sum", "divide", "equal", "exp", "expm1",
    "imag", "isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2", "matmul",
    "mean", "multiply", "negative", "not_equal", "ones_like", "positive", "pow", "prod",
    "real", "reciprocal", "round", "sign", "sin", "sinh", "sqrt", "square", "subtract",
    "sum", "tan", "tanh", "tril", "triu", "vecdot", "zeros_like",
)  # fmt: skip
PAIRS = ("add", "divide", "equal", "matmul", "multiply", "not_equal", "pow", "subtract",
         "vecdot")  # fmt: skip
SQUARE = hnp.arrays(
    st.sampled_from([np.complex64, np.complex128]), (3, 3),
    elements=st.complex_numbers(
        min_magnitude=1e-3, max_magnitude=16, allow_subnormal=False, width=64
    ),
)  # fmt: skip


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", STRICT)
@settings(max_examples=12, deadline=None)
@given(x=SQUARE, seed=st.integers(0, 9))
def test_beside_the_strict_implementation(name: str, x: Any, seed: int) -> None:
    """Errors are those of the largest value, as sums and products have them."""
    y = np.random.default_rng(seed).permutation(x) + x.dtype.type(0.5j)
    args = (x, y) if name in PAIRS else (x,)
    options = {"axis": 1} if name.startswith("cumulative") else {}
    got = getattr(xp, name)(*args, **options)
    with np.errstate(all="ignore"):
        want = getattr(strict, name)(*map(strict.asarray, args), **options)
    want = np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape
    if want.dtype.kind in "fc":
        known = np.isfinite(want)
        eps = np.finfo(want.dtype).eps
        wide = max(np.abs(want[known]).max(initial=0), 1)
        gap = np.abs(got - want)[known]
        assert gap.max(initial=0) <= 500 * eps * wide
    else:
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", [
    "argmax", "argsort", "bitwise_and", "clip", "floor", "floor_divide", "less", "max",
    "maximum", "remainder", "sort", "trunc", "erf", "hypot",
])  # fmt: skip
def test_what_complex_numbers_do_not_have(name: str) -> None:
    args = (Z, Z) if name in ("bitwise_and", "floor_divide", "less", "maximum",
                              "remainder", "hypot") else (Z,)  # fmt: skip
    with pytest.raises(
        TraceError, match=rf"xp\.{name} of complex numbers: .*xp\.real|b"
    ):
        getattr(xp, name)(*args)
    with pytest.raises(TraceError, match="of complex numbers"):
        xp.trace(lambda x: x < 1j, X)
    with pytest.raises(TypeError, match="would lose imaginary parts"):
        xp.astype(Z, xp.float32)


def test_graphs_are_real() -> None:
    graph = xp.trace(lambda z: xp.exp(z) * 1j, Z)
    assert [n.attrs[0] for n in graph.inputs] == ["z.real", "z.imag"]
    assert [label for label, _ in graph.outputs] == ["out0.real", "out0.imag"] or len(
        graph.outputs
    ) == 2
    value = evaluate(graph, {"z.real": Z.real, "z.imag": Z.imag})
    assert all(a.dtype == np.float64 for a in value.values())


def test_a_product_is_one_kernel() -> None:
    args = [draw(64, 64, dtype=np.complex64) for _ in range(3)]
    fast: Any = rw.optimize(lambda a, b, c: (a * b + c) * 1j, *args, device="c")
    assert len(fast.kernels) == 1
    np.testing.assert_allclose(
        fast(*args), (args[0] * args[1] + args[2]) * 1j, rtol=1e-5, atol=1e-6
    )
