"""Optimized graphs are as accurate as their originals, on inputs that hurt, too.

`python -m tests.rewrite.stress` runs all graphs on all inputs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rewrite.authoring.models import Model
from rewrite.backends.devices import device
from rewrite.backends.executable import Executable
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.extract.schedule.steps import schedule
from rewrite.fuzz.pipeline import planned
from rewrite.lower.program import build

from . import stress
from .stress import PROFILES, check, draw, reference, worse

RULES = load_rules()
NAMED = list(stress.macros())
SCORED = list(stress.scored())
WRONG = Path(__file__).parent.parent / "broken" / "rules"


@pytest.mark.sweep(3)
@pytest.mark.parametrize("model", NAMED, ids=[m.name for m in NAMED])
def test_what_has_a_name_is_as_accurate(model: Model) -> None:
    failures = check(model, RULES, tuple(PROFILES))
    assert not failures, "\n".join(map(str, failures))


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", ["mlp", "lstm_cell", "training_step"])
def test_a_captured_network_is_as_accurate(name: str) -> None:
    model = stress.load_model(stress.MODELS / f"{name}.onnx")
    failures = check(model, RULES, ("offset", "logits", "masked"))
    assert not failures, "\n".join(map(str, failures))


@pytest.mark.parametrize("model", list(stress.workloads(2)), ids=lambda m: m.name)
def test_a_workload_is_as_accurate(model: Model) -> None:
    failures = check(model, RULES, tuple(PROFILES))
    assert not failures, "\n".join(map(str, failures))


@pytest.mark.sweep(2)
@pytest.mark.parametrize(
    ("rule", "graph"),
    [
        ("softmax-unsafe", "softmax f32"),
        ("exp-of-difference", "log_softmax f32"),
        ("logsumexp-unsafe", "logsumexp f16"),
        ("exp-of-difference", "cross entropy bf16"),
    ],
)
def test_an_unstable_rule_is_found_and_named(rule: str, graph: str) -> None:
    rules = load_rules([WRONG / f"{rule}.egg"])
    model = next(m for m in NAMED if m.name == graph)
    failures = check(model, rules, ("usual", "offset", "logits"))
    assert failures
    assert all(rule in f.rules for f in failures), failures


def test_a_cancelling_variance_is_worse() -> None:
    """The measure itself: E[x²] - μ² at a mean of 1e4 against the mean of squares."""
    good = next(m for m in NAMED if m.name == "variance f32")
    b = Builder("moments")
    x = b.input("x", F32, (4, 33))
    square, mean = (b.macro("mean", [i], (0, 1)) for i in (b.bin("mul", x, x), x))
    bad = b.build([b.bin("sub", square, b.bin("mul", mean, mean))])
    inputs = draw(good, "offset", 0)
    ref = reference(good.graph, inputs)
    assert worse(stress.run(bad, inputs), ref) is not None
    assert worse(stress.run(good.graph, inputs), ref) is None


def test_new_infinities_are_worse() -> None:
    model = next(m for m in NAMED if m.name == "softmax f32")
    inputs = draw(model, "usual", 0)
    ref = reference(model.graph, inputs)
    for bad in (np.inf, np.nan):
        found = {k: v.copy() for k, v in ref.own.items()}
        found["out0"][1, 2] = bad
        assert "[1, 2]" in (worse(found, ref) or "")
    broken = replace(ref, own={k: np.full_like(v, np.nan) for k, v in ref.own.items()})
    assert worse(found, broken) is None, "where the original is NaN, anything may be"


def on_device(name: str, model: Model, profiles: Iterable[str]) -> list[str]:
    """What a device computes worse than it may.

    A device rounds otherwise than the reference, so nothing is asked of it where half
    an ulp makes a NaN of the original.
    """
    target = device(name)
    if not target.probe().ok:
        pytest.skip(f"{name}: {target.probe().detail}")
    chosen = planned(model.graph, target, RULES)
    steps = schedule(chosen.graph, chosen.groups, {})
    caps = None if name == "numpy" else target.caps()
    program = Executable(build(steps, caps, strict=False), chosen.graph, target)
    out: list[str] = []
    for profile in profiles:
        inputs = draw(model, profile, 0)
        ref = reference(model.graph, inputs, 20)
        firm = {
            k: np.where(np.isfinite(ref.error[k]), v, np.nan)
            for k, v in ref.own.items()
        }
        found = worse(program(inputs), replace(ref, own=firm))
        out += [f"{profile}: {found}"] if found else []
    program.close()
    return out


@pytest.mark.parametrize("name", ["c", "numpy"])
@pytest.mark.parametrize("graph", ["softmax", "layer_norm", "variance", "mlp"])
def test_kernels_are_as_accurate(name: str, graph: str) -> None:
    model = next(m for m in NAMED if m.name == f"{graph} f32")
    assert on_device(name, model, PROFILES) == []


@pytest.mark.parametrize("name", ["c", "numpy"])
def test_attention_kernels_are_as_accurate(name: str) -> None:
    model = next(m for m in NAMED if m.name == "attention f32")
    assert on_device(name, model, ("usual", "offset", "logits", "small", "zero")) == []


@pytest.mark.parametrize("name", ["c", "opencl"])
def test_attention_over_huge_scores_stays_finite(name: str) -> None:
    """At the maximum the scaled scores cancel: half an ulp of 1e16 has an infinite exp,
    so no product may go into the difference unrounded."""
    model = next(m for m in NAMED if m.name == "attention f32")
    assert on_device(name, model, ("mixed",)) == []


@pytest.mark.sweep(3)
@pytest.mark.parametrize("model", SCORED, ids=[m.name for m in SCORED])
def test_other_scores_stay_finite_where_they_are_huge(model: Model) -> None:
    assert on_device("c", model, ("mixed", "large")) == []
