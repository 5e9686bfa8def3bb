"""Values of options that there are not are errors, which say what was expected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import rewrite as rw
from rewrite import xp
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
        (lambda x: xp.meshgrid(x[0], x[1], indexing="zz"), "'xy' or 'ij' expected"),
    ],
)
def test_of_functions(f: Any, said: str) -> None:
    with pytest.raises(TraceError, match=said):
        rw.optimize(f, X)


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
