"""End to end: array code and ONNX models in, optimized, run on c, against the oracle.

    make e2e        (python bench/e2e.py)

One line per front end and workload: nodes and kernels before and after, seconds to
optimize, the largest error against float64 (NumPy's own beside it) and how many times
faster than NumPy it ran (one process, in turns, medians).  For models NumPy is ONNX's
reference implementation, and ONNX Runtime stands beside it where it is installed.
Exits with 1 where the error exceeds four times NumPy's own, or a workload is slower.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import rewrite
from rewrite import xp
from rewrite.commands.demo import block, parameters
from rewrite.core.compiled import Compiled
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.scalars import Array
from rewrite.tuning.timing import interleaved

rng = np.random.default_rng(0)


def normal(*shape: int) -> Array:
    return rng.standard_normal(shape).astype(np.float32)


def softmax(m: Any, x: Any) -> Any:
    e = m.exp(x - m.max(x, axis=-1, keepdims=True))
    return e / m.sum(e, axis=-1, keepdims=True)


def gelu_chain(m: Any, x: Any, a: Any, b: Any) -> Any:
    y = x * a + b
    return 0.5 * y * (1 + m.tanh(0.7978845608 * (y + 0.044715 * y * y * y))) * 2.0


def layer_norm(m: Any, x: Any, gain: Any, bias: Any) -> Any:
    centred = x - m.mean(x, axis=-1, keepdims=True)
    var = m.mean(centred * centred, axis=-1, keepdims=True)
    return centred / m.sqrt(var + 1e-5) * gain + bias


def mlp(m: Any, x: Any, w: Any, b: Any) -> Any:
    return gelu_chain(m, x @ w, 1.0, b)


type Workload = tuple[str, Callable[..., Any], tuple[Any, ...]]


def workloads() -> list[Workload]:
    p, big, row = parameters(256), normal(2048, 2048), normal(2048)
    return [
        ("gelu chain 4M", gelu_chain, (big, row, row)),
        ("softmax 2048", softmax, (big,)),
        ("layer norm 2048", layer_norm, (big, row, row)),
        ("matmul gelu 512", mlp, (normal(512, 512), normal(512, 512), row[:512])),
        ("transformer block", lambda m, x, p: block(m, x, p, 8), (normal(256, 256), p)),
    ]


def run(name: str, f: Callable[..., Any], args: tuple[Any, ...]) -> tuple[float, float]:
    """(error over NumPy's own, times faster than NumPy)"""
    fast = rewrite.optimize(lambda *a: f(xp, *a), *args, device="c", fallback=False,
                            cache=False)  # fmt: skip
    c = fast.compiled
    got, plain = fast(*args), f(np, *args)
    inputs = fast.inputs(*args)
    exact = evaluate(fast.graph, inputs, "f64")["out0"]
    scale = float(np.max(np.abs(exact)))
    error, own = (float(np.max(np.abs(y - exact))) / scale for y in (got, plain))
    ready, out = c.executable({}), {"out0": np.empty_like(got)}
    assert ready is not None
    times = interleaved(
        {"numpy": lambda: f(np, *args), "c": lambda: ready(inputs, out)}, 11
    )
    return report(f"xp {name}", c, error, own, times)


def report(
    name: str, c: Compiled, error: float, own: float, times: dict[str, float]
) -> tuple[float, float]:
    """Prints a line; (error over NumPy's own, times faster than NumPy)"""
    ratio = times["numpy"] / times["c"]
    beside = times.get("ort", 0.0) / times["c"]
    other = f", {beside:.2f} x ONNX Runtime" if beside else ""
    live = len(c.source.live), len(c.plan.graph.live)
    print(
        f"{name:21} nodes {live[0]:4} -> {live[1]:4}  kernels "
        f"{c.plan.own_kernels:3} -> {len(c.plan.groups):3}  optimized "
        f"{c.optimize_seconds:5.2f} s  error {error:.1e} (NumPy {own:.1e})  "
        f"{ratio:5.1f} x NumPy{other}"
    )
    return error / max(own, 1e-7), ratio


MODELS = ("bert_layer", "llama_cached", "resnet_block", "unet_block", "training_step")


def run_model(name: str) -> tuple[float, float]:
    """(error over NumPy's own, times faster than NumPy)"""
    from onnx.reference import ReferenceEvaluator

    import rewrite.onnx
    from tests.replay.weights import fill, load, random_inputs

    model = fill(load(name))
    inputs = random_inputs(model, {})
    program = rewrite.onnx.compile(model, "c", fallback=False, cache=False)
    c, host = program.compiled, ReferenceEvaluator(model)
    got = program(inputs)
    plain = dict(zip(got, host.run(None, inputs), strict=True))
    exact = evaluate(c.source, inputs, "f64")
    error, own = (
        float(np.max([np.max(np.abs(y[k] - w)) / max(np.max(np.abs(w)), 1e-30)
                      for k, w in exact.items()]))
        for y in (got, plain)
    )  # fmt: skip
    contest: dict[str, Callable[[], Any]] = {
        "numpy": lambda: host.run(None, inputs),
        "c": lambda: program(inputs),
    }
    contest |= runtime(model, inputs)
    return report(f"onnx {name}", c, error, own, interleaved(contest, 7))


def runtime(model: Any, inputs: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """ONNX Runtime as it comes, if it is installed."""
    try:
        import onnxruntime
    except ImportError:
        return {}
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return {"ort": lambda: session.run(None, inputs)}


def main() -> int:
    bad = 0
    sys.path.append(str(Path(__file__).parents[1]))  # the captured models
    for name, f, args in workloads():
        error, ratio = run(name, f, args)
        bad += not error <= 4 or ratio < 1  # NaN is wrong too
    for name in MODELS:
        error, ratio = run_model(name)
        bad += not error <= 4 or ratio < 1  # NaN is wrong too
    print("end to end: " + ("green" if not bad else f"{bad} workloads are red"))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
