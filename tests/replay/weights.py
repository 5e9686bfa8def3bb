"""Weights and inputs for the models of the replay set, drawn from what they record.

A weight that was left out of its file is an external tensor at location `random`; its
external data say the mean, the deviation and the range of the true weight. A model's
metadata say the inclusive range of an input (`range:NAME`), that the rows of one are
sorted downwards, as a mask of padding is (`sorted:NAME`), and the size to give a
symbolic dimension (`size:NAME`).
"""

from collections.abc import Mapping
from pathlib import Path
from zlib import crc32

import numpy as np
import onnx
from onnx import helper, numpy_helper

MODELS = Path(__file__).parent / "models"
LOCATION = "random"


def load(name: str) -> onnx.ModelProto:
    """The model `name` as its file has it, without weights."""
    return onnx.load(MODELS / f"{name}.onnx", load_external_data=False)


def fill(model: onnx.ModelProto, seed: int = 0) -> onnx.ModelProto:
    """A copy of `model` with every weight that was left out drawn anew."""
    filled = onnx.ModelProto()
    filled.CopyFrom(model)
    for tensor in filled.graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            drawn = _weight(tensor, _generator(seed, tensor.name))
            tensor.CopyFrom(numpy_helper.from_array(drawn, tensor.name))
    return filled


def random_inputs(
    model: onnx.ModelProto, dims: Mapping[str, int], seed: int = 0
) -> dict[str, np.ndarray]:
    """Inputs for `model`; `dims` has precedence over the sizes that it records."""
    facts = metadata(model)
    weights = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in weights]
    return {
        value.name: _input(value, facts, dims, _generator(seed, value.name))
        for value in inputs
    }


def metadata(model: onnx.ModelProto) -> dict[str, str]:
    """What `model` records of itself."""
    return {entry.key: entry.value for entry in model.metadata_props}


def _generator(seed: int, name: str) -> np.random.Generator:
    return np.random.default_rng((seed, crc32(name.encode())))


def _weight(tensor: onnx.TensorProto, rng: np.random.Generator) -> np.ndarray:
    facts = {entry.key: entry.value for entry in tensor.external_data}
    if facts["location"] != LOCATION:
        raise ValueError(
            f"weight {tensor.name}: expected location {LOCATION!r}, "
            f"found {facts['location']!r}; capture the model again"
        )
    dtype = helper.tensor_dtype_to_np_dtype(tensor.data_type)
    shape = tuple(tensor.dims)
    if "mean" not in facts:
        low, high = int(facts["min"]), int(facts["max"])
        return rng.integers(low, high, shape, endpoint=True).astype(dtype)
    drawn = rng.normal(float(facts["mean"]), float(facts["std"]), shape)
    return drawn.clip(float(facts["min"]), float(facts["max"])).astype(dtype)


def _input(
    value: onnx.ValueInfoProto,
    facts: Mapping[str, str],
    dims: Mapping[str, int],
    rng: np.random.Generator,
) -> np.ndarray:
    dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    shape = tuple(
        _size(value.name, dim, facts, dims) for dim in value.type.tensor_type.shape.dim
    )
    floating = np.issubdtype(dtype, np.floating)
    limits = facts.get(f"range:{value.name}", "").split()
    if not limits and not floating:
        raise ValueError(f"input {value.name}: {dtype} without a recorded range")
    if not limits:
        return rng.standard_normal(shape).astype(dtype)
    low, high = map(float, limits)
    if floating:
        return rng.uniform(low, high, shape).astype(dtype)
    drawn = rng.integers(int(low), int(high), shape, endpoint=True).astype(dtype)
    if f"sorted:{value.name}" in facts:
        drawn = np.ascontiguousarray(np.flip(np.sort(drawn), -1))
    return drawn


def _size(
    name: str,
    dim: onnx.TensorShapeProto.Dimension,
    facts: Mapping[str, str],
    dims: Mapping[str, int],
) -> int:
    if dim.HasField("dim_value"):
        return dim.dim_value
    size = dims.get(dim.dim_param, facts.get(f"size:{dim.dim_param}"))
    if size is None:
        raise ValueError(f"input {name}: no size for dimension {dim.dim_param!r}")
    return int(size)
