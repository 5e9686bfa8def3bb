"""ONNX models that ship inside published packages, through the whole of it."""
