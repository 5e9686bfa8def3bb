"""One run on an NVIDIA GPU: devices, the demo, fuzz, and a few kernels timed.

    python bench/gpu.py [FUZZED GRAPHS PER MODE]

Prints device time by events, bandwidth or rate, and the share of a device-to-device
copy measured in the same process.  Exits with 1 where a result is wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rich.console import Console

import rewrite
from rewrite import xp
from rewrite.backends.devices import describe, device
from rewrite.backends.executable import Executable
from rewrite.commands.demo import run_demo
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.scalars import Array
from rewrite.fuzz.pipeline import fuzz

rng = np.random.default_rng(0)


def normal(*shape: int) -> Array:
    return rng.standard_normal(shape).astype(np.float32)


def gelu(x: Any, a: Any, b: Any) -> Any:
    y = x * a + b
    return 0.5 * y * (1 + xp.tanh(0.7978845608 * (y + 0.044715 * y * y * y)))


def softmax(x: Any) -> Any:
    e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def layer_norm(x: Any, g: Any, b: Any) -> Any:
    c = x - xp.mean(x, axis=-1, keepdims=True)
    return c / xp.sqrt(xp.mean(c * c, axis=-1, keepdims=True) + 1e-5) * g + b


def column_sum(x: Any) -> Any:
    return xp.sum(x * x, axis=0)


def full_sum(x: Any) -> Any:
    return xp.sum(x * x)


def turn(x: Any) -> Any:
    return xp.exp(xp.permute_dims(x, (1, 0)))


def matmul(x: Any, w: Any, b: Any) -> Any:
    return gelu(x @ w, 1.0, b)


def attention(q: Any, k: Any, v: Any) -> Any:
    return softmax(q @ xp.permute_dims(k, (0, 2, 1)) * 0.125) @ v


def seconds(run: Executable, target: Any) -> float:
    """Median device seconds of one run of the program."""
    for _ in range(3):
        run.launch()
    return median(target.time(run.launch) for _ in range(20))


def kernels(target: Any) -> int:
    big, sq = normal(1 << 24), normal(4096, 4096)
    row, small = normal(4096), normal(1024, 1024)
    heads = tuple(normal(8, 1024, 64) for _ in "qkv")
    cases: list[tuple[str, Callable[..., Any], tuple[Any, ...], float, float]] = [
        ("copy 16M", lambda x: x * 1.0000001, (big,), 8 * big.size, 0),
        ("gelu chain 16M", gelu, (big, np.float32(2), np.float32(1)), 8 * big.size, 0),
        ("softmax 4096^2", softmax, (sq,), 8 * sq.size, 0),
        ("layer norm 4096^2", layer_norm, (sq, row, row), 8 * sq.size, 0),
        ("column sum 4096^2", column_sum, (sq,), 4 * sq.size, 0),
        ("full sum 16M", full_sum, (sq,), 4 * sq.size, 0),
        ("transpose 4096^2", turn, (sq,), 8 * sq.size, 0),
        ("matmul gelu 1024", matmul, (small, small, row[:1024]), 0, 2 * 1024.0**3),
        ("matmul gelu 4096", matmul, (sq, normal(4096, 4096), row), 0, 2 * 4096.0**3),
        ("attention 8x1024x64", attention, heads, 0, 4 * 8 * 1024.0**2 * 64),
    ]  # fmt: skip
    bad, copy = 0, 0.0
    for name, f, args, moved, flops in cases:
        fast = rewrite.optimize(f, *args, device=target, fallback=False)
        inputs = fast.inputs(*args)
        got = fast(*args)
        run = fast.compiled.executable({})
        assert run is not None
        t = seconds(run, target)
        wide = "own" if flops > 1e10 else "f64"
        want = evaluate(fast.graph, inputs, wide)["out0"]
        error = float(np.max(np.abs(got - want)) / np.max(np.abs(want)))
        copy = copy or moved / t
        rate = f"{moved / t / 1e9:6.0f} GB/s ({moved / t / copy:.2f} of copy)"
        if flops:
            rate = f"{flops / t / 1e12:6.1f} TFLOP/s"
        families = " ".join(k.family for k in fast.kernels)
        bad += not error <= 1e-4  # NaN is wrong too
        print(f"{name:20} {t * 1e6:9.1f} us  {rate:28} error {error:.1e}  {families}")
    return bad


def main() -> int:
    for name, probe in describe():
        print(f"{name:8} {'yes' if probe.ok else 'no ':3} {probe.detail}")
    target = device("cuda")
    print(target.caps())
    bad = kernels(target)
    with TemporaryDirectory() as folder:
        run_demo("cuda", Path(folder) / "demo.html", 1024, 1024, Console(width=150))
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for mode in ("exact", "smooth"):
        failures = fuzz([target], 0, count, mode)
        print(f"fuzz {mode}: {count} graphs, {len(failures)} wrong")
        for f in failures[:5]:
            print(f)
        bad += len(failures)
    print("cuda: " + ("all right" if not bad else f"{bad} wrong"))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
