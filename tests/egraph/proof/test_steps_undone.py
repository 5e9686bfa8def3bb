"""Proofs left by a rule, changed an operand, and came back by the same rule."""

from __future__ import annotations

from rewrite.authoring.models import load
from rewrite.core.explaining import explained_part
from rewrite.egraph.proof.explain import Explanation
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import saturator
from rewrite.extract.schedule.plan import plan
from rewrite.lower.model import kernel_cost
from rewrite.lower.registry import FAMILIES
from tests.replay.test_goldens import CAPS, HERE


def undone(why: Explanation) -> set[str]:
    """Rules of which one step makes what another takes, at the same place, and takes
    what it makes.  What is left in one operand may be taken up in another."""
    made = {
        (s.rule, s.path, *(text.rpartition(" = ")[2] for text in (s.left, s.right)))
        for s in why.steps
    }
    return {rule for rule, path, a, b in made if (rule, path, b, a) in made}


def test_no_step_is_undone() -> None:
    model, rules = load(HERE / "models" / "vit_block.onnx"), load_rules()
    price = kernel_cost(CAPS, FAMILIES)
    made = plan(model.graph, saturator(rules), price, moves=2, hints=model.hints)
    for part in made.parts:
        why = explained_part(part, rules)
        assert len(why.steps) > 10 and not undone(why)
