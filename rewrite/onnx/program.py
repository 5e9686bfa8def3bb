"""A model that runs: one program, or one for each value that shapes depend on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from rewrite.api import compile_graph
from rewrite.compile import Compiled, warn
from rewrite.egraph.graph import Graph
from rewrite.egraph.scalars import Array

from .model import NeedsInputs, load
from .value import ModelError

TRIES = 8  # rounds of finding inputs that shapes depend on


class Program:
    """Call it with a mapping of inputs; the outputs come by name.

    Where shapes depend on the values of small inputs (`axes`, a new shape), a program
    is compiled for each set of such values.  A model that graphs cannot hold at all
    (strings, sequences, sizes that only data decide) runs by ONNX's reference
    implementation, with one warning; with `fallback=False` that is an error.
    """

    def __init__(
        self, model: onnx.ModelProto, device: Any, dims: Mapping[str, int],
        options: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self.model, self.device, self.dims = model, device, dims
        self.options = dict(options)
        stored = {t.name for t in model.graph.initializer}
        self.inputs = tuple(i.name for i in model.graph.input if i.name not in stored)
        self.outputs = tuple(o.name for o in model.graph.output)
        self.host: ReferenceEvaluator | None = None
        self.reason = ""  # why the host runs it
        self._needs: frozenset[str] = frozenset()
        self._ready: dict[tuple[tuple[str, Any], ...], Compiled] = {}
        self._open()

    def _open(self) -> None:
        """Compiles what needs no inputs, so that errors come before the first call."""
        try:
            self._ready[()] = self._compile({})
        except NeedsInputs as e:
            self._needs = e.names
        except ModelError as e:
            self._to_host(e)

    def _to_host(self, why: ModelError) -> None:
        if not self.options.get("fallback", True):
            raise why
        try:
            self.host = ReferenceEvaluator(self.model)
        except Exception:
            raise why from None
        self.reason = str(why)
        warn(f"{why}; ONNX's reference implementation runs this model")

    @property
    def compiled(self) -> Compiled:
        """The compiled graph of a model whose shapes depend on no input's value."""
        if () not in self._ready:
            needs = ", ".join(sorted(self._needs))
            raise ModelError(self.reason or f"shapes depend on the inputs {needs}")
        return self._ready[()]

    @property
    def graph(self) -> Graph:
        return self.compiled.source

    def _compile(self, given: Mapping[str, Array]) -> Compiled:
        graph = load(self.model, self.dims, given)
        return compile_graph(graph, self.device, **self.options)

    def __call__(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        self._check(inputs)
        if self.host is None:
            arrays = {k: np.asarray(v) for k, v in inputs.items()}
            compiled = self._for(arrays)
            if compiled is not None:
                return compiled(arrays)
        host: Any = self.host
        given = {k: _as_it_is(v) for k, v in inputs.items()}
        return dict(zip(self.outputs, host.run(None, given), strict=True))

    def _check(self, arrays: Mapping[str, Any]) -> None:
        for names, what in ((set(self.inputs) - set(arrays), "missing"),
                            (set(arrays) - set(self.inputs), "unknown")):  # fmt: skip
            if names:
                raise ModelError(
                    f"{what} input {', '.join(sorted(names))}; the model takes "
                    f"{', '.join(self.inputs) or 'none'}"
                )

    def _for(self, arrays: Mapping[str, Array]) -> Compiled | None:
        """The program for these values, made once; None: the host runs."""
        for _ in range(TRIES):
            given = {name: arrays[name] for name in sorted(self._needs)}
            key = tuple((k, (str(a.dtype), a.shape, a.tobytes()))
                        for k, a in given.items())  # fmt: skip
            if key in self._ready:
                return self._ready[key]
            try:
                self._ready[key] = self._compile(given)
            except NeedsInputs as e:
                self._needs |= e.names
            except ModelError as e:
                self._to_host(e)
                return None
        raise ModelError(f"shapes depend on ever more inputs: {sorted(self._needs)}")


def _as_it_is(value: object) -> Any:
    """Sequences stay lists, an absent optional None; all else is an array."""
    return value if value is None or isinstance(value, list) else np.asarray(value)  # pyright: ignore[reportUnknownVariableType]
