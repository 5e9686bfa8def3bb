"""ONNX models as JAX functions, with JAX's own convolutions, norms and activations.

JAX reads no models; this is what its user would write by hand.  It knows the operators
that torch exports for the models of bench/cpu.py, and says which one it does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnx
from jax import lax
from onnx import helper, numpy_helper

from .task import Inexpressible

type Attributes = Mapping[str, Any]


def ints(x: Any) -> tuple[int, ...]:
    """Numbers that a shape depends on: stored ones, known when JAX traces."""
    if not isinstance(x, np.ndarray):
        raise Inexpressible("a shape that is computed as the model runs")
    return tuple(int(v) for v in x.reshape(-1))


def sides(a: Attributes, rank: int) -> list[tuple[int, int]]:
    pads = a.get("pads", [0] * (2 * rank))
    return list(zip(pads[:rank], pads[rank:], strict=True))


def conv(a: Attributes, x: Any, w: Any, b: Any = None) -> Any:
    strides, pads = a.get("strides", [1, 1]), sides(a, 2)
    y = lax.conv_general_dilated(
        x, w, strides, pads, feature_group_count=a.get("group", 1)
    )
    return y if b is None else y + b[:, None, None]


def max_pool(a: Attributes, x: Any) -> Any:
    window, strides = (1, 1, *a["kernel_shape"]), (1, 1, *a["strides"])
    pads = [(0, 0), (0, 0), *sides(a, 2)]
    return lax.reduce_window(x, -jnp.inf, lax.max, window, strides, pads)


def gemm(a: Attributes, x: Any, w: Any, b: Any = 0.0) -> Any:
    x, w = x.T if a.get("transA") else x, w.T if a.get("transB") else w
    return a.get("alpha", 1.0) * (x @ w) + a.get("beta", 1.0) * b


def layer_norm(a: Attributes, x: Any, gain: Any, bias: Any = 0.0) -> Any:
    epsilon = a.get("epsilon", 1e-5)
    return jax.nn.standardize(x, axis=-1, epsilon=epsilon) * gain + bias


def gelu(a: Attributes, x: Any) -> Any:
    return jax.nn.gelu(x, approximate=a.get("approximate") == b"tanh")


def sliced(a: Attributes, x: Any, start: Any, stop: Any, axes: Any, steps: Any) -> Any:
    spans = zip(*map(ints, (start, stop, axes, steps)), strict=True)
    key = [slice(None)] * x.ndim
    for begin, end, axis, by in spans:
        key[axis] = slice(begin, end, by)
    return x[tuple(key)]


def expanded(a: Attributes, x: Any, shape: Any) -> Any:
    return jnp.broadcast_to(x, jnp.broadcast_shapes(x.shape, ints(shape)))


OPERATORS: dict[str, Callable[..., Any]] = {
    "Add": lambda a, x, y: x + y,
    "And": lambda a, x, y: x & y,
    "Concat": lambda a, *xs: jnp.concatenate(xs, a["axis"]),
    "Conv": conv,
    "Expand": expanded,
    "Gather": lambda a, x, i: jnp.take(x, i, a.get("axis", 0)),
    "GatherElements": lambda a, x, i: jnp.take_along_axis(
        x, jnp.asarray(i), a.get("axis", 0)
    ),
    "Gelu": gelu,
    "Gemm": gemm,
    "IsNaN": lambda a, x: jnp.isnan(x),
    "LayerNormalization": layer_norm,
    "MatMul": lambda a, x, y: x @ y,
    "MaxPool": max_pool,
    "Mul": lambda a, x, y: x * y,
    "Neg": lambda a, x: -x,
    "Pow": lambda a, x, y: x**y,
    "Reciprocal": lambda a, x: 1 / x,
    "ReduceMean": lambda a, x, axes: jnp.mean(
        x, ints(axes), keepdims=bool(a.get("keepdims", 1))
    ),
    "Relu": lambda a, x: jax.nn.relu(x),
    "Reshape": lambda a, x, shape: jnp.reshape(x, ints(shape)),
    "Sigmoid": lambda a, x: jax.nn.sigmoid(x),
    "Slice": sliced,
    "Softmax": lambda a, x: jax.nn.softmax(x, a.get("axis", -1)),
    "Sqrt": lambda a, x: jnp.sqrt(x),
    "Transpose": lambda a, x: jnp.transpose(x, a["perm"]),
    "Unsqueeze": lambda a, x, axes: jnp.expand_dims(x, ints(axes)),
    "Where": lambda a, c, x, y: jnp.where(c, x, y),
}


def function_of(file: Path) -> Callable[..., Any]:
    """The model as a function of its inputs; weights are constants of it."""
    model = onnx.load(file)
    graph = model.graph
    unknown = {n.op_type for n in graph.node} - set(OPERATORS)
    if unknown:
        raise Inexpressible(f"operators written for it lack {', '.join(unknown)}")
    stored = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    names = [i.name for i in graph.input if i.name not in stored]
    # Kept apart from what is stored: a weight is no number that a shape depends on.
    weights = {k: jnp.asarray(v) for k, v in stored.items() if v.dtype == np.float32}

    def f(*inputs: Any) -> Any:
        values = {**stored, **weights, **dict(zip(names, inputs, strict=True))}
        for n in graph.node:
            given = {x.name: helper.get_attribute_value(x) for x in n.attribute}
            args = [values[name] if name else None for name in n.input]
            values[n.output[0]] = OPERATORS[n.op_type](given, *args)
        return values[graph.output[0].name]

    return f
