"""`rewrite demo`: a transformer block in plain array code, before and after."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.scalars import Array

from ..api import optimize, show_kernels
from ..tuning.timing import interleaved

ROUNDS = 7  # of which a median is shown


def block(xp: Any, x: Any, p: dict[str, Any], heads: int) -> Any:
    """Pre-norm attention and a gelu MLP; `xp` is NumPy or `rewrite.xp`."""

    def norm(x: Any, gain: Any, bias: Any) -> Any:
        centred = x - xp.mean(x, axis=-1, keepdims=True)
        var = xp.mean(centred * centred, axis=-1, keepdims=True)
        return centred / xp.sqrt(var + 1e-5) * gain + bias

    def softmax(s: Any) -> Any:
        e = xp.exp(s - xp.max(s, axis=-1, keepdims=True))
        return e / xp.sum(e, axis=-1, keepdims=True)

    def gelu(x: Any) -> Any:
        return 0.5 * x * (1 + xp.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))

    seq, width = x.shape
    h = norm(x, p["g1"], p["b1"])
    q, k, v = (
        xp.permute_dims(
            xp.reshape(h @ p[w] + p[c], (seq, heads, width // heads)), (1, 0, 2)
        )
        for w, c in (("wq", "cq"), ("wk", "ck"), ("wv", "cv"))
    )
    scores = q @ xp.permute_dims(k, (0, 2, 1)) * (width // heads) ** -0.5
    mixed = xp.permute_dims(softmax(scores) @ v, (1, 0, 2))
    x = x + xp.reshape(mixed, (seq, width)) @ p["wo"] + p["co"]
    h = norm(x, p["g2"], p["b2"])
    return x + gelu(h @ p["w1"] + p["c1"]) @ p["w2"] + p["c2"]


def parameters(width: int, seed: int = 0) -> dict[str, Array]:
    """Random weights of one block."""
    rng = np.random.default_rng(seed)

    def weight(a: int, b: int) -> Array:
        return (rng.standard_normal((a, b)) / a**0.5).astype(np.float32)

    def vector(n: int, centre: float) -> Array:
        return (centre + 0.1 * rng.standard_normal(n)).astype(np.float32)

    p: dict[str, Array] = {}
    for name in "qkvo":
        p[f"w{name}"], p[f"c{name}"] = weight(width, width), vector(width, 0)
    for k, (a, b) in (("1", (width, 4 * width)), ("2", (4 * width, width))):
        p[f"w{k}"], p[f"c{k}"] = weight(a, b), vector(b, 0)
        p[f"g{k}"], p[f"b{k}"] = vector(width, 1), vector(width, 0)
    return p


def run_demo(
    device: str | None, report: Path, seq: int, width: int, out: Console
) -> None:
    """Optimizes the block, runs it beside NumPy, prints and draws what happened."""
    from .. import xp

    heads = max(width // 32, 1)
    p = parameters(width)
    x = np.random.default_rng(1).standard_normal((seq, width)).astype(np.float32)

    def transformer_block(x: Any, p: Any) -> Any:
        return block(xp, x, p, heads)

    fast = optimize(transformer_block, x, p, device=device)
    c = fast.compiled
    got = fast(x, p)
    inputs = {"x": x, **{f"p.{k}": v for k, v in p.items()}}
    exact = next(iter(evaluate(fast.graph, inputs, "f64").values()))
    plain = block(np, x, p, heads)
    scale = float(np.max(np.abs(exact)))
    error = {
        "NumPy": float(np.max(np.abs(plain - exact))) / scale,
        "rewrite": float(np.max(np.abs(got - exact))) / scale,
    }
    target = np.empty_like(got)
    label = fast.graph.outputs[0][0]
    ready = c.executable({})
    if ready is None:
        ready_call: Callable[[], Any] = lambda: c(inputs)  # noqa: E731
    else:
        ready_call = lambda: ready(inputs, {label: target})  # noqa: E731
    times = interleaved(
        {"NumPy": lambda: block(np, x, p, heads), "rewrite": ready_call}, ROUNDS
    )

    out.print(
        f"A transformer block, {seq} x {width}, {heads} heads, on {c.device.name}"
    )
    table = Table("", "before", "after", box=None)
    table.add_row("nodes", str(len(c.source.live)), str(len(c.plan.graph.live)))
    table.add_row("kernels", str(c.plan.own_kernels), str(len(c.plan.groups)))
    before, after = c.plan.own_seconds * 1e6, c.plan.seconds * 1e6
    table.add_row("predicted us", f"{before:.0f}", f"{after:.0f}")
    table.add_row(
        "measured us",
        f"{times['NumPy'] * 1e6:.0f} (NumPy)",
        f"{times['rewrite'] * 1e6:.0f}",
    )
    table.add_row("largest error", f"{error['NumPy']:.1e}", f"{error['rewrite']:.1e}")
    out.print(table)
    gain = times["NumPy"] / times["rewrite"]
    out.print(f"optimized in {c.optimize_seconds:.2f} s; {gain:.1f} times NumPy\n")
    out.print(show_kernels(fast.kernels), soft_wrap=True)
    page = fast.explain().html()
    report.write_text(page, encoding="utf-8")
    out.print(f"\npicture: {report}")
