"""The replay set run by devices, beside the reference evaluator.

    python -m tests.backends.models [DEVICE...]     opencl and wgpu where none is named

Prints the largest error beside the exact result, of the device and of the reference at
its own dtypes.  Exits with 1 where a device is further off than four times that.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

import rewrite.onnx
from rewrite.backends.devices import device
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.graph import Graph
from tests.replay.planned import NAMES
from tests.replay.weights import fill, load, random_inputs

SLACK = 2e-6  # of the largest value, or of 1


def errors(
    graph: Graph, got: Mapping[str, Any], given: Mapping[str, Any]
) -> list[tuple[str, float, float]]:
    """Of each output: its error, and that of the reference at its own dtypes."""
    exact, own = evaluate(graph, given, "f64"), evaluate(graph, given)
    found: list[tuple[str, float, float]] = []
    for label, want in exact.items():
        scale = max(1.0, float(np.max(np.abs(want), initial=0)))
        error, usual = (
            float(np.max(np.abs(y.astype(np.float64) - want), initial=0)) / scale
            for y in (got[label], own[label])
        )
        found.append((label, error, usual))
    return found


def is_right(found: list[tuple[str, float, float]]) -> bool:
    return all(error <= 4 * usual + SLACK for _, error, usual in found)


def ran(name: str, target: Any) -> list[tuple[str, float, float]]:
    """A model, compiled for a device and run on random inputs."""
    model = fill(load(name))
    program = rewrite.onnx.compile(model, target, fallback=False)
    given = random_inputs(model, {})
    return errors(program.graph, program(given), given)


def main() -> int:
    wrong = 0
    for target in sys.argv[1:] or ("opencl", "wgpu"):
        probe = device(target).probe()
        print(f"{target}: {probe.detail}")
        for name in NAMES if probe.ok else ():
            start = time.perf_counter()
            found = ran(name, target)
            spent = time.perf_counter() - start
            worst = max(e for _, e, _ in found), max(u for _, _, u in found)
            note = "" if is_right(found) else "  WRONG"
            wrong += bool(note)
            figures = f"error {worst[0]:.1e} (reference {worst[1]:.1e}) {spent:6.1f} s"
            print(f"  {name:14} {figures}{note}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
