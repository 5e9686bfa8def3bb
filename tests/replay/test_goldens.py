"""What the optimizer makes of each captured graph: cost, kernels and rules.

`pytest tests/replay/test_goldens.py --bless` writes the goldens anew.  Costs are those
of a CPU of eight threads with 32-byte vectors, whatever machine runs the test.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import rewrite.onnx
from rewrite.core.explaining import explained_part
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.extract.schedule.kernel import Launch
from rewrite.extract.text.describe import describe
from rewrite.lower.model import kernel_cost
from rewrite.lower.registry import FAMILIES

from .planned import ALIKE, CAPS, NAMES, planned, scheduled
from .weights import fill, load, random_inputs

HERE = Path(__file__).parent


def report(name: str) -> str:
    found, rules = planned(name), load_rules()
    used = {r for part in found.parts for r in explained_part(part, rules).rules}
    before = rewrite.onnx.load(fill(load(name)))
    lines = [
        f"nodes {len(before.live)} -> {len(found.graph.live)}",
        f"kernels {found.own_kernels} -> {len(found.groups)}",
        f"predicted us {found.own_seconds * 1e6:.0f} -> {found.seconds * 1e6:.0f}",
    ]
    made, price = scheduled(name), kernel_cost(CAPS, FAMILIES)
    for i, step in enumerate(made.steps):
        if i == made.once and i:
            lines.append("  the above once, when the program is made")
        if isinstance(step, Launch):
            cost = price(step.kernel)
            lines.append(
                f"  {cost.family if cost else 'none':9} {describe(step.kernel)}"
            )
        else:
            lines.append(f"  host      {step.op}")
    lines += ["rules", *(f"  {r}" for r in sorted(used))]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.long) if n in ALIKE else n for n in NAMES],
)
def test_golden(name: str, bless: bool) -> None:
    path, got = HERE / "goldens" / f"{name}.txt", report(name)
    if bless:
        path.parent.mkdir(exist_ok=True)
        path.write_text(got, "utf-8")
    assert got == path.read_text("utf-8"), "read the difference, then --bless"


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", NAMES)
def test_compiled_as_the_exact_result(name: str) -> None:
    """On c, with symbolic sizes, nothing run by the reference implementation."""
    model = fill(load(name))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program = rewrite.onnx.compile(model, "c", fallback=False)
    graph = program.graph
    assert not any(n.op == "call" for n in graph.nodes)
    for seed in range(2):
        inputs = random_inputs(model, {}, seed)
        got = program(inputs)
        exact, own = evaluate(graph, inputs, "f64"), evaluate(graph, inputs)
        for label, want in exact.items():
            scale = max(1.0, float(np.max(np.abs(want), initial=0)))
            error, usual = (
                float(np.max(np.abs(y - want), initial=0)) / scale
                for y in (got[label].astype(np.float64), own[label])
            )
            assert error <= 4 * usual + 2e-6, (label, error, usual)
