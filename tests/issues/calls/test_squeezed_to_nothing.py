"""Which axes a Squeeze without a list drops is known once sizes are: an axis `n` is
kept at 4 and dropped at 1.  It was always kept: results had a wrong shape."""

from __future__ import annotations

import numpy as np
import pytest

import rewrite.onnx
from rewrite.onnx.hosts import session
from tests.onnx.models import parsed

pytest.importorskip("onnxruntime")
TEXT = """g (float[n,1,m] x) => (float[p] y, int64[1] n)
{ h = Squeeze(x)
  two = Constant <value = int64[1] {-1}> ()
  y = Reshape(h, two)
  s = Shape(h)
  n = Shape(s) }"""


@pytest.mark.parametrize("device", ["numpy", "c"])
def test_an_axis_of_one_goes(device: str) -> None:
    model = parsed(TEXT)
    program = rewrite.onnx.compile(model, device)
    for n, m in ((4, 3), (1, 3), (2, 1), (1, 1), (4, 3)):
        x = np.arange(n * m, dtype="f4").reshape(n, 1, m)
        want = session(model).run({"x": x})
        for a, b in zip(want, program({"x": x}).values(), strict=True):
            assert np.array_equal(a, b)


def test_it_is_written_as_it_is() -> None:
    model = parsed(TEXT)
    found = rewrite.onnx.optimize(model)
    x = np.ones((1, 1, 3), "f4")
    for a, b in zip(session(model).run({"x": x}), session(found.model).run({"x": x}),
                    strict=True):  # fmt: skip
        assert np.array_equal(a, b)
