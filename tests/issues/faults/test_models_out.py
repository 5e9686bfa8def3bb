"""Models that came out as others, when ONNX models were first written.

Each was wrong, refused or invalid with its own check off: sizes at the witness written
as numbers, dims that only looked alike, masks that the standard fills up, a guard whose
mask is an input.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

import rewrite.onnx
from rewrite.egraph.ir.dims import bind, symbol
from rewrite.egraph.ir.primes import witness
from tests.onnx.models import operators, parsed, run

RNG = np.random.default_rng(0)


def draw(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("f4")


def same(model: onnx.ModelProto, *inputs: dict[str, Any], **options: Any) -> set[str]:
    """The operators of the result, which gives the same without having been checked."""
    found = rewrite.onnx.optimize(model, check=False, **options)
    for given in inputs:
        for a, b in zip(run(model, given), run(found.model, given), strict=True):
            assert a.shape == b.shape
            assert np.allclose(a, b, 1e-4, 1e-5, equal_nan=True)
    return set(operators(found))


TABLE = """g (float[1,T,4] x) => (float[1,T,4] y)
{
    zero = Constant <value_ints = [0]> ()
    t = Shape <start = 1, end = 2> (x)
    part = Slice(k, zero, t, zero)
    y = Add(x, part)
}"""


@pytest.mark.parametrize("hints", [None, {"T": 7}, {"T": 17}])
def test_a_slice_up_to_a_symbolic_size(hints: dict[str, int] | None) -> None:
    model = parsed(TABLE, {"k": (32, 4)})
    same(model, *({"x": draw(1, t, 4)} for t in (1, 5, 17)), hints=hints)


def test_parts_of_symbolic_sizes_are_no_split() -> None:
    model = parsed(
        """g (float[T] x, float[32,4] k) => (float[T,4] y, float[U,4] v)
        {
            zero = Constant <value_ints = [0]> ()
            end = Constant <value_ints = [32]> ()
            t = Shape(x)
            low = Slice(k, zero, t, zero)
            high = Slice(k, t, end, zero)
            y = Neg(low)
            v = Neg(high)
        }"""
    )
    same(model, *({"x": draw(t), "k": draw(32, 4)} for t in (1, 5, 17)))


@pytest.mark.parametrize("hints", [None, {"N": 17}])
def test_a_sum_times_what_looks_like_one_over_its_size(
    hints: dict[str, int] | None,
) -> None:
    model = parsed(
        """g (float[N,3] x) => (float[1,3] y)
        {
            axes = Constant <value_ints = [0]> ()
            s = ReduceSum <keepdims = 1> (x, axes)
            y = Mul(s, c)
        }""",
        {"c": np.float32(1 / 17)},
    )
    same(model, {"x": draw(2, 3)}, {"x": draw(17, 3)}, hints=hints)


def test_dims_that_differ_are_other_numbers_at_the_witness() -> None:
    a, b = symbol("A"), symbol("B")
    for hint in (1, 7, 8, 15, 16, 100):
        values = witness([(a, b, a + 2, a + 4, b * 2)], {"A": hint, "B": hint})
        assert len({bind(d, values) for d in (a, b, a + 2, a + 4, b * 2)}) == 5
    model = parsed(
        """g (float[A,4] x, float[B,4] z) => (float[P,4] y, float[Q,4] u)
        {
            c = Concat <axis = 0> (x, k)
            s = Shape(c)
            t = Shape(z)
            y = ConstantOfShape(s)
            u = ConstantOfShape(t)
        }""",
        {"k": (2, 4)},
    )
    same(model, {"x": draw(2, 4), "z": draw(3, 4)}, {"x": draw(1, 4), "z": draw(3, 4)})


@pytest.mark.parametrize(
    "mask", [(3, 1), (1, 4, 3, 1), (1, 5), (2, 1, 1, 5), (4, 1, 5), (5,), (3, 5)]
)
def test_masks_of_attention_are_whole(mask: tuple[int, ...]) -> None:
    shape = ",".join(map(str, mask))
    model = parsed(
        f"""g (float[2,4,3,8] q, float[2,4,5,8] k, float[2,4,5,8] v, float[{shape}] m)
            => (float[2,4,3,8] y)
        {{
            kt = Transpose <perm = [0, 1, 3, 2]> (k)
            s = MatMul(q, kt)
            scaled = Mul(s, c)
            masked = Add(scaled, m)
            p = Softmax <axis = -1> (masked)
            y = MatMul(p, v)
        }}""",
        {"c": np.float32(0.3)},
        opset=23,
    )
    given = {"q": draw(2, 4, 3, 8), "k": draw(2, 4, 5, 8), "v": draw(2, 4, 5, 8)}
    assert "Attention" in same(model, {**given, "m": draw(*mask)})
    assert not rewrite.onnx.optimize(model).notes  # the runtime takes it, too


def test_a_product_with_a_matrix_is_no_attention() -> None:
    model = parsed(
        """g (float[2,4,3,5] s, float[5,8] v, float[8,5] w) => (float[2,4,3,8] y)
        {
            p = Softmax <axis = -1> (s)
            h = MatMul(p, v)
            t = MatMul(h, w)
            q = Softmax <axis = -1> (t)
            y = MatMul(q, v)
        }""",
        opset=23,
    )
    given = {"s": draw(2, 4, 3, 5), "v": draw(5, 8), "w": draw(8, 5)}
    assert "Attention" not in same(model, given)


@pytest.mark.parametrize("mask", [True, False])
def test_a_guard_stays_where_an_input_may_be_a_mask(mask: bool) -> None:
    add = "l = Add(s, m)" if mask else "l = Identity(s)"
    model = parsed(
        f"""g (float[B,T,T] s, float[B,1,T] m) => (float[B,T,T] y)
        {{
            {add}
            p = Softmax <axis = -1> (l)
            n = IsNaN(p)
            y = Where(n, z, p)
        }}""",
        {"z": np.float32(0)},
    )
    m, s = draw(2, 1, 4), draw(2, 4, 4)
    m[0] = s[1, 2] = -np.inf
    with np.errstate(invalid="ignore"):
        assert "IsNaN" in same(model, {"s": s, "m": m})


def test_a_range_that_counts_to_below_its_start_is_empty() -> None:
    model = parsed(
        """g (float[N,4] x) => (int64[K] y)
        {
            s = Shape(x)
            i = Constant <value_int = 0> ()
            n = Gather(s, i)
            one = Constant <value_int = 1> ()
            y = Range(n, i, one)
        }""",
        opset=18,
    )
    same(model, {"x": draw(3, 4)})
    assert not rewrite.onnx.optimize(model).notes


def test_outputs_that_nobody_reads_stay_where_the_operator_has_them() -> None:
    model = parsed(
        """g (float[2,8,3] x, float[8] s, float[8] b, float[8] u, float[8] v)
            => (float[8] m)
        {
            y, m, w = BatchNormalization <training_mode = 1> (x, s, b, u, v)
        }"""
    )
    found = rewrite.onnx.optimize(model)
    assert not found.notes and operators(found) == {"BatchNormalization": 1}


def test_node_names_stay_apart() -> None:
    model = parsed(
        "g (float[2] x) => (float[2] a, float[2] b) { a = Relu(x) b = Identity(a) }"
    )
    model.graph.node[0].name = "copy_b"
    found = rewrite.onnx.optimize(model)
    names = [n.name for n in found.model.graph.node]
    assert len(set(names)) == len(names)
