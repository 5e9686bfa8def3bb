"""ONNX models in bundles: run without ONNX where no operator needs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import parser

import rewrite
import rewrite.onnx
from rewrite.onnx import ModelError

HEAD = '<ir_version: 9, opset_import: ["" : 18]>'
LAYER = """g (float[b,4] x, float[4,8] w) => (float[b,8] y, int64[b,2] i)
    <float[8] c = {0,1,2,3,4,5,6,7}>
    { h = MatMul(x, w) a = Add(h, c) y = Softmax(a)
      k = Constant<value_ints=[2]>() v, i = TopK(a, k) }"""
X, W = (np.linspace(-1, 1, 4 * n, dtype=np.float32).reshape(n, 4) for n in (3, 8))
ALONE = """\
import sys
sys.modules["onnx"] = None
import numpy as np, rewrite
given = np.load(sys.argv[2])
found = rewrite.load(sys.argv[1])(dict(given))
np.savez(sys.argv[3], **found)
"""


def compiled(text: str) -> Any:
    return rewrite.onnx.compile(parser.parse_model(HEAD + text), "c", cache=False)


def test_a_model_is_called_as_it_was_without_onnx(tmp_path: Path) -> None:
    model, given = compiled(LAYER), {"w": W.T.copy(), "x": X}
    want = model(given)
    model.save(tmp_path / "m.rw")
    np.savez(tmp_path / "in.npz", **given)
    paths = [str(tmp_path / name) for name in ("m.rw", "in.npz", "out.npz")]
    done = subprocess.run(
        [sys.executable, "-c", ALONE, *paths], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    got = np.load(tmp_path / "out.npz")
    assert list(got) == list(want)
    for label, value in want.items():
        np.testing.assert_array_equal(got[label], value)


def test_operators_that_the_host_runs_come_along(tmp_path: Path) -> None:
    model = compiled("g (float[3,3] x) => (float d) { z = Exp(x) d = Det(z) }")
    assert list(model.graph.calls) == ["onnx.Det.0"]
    model.save(tmp_path / "m.rw")
    x = np.arange(9, dtype=np.float32).reshape(3, 3) % 4
    got = rewrite.load(tmp_path / "m.rw")({"x": x})["d"]
    np.testing.assert_array_equal(got, model({"x": x})["d"])
    np.testing.assert_allclose(got, np.linalg.det(np.exp(x)), rtol=1e-4)


@pytest.mark.filterwarnings("ignore:.*runs this model")
@pytest.mark.parametrize("text, why", [
    ("g (float[4] x, int64[2] s) => (float[a,b] y) { y = Reshape(x, s) }", "inputs s"),
    ("g (float[4] x) => (float[n] y) { y = Unique(x) }", "depends on data"),
])  # fmt: skip
def test_what_no_one_program_runs_is_refused(
    tmp_path: Path, text: str, why: str
) -> None:
    with pytest.raises(ModelError, match=why):
        compiled(text).save(tmp_path / "m.rw")
    assert not list(tmp_path.iterdir())
