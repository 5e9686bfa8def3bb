"""Values of options that there are not are errors, which say what was expected."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import rewrite as rw
from rewrite import xp
from rewrite.egraph.ir.dims import symbol
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.evaluate import InputError
from rewrite.egraph.ir.graph import Builder
from rewrite.xp.errors import TraceError

X = np.ones((2, 3), np.float32)


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (lambda x: xp.einsum("i$", x), "letters for axes"),
        (lambda x: xp.vecdot(x, x[0, 0]), r"\[2, 3\] and \[\] have no axis -1 both"),
        (lambda x: xp.vecdot(x, x[:, :1]), "vecdot: axis -1 is 3 and 1"),
        (lambda x: xp.vecdot(x * 1j, x[0], axis=0), "have no axis 0 both"),
        (lambda x: xp.einsum("ij,jk", x), "2 operands expected, found 1"),
        (lambda x: xp.nn.gelu(x, approximate="tahn"), "'none' or 'tanh' expected"),
        (lambda x: xp.nn.max_pool(x[None, None], 9), "a window of 9 over 2 elements"),
        (lambda x: xp.nn.avg_pool(x[None, None], 1, stride=0), "1 or more expected"),
        (lambda x: xp.nn.conv(x[None], xp.ones((1, 2, 4))), "window of 4 over 3"),
        (lambda x: xp.reshape(x, (-1, -1)), "only one size may be -1"),
        (lambda _: xp.concat([]), "concat: at least one array was expected"),
        (lambda _: xp.stack([]), "stack: at least one array was expected"),
        (lambda x: xp.pad(x, 1), r"2 pairs of widths .*\[\(1, 1\), .* found 1"),
        (lambda x: xp.pad(x, (1, 1)), r"pairs of widths .* found \(1, 1\)"),
        (lambda x: xp.pad(x, [(1, 1)]), "2 pairs of widths"),
        (lambda x: xp.tensordot(x, x, axes=5), "axes=5 of .*: 0 to 2 was expected"),
        (lambda x: xp.tensordot(x, x, axes=-1), "0 to 2 was expected"),
        (lambda x: xp.tensordot(x, x, axes=((0,), (0, 1))), "as many axes of either"),
        (lambda x: xp.sum(x, axis=1.5), r"sum: axis: a whole number .* found 1\.5"),
        (lambda x: xp.max(x, axis="a"), "max: axis: a whole number"),
        (lambda x: xp.sort(x, axis=None), "whole number was expected, found None"),
        (lambda x: xp.vecdot(x, x, axis=None), "vecdot: axis: a whole number"),
        (lambda x: xp.split(x, -1), "is not -1 equal parts"),
        (lambda x: xp.split(x, 1.5), "a number of parts or positions"),
        (lambda x: xp.permute_dims(x, None), "axes in their new order"),
        (lambda x: xp.reshape(x, (2.0, 3)), "a shape of whole numbers"),
        (lambda _: xp.zeros("ab"), "a shape of whole numbers"),
        (lambda x: xp.roll(x, (1, 2), axis=0), "2 shifts of 1 axes"),
        (lambda x: xp.roll(x, None, axis=0), "roll: a shift: a whole number"),
        (lambda x: xp.tile(x, 1.5), "tile: a repetition: a whole number"),
        (lambda x: xp.top_k(x, None), "top_k: how many: a whole number"),
        (lambda x: xp.concat(None), "concat: a list of arrays"),
        (lambda x: xp.einsum(x), "einsum: a text as"),
        (lambda x: xp.einsum(x + 1j), "einsum: a text as|at least one array"),
        (lambda x: xp.astype(x, {}), "unknown dtype"),
        (lambda x: xp.meshgrid(x[0], x[1], indexing="zz"), "'xy' or 'ij' expected"),
    ],
)
def test_of_functions(f: Any, said: str) -> None:
    with pytest.raises(TraceError, match=said):
        rw.optimize(f, X)


def test_of_permutations_of_fewer_axes() -> None:
    """What begins as the identity was taken for it."""
    for axes in ((), (0,)):
        with pytest.raises(ValueError, match="permute"):
            rw.optimize(lambda x, a=axes: xp.permute_dims(x, a), X)


@pytest.mark.parametrize("name", ["cache", "fallback"])
def test_of_options(name: str) -> None:
    asked: Any = {name: "no"}
    with pytest.raises(ValueError, match="True or False expected"):
        rw.optimize(lambda x: x, X, **asked)


def test_of_sizes(tmp_path: Path) -> None:
    """Fronts are there without an import of their own."""
    x, y = (
        helper.make_tensor_value_info(n, TensorProto.FLOAT, ["batch", 3]) for n in "xy"
    )
    graph = helper.make_graph([helper.make_node("Exp", ["x"], ["y"])], "g", [x], [y])
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph), path)
    compiled: Any = rw.onnx.compile
    for dims, said in (
        ({"btch": 1}, "no dimension 'btch'; those named: batch"),
        ({"batch": -1}, "a size of 0 or more was expected"),
        ({"batch": "a"}, "a size of 0 or more was expected"),
    ):
        with pytest.raises(ValueError, match=said):
            compiled(path, dims=dims)
    with pytest.raises(TypeError, match="arrays by name were expected, as in f"):
        compiled(path)(X)
    np.testing.assert_allclose(
        compiled(path, dims={"batch": 2})({"x": X})["y"], np.exp(X)
    )


def test_of_calls() -> None:
    fast = rw.optimize(lambda x: x + 1, X, device="numpy")
    with pytest.raises(InputError, match=r"'x': an array was expected.*found a list"):
        fast(X.tolist())
    graph: Any = fast.compiled
    for given in ([X], None, X):
        with pytest.raises(InputError, match="arrays by name were expected, as in f"):
            graph(given)
    with pytest.raises(InputError, match="input 'x': an array was expected"):
        graph({"x": [[1, 2, 3], [1]]})


def test_of_calls_at_any_size() -> None:
    b = Builder("g")
    graph = b.build({"y": b.un("exp", b.input("x", F32, (symbol("b"), 3)))})
    fast: Any = rw.compile_graph(graph, "numpy", fallback=False)
    with pytest.raises(InputError, match="input 'x': an array was expected"):
        fast({"x": [[1, 2, 3], [1]]})
    with pytest.raises(InputError, match=r"f32.b, 3. expected, found i64"):
        fast({"x": [[1, 2, 3]]})


@pytest.mark.parametrize("rules", [3, [3], [None]])
def test_of_rules(rules: Any) -> None:
    with pytest.raises(TypeError, match=r"the path of a rule file .* was expected"):
        rw.optimize(lambda x: x, X, rules=rules)


def test_of_what_is_optimized() -> None:
    jit: Any = rw.jit
    for f in (3, "f"):
        with pytest.raises(TypeError, match="jit: a function was expected"):
            jit(f)
    compiled: Any = rw.compile_graph
    for graph in (None, "graph g() {}", lambda x: x):
        with pytest.raises(TypeError, match="a Graph was expected, found a "):
            compiled(graph)
    onnx_of: Any = rw.onnx.compile
    for model in (None, 0, [1]):  # 0 is a file that is open
        with pytest.raises(TypeError, match="a model was expected: a path"):
            onnx_of(model)


@pytest.mark.parametrize("shape", [2, (2.5,), "b", (None,)])
def test_of_types(shape: Any) -> None:
    with pytest.raises(TraceError, match="a tuple of whole numbers and symbols"):
        rw.optimize(lambda x: x, xp.TensorType(xp.float32, shape))


@pytest.mark.parametrize("size", [-3, 1 << 62])
def test_of_hints(size: int) -> None:
    t = xp.TensorType(xp.float32, (xp.symbol("b"),))
    with pytest.raises(ValueError, match="a size of 0 or more was expected"):
        rw.optimize(lambda x: x, t, hints={"b": size})


@pytest.mark.parametrize(("front", "library"), [("torch", "torch"), ("jax", "jax")])
def test_of_fronts_without_their_library(front: str, library: str) -> None:
    """In a process of its own, where the library cannot be imported."""
    text = (
        f"import sys; sys.modules[{library!r}] = None\n"
        f"import rewrite as rw\ntry:\n    rw.{front}\n"
        f"except ImportError as e:\n    print(e)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=True
    )
    assert f"pip install 'rewrite[{front}]'" in done.stdout


def test_a_list_of_sizes_is_a_shape() -> None:
    shape: Any = [2, 3]
    double = rw.optimize(lambda x: x + x, xp.TensorType(xp.float32, shape))
    np.testing.assert_array_equal(double(X), X + X)
    np.testing.assert_array_equal(xp.reshape(X, np.array([3, 2])), X.reshape(3, 2))
