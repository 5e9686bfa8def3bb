"""Host functions that are data, so that a bundle can hold them."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewrite.egraph.ir.scalars import Array


@dataclass(frozen=True, slots=True)
class OnnxNode:
    """What ONNX's reference implementation computes for a node without a reader."""

    model: bytes  # of this node alone
    result: str  # the one of its outputs that is asked for

    def __call__(self, *arrays: Array) -> Array:
        host = _evaluator(self.model)
        given = dict(zip(host.input_names, arrays, strict=True))
        return np.asarray(host.run([self.result], given)[0])


@functools.lru_cache(maxsize=256)
def _evaluator(model: bytes) -> Any:
    try:
        from onnx.reference import ReferenceEvaluator
    except ImportError:
        raise ImportError("this model needs `pip install 'rewrite[onnx]'`") from None
    return ReferenceEvaluator(model)


__all__ = ["OnnxNode"]
