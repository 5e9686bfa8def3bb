"""Whatever passes for an array: taken as NumPy takes it, or refused with a reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.egraph.ir.evaluate import evaluate

X = np.arange(12, dtype=np.float32).reshape(3, 4)


@dataclass
class Table:
    """Stands for a data frame or another library's tensor: it makes itself an array."""

    values: Any

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.values, dtype=dtype)


FORMS: dict[str, Any] = {
    "Fortran order": np.asfortranarray(X),
    "transposed": np.ascontiguousarray(X.T).T,
    "negative strides": X[::-1, ::-1],
    "steps": np.repeat(X, 2, 1)[:, ::2],
    "zero strides": np.broadcast_to(X[0], (3, 4)),
    "foreign byte order": X.astype(">f4"),
    "table": Table(X),
    "table of a foreign byte order": Table(X.astype(">f4")),
    "memory map": np.memmap,
    "record view": np.rec.fromarrays([X.ravel()], names="a").a.reshape(3, 4),
}
READ_ONLY = X.copy()
READ_ONLY.flags.writeable = False
FORMS["read-only"] = READ_ONLY


def f(x: Any, y: Any) -> Any:
    return xp.exp(x * 0.125) + y[::-1], xp.sum(x, axis=0)


def wanted(value: Any) -> Any:
    a = np.asarray(value, np.float32)
    return np.exp(a * np.float32(0.125)) + X[::-1], a.sum(0)


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_an_array(form: str, tmp_path: Any) -> None:
    value = FORMS[form]
    if form == "memory map":
        value = np.memmap(tmp_path / "x", np.float32, "w+", shape=(3, 4))
        value[...] = X
    want = wanted(value)
    eager = f(xp.asarray(value), X)
    graph = xp.trace(f, value, X)
    traced = evaluate(graph, xp.leaves({"x": value, "y": X})).values()
    inside = evaluate(xp.trace(lambda y: f(xp.asarray(value), y), X), {"y": X}).values()
    for made in (eager, traced, inside):
        for got, w in zip(made, want, strict=True):
            assert got.dtype == np.float32
            np.testing.assert_allclose(got, w, rtol=1e-6)


def test_forms_of_an_array_in_compiled_code() -> None:
    fast = rw.optimize(f, X, X, device="c", effort=0)
    calls = rw.jit(f, device="c", effort=0)
    for form, value in FORMS.items():
        if form == "memory map":
            continue
        for made in (fast(value, X), calls(value, X)):
            for got, w in zip(made, wanted(value), strict=True):
                np.testing.assert_allclose(got, w, rtol=1e-6, err_msg=form)


@pytest.mark.parametrize(
    "f",
    [
        lambda m, x: m + x,
        lambda m, x: m < x,
        lambda m, x: m @ x,
        lambda m, x: np.add(m, x),
        lambda m, x: np.ma.add(m, x),
        lambda m, x: np.where(x > 0, m, x),
        lambda m, x: np.concatenate([m, x]),
    ],
)
def test_a_masked_array_at_the_left_is_refused(f: Callable[..., Any]) -> None:
    masked = np.ma.masked_array(X[0], [0, 1, 0, 1])
    with pytest.raises(xp.TraceError, match=r"mask.*filled|filled.*mask"):
        xp.trace(lambda x: f(masked, x), X[1])


def test_what_makes_itself_an_array_in_a_structure() -> None:
    g = rw.jit(lambda p: p["a"] * p["b"][0], device="c", effort=0)
    for _ in range(2):
        np.testing.assert_array_equal(g({"a": Table(X), "b": (Table(X),)}), X * X)
    got = rw.jit(lambda x: x + Table(X), device="c", effort=0)(X)
    np.testing.assert_array_equal(got, X + X)
    np.testing.assert_array_equal(xp.add(Table(X), 1), X + 1)


def test_data_frames() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0], "b": [3, 4]})
    g = rw.jit(lambda t, s: xp.sum(t, axis=0) + s[0], device="c", effort=0)
    np.testing.assert_array_equal(g(frame, frame["a"]), [4.0, 8.0])
    with pytest.raises(xp.TraceError, match="objects"):
        xp.exp(pandas.DataFrame({"a": ["x", "y"]}))


@pytest.mark.parametrize("value", [np.float32(2), np.array(2, np.float32), np.int8(2),
                                   np.bool_(True), ml_dtypes.bfloat16(2)])  # fmt: skip
def test_numpy_scalars_and_arrays_of_rank_0(value: Any) -> None:
    want = X * value
    for got in (
        evaluate(xp.trace(lambda x: x * value, X), {"x": X})["out0"],
        xp.multiply(X, value),
        evaluate(
            xp.trace(lambda x, v: x * v, X, value), xp.leaves({"x": X, "v": value})
        )["out0"],
    ):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


BAD: dict[str, tuple[Any, str]] = {
    "object": (np.array([1.5, None], object), r"dtype object .*\.astype"),
    "object table": (Table(np.array([1.5, "a"], object)), r"dtype object .*\.astype"),
    "structured": (np.zeros(3, [("a", "f4"), ("b", "i8")]), r"fields .*dict"),
    "long complex": (np.ones(3, np.clongdouble), r"longdouble|256|128"),
    "text": (np.array(["a", "b"]), r"texts as numbers"),
    "bytes": (np.array([b"a"]), r"texts as numbers"),
    "time": (np.array(["2020-01-01"], "M8[D]"), r"times as numbers"),
    "duration": (np.array([3], "m8[s]"), r"times as numbers"),
    "long double": (np.ones(2, np.longdouble), r"\.astype\(np\.float64\)"),
    "masked": (np.ma.masked_array(X, X > 3), r"mask.*\.filled"),
    "matrix": (X.view(np.matrix), r"np\.matrix .*np\.asarray"),
}  # fmt: skip


@pytest.mark.parametrize("form", BAD)
@pytest.mark.parametrize(
    "use",
    [
        lambda v: xp.trace(lambda x: x, v),
        lambda v: xp.trace(lambda x: xp.exp(x + v), X[0, :2]),
        lambda v: xp.trace(lambda x: x["a"], {"a": v}),
        lambda v: xp.positive(v),
        lambda v: xp.asarray(v),
        lambda v: rw.optimize(lambda x: x, v),
        lambda v: rw.jit(lambda x: xp.positive(x), fallback=False)(v),
    ],
    ids=["argument", "operand", "structure", "function", "asarray", "optimize", "jit"],
)
def test_what_no_graph_holds_is_refused(form: str, use: Callable[[Any], Any]) -> None:
    value, message = BAD[form]
    with pytest.raises(xp.TraceError, match=message):
        use(value)


@pytest.mark.parametrize(
    ("value", "want"),
    [
        ([1, 2], np.array([1, 2])),
        ([[1.5, 2], [3, 4]], np.array([[1.5, 2], [3, 4]], np.float32)),
        ([1, 2.5], np.array([1, 2.5], np.float32)),
        ([True, False], np.array([True, False])),
        ([], np.array([], np.float32)),
        (range(3), np.arange(3)),
        ((np.float64(1), np.float64(2)), np.array([1.0, 2.0])),
        ([np.int8([1, 2]), np.int8([3, 4])], np.array([[1, 2], [3, 4]], np.int8)),
    ],
)  # fmt: skip
def test_lists_become_arrays_by_asarray(value: Any, want: Any) -> None:
    got = xp.asarray(value)
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_array_equal(got, want)
    assert xp.asarray(value, dtype=xp.float16).dtype == np.float16


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: x * [1, 2, 3, 4], r"found list: xp\.asarray"),
        (lambda x: xp.exp([x, x]), r"found list: .*xp\.stack"),
        (lambda x: xp.asarray([x, x]), r"xp\.stack"),
        (lambda x: x + xp.asarray([[1, 2], [3]]), "equal rows"),
        (lambda x: x + xp.asarray(["a"]), "texts"),
        (lambda x: xp.nn.gelu(x * 1j), r"xp\.nn\.gelu of complex numbers: .*real"),
        (lambda x: x + None, "found NoneType"),
        (lambda x: x + xp.symbol("n"), "size n has no value"),
    ],
)
def test_what_is_no_operand_is_refused(f: Callable[..., Any], message: str) -> None:
    with pytest.raises(xp.TraceError, match=message):
        xp.trace(f, X)
