"""Proofs left by a rule, changed an operand, and came back by the same rule."""

from __future__ import annotations

import pytest

from rewrite.authoring.models import load
from rewrite.core.explaining import explained_part
from rewrite.egraph.proof.explain import Explanation
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import saturator
from rewrite.extract.schedule.plan import plan
from rewrite.lower.model import kernel_cost
from rewrite.lower.registry import FAMILIES
from tests.replay.planned import CAPS
from tests.replay.test_goldens import HERE


def undone(why: Explanation) -> set[str]:
    """Rules of which one step makes what another takes, and takes what it makes."""
    made = {
        (s.rule, *(text.rpartition(" = ")[2] for text in (s.left, s.right)))
        for s in why.steps
    }
    return {rule for rule, a, b in made if (rule, b, a) in made}


# Of proofs as the closure finds them both hold two rules used and undone.
@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", ["gpt2_layer", "llama_layer"])
def test_no_step_is_undone(name: str) -> None:
    model, rules = load(HERE / "models" / f"{name}.onnx"), load_rules()
    price = kernel_cost(CAPS, FAMILIES)
    made = plan(model.graph, saturator(rules), price, moves=2, hints=model.hints)
    for part in made.parts:
        why = explained_part(part, rules)
        assert len(why.steps) > 10 and not undone(why)
