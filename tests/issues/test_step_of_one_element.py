"""The step of a slice of one element grew without end, until it overflowed."""

from __future__ import annotations

from rewrite.egraph.ir.text import parse
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import saturate

TEXT = """graph single(x: f32[1, 1], y: f32[1, 1]) {
  a: f32[1, 1] = mul x y
  b: f32[1, 1] = permute a perm=[1, 0]
  c: f32[1, 1] = slice b start=[0, 0] size=[1, 1] step=[2, -2]
  d: f32[1, 1] = slice c start=[0, 0] size=[1, 1] step=[2, 3]
  return d
}
"""


def test_saturation_stays_small() -> None:
    found = saturate(parse(TEXT), load_rules())
    assert found.enodes < 40
    for nodes, t in zip(found.classes, found.types, strict=True):
        for n in nodes:
            if n.op == "slice":
                assert len(n.attrs[2]) == len(t.shape)
