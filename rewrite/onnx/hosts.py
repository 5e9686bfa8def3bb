"""Who runs a model, or compares two, where no program of ours does."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import onnx
from onnx.reference import ReferenceEvaluator

from .value import ModelError


@dataclass(frozen=True, slots=True)
class Run:
    """Outputs in the model's order, of inputs by name."""

    name: str
    run: Callable[[Mapping[str, Any]], Sequence[Any]]


def hosts(model: onnx.ModelProto, strict: bool) -> Iterator[Run]:
    """ONNX Runtime where it is installed and takes the model, and the reference, which
    is exact where the runtime is fast; `strict`: the reference first."""
    kinds = (_reference, _runtime) if strict else (_runtime, _reference)
    for kind in kinds:
        try:
            yield kind(model)
        except ImportError:
            pass
        except Exception:
            # Newer than the one, or with an operator that it lacks: the other may run.
            pass


class Host:
    """The first of the hosts that takes a model and its inputs, kept for later."""

    def __init__(self, model: onnx.ModelProto, strict: bool) -> None:
        self._hosts = hosts(model, strict)
        self._host: Run | None = None
        self.name = ""

    def run(self, inputs: Mapping[str, Any]) -> Sequence[Any]:
        while self._host is not None:
            try:
                return self._host.run(inputs)
            except Exception:
                following = next(self._hosts, None)
                if following is None:
                    raise
                self._take(following)
        self._take(next(self._hosts, None))
        if self._host is None:
            raise ModelError("there is none that takes the model")
        return self.run(inputs)

    def _take(self, host: Run | None) -> None:
        self._host, self.name = host, host.name if host else ""


def _runtime(model: onnx.ModelProto) -> Run:
    return Run("ONNX Runtime", session(model).run)


def _reference(model: onnx.ModelProto) -> Run:
    reference: Any = ReferenceEvaluator(model)
    return Run(
        "ONNX's reference implementation",
        lambda inputs: reference.run(None, dict(inputs)),
    )


@dataclass(frozen=True, slots=True)
class Session:
    inner: Any

    def run(self, inputs: Mapping[str, Any]) -> Sequence[Any]:
        return self.inner.run(None, dict(inputs))


def session(
    model: onnx.ModelProto, optimized: bool = True, threads: int = 0
) -> Session:
    """Of ONNX Runtime on the CPU."""
    ort: Any = importlib.import_module("onnxruntime")
    options: Any = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    levels: Any = ort.GraphOptimizationLevel
    level = levels.ORT_ENABLE_ALL if optimized else levels.ORT_DISABLE_ALL
    options.graph_optimization_level = level
    inner: Any = ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return Session(inner)
