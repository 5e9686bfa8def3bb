"""`onnx.backend.base.Backend` for any device of ours.

    import rewrite.onnx.backend as backend
    backend.prepare(model, "CPU").run([x])

`CPU` is the `c` device, or `numpy` where no C compiler works; a device of ours may also
be given by its own name.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx.backend.base import Backend, BackendRep, namedtupledict

from rewrite.backends.devices import device as device_named

from .program import Program, compile
from .value import ModelError


class Prepared(BackendRep):
    """A program as the protocol runs it: arrays in order, or by name."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def run(self, inputs: Any, **kwargs: Any) -> Any:
        names = self.program.inputs
        if isinstance(inputs, dict):
            given: dict[str, Any] = inputs  # pyright: ignore[reportUnknownVariableType]
        else:
            plural = isinstance(inputs, (list, tuple))
            arrays: list[Any] = [*inputs] if plural else [inputs]
            if len(arrays) != len(names):
                raise ModelError(f"{len(names)} inputs expected, found {len(arrays)}")
            given = dict(zip(names, arrays, strict=True))
        results = self.program(given)
        make = namedtupledict("Outputs", list(results))
        return make(*results.values())


class RewriteBackend(Backend):
    """Runs models; options of `rewrite.onnx.compile` pass through `prepare`."""

    @classmethod
    def is_compatible(cls, model: Any, device: str = "CPU", **kwargs: Any) -> bool:
        return cls.supports_device(device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        try:
            return device_named(_own_name(device)).probe().ok
        except Exception:
            # The protocol asks a yes or no: an unknown name is no.
            return False

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **kwargs: Any) -> Prepared:
        options = {k: v for k, v in kwargs.items() if k in _OPTIONS}
        return Prepared(compile(model, _own_name(device), **options))

    @classmethod
    def run_model(
        cls, model: Any, inputs: Any, device: str = "CPU", **kwargs: Any
    ) -> Any:
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls, node: Any, inputs: Any, device: str = "CPU", outputs_info: Any = None,
        **kwargs: Any,
    ) -> Any:  # fmt: skip
        arrays = [np.asarray(x) for x in inputs]
        infos = [
            onnx.helper.make_tensor_value_info(
                name, onnx.helper.np_dtype_to_tensor_dtype(x.dtype), x.shape
            )
            for name, x in zip([n for n in node.input if n], arrays, strict=True)
        ]
        outputs = [onnx.helper.make_empty_tensor_value_info(o) for o in node.output]
        graph = onnx.helper.make_graph([node], "node", infos, outputs)
        return cls.run_model(onnx.helper.make_model(graph), arrays, device, **kwargs)


_OPTIONS = ("dims", "precision", "rules", "effort", "fallback", "hints")


def _own_name(device: str) -> str:
    name = device.split(":")[0]
    if name == "CPU":
        return "c" if device_named("c").probe().ok else "numpy"
    return "cuda" if name in ("CUDA", "GPU") else name


is_compatible = RewriteBackend.is_compatible
prepare = RewriteBackend.prepare
run_model = RewriteBackend.run_model
run_node = RewriteBackend.run_node
supports_device = RewriteBackend.supports_device

__all__ = [
    "Prepared", "RewriteBackend", "is_compatible", "prepare", "run_model", "run_node",
    "supports_device",
]  # fmt: skip
