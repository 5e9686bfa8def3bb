"""What people try on an array that is not there yet."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rewrite import xp
from rewrite.egraph.ir.evaluate import evaluate

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def run(f: Callable[..., Any], *args: Any) -> Any:
    graph = xp.trace(f, *args, names=[f"a{i}" for i in range(len(args))])
    return evaluate(graph, {f"a{i}": a for i, a in enumerate(args)})["out0"]


def test_what_is_known_of_an_array() -> None:
    def f(x: Any) -> Any:
        assert x.shape == (3, 4) and len(x) == 3 and x.ndim == 2 and x.size == 12
        assert x.T.shape == (4, 3) and x[None].mT.shape == (1, 4, 3)
        assert x.dtype is xp.float32 and x.dtype == np.float32
        assert x is x and x in (x,) and f"{x}" == str(x) == "Tracer(f32[3, 4])"
        assert hash(x) == hash(x) and not hasattr(x, "foo") and hasattr(x, "sum")
        assert not callable(x) and copy.copy(x).shape == (3, 4)
        assert x.__array_namespace__() is xp
        rows = list(x)
        a, b, c = x
        assert len(rows) == 3 and rows[1].shape == b.shape == (4,)
        return sum(rows) + max(len(x), 2) * a + xp.stack(list(reversed([a, b, c])))

    want = X.sum(0) + 3 * X[0] + X[::-1]
    np.testing.assert_array_equal(run(f, X), want)


def test_enumeration_and_zip_of_the_first_axis() -> None:
    def f(x: Any) -> Any:
        return xp.stack([row * i + other for i, (row, other) in enumerate(
            zip(x, x[::-1], strict=True))])  # fmt: skip

    np.testing.assert_array_equal(run(f, X), X * np.arange(3)[:, None] + X[::-1])


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: 1 if x[0, 0] > 0 else 2, r"use xp\.where.*Python bool"),
        (lambda x: x[0, 0] > 0 and x[0, 1] > 0, r"use xp\.where\(c, a, b\), &"),
        (lambda x: not x, r"use xp\.where"),
        (lambda x: 0 < x[0, 0] < 1, r"use xp\.where"),
        (lambda x: float(x[0, 0]), r"float\(x\) .*astype.*Python number"),
        (lambda x: int(x[0, 0]), r"int\(x\) .*astype.*Python number"),
        (lambda x: complex(x[0, 0]), r"complex\(x\) "),
        (lambda x: range(x[0, 0]), r"a Python index .*Python number"),
        (lambda x: [1, 2][x[0, 0]], r"xp\.take"),
        (lambda x: xp.zeros(x[0, 0]), r"Python number"),
        (lambda x: np.asarray(x), r"a NumPy array .*rewrite\.xp"),
        (lambda x: np.array([x, 1.0]), r"a NumPy array .*rewrite\.xp"),
        (lambda x: 3 in x, r"'in' .*xp\.any\(x == value\)"),
        (lambda x: x[0] in x, r"xp\.any"),
        (lambda x: x == None, r"NoneType: compare with 'is None'"),  # noqa: E711
        (lambda x: x != None, r"compare with 'is None'"),  # noqa: E711
        (lambda x: x == "a", r"found str"),
        (lambda x: f"{x:.3f}", r"format '\.3f'.*print what"),
        (lambda x: len(x[0, 0]), r"len\(\) of f32\[\]"),
        (lambda x: list(x[0, 0]), r"iteration over f32\[\]"),
    ],
)
def test_what_needs_values_says_what_to_do(f: Callable[..., Any], message: str) -> None:
    with pytest.raises(xp.TraceError, match=message):
        xp.trace(f, X)


def test_a_symbolic_first_axis_has_no_length() -> None:
    t = xp.TensorType(xp.float32, (xp.symbol("n"), 2))
    for f in (len, list):
        with pytest.raises(xp.TraceError, match=r"f32\[n, 2\]: its first size"):
            xp.trace(lambda x: f(x), t)  # noqa: B023


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("exp", r"use xp\.exp\(x\)"),
        ("foo", r"a traced array has no 'foo': see dir\(rewrite\.xp\)"),
        ("maxx", r"near it: max"),
        ("shap", r"near it: shape"),
        ("item", "values are not known"),
        ("tolist", "values are not known"),
        ("strides", "in memory"),
        ("nbytes", "in memory"),
        ("partition", "use sort, or top_k"),
        ("nonzero", "depends on values"),
        ("fill", "full_like"),
        ("softmax", r"use xp\.nn\.softmax\(x\)"),
    ],
)
def test_an_unknown_attribute_names_what_there_is(name: str, message: str) -> None:
    with pytest.raises(AttributeError, match=message):
        xp.trace(lambda x: getattr(x, name), X)


def test_every_operator_of_arrays_is_an_operator_of_tracers() -> None:
    special = {n for n in dir(np.ndarray) if n.startswith("__")}
    missing = {n for n in special if callable(getattr(np.ndarray, n))}
    missing -= set(dir(xp.Tracer))
    changing = {f"__i{op}__" for op in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or",
        "xor", "lshift", "rshift")}  # fmt: skip
    assert missing - changing <= {
        "__array_finalize__", "__array_wrap__", "__buffer__", "__class_getitem__",
        "__copy__", "__deepcopy__", "__delitem__", "__dlpack__", "__dlpack_device__",
    }  # fmt: skip
