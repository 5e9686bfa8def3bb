"""NumPy: the language as it is usually spoken, in place where that needs no thought."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from rewrite.egraph.ir.scalars import Array

from .task import Absent, Code, Contestant, Entries, Inexpressible, Step, Task


class Language:
    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def sum(self, x: Array, axes: tuple[int, ...], out: Any = None) -> Any:
        return np.sum(x, axis=axes, out=out)

    def gelu(self, x: Array) -> Array:
        inner = x * x
        inner *= 0.044715
        inner += 1
        inner *= x
        inner *= 0.7978845608028654
        np.tanh(inner, out=inner)
        inner += 1
        inner *= x
        inner *= 0.5
        return inner

    def softmax(self, x: Array, out: Any = None) -> Array:
        e = np.subtract(x, x.max(-1, keepdims=True), out=out)
        np.exp(e, out=e)
        return np.divide(e, e.sum(-1, keepdims=True), out=e)

    def log_softmax(self, x: Array) -> Array:
        z = x - x.max(-1, keepdims=True)
        return z - np.log(np.exp(z).sum(-1, keepdims=True))

    def layer_norm(self, x: Array, gain: Array, bias: Array, out: Any = None) -> Array:
        y = np.subtract(x, x.mean(-1, keepdims=True), out=out)
        var = np.square(y).mean(-1, keepdims=True)
        y *= 1 / np.sqrt(var + 1e-5)
        y *= gain
        y += bias
        return y

    def transposed(self, x: Array, out: Any = None) -> Array:
        if out is None:
            return np.ascontiguousarray(x.T)
        out[...] = x.T
        return out

    def attention(self, q: Array, k: Array, v: Array, out: Any = None) -> Array:
        scores = np.matmul(q, k.mT)
        scores *= q.shape[-1] ** -0.5
        return np.matmul(self.softmax(scores, scores), v, out=out)

    def sigmoid(self, x: Array) -> Array:
        return 1 / (1 + np.exp(-x))

    def lstm_cell(
        self, x: Array, h: Array, c: Array, w: Array, u: Array, b: Array, d: Array,
        out: Any = None,
    ) -> tuple[Array, Array]:  # fmt: skip
        i, f, g, o = np.split(x @ w.T + h @ u.T + (b + d), 4, axis=-1)
        new, cell = out or (None, None)
        cell = np.add(self.sigmoid(f) * c, self.sigmoid(i) * np.tanh(g), out=cell)
        return np.multiply(self.sigmoid(o), np.tanh(cell), out=new), cell

    # ---- convolutions ----

    def relu(self, x: Array) -> Array:
        return np.maximum(x, 0)

    def _windows(self, x: Array, w: Array, pad: int) -> Array:
        sides = ((0, 0), (0, 0), (pad, pad), (pad, pad))
        size: Any = w.shape[2:]
        return sliding_window_view(np.pad(x, sides), size, axis=(2, 3))

    def conv(self, x: Array, w: Array, pad: int, out: Any = None) -> Array:
        windows = self._windows(x, w, pad)
        return np.einsum("nchwij,ocij->nohw", windows, w, out=out, optimize=True)

    def spread(self, d: Array, w: Array) -> Array:
        """The gradient of a convolution without padding by its input."""
        windows = self._windows(d, w, w.shape[2] - 1)
        back = w[:, :, ::-1, ::-1]
        return np.einsum("nohwij,ocij->nchw", windows, back, optimize=True)

    def filters(self, x: Array, d: Array) -> Array:
        """The gradient of a convolution without padding by its filters."""
        windows = self._windows(x, d, 0)
        return np.einsum("ncijhw,nohw->ocij", windows, d, optimize=True)


LANGUAGE = Language()


def exact(task: Code | Step) -> list[Array]:
    """What the task gives in float64."""
    if isinstance(task, Code):
        wide = [x.astype(np.float64) for x in (*task.inputs, *task.weights)]
        result = task.f(LANGUAGE, *wide)
        return list(result) if isinstance(result, tuple) else [result]
    parameters, batch = (
        tuple(x.astype(np.float64) for x in xs) for xs in (task.parameters, task.batch)
    )
    value, new = task.by_hand(LANGUAGE, parameters, *batch, task.rate)
    return [value, *new]


def prepare(task: Task) -> Entries:
    if isinstance(task, Step):
        args = (task.parameters, *task.batch, task.rate)

        def step() -> Any:
            value, new = task.by_hand(LANGUAGE, *args)
            return [value, *new]

        why = Absent("a step writes its results where it likes")
        return {"pooled": Contestant(step, list), "preallocated": why}
    if not isinstance(task, Code):
        raise Inexpressible("it reads no models")
    args = (*task.inputs, *task.weights)
    first = task.f(LANGUAGE, *args)
    several = isinstance(first, tuple)
    out = tuple(map(np.empty_like, first)) if several else np.empty_like(first)

    def answers(result: Any) -> list[Any]:
        return list(result) if several else [result]

    return {
        "pooled": Contestant(lambda: task.f(LANGUAGE, *args), answers),
        "preallocated": Contestant(lambda: task.f(LANGUAGE, *args, out=out), answers),
    }
