"""An LSTM over a short sequence: many small dependent steps, unrolled.

Like the other examples it runs with `numpy` and with `rewrite.xp` alike.

    python examples/lstm.py
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np


def sigmoid(xp: Any, x: Any) -> Any:
    return 1.0 / (1.0 + xp.exp(-x))


def cell(xp: Any, x: Any, h: Any, c: Any, p: Any) -> tuple[Any, Any]:
    """One step: the new hidden and cell states."""
    batch, width = h.shape
    gates = x @ p["input"] + h @ p["hidden"] + p["bias"]
    i, f, g, o = xp.unstack(xp.reshape(gates, (batch, 4, width)), axis=1)
    c = sigmoid(xp, f) * c + sigmoid(xp, i) * xp.tanh(g)
    return sigmoid(xp, o) * xp.tanh(c), c


def lstm(xp: Any, x: Any, h: Any, c: Any, params: Any) -> dict[str, Any]:
    """All hidden states of a sequence `x[batch, time, features]`, and the last."""
    states: list[Any] = []
    for t in range(x.shape[1]):
        h, c = cell(xp, x[:, t, :], h, c, params)
        states.append(h)
    return {"states": xp.stack(states, axis=1), "h": h, "c": c}


def random_params(
    rng: np.random.Generator, features: int, width: int
) -> dict[str, Any]:
    def matrix(rows: int) -> Any:
        values = rng.standard_normal((rows, 4 * width)) / math.sqrt(rows)
        return values.astype(np.float32)

    bias = np.zeros(4 * width, np.float32)
    return {"input": matrix(features), "hidden": matrix(width), "bias": bias}


def main() -> None:
    from rewrite import xp
    from rewrite.api import optimize

    rng = np.random.default_rng(0)
    x = rng.standard_normal((8, 6, 32)).astype(np.float32)
    h, c = np.zeros((2, 8, 64), np.float32)
    params = random_params(rng, features=32, width=64)

    fast = optimize(partial(lstm, xp), x, h, c, params)
    print(fast.schedule)
    got, want = fast(x, h, c, params), lstm(np, x, h, c, params)
    error = max(float(np.max(np.abs(got[k] - want[k]))) for k in want)
    print(f"largest difference from NumPy: {error:.2g}")


if __name__ == "__main__":
    main()
