"""Inputs for a graph, drawn at random: to run it on, and to measure with."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rewrite.egraph.ir.dims import bind_shape
from rewrite.egraph.ir.graph import Graph

MOST = 1 << 59  # elements: their bytes in float64 are still an address


def random_arrays(
    graph: Graph, bound: dict[str, int], seed: int, deviation: float = 1.0
) -> dict[str, Any]:
    """Normal floats, small integers, coin flips: by input name."""
    rng = np.random.default_rng(seed)
    arrays: dict[str, Any] = {}
    for node in graph.inputs:
        shape = bind_shape(node.shape, bound)
        if math.prod(shape) > MOST:  # NumPy's own error is none of memory
            raise MemoryError(f"{node.attrs[0]} would have {math.prod(shape)} elements")
        if node.dtype.is_float:
            value = deviation * rng.standard_normal(shape)
        else:
            value = rng.integers(0, 2 if node.dtype.kind == "bool" else 8, shape)
        arrays[node.attrs[0]] = np.asarray(value).astype(node.dtype.numpy)
    return arrays
