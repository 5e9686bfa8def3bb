"""What ONNX Runtime takes for one operator stays so where a model's opset has no name
for it, although fewer nodes would do."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.onnx.models import operators, optimized, parsed

ort = pytest.importorskip("onnxruntime")

GELU = {
    "half last": "d = Div(h, root) e = Erf(d) a = Add(e, one) p = Mul(h, a) "
                 "g = Mul(p, half)",
    "half first": "d = Div(h, root) e = Erf(d) a = Add(e, one) p = Mul(h, half) "
                  "g = Mul(p, a)",
    "half inside": "d = Div(h, root) e = Erf(d) a = Add(one, e) p = Mul(a, half) "
                   "g = Mul(h, p)",
    "by a product": "d = Mul(part, h) e = Erf(d) a = Add(e, one) p = Mul(a, h) "
                    "g = Mul(half, p)",
}  # fmt: skip
CONSTANTS = """
    root = Constant <value = float {1.41421354}> ()
    part = Constant <value = float {0.70710677}> ()
    one = Constant <value = float {1.0}> ()
    half = Constant <value = float {0.5}> ()
"""


def fused(model: onnx.ModelProto, tmp_path: Path) -> Counter[str]:
    """The operators that the runtime makes of a model."""
    options, path = ort.SessionOptions(), tmp_path / "fused.onnx"
    options.optimized_model_filepath, options.log_severity_level = str(path), 3
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    ort.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    return operators(onnx.load_model_from_string(path.read_bytes()))


@pytest.mark.parametrize("opset", [11, 13, 17, 19])
@pytest.mark.parametrize("form", GELU)
def test_gelu_between_convolutions(form: str, opset: int, tmp_path: Path) -> None:
    """Its half is no factor of the next one's weights."""
    model = parsed(
        f"""g (float[b,4,h,w] x) => (float[b,6,h,w] y)
        {{
            {CONSTANTS}
            h = Conv (x, v, s)
            {GELU[form]}
            y = Conv (g, w)
        }}""",
        {"v": (5, 4, 1, 1), "s": (5,), "w": (6, 5, 1, 1)},
        opset=opset,
    )
    found = optimized(model)
    assert len(found.model.graph.node) == 7
    assert fused(found.model, tmp_path) == {"Conv": 2, "Gelu": 1}


@pytest.mark.parametrize("squared", ["p = Mul(d, d)", "p = Pow(d, two)"])
@pytest.mark.parametrize("axis", [-1, 2])
@pytest.mark.parametrize("opset", [11, 13, 16])
def test_a_norm_before_a_product(
    squared: str, axis: int, opset: int, tmp_path: Path
) -> None:
    """Its gain is no factor of the weights."""
    model = parsed(
        f"""g (float[2,5,16] x) => (float[2,5,8] y)
        {{
            e = Constant <value = float {{0.00001}}> ()
            two = Constant <value = float {{2.0}}> ()
            m = ReduceMean <axes = [{axis}]> (x)
            d = Sub(x, m)
            {squared}
            v = ReduceMean <axes = [{axis}]> (p)
            a = Add(v, e)
            r = Sqrt(a)
            n = Div(d, r)
            s = Mul(n, g)
            t = Add(s, b)
            y = MatMul(t, w)
        }}""",
        {"g": (16,), "b": (16,), "w": (16, 8)},
        opset=opset,
    )
    found = optimized(model)
    assert fused(found.model, tmp_path) == {"LayerNormalization": 1, "MatMul": 1}


def test_other_types_keep_their_nodes() -> None:
    """Of which the runtime has no kernel for the whole: fewer nodes are better."""
    body = f"""g (double[3,7] x) => (double[3,5] y)
    {{
        {CONSTANTS.replace("float", "double")}
        h = Neg(x)
        {GELU["half last"]}
        y = MatMul(g, w)
    }}"""
    w = np.random.default_rng(0).standard_normal((7, 5))
    assert "Gelu" not in operators(optimized(parsed(body, {"w": w}, opset=13)))
    found = optimized(parsed(body, {"w": w}, opset=13))
    assert len(found.model.graph.node) < 7
