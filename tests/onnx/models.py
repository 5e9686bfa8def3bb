"""Small models from text, with weights drawn, and how they run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

import rewrite.onnx
from rewrite.onnx import Optimized


def parsed(
    body: str, weights: Mapping[str, Any] | None = None, opset: int = 20, ir: int = 10
) -> onnx.ModelProto:
    """`body` is a graph in ONNX's text form; weights are arrays, or shapes to fill."""
    text = f'<ir_version: {ir}, opset_import: ["" : {opset}]>\n{body}'
    model = onnx.parser.parse_model(text)
    rng = np.random.default_rng(0)
    for name, w in (weights or {}).items():
        array = rng.standard_normal(w).astype("f4") if isinstance(w, tuple) else w
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    onnx.checker.check_model(model, full_check=True)
    return model


def run(model: onnx.ModelProto, inputs: Mapping[str, Any]) -> list[Any]:
    return ReferenceEvaluator(model).run(None, dict(inputs))


def optimized(model: onnx.ModelProto, **options: Any) -> Optimized:
    """Compared with the original on the way; no fallback is taken."""
    found = rewrite.onnx.optimize(model, **options)
    assert not found.notes
    assert found.error is None or found.error < 1e-5
    return found


def operators(found: Optimized | onnx.ModelProto) -> Counter[str]:
    model = found.model if isinstance(found, Optimized) else found
    return Counter(n.op_type for n in model.graph.node)
