"""Ours: array code by `rewrite.optimize`, models by `rewrite.onnx.compile`, on c."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import rewrite
from rewrite import xp
from rewrite.backends.devices import device
from rewrite.core.compiled import Compiled
from rewrite.egraph.ir.scalars import Array

from .task import Code, Contestant, Entries, Step, Task

OPTIONS: dict[str, Any] = {"device": "c", "fallback": False, "cache": False}


class Language:
    def __getattr__(self, name: str) -> Any:
        return getattr(xp, name)

    def sum(self, x: Any, axes: tuple[int, ...], out: None = None) -> Any:
        return xp.sum(x, axis=axes)

    def multiply(self, x: Any, y: Any, out: None = None) -> Any:
        return x * y

    def matmul(self, a: Any, b: Any, out: None = None) -> Any:
        return a @ b

    def gelu(self, x: Any) -> Any:
        return xp.nn.gelu(x, "tanh")

    def relu(self, x: Any) -> Any:
        return xp.nn.relu(x)

    def softmax(self, x: Any, out: None = None) -> Any:
        return xp.nn.softmax(x)

    def log_softmax(self, x: Any) -> Any:
        return xp.nn.log_softmax(x)

    def layer_norm(self, x: Any, gain: Any, bias: Any, out: None = None) -> Any:
        return xp.nn.layer_norm(x, gain, bias)

    def transposed(self, x: Any, out: None = None) -> Any:
        return xp.permute_dims(x, (1, 0))

    def attention(self, q: Any, k: Any, v: Any, out: None = None) -> Any:
        return xp.nn.attention(q, k, v)

    def lstm_cell(
        self, x: Any, h: Any, c: Any, w: Any, u: Any, b: Any, d: Any, out: None = None
    ) -> tuple[Any, Any]:
        gates = x @ xp.matrix_transpose(w) + h @ xp.matrix_transpose(u) + (b + d)
        i, f, g, o = xp.split(gates, 4, axis=-1)
        c = xp.nn.sigmoid(f) * c + xp.nn.sigmoid(i) * xp.tanh(g)
        return xp.nn.sigmoid(o) * xp.tanh(c), c

    # ---- convolutions ----

    def _windows(self, x: Any, w: Any, pad: int) -> Any:
        """All windows; rows and columns of each are the last two axes."""
        padded = xp.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
        rows = xp.sliding_window(padded, w.shape[2], axis=2)
        return xp.sliding_window(rows, w.shape[3], axis=3)

    def conv(self, x: Any, w: Any, pad: int, out: None = None) -> Any:
        return xp.einsum("nchwij,ocij->nohw", self._windows(x, w, pad), w)

    def spread(self, d: Any, w: Any) -> Any:
        windows = self._windows(d, w, w.shape[2] - 1)
        return xp.einsum("nohwij,ocij->nchw", windows, xp.flip(w, axis=(2, 3)))

    def filters(self, x: Any, d: Any) -> Any:
        return xp.einsum("ncijhw,nohw->ocij", self._windows(x, d, 0), d)


LANGUAGE = Language()


def describe() -> str:
    """The device, and by which figures it plans."""
    target = device(OPTIONS["device"])
    known = "calibrated" if target.caps().rates else "as it comes, not calibrated"
    return f"{target.name}: {target.probe().detail}; {known}"


def both(
    compiled: Compiled, inputs: dict[str, Array], call: Callable[[], Any]
) -> Entries:
    """A call as users write it, and one that names the arrays to write into."""
    first = compiled(inputs)
    out = {name: np.empty_like(a) for name, a in first.items()}

    def listed(result: Any) -> list[Any]:
        if isinstance(result, dict):
            return list(result.values())
        return list(result) if isinstance(result, tuple) else [result]

    return {
        "pooled": Contestant(call, listed),
        "preallocated": Contestant(lambda: compiled(inputs, out), listed),
    }


def prepare(task: Task) -> Entries:
    if isinstance(task, Code):
        # A library's product competes in a search alone (docs/tune.md).
        effort = {"effort": 3} if task.library else {}
        fast = rewrite.optimize(_closed(task), *task.inputs, **OPTIONS, **effort)
        run = lambda: fast(*task.inputs)  # noqa: E731
        return both(fast.compiled, fast.inputs(*task.inputs), run)
    if isinstance(task, Step):
        args = (task.parameters, *task.batch)

        def step(p: Any, images: Any, labels: Any) -> tuple[Any, ...]:
            value, new = task.by_hand(LANGUAGE, p, images, labels, task.rate)
            return value, *new

        fast = rewrite.optimize(step, *args, **OPTIONS)
        return both(fast.compiled, fast.inputs(*args), lambda: fast(*args))
    from rewrite.onnx import compile as compile_model

    program = compile_model(task.file, **OPTIONS)
    return both(program.compiled, task.inputs, lambda: program(task.inputs))


def _closed(task: Code) -> Callable[..., Any]:
    """The function of the inputs alone: weights are data."""

    def f(*inputs: Any) -> Any:
        return task.f(LANGUAGE, *inputs, *map(xp.asarray, task.weights))

    return f
