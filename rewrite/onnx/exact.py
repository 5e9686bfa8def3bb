"""What a model gives in f64: the judge between two results in f32."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx

from rewrite.egraph.ir.dims import solve
from rewrite.egraph.ir.evaluate import evaluate, expand_macros
from rewrite.egraph.ir.graph import Graph, GraphError, substitute
from rewrite.egraph.ir.scalars import Array
from rewrite.extract.schedule.assemble import concrete

from .model import NeedsInputs, load
from .types import tensor_type
from .value import ModelError

LARGEST = 1 << 25  # elements of an array on the way, in f64 256 MiB
MOST = 1 << 29  # of all arrays together, which takes some seconds
TRIES = 8  # rounds of finding inputs that shapes depend on


def exact(model: onnx.ModelProto, inputs: Mapping[str, Any]) -> list[Array] | None:
    """Each output, every float operation in f64; None where no graph holds the model at
    these sizes, a host computes a part of it, or the arrays would be too large."""
    arrays = {name: np.asarray(value) for name, value in inputs.items()}
    try:
        graph = _graph(model, arrays)
        if graph is None or graph.calls or not _fits(graph):
            return None
        results = evaluate(graph, arrays, "f64")
    except (ModelError, GraphError):
        return None
    return [results[o.name] for o in model.graph.output]


def _graph(model: onnx.ModelProto, arrays: Mapping[str, Array]) -> Graph | None:
    sizes, wanted = _sizes(model, arrays), set[str]()
    for _ in range(TRIES):
        try:
            graph = load(model, sizes, {name: arrays[name] for name in wanted})
            return substitute(graph, sizes) if graph.symbols else graph
        except NeedsInputs as e:
            wanted |= e.names
    return None


def _sizes(model: onnx.ModelProto, arrays: Mapping[str, Array]) -> dict[str, int]:
    """What the inputs say of the sizes without a number."""
    sizes: dict[str, int] = {}
    for info in model.graph.input:
        if info.name in arrays:
            shape = tensor_type(info.type, info.name, {}).shape
            for d, n in zip(shape, arrays[info.name].shape, strict=True):
                found = solve(d, n)
                sizes |= dict([found] if found else ())
    return sizes


def _fits(graph: Graph) -> bool:
    counts = [math.prod(concrete(n.type)) for n in expand_macros(graph).nodes]
    return max(counts, default=0) <= LARGEST and sum(counts) <= MOST


def distance(exact: Any, got: Any) -> float:
    """Relative to the largest exact value; infinite where shapes, or what is finite,
    are not those."""
    x, y = np.asarray(exact), np.asarray(got)
    if x.shape != y.shape:
        return math.inf
    if x.dtype.kind != "f":
        return 0.0 if np.array_equal(x, y) else math.inf
    x, y = x.astype(np.float64), y.astype(np.float64)
    finite = np.isfinite(x)
    if not np.array_equal(x[~finite], y[~finite], equal_nan=True):
        return math.inf
    if not finite.any():
        return 0.0
    if not np.isfinite(y[finite]).all():
        return math.inf
    top = float(np.abs(x[finite]).max())
    return float(np.abs(x[finite] - y[finite]).max()) / (top or 1.0)
