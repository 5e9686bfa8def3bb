"""Operators of classical models (`ai.onnx.ml`): what prepares features, and linear
models.  Where a form has no reader, a host runs it."""

from . import features, linear

__all__ = ["features", "linear"]
