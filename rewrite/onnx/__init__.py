"""ONNX models: read as graphs, compiled for a device.

import rewrite.onnx

model = rewrite.onnx.compile("model.onnx", device="c")
y = model({"x": x})
"""

from __future__ import annotations

from .model import ModelError, NeedsInputs, compile, load, open_model
from .program import Program

__all__ = ["ModelError", "NeedsInputs", "Program", "compile", "load", "open_model"]
