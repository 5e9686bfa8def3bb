"""`strict` dropped `+ 0.0`, so that 1 / (-0.0 + 0.0) became -inf."""

from __future__ import annotations

import numpy as np

from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.text import parse
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import saturate
from tests.egraph.choices import all_forms

TEXT = """graph g(x: f32[4]) {
  z: f32[4] = const 0.0
  a: f32[4] = add x z
  d: f32[4] = sub x x
  n: f32[4] = neg d
  r: f32[4] = recip a
  i: i32[4] = bitcast a
  s: f32[4] = recip n
  return r, i, s
}
"""


def test_every_form_has_the_same_bits() -> None:
    graph = parse(TEXT)
    x = np.array([-0.0, 0.0, 1.0, 2.0], np.float32)
    found = saturate(graph, load_rules(precision="strict"))
    values = evaluate(all_forms(found, graph), {"x": x})
    for c, nodes in enumerate(found.classes):
        for i in range(1, len(nodes)):
            have, want = values[f"{c}.{i}"], values[f"{c}.0"]
            assert have.tobytes() == want.tobytes()
