"""Every function of `rewrite.xp`: the traced graph's value beside another library's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewrite import xp
from rewrite.egraph.ir.dtypes import F32, I32, I64
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.graph import GraphError
from rewrite.xp.functions import by_values, information

RNG = np.random.default_rng(7)
X = RNG.standard_normal((3, 4)).astype(np.float32)
Y = RNG.standard_normal((3, 4)).astype(np.float32)
ROW = RNG.standard_normal(4).astype(np.float32)
POS = np.abs(X) + np.float32(0.5)
UNIT = np.tanh(X)
I = RNG.integers(-9, 9, (3, 4)).astype(np.int32)  # noqa: E741
J = RNG.integers(1, 5, (3, 4)).astype(np.int32)
TINY = RNG.integers(-100, 100, (2, 5)).astype(np.int8)
UINT = RNG.integers(0, 200, (2, 5)).astype(np.uint8)
B = RNG.integers(0, 2, (3, 4)).astype(np.bool_)
C = RNG.integers(0, 2, (3, 4)).astype(np.bool_)
T3 = RNG.standard_normal((2, 3, 4)).astype(np.float32)
M = RNG.standard_normal((2, 4, 5)).astype(np.float32)
ODD = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -2.5], np.float32)
IDX = np.array([2, 0, -1, 1], np.int64)

type Case = tuple[Callable[..., Any], tuple[Any, ...]]


def each(names: str, *args: Any) -> dict[str, Case]:
    """Functions that differ only by name, called on `args`."""
    return {
        name: (lambda xp, *a, name=name: getattr(xp, name)(*a), args)
        for name in names.split()
    }


# Against the strict implementation of the standard.
STANDARD: dict[str, Case] = {
    **each("abs negative positive sign square exp expm1 sin cos tan tanh sinh cosh", X),
    **each("atan asinh", X),
    **each("atan2", X, Y),
    **each("acosh", POS + 1),
    **each("floor ceil trunc round isnan isinf isfinite signbit", ODD),
    **each("nextafter", X, Y),
    **each("sqrt log log2 log10 log1p reciprocal", POS),
    **each("asin acos atanh", UNIT),
    **each("add subtract multiply divide remainder floor_divide", X, Y),
    **each("maximum minimum less less_equal greater greater_equal", X, Y),
    **each("equal not_equal bitwise_and bitwise_or bitwise_xor", I, J),
    **each("bitwise_left_shift bitwise_right_shift", I, J),
    **each("logical_and logical_or logical_xor", B, C),
    **each("logical_not bitwise_invert", B),
    **each("copysign hypot logaddexp pow", POS, Y),
    **each("result_type", TINY, UINT),
    **each("sum prod max min mean var std", X),
    **each("any all count_nonzero", B),
    **each("argmax argmin", X),
    **each("matrix_transpose", T3),
    **each("matmul", T3, M),
    **each("vecdot", X, Y),
    **each("zeros_like ones_like", X),
    "empty": (lambda xp: xp.empty((2, 0), dtype=xp.float32), ()),
    "empty_like": (lambda xp, x: xp.empty_like(x) * 0, (X,)),
    "where": (lambda xp, c, x, y: xp.where(c, x, y), (B, X, Y)),
    "clip": (lambda xp, x: xp.clip(x, -0.5, 0.25), (X,)),
    "astype": (lambda xp, x: xp.astype(x, xp.int32), (X * 10,)),
    "zeros": (lambda xp: xp.zeros((2, 3), dtype=xp.int32), ()),
    "ones": (lambda xp: xp.ones(4, dtype=xp.float64), ()),
    "full": (lambda xp: xp.full((2, 2), 7, dtype=xp.int8), ()),
    "full_like": (lambda xp, x: xp.full_like(x, 2.5), (X,)),
    "eye": (lambda xp: xp.eye(3, 5, k=-1, dtype=xp.float32), ()),
    "arange": (lambda xp: xp.arange(3, 20, 4, dtype=xp.int64), ()),
    "linspace": (lambda xp: xp.linspace(-1, 3, 9, dtype=xp.float64), ()),
    "asarray": (lambda xp: xp.asarray([[1, 2], [3, 4]], dtype=xp.int16), ()),
    "tril": (lambda xp, x: xp.tril(x, k=1), (T3,)),
    "triu": (lambda xp, x: xp.triu(x, k=-1), (T3,)),
    "broadcast_to": (lambda xp, x: xp.broadcast_to(x, (2, 3, 4)), (ROW,)),
    "broadcast_arrays": (lambda xp, x, y: xp.broadcast_arrays(x, y)[1], (X, ROW)),
    "meshgrid": (lambda xp, x, y: xp.meshgrid(x, y)[1], (ROW, POS[0, :3])),
    "reshape": (lambda xp, x: xp.reshape(x, (4, -1)), (T3,)),
    "permute_dims": (lambda xp, x: xp.permute_dims(x, (2, 0, 1)), (T3,)),
    "expand_dims": (lambda xp, x: xp.expand_dims(x, axis=-2), (X,)),
    "moveaxis": (lambda xp, x: xp.moveaxis(x, (0, 1), (-1, 0)), (T3,)),
    "concat": (lambda xp, x, y: xp.concat((x, y), axis=1), (X, T3[0])),
    "concat flat": (lambda xp, x, y: xp.concat((x, y), axis=None), (X, ROW)),
    "stack": (lambda xp, x, y: xp.stack((x, y), axis=-1), (X, Y)),
    "unstack": (lambda xp, x: xp.unstack(x, axis=1)[2], (T3,)),
    "flip": (lambda xp, x: xp.flip(x, axis=(0, -1)), (T3,)),
    "roll": (lambda xp, x: xp.roll(x, (1, -5), axis=(0, 2)), (T3,)),
    "roll flat": (lambda xp, x: xp.roll(x, 5), (T3,)),
    "tile": (lambda xp, x: xp.tile(x, (2, 1, 3)), (X,)),
    "repeat": (lambda xp, x: xp.repeat(x, 3, axis=1), (X,)),
    "take": (lambda xp, x, i: xp.take(x, i, axis=1), (T3, np.abs(IDX))),
    "take_along_axis": (
        lambda xp, x, i: xp.take_along_axis(x, i, axis=1), (X, J.astype(np.int64) % 4)
    ),
    "tensordot": (lambda xp, x, y: xp.tensordot(x, y, axes=((1, 0), (0, 2))),
                  (T3, RNG.standard_normal((3, 5, 2)).astype(np.float32))),
    "tensordot outer": (lambda xp, x, y: xp.tensordot(x, y, axes=0), (ROW, X)),
    "matmul vector": (lambda xp, x, y: x @ y, (T3, ROW)),
    "matmul row": (lambda xp, x, y: x @ y, (ROW, M)),
    "matmul dot": (lambda xp, x, y: x @ y, (ROW, ROW)),
    "sum axes": (lambda xp, x: xp.sum(x, axis=(0, -1)), (T3,)),
    "sum widens": (lambda xp, x: xp.sum(x, axis=0), (TINY,)),
    "sum unsigned": (lambda xp, x: xp.sum(x), (UINT,)),
    "prod empty": (lambda xp, x: xp.prod(x, axis=0), (X[:0],)),
    "var sample": (lambda xp, x: xp.var(x, axis=1, correction=1.0), (T3 + 1e3,)),
    "argmax axis": (lambda xp, x: xp.argmax(x, axis=1, keepdims=True), (T3,)),
    "mixed integers": (lambda xp, x, y: x + y, (TINY, UINT)),
    "mixed floats": (lambda xp, x, y: x * y, (X, Y.astype(np.float64))),
    "scalars": (lambda xp, x: 2 - x / 3.0 + 1, (X,)),
    "power": (lambda xp, x: x**2 + x**3 + 2.0**x, (POS,)),
    "int power": (lambda xp, x: x**5 + x**0, (I,)),
    "int powers": (lambda xp, x, y: xp.pow(x, xp.abs(y)) + 3 ** xp.abs(y), (I, J)),
    "index int": (lambda xp, x: x[1, -1, :], (T3,)),
    "index steps": (lambda xp, x: x[::-1, 2:0:-1, -3::2], (T3,)),
    "index new": (lambda xp, x: x[None, ..., 1, None], (T3,)),
}  # fmt: skip

# Functions and forms that NumPy has and the standard has not.
NUMPY: dict[str, Case] = {
    "cumulative_sum": (lambda xp, x: xp.cumulative_sum(x), (ROW,)),
    "cumulative_sum axis": (
        lambda xp, x: xp.cumulative_sum(x, axis=-2, include_initial=True), (T3,)
    ),
    "cumulative_sum of integers": (lambda xp, x: xp.cumulative_sum(x, axis=0), (I,)),
    "cumulative_sum of truth": (
        lambda xp, x: xp.cumulative_sum(x, axis=1, dtype=xp.int32), (B,)
    ),
    "cumulative_prod": (
        lambda xp, x: xp.cumulative_prod(x, axis=1, include_initial=True), (X,)
    ),
    "diff": (lambda xp, x: xp.diff(x), (X,)),
    "diff twice": (lambda xp, x: xp.diff(x, axis=0, n=2), (T3,)),
    "diff ends": (
        lambda xp, x, y: xp.diff(x, axis=1, prepend=y, append=y), (X, X[:, :1])
    ),
    "diff of truth": (lambda xp, x: xp.diff(x, axis=0), (B,)),
    **each("exp2", X),
    **each("outer", ROW, IDX.astype(np.float32)),
    "squeeze": (lambda xp, x: xp.squeeze(x[:, None], axis=1), (X,)),
    "matmul broadcast": (lambda xp, x, y: x @ y, (T3[:, None], M)),
    "index empty": (lambda xp, x: x[5:, ...], (X,)),
    "index array": (lambda xp, x, i: x[1, i, ...], (T3, IDX[:3])),
    "split": (lambda xp, x: xp.split(x, (1, -1), axis=2)[1], (T3,)),
    "einsum": (lambda xp, x, y: xp.einsum("bij,bjk->kb", x, y), (T3, M)),
    "einsum 3": (
        lambda xp, x, y, z: xp.einsum("bij,bjk,j->ib", x, y, z), (T3, M, ROW)
    ),
    "einsum 1": (lambda xp, x: xp.einsum("abc->ca", x), (T3,)),
    "index negative": (lambda xp, x, i: xp.take(x, i, axis=-1), (T3, IDX)),
    "index matrix": (lambda xp, x, i: x[:, :, i], (T3, IDX.reshape(2, 2))),
}  # fmt: skip


def _softmax(x: Any, axis: int) -> Any:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def _erf(x: Any) -> Any:
    return np.vectorize(math.erf)(x)


def _norm(x: Any, centre: bool) -> Any:
    x = x - x.mean(-1, keepdims=True) if centre else x
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def _scattered(x: Any) -> Any:
    out = x.copy()
    np.add.at(out, (np.arange(3)[:, None], [[0, 0, 3]] * 3), 1.5)
    return out


# Functions of this package's own: (ours, NumPy's, operands).
OWN: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]] = {
    "erf": (xp.erf, _erf, (X,)),
    "rsqrt": (xp.rsqrt, lambda x: 1 / np.sqrt(x), (POS,)),
    "relu": (xp.nn.relu, lambda x: np.maximum(x, 0), (X,)),
    "sigmoid": (xp.nn.sigmoid, lambda x: 1 / (1 + np.exp(-x)), (X,)),
    "silu": (xp.nn.silu, lambda x: x / (1 + np.exp(-x)), (X,)),
    "softplus": (xp.nn.softplus, lambda x: np.log1p(np.exp(x)), (X,)),
    "gelu": (xp.nn.gelu, lambda x: 0.5 * x * (1 + _erf(x / np.sqrt(2))), (X,)),
    "gelu tanh": (
        lambda x: xp.nn.gelu(x, "tanh"),
        lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
        (X,),
    ),
    "softmax": (lambda x: xp.nn.softmax(x, 1), lambda x: _softmax(x, 1), (T3,)),
    "log_softmax": (
        xp.nn.log_softmax, lambda x: np.log(_softmax(x, -1)), (T3,)
    ),
    "logsumexp": (
        lambda x: xp.nn.logsumexp(x, 0), lambda x: np.log(np.exp(x).sum(0)), (T3,)
    ),
    "layer_norm": (
        xp.nn.layer_norm, lambda x, w, b: _norm(x, True) * w + b, (T3, ROW, Y)
    ),
    "rms_norm": (xp.nn.rms_norm, lambda x, w: _norm(x, False) * w, (T3, ROW)),
    "attention": (
        xp.nn.attention,
        lambda q, k, v: _softmax(q @ k.transpose(0, 2, 1) / 2, -1) @ v,
        (T3, T3[:, ::-1].copy(), M[:, :3].copy()),
    ),
    "iota": (lambda: xp.iota((2, 3), 1), lambda: np.tile(np.arange(3), (2, 1)), ()),
    "pad": (
        lambda x: xp.pad(x, ((0, 1), (2, 0)), 5.0),
        lambda x: np.pad(x, ((0, 1), (2, 0)), constant_values=5.0), (X,),
    ),
    "sliding_window": (
        lambda x: xp.sliding_window(x, 3, axis=1),
        lambda x: np.lib.stride_tricks.sliding_window_view(x, 3, 1), (X,),
    ),
    "put_along_axis": (
        lambda x: xp.put_along_axis(x, [[0, 0, 3]] * 3, 1.5, 1, "add"), _scattered, (X,)
    ),
    "named": (lambda x: xp.named(x * 2, "twice"), lambda x: x * 2, (X,)),
    "mean of halves": (
        lambda x: xp.mean(xp.astype(x, xp.float16)),
        lambda x: np.float16(np.mean(x.astype(np.float16), dtype=np.float32)),
        (np.full(5000, 40, np.float32),),
    ),
}  # fmt: skip


def run(f: Callable[..., Any], *args: Any) -> Any:
    names = [f"a{i}" for i in range(len(args))]
    graph = xp.trace(f, *args, names=names)
    (value,) = evaluate(graph, dict(zip(names, args, strict=True))).values()
    return value


def check(got: Any, want: Any) -> None:
    want = np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape
    # Both sides calculate in the dtype; orders of summation differ.
    eps = np.finfo(want.dtype).eps if want.dtype.kind == "f" else 0
    np.testing.assert_allclose(got, want, rtol=32 * float(eps), atol=32 * float(eps))


@pytest.mark.parametrize("name", STANDARD)
def test_as_the_standard_says(name: str) -> None:
    f, args = STANDARD[name]
    if name == "result_type":
        dtype = strict.result_type(*map(strict.asarray, args))
        assert run(lambda *a: xp.add(*a), *args).dtype == np.dtype(str(dtype)[-5:])
        return
    want = f(strict, *(strict.asarray(a) for a in args))
    check(run(lambda *a: f(xp, *a), *args), np.asarray(want))


@pytest.mark.parametrize("name", NUMPY)
def test_as_numpy_does(name: str) -> None:
    f, args = NUMPY[name]
    check(run(lambda *a: f(xp, *a), *args), f(np, *args))


@pytest.mark.parametrize("name", OWN)
def test_own_functions(name: str) -> None:
    ours, numpy, args = OWN[name]
    want = np.asarray(numpy(*args))
    got = run(ours, *args)
    if got.dtype.kind == "f":
        want = want.astype(got.dtype)
    check(got, want)


def test_every_function_is_tested() -> None:
    public = {n for n in xp.__all__ if callable(getattr(xp, n))}
    public |= {n for n in vars(xp.nn) if n in xp.nn.__all__}
    tools = {"TensorType", "TraceError", "Traced", "Tracer", "Leaf", "bind_names",
             "leaves", "map_tree", "scan", "symbol", "trace", "trace_tree"}  # fmt: skip
    images = {"avg_pool", "conv", "max_pool"}  # by test_images.py
    tools |= {"dropout"}  # by test_random.py
    sorts = {
        "argsort",
        "isin",
        "searchsorted",
        "sort",
        "top_k",
    }  # by test_xp_sorting.py
    tools |= {"cond", "scan", "while_loop"}  # by test_scan.py, test_control.py
    # By test_xp_information.py.
    tools |= {*information.__all__, *by_values.__all__, "conj", "imag", "real"}
    assert public - tools - images - sorts <= {*STANDARD, *NUMPY, *OWN}


@st.composite
def keys(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Basic indices of an array of `shape`, with new axes and an ellipsis."""
    parts: list[Any] = []
    for n in shape[: draw(st.integers(0, len(shape)))]:
        integer = st.integers(-n, n - 1) if n else st.slices(n)
        parts.append(draw(st.one_of(st.slices(n), integer)))
    for extra in draw(st.lists(st.sampled_from([None, ...]), max_size=2)):
        if extra is None or Ellipsis not in parts:
            parts.insert(draw(st.integers(0, len(parts))), extra)
    return tuple(parts)


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_basic_indexing_is_numpys(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(0, 4), max_size=4)))
    x = np.arange(math.prod(shape), dtype=np.float32).reshape(shape)
    key = data.draw(keys(shape))
    try:
        want = x[key]
    except IndexError:  # more indices after an ellipsis than axes
        with pytest.raises((IndexError, TypeError)):
            run(lambda a: a[key], x)
    else:
        check(run(lambda a: a[key], x), want)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_einsum_is_numpys(data: st.DataObject) -> None:
    size = {c: data.draw(st.integers(0, 3)) for c in "abcd"}
    letters = st.lists(st.sampled_from("abcd"), unique=True, max_size=3)
    terms = data.draw(st.lists(letters, min_size=1, max_size=3))
    seen = sorted({c for t in terms for c in t})
    out = data.draw(st.permutations(seen))[: data.draw(st.integers(0, len(seen)))]
    spec = f"{','.join(map(''.join, terms))}->{''.join(out)}"
    arrays = [
        np.asarray(RNG.integers(-3, 4, [size[c] for c in t]), np.float32) for t in terms
    ]
    got = run(lambda *xs: xp.einsum(spec, *xs), *arrays)
    check(got, np.asarray(np.einsum(spec, *arrays), np.float32))


def test_symbolic_sizes() -> None:
    b = xp.symbol("b")

    def f(x: Any) -> Any:
        tail = xp.reshape(x[1:, ::2], (-1, 1))
        return xp.var(x, axis=0), tail, x[::-1][-2:], xp.split(x, 2, axis=1)[1]

    graph = xp.trace(f, xp.TensorType(F32, (b, 4)))
    assert graph.symbols == ("b",)
    for n in (2, 7):
        x = RNG.standard_normal((n, 4)).astype(np.float32)
        want = (x.var(0), x[1:, ::2].reshape(-1, 1), x[::-1][-2:], x[:, 2:])
        for got, w in zip(evaluate(graph, {"x": x}).values(), want, strict=True):
            check(got, w)


def test_structures_name_inputs_and_outputs() -> None:
    def f(x: Any, params: Any, scale: float) -> Any:
        return {"y": x @ params["w"][0] * scale, "rest": (x, None)}

    traced = xp.trace_tree(f, {"x": X, "p": {"w": [Y.T]}, "scale": 2.0})
    assert [n.name for n in traced.graph.inputs] == ["x", "p.w.0"]
    assert [label for label, _ in traced.graph.outputs] == ["y", "rest.0"]
    assert traced.result == {"y": xp.Leaf("y"), "rest": (xp.Leaf("rest.0"), None)}
    assert traced.arguments["p"] == {"w": [xp.Leaf("p.w.0")]}
    assert list(xp.leaves({"x": X, "p": {"w": [Y.T]}, "scale": 2.0})) == ["x", "p.w.0"]


@pytest.mark.parametrize(
    "keys",
    [({"a": {"b": 1}, "a.b": 2}), ({"0": 1, "out0": 2}), ({1: 1, "1": 2, "out1_2": 3})],
)
def test_no_output_is_lost_to_another_of_its_name(keys: Any) -> None:
    f = lambda x: xp.map_tree(lambda _, by: x + by, keys, "")  # noqa: E731
    traced = xp.trace_tree(f, {"x": I})
    values = evaluate(traced.graph, {"x": I})

    def same(_: str, leaf: xp.Leaf) -> Any:
        return int((values[leaf.label] - I)[0, 0])

    assert xp.map_tree(same, traced.result, "") == keys


def test_names_of_more_arguments_than_parameters_differ() -> None:
    def f(arg1: Any, *rest: Any) -> Any:
        return arg1 - rest[0] * rest[1]

    named = xp.bind_names(f, (X, Y, POS))
    (got,) = evaluate(xp.trace(f, X, Y, POS), named).values()
    check(got, X - Y * POS)


@pytest.mark.parametrize("index", [IDX, None], ids=["constant", "argument"])
def test_negative_positions_of_a_symbolic_axis(index: Any) -> None:
    def f(x: Any, i: Any) -> Any:
        i = i if index is None else index
        ones = xp.ones((4, 2))
        at = xp.broadcast_to(xp.reshape(i, (4, 1)), (4, 2))
        added = xp.put_along_axis(x, at, ones, 0, "add")
        return xp.take(x, i, axis=0), x[i], added

    types = xp.TensorType(F32, (xp.symbol("n"), 2)), xp.TensorType(I64, (4,))
    graph = xp.trace(f, *types)
    for n in (3, 5):
        x = RNG.standard_normal((n, 2)).astype(np.float32)
        want = x.copy()
        np.add.at(want, IDX, 1.0)
        got = evaluate(graph, {"x": x, "i": IDX}).values()
        for g, w in zip(got, (x[IDX], x[IDX], want), strict=True):
            check(g, w)


@pytest.mark.parametrize("n", [100, 300])
def test_narrow_positions_reach_the_whole_axis(n: int) -> None:
    x, i = np.arange(n, dtype=np.float32), np.array([-1, 0, 5, -100], np.int8)
    check(run(lambda a, j: xp.take(a, j, axis=0), x, i), x[i])
    check(run(lambda a: a[i], x), x[i])


@pytest.mark.parametrize("dtype", [">f4", ">i8", ">u2"])
def test_foreign_byte_order_is_converted(dtype: str) -> None:
    x = np.arange(6).astype(dtype)
    native = x.astype(x.dtype.newbyteorder("="))
    graph = xp.trace(lambda a: a + x, x)
    (got,) = evaluate(graph, xp.leaves({"a": x})).values()
    check(got, native + native)
    assert xp.trace(lambda a: a.astype(dtype), X).outputs


def test_masked_arrays_are_refused() -> None:
    masked = np.ma.masked_array(X, X > 0)
    for use in (
        lambda: xp.trace(lambda x: x + 1, masked),
        lambda: xp.trace(lambda p: p["x"] + 1, {"x": masked}),
        lambda: xp.trace(lambda x: x + masked, X),
        lambda: xp.leaves({"x": masked}),
    ):
        with pytest.raises(xp.TraceError, match=r"mask.*\.filled"):
            use()


@pytest.mark.parametrize("dtype", ["f32", np.float32])
def test_a_type_of_no_dtype_is_refused(dtype: Any) -> None:
    with pytest.raises(xp.TraceError, match=r"argument 'x'.*xp\.float32"):
        xp.trace(lambda x: x, xp.TensorType(dtype, (4,)))


def test_counters_of_masks_are_narrow() -> None:
    def f(x: Any) -> Any:
        return xp.tril(x), xp.triu(x, k=2), xp.eye(3, 4, k=-1)

    counters = [n for n in xp.trace(f, X).nodes if n.op == "iota"]
    assert counters and {n.dtype for n in counters} == {I32}
    big = xp.trace(lambda x: xp.tril(x, k=1), xp.TensorType(F32, (2**31 - 1, 1)))
    assert {n.dtype for n in big.nodes if n.op == "iota"} == {I64}


@pytest.mark.parametrize(
    "args", [(np.int64(5),), (np.int32(2), np.uint8(9), np.int64(3)), (np.array(4),)]
)
def test_arange_takes_any_integer(args: Any) -> None:
    check(run(lambda: xp.arange(*args)), np.arange(*map(int, args)))


def test_slices_past_the_end() -> None:
    check(run(lambda x: x[:10], ROW), ROW[:10])
    n = xp.TensorType(F32, (xp.symbol("n"),))
    for key in (slice(5, 2), slice(-2, -5), slice(np.int64(3), np.int8(1))):
        (got,) = evaluate(xp.trace(lambda x, k=key: x[k], n), {"x": ROW}).values()
        check(got, ROW[key])
    graph = xp.trace(lambda x: xp.exp(x)[:10] + x[:10], n)
    x = np.ones(12, np.float32)
    (got,) = evaluate(graph, {"x": x}).values()
    check(got, np.exp(x[:10]) + 1)
    with pytest.raises(GraphError, match=r"^array\[:10\] = .*f32\[4\].* 0 \.\. 9$"):
        evaluate(graph, {"x": ROW})


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: 1 if x[0, 0] > 0 else 2, "use xp.where"),
        (lambda x: float(x[0, 0]), "astype"),
        (lambda x: [1, 2, 3][x[0, 0]], "xp.take"),
        (lambda x: np.asarray(x), "rewrite.xp"),
        (lambda x: x[0].__setitem__(0, 1), "view"),
        (lambda x: x[x > 0], "data-dependent"),
        (lambda x: x @ x, "inner sizes"),
        (lambda x: xp.reshape(x, (5, -1)), "does not divide"),
        (lambda x: xp.sum(x, axis=2), "outside -2 .. 1"),
        (lambda x: xp.einsum("ii", x @ x.T), "xp.eye"),
        (lambda x: xp.reciprocal(xp.astype(x, xp.int32)), "1 / x"),
        (lambda x: x + "1", "expected"),
    ],
)
def test_errors_say_what_to_do(f: Callable[..., Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        xp.trace(f, X)


def test_the_namespace_lists_itself() -> None:
    assert dir(xp) == sorted(xp.__all__)
    assert all(hasattr(xp, name) for name in xp.__all__)


def test_errors_of_the_namespace() -> None:
    with pytest.raises(AttributeError, match="argmax"):
        _ = xp.argmaxx  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="'median': sort, and take"):
        _ = xp.median  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"xp\.nn\.softmax"):
        _ = xp.softmax  # type: ignore[attr-defined]
    leaked: list[Any] = []
    xp.trace(lambda x: leaked.append(x) or x, X)
    with pytest.raises(TypeError, match="another trace"):
        xp.trace(lambda x: x + leaked[0], X)
    with pytest.raises(TypeError, match="another trace"):
        _ = leaked[0] + 1
    with pytest.raises(TypeError, match="another trace"):
        _ = leaked[0][0]
    with pytest.raises(GraphError, match="300"):
        xp.trace(lambda x: xp.full(2, 300, dtype=xp.int8), X)
