"""Predicted beside measured, over the captured models on c.

    python bench/predicted.py

For each model of tests/replay/models, at the sizes it records: every kernel of its
schedule alone, in turns, with warm caches (`rewrite/tuning/measure.py`).  Prints, by
family, how measured times compare with predicted ones; then the rank correlation and
the median error over all kernels, and over those that take some time.  Exits with 1
where a bar is missed.  `rewrite calibrate` changes what is predicted; after it, a
second table has the same kernels and times, predicted as if all traffic went at the
bandwidth of memory.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

import rewrite.onnx
from rewrite.backends.devices import device
from rewrite.cache.learned import digest
from rewrite.core.costs import cost_for
from rewrite.lower.model import DeviceModel, kernel_cost, model_of
from rewrite.lower.registry import families_for
from rewrite.tuning.measure import KernelTime, Subject, launches, measure
from rewrite.tuning.ranking import median_error, spearman

SPEARMAN, ERROR = 0.9, 0.3
LONG = 8e-6  # seconds: what a launch, shared out, leaves little of


def subjects() -> list[Subject]:
    from tests.replay.weights import MODELS, fill, load, random_inputs

    found: list[Subject] = []
    for path in sorted(MODELS.glob("*.onnx")):
        model = fill(load(path.stem))
        facts = ((p.key, p.value) for p in model.metadata_props)
        sizes = {k.removeprefix("size:"): int(v) for k, v in facts if k[:5] == "size:"}
        graph = rewrite.onnx.load(model, sizes)
        made = rewrite.compile_graph(graph, "c", fallback=False, cache=False)
        ready = made.executable()
        assert ready is not None
        found.append(Subject(ready, random_inputs(model, sizes)))
    return found


def row(name: str, kernels: Sequence[KernelTime]) -> tuple[float, float]:
    """A line of the table; (rank correlation, median error)"""
    predicted = [k.predicted for k in kernels]
    measured = [k.measured for k in kernels]
    ratios = sorted(m / p for p, m in zip(predicted, measured, strict=True))
    ranks, error = spearman(predicted, measured), median_error(predicted, measured)
    shown = "     -" if ranks is None else f"{ranks:6.2f}"
    print(f"{name:10}{len(kernels):8}{median(ratios):9.2f}{ratios[0]:9.3f} .. "
          f"{ratios[-1]:6.2f}{shown}{error:9.0%}")  # fmt: skip
    return ranks or 0.0, error


def table(kernels: Sequence[KernelTime]) -> tuple[float, float]:
    """By family; (rank correlation, median error) over all."""
    print(f"{'':10}{'kernels':>8}{'measured / predicted':>30}{'ranks':>6}{'error':>9}")
    for family in sorted({k.family for k in kernels}):
        row(family, [k for k in kernels if k.family == family])
    row("long", [k for k in kernels if k.measured >= LONG])
    return row("all", kernels)


def without_caches(
    found: Sequence[Subject], kernels: Sequence[KernelTime], model: DeviceModel
) -> list[KernelTime]:
    """The kernels as predicted without the curve of traffic."""
    price = kernel_cost(replace(model, traffic=()), families_for(strict=False))
    of = {digest(s.kernel): s.kernel for x in found for s in launches(x.ready)}
    costs = ((k, price(of[k.digest])) for k in kernels)
    return [replace(k, cost=cost) for k, cost in costs if cost is not None]


def main() -> int:
    sys.path.append(str(Path(__file__).parents[1]))  # the captured models
    target, found = device("c"), subjects()
    kernels = [k for p in measure(found, cost_for(target)) for k in p.kernels]
    ranks, error = table(kernels)
    model = model_of(target.caps())
    if model.traffic:
        print("at the bandwidth of memory")
        table(without_caches(found, kernels, model))
    good = ranks >= SPEARMAN and error <= ERROR
    print(f"bars: ranks {SPEARMAN}, error {ERROR:.0%}: {'met' if good else 'missed'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
