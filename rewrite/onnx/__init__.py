"""ONNX models: optimized as models, or read as graphs and compiled for a device.

import rewrite.onnx

print(rewrite.onnx.optimize("model.onnx", "smaller.onnx"))

model = rewrite.onnx.compile("model.onnx", device="c")
y = model({"x": x})
"""

from __future__ import annotations

from .model import ModelError, NeedsInputs, load, open_model
from .program import Program, compile
from .write import Optimized, optimize

__all__ = [
    "ModelError", "NeedsInputs", "Optimized", "Program", "compile", "load",
    "open_model", "optimize",
]  # fmt: skip
