"""Numbers that a model computes of sizes were counted along an axis of as many entries:
below zero there is none, and a remainder of 2 was 1 at every size that planning tries,
so that it was 1 for good."""

from __future__ import annotations

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

import rewrite.onnx
from tests.onnx.models import parsed


@pytest.mark.parametrize(
    "body",
    ["z = Mod(s, two)", "h = Div(s, two) d = Mul(h, two) z = Sub(d, s)",
     "z = Sub(two, s)"],
)  # fmt: skip
def test_numbers_made_of_sizes_may_be_below_zero_or_one_of_few(body: str) -> None:
    """No axis counts them: a remainder of 2 was 1 at every size that planning tries,
    and an axis of -1 entries is none."""
    model = parsed(
        f"""g (float[n,m] x) => (float[k] y, float[k] most)
        {{ s = Shape(x) two = Constant <value = int64 {{2}}> () {body}
           f = Cast <to = 1> (z) y = Neg(f) most = ReduceMax (f) }}"""
    )
    reference = ReferenceEvaluator(model)
    run = rewrite.onnx.compile(model, "numpy")
    for n, m in ((4, 2), (3, 2), (2, 5), (1, 1), (6, 8)):
        x = {"x": np.zeros((n, m), "f4")}
        got = run(x)
        for name, want in zip(("y", "most"), reference.run(None, x), strict=True):
            np.testing.assert_array_equal(got[name], want)
