"""What a search over lowering earns: kernels and whole programs, before and after.

    python bench/tuned.py [SECONDS] [NAME ...]

For models of tests/replay/models (those named, else three), a product of 1024 and a
softmax over 4096: what `rewrite tune` finds in SECONDS (90) each.  Choices are kept in
the cache, so that a second run starts with them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

import rewrite
import rewrite.onnx
from rewrite import xp
from rewrite.commands.tune import show
from rewrite.core.compiled import Compiled
from rewrite.tuning.tune import Budget, tune

MODELS = ("bert_layer", "resnet_block", "llama_cached")
DEVIATION = 0.1


def captured(name: str) -> tuple[Compiled, dict[str, Any]]:
    from tests.replay.weights import fill, load, random_inputs

    model = fill(load(name))
    facts = ((p.key, p.value) for p in model.metadata_props)
    sizes = {k.removeprefix("size:"): int(v) for k, v in facts if k[:5] == "size:"}
    graph = rewrite.onnx.load(model, sizes)
    c = rewrite.compile_graph(graph, "c", fallback=False)
    return c, random_inputs(model, sizes)


def square(n: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return (DEVIATION * rng.standard_normal((n, n))).astype(np.float32)


def subjects(names: list[str]) -> Iterator[tuple[str, Compiled, dict[str, Any]]]:
    for name in names or MODELS:
        if name not in ("matmul", "softmax"):
            yield name, *captured(name)
    if not names or "matmul" in names:
        x, w = square(1024, 0), square(1024, 1)
        f = rewrite.optimize(lambda x, w: x @ w, x, w, device="c", fallback=False)
        yield "product of 1024", f.compiled, f.inputs(x, w)
    if not names or "softmax" in names:
        x = square(4096, 0)
        f = rewrite.optimize(xp.nn.softmax, x, device="c", fallback=False)
        yield "softmax over 4096", f.compiled, f.inputs(x)


def main() -> None:
    sys.path.insert(0, "")  # tests
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 90.0
    for name, compiled, inputs in subjects(sys.argv[2:]):
        print(f"\n{name}")
        show(compiled, tune(compiled, inputs, {}, Budget(seconds)))


if __name__ == "__main__":
    main()
