"""Rules that asked too little of their operands' types: attention and concat."""

from __future__ import annotations

import numpy as np

from rewrite.egraph.ir.dtypes import F8E4M3
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.text import parse
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import saturate
from tests.egraph.choices import all_forms

# k is [3, 4, 2] and is reshaped, not transposed, to rows of length 3.
ATTENTION = """graph g(q: f32[2, 5, 3], k: f32[3, 4, 2], v: f32[2, 4, 6]) {
  q1: f32[2, 5, 1, 3] = reshape q
  k1: f32[2, 1, 4, 3] = reshape k
  s1: f32[2, 5, 4, 1] = contract q1 k1 full=[2, 5, 4, 3] mask=[0, 0, 0, 1] acc=f32
  s: f32[2, 5, 4] = reshape s1
  c: f32[2, 5, 4] = const 0.5
  sc: f32[2, 5, 4] = mul s c
  p: f32[2, 5, 4] = softmax sc mask=[0, 0, 1]
  p1: f32[2, 5, 1, 4] = reshape p
  vt: f32[2, 6, 4] = permute v perm=[0, 2, 1]
  v1: f32[2, 1, 6, 4] = reshape vt
  o1: f32[2, 5, 6, 1] = contract p1 v1 full=[2, 5, 6, 4] mask=[0, 0, 0, 1] acc=f32
  o: f32[2, 5, 6] = reshape o1
  return o
}
"""
CONCAT = """graph g(x: f32[2], y: f16[3]) {
  a: bool[2] = isnan x
  b: bool[3] = isnan y
  c: bool[5] = concat a b axis=0
  return c
}
"""
EMPTY = """graph g(x: f8e4m3[2, 0]) {
  c: f8e4m3[2, 0] = const 0.5
  s: f8e4m3[2, 0] = mul x c
  y: f8e4m3[2, 1] = reduce max s mask=[0, 1] acc=f32
  return y
}
"""


def test_a_reshaped_key_is_no_attention() -> None:
    graph = parse(ATTENTION)
    found = saturate(graph, load_rules())
    assert "attention" not in {n.op for nodes in found.classes for n in nodes}
    all_forms(found, graph)


def test_tests_of_two_dtypes_do_not_join() -> None:
    graph = parse(CONCAT)
    assert all_forms(saturate(graph, load_rules()), graph).outputs


def test_the_maximum_of_nothing_has_no_scale() -> None:
    graph = parse(EMPTY)
    found = saturate(graph, load_rules())
    x = np.zeros((2, 0), F8E4M3.numpy)
    values = evaluate(all_forms(found, graph), {"x": x})
    (top,) = found.outputs
    forms = [values[f"{top}.{i}"] for i in range(len(found.classes[top]))]
    assert all(np.array_equal(v, forms[0], equal_nan=True) for v in forms)
