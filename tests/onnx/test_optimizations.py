"""What rules find in models, on variants that differ in what should not matter."""

from __future__ import annotations

import itertools

import numpy as np
import onnx
import pytest

import rewrite.onnx
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import saturator
from tests.effort import draws

from . import classes
from .models import operators, optimized, parsed, run
from .written import main


def test_tiles_are_right_on_random_graphs() -> None:
    """More: `python -m tests.onnx.written 1000`."""
    assert main(draws(60), 0) == 0


@pytest.mark.long
def test_operators_and_their_definitions_are_one_class() -> None:
    """A sample of the 480; all: `python -m tests.onnx.classes`."""
    rules = saturator(load_rules(goal="operators", precision="fast"))
    told = [
        (classes.operator_of(a), classes.verdict(a, b, given, rules))
        for _, a, b, given in itertools.islice(classes.pairs(), 3, None, 8)
    ]
    assert sum(v == "one class" for _, v in told) > len(told) / 2
    assert {o for o, v in told if v != "one class"} <= set(classes.APART)


# ---- batch norm into convolutions ----------------------------------------------------

BN = "BatchNormalization <epsilon = 0.001>"


def batch_norm_weights(m: int, k: str = "") -> dict[str, np.ndarray]:
    rng = np.random.default_rng(len(k))
    return {
        f"s{k}": rng.uniform(0.5, 2, m).astype("f4"),
        f"b{k}": rng.standard_normal(m).astype("f4"),
        f"m{k}": rng.standard_normal(m).astype("f4"),
        f"v{k}": rng.uniform(0.5, 2, m).astype("f4"),
    }


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("bias", [False, True])
def test_batch_norm_becomes_part_of_a_convolution(
    axes: int, groups: int, bias: bool
) -> None:
    sizes, rest = ",".join(["9"] * axes), ",".join(["n"] * axes)
    pads = [1] * (2 * axes)
    model = parsed(
        f"""g (float[b,4,{sizes}] x) => (float[b,6,{rest}] y)
        {{
            c = Conv <group = {groups}, strides = {[2] * axes}, pads = {pads}>
                (x, w{", bias" if bias else ""})
            y = {BN} (c, s, b, m, v)
        }}""",
        {"w": (6, 4 // groups, *[3] * axes), "bias": (6,), **batch_norm_weights(6)},
    )
    found = optimized(model)
    assert operators(found) == {"Conv": 1}
    x = np.random.default_rng(1).standard_normal((2, 4, *[9] * axes)).astype("f4")
    assert np.allclose(
        run(model, {"x": x})[0], run(found.model, {"x": x})[0], 1e-4, 1e-4
    )


def test_batch_norm_behind_expanded_parameters() -> None:
    """As exporters write it: each parameter broadcast and cast by operators."""
    model = parsed(
        f"""g (float[1,3,8,8] x) => (float[1,4,8,8] y)
        {{
            c = Conv <pads = [1, 1, 1, 1]> (x, w)
            n = Constant <value = int64[1] {{4}}> ()
            raw = Constant <value = float {{1.0}}> ()
            like = CastLike (raw, s)
            ones = Expand (like, n)
            scale = Mul (ones, s)
            y = {BN} (c, scale, b, m, v)
        }}""",
        {"w": (4, 3, 3, 3), **batch_norm_weights(4)},
    )
    assert operators(optimized(model)) == {"Conv": 1}


def test_batch_norms_in_a_row_and_spelled_out() -> None:
    model = parsed(
        f"""g (float[1,3,8,8] x) => (float[1,4,8,8] y)
        {{
            c = Conv <pads = [1, 1, 1, 1]> (x, w)
            one = {BN} (c, s, b, m, v)
            two = {BN} (one, s2, b2, m2, v2)
            less = Sub (two, shift)
            y = Mul (factor, less)
        }}""",
        {"w": (4, 3, 3, 3), **batch_norm_weights(4), **batch_norm_weights(4, "2"),
         "shift": (1, 4, 1, 1), "factor": (4, 1, 1)},
    )  # fmt: skip
    found = optimized(model)
    assert operators(found)["Conv"] == 1
    assert "BatchNormalization" not in operators(found)


def test_batch_norm_stays_where_the_convolution_has_another_use() -> None:
    """It may be computed twice, or kept: never wrong, and not at a higher price."""
    model = parsed(
        f"""g (float[1,3,8,8] x) => (float[1,4,8,8] y, float[1,4,8,8] c)
        {{
            c = Conv <pads = [1, 1, 1, 1]> (x, w)
            y = {BN} (c, s, b, m, v)
        }}""",
        {"w": (4, 3, 3, 3), **batch_norm_weights(4)},
    )
    found = optimized(model)
    assert found.predicted[1] <= found.predicted[0]


# ---- products that share an operand --------------------------------------------------


def projections(
    sizes: tuple[int, ...], bias: bool, rows: int, seed: int
) -> onnx.ModelProto:
    """Products of one value, in an order drawn anew, each with a row of its own."""
    order = np.random.default_rng(seed).permutation(len(sizes))
    lines = [
        f"h{k} = MatMul(x, w{k})  y{k} = Add(h{k}, b{k})" if bias else
        f"y{k} = MatMul(x, w{k})"
        for k in order
    ]  # fmt: skip
    outputs = ", ".join(f"float[1,{rows},{n}] z{k}" for k, n in enumerate(sizes))
    last = "\n".join(f"z{k} = Tanh(y{k})" for k in range(len(sizes)))
    body = "\n".join(lines)
    weights = {f"w{k}": (32, n) for k, n in enumerate(sizes)}
    weights |= {f"b{k}": (n,) for k, n in enumerate(sizes)}
    return parsed(
        f"g (float[1,{rows},32] x) => ({outputs}) {{ {body}\n{last} }}", weights
    )


@pytest.mark.parametrize(
    ("sizes", "bias", "seed"),
    [((16, 16, 16), True, 0), ((16, 16, 16), False, 1), ((32, 8, 8), True, 2),
     ((8, 8, 16), False, 3), ((4, 8, 12, 16), True, 4)],
)  # fmt: skip
def test_products_that_share_an_operand_are_one(
    sizes: tuple[int, ...], bias: bool, seed: int
) -> None:
    model = projections(sizes, bias, 1, seed)
    found = optimized(model)
    told = operators(found)
    assert (told["MatMul"] + told["Gemm"], told["Split"]) == (1, 1), told
    x = np.random.default_rng(seed).standard_normal((1, 1, 32)).astype("f4")
    for a, b in zip(run(model, {"x": x}), run(found.model, {"x": x}), strict=True):
        assert np.allclose(a, b, 1e-5, 1e-5)


def test_products_of_different_operands_are_not_joined() -> None:
    model = parsed(
        """g (float[1,1,8] x, float[1,1,8] z) => (float[1,1,4] a, float[1,1,4] b)
        {
            a = MatMul(x, w)
            b = MatMul(z, u)
        }""",
        {"w": (8, 4), "u": (8, 4)},
    )
    assert operators(optimized(model)) == {"MatMul": 2}


def test_what_splitting_would_cost_more_than_it_saves_stays_apart() -> None:
    found = optimized(projections((512, 512, 512), False, 512, 0))
    assert operators(found)["Split"] == 0


# ---- scales --------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["before", "after", "around"])
def test_a_scale_becomes_part_of_the_weights(place: str) -> None:
    """Through the bias, the reshape and the transposition that stand between."""
    scale = "Constant <value = float {0.3535}> ()"
    lines = {
        "before": "q = Mul(a, c) r = Reshape(q, n) y = TURN (r)",
        "after": "r = Reshape(a, n) t = TURN (r) y = Mul(t, c)",
        "around": "q = Mul(a, c) r = Reshape(q, n) t = TURN (r) y = Mul(c, t)",
    }[place].replace("TURN", "Transpose <perm = [0,2,1,3]>")
    model = parsed(
        f"""g (float[1,6,8] x) => (float[1,2,6,4] y)
        {{
            c = {scale}
            n = Constant <value = int64[4] {{1, 6, 2, 4}}> ()
            m = MatMul(x, w)
            a = Add(m, b)
            {lines}
        }}""",
        {"w": (8, 8), "b": (8,)},
    )
    assert operators(optimized(model))["Mul"] == 0


@pytest.mark.parametrize(
    ("form", "rows"),
    [*itertools.product(["mul", "mul add", "add mul"], ["4", "n", "2,4"]),
     *itertools.product(["bn", "add bn"], ["4", "n"])],  # its channels: the second axis
)  # fmt: skip
def test_a_factor_for_each_column_becomes_part_of_the_weights(
    form: str, rows: str
) -> None:
    steps = {"mul": "MulX", "add": "AddX", "bn": f"{BN} (X, s, b, m, v)"}
    lines, last = ["h0 = MatMul(x, w)"], 0
    for word in form.split():
        text = steps[word].replace("MulX", "Mul(X, s)").replace("AddX", "Add(X, b)")
        lines.append(f"h{last + 1} = {text.replace('X', f'h{last}')}")
        last += 1
    model = parsed(
        f"""g (float[{rows},8] x) => (float[{rows},16] y)
        {{ {" ".join(lines)} y = Relu(h{last}) }}""",
        {"w": (8, 16), **batch_norm_weights(16)},
    )
    told = operators(optimized(model))
    products = told.pop("MatMul", 0) + told.pop("Gemm", 0)
    told.pop("Add", 0)
    assert (products, told) == (1, {"Relu": 1})


# ---- normalizations ------------------------------------------------------------------


def rms_norm(gain: bool, root: str, order: bool) -> str:
    square = {"pow": "p = Pow(x, two)", "mul": "p = Mul(x, x)"}[root]
    last = "y = Mul(g, n)" if order else "y = Mul(n, g)"
    return f"""g (float[2,5,16] x) => (float[2,5,16] y)
    {{
        two = Constant <value = float {{2.0}}> ()
        e = Constant <value = float {{0.00001}}> ()
        axes = Constant <value = int64[1] {{-1}}> ()
        {square}
        m = ReduceMean <keepdims = 1> (p, axes)
        a = Add(m, e)
        r = Sqrt(a)
        {"q = Reciprocal(r) n = Mul(x, q)" if order else "n = Div(x, r)"}
        {last if gain else "y = Identity(n)"}
    }}"""


@pytest.mark.parametrize(
    ("gain", "root", "order"),
    list(itertools.product([True, False], ["pow", "mul"], [True, False])),
)  # fmt: skip
def test_rms_norm_is_one_operator_from_opset_23_on(
    gain: bool, root: str, order: bool
) -> None:
    weights = {"g": (16,)} if gain else {}
    new = optimized(parsed(rms_norm(gain, root, order), weights, opset=23))
    assert operators(new) == {"RMSNormalization": 1}
    old = optimized(parsed(rms_norm(gain, root, order), weights, opset=22))
    assert "RMSNormalization" not in operators(old)


def layer_norm(opset: int, affine: bool) -> onnx.ModelProto:
    tail = "s = Mul(n, g) y = Add(s, b)" if affine else "y = Identity(n)"
    axes = "axes = Constant <value = int64[1] {-1}> ()" if opset >= 18 else ""
    mean = "ReduceMean <keepdims = 1> ({}, axes)" if opset >= 18 else \
        "ReduceMean <keepdims = 1, axes = [-1]> ({})"  # fmt: skip
    return parsed(
        f"""g (float[2,5,16] x) => (float[2,5,16] y)
        {{
            e = Constant <value = float {{0.00001}}> ()
            {axes}
            m = {mean.format("x")}
            d = Sub(x, m)
            p = Mul(d, d)
            v = {mean.format("p")}
            a = Add(v, e)
            r = Sqrt(a)
            n = Div(d, r)
            {tail}
        }}""",
        {"g": (16,), "b": (16,)} if affine else {},
        opset=opset,
    )


@pytest.mark.parametrize("affine", [True, False])
def test_layer_norm_is_one_operator_from_opset_17_on(affine: bool) -> None:
    assert operators(optimized(layer_norm(17, affine))) == {"LayerNormalization": 1}
    assert operators(optimized(layer_norm(20, affine))) == {"LayerNormalization": 1}
    assert "LayerNormalization" not in operators(optimized(layer_norm(16, affine)))


def test_softmax_spelled_out_is_one_operator() -> None:
    model = parsed(
        """g (float[3,7] x) => (float[3,7] y)
        {
            axes = Constant <value = int64[1] {1}> ()
            t = ReduceMax <keepdims = 1> (x, axes)
            d = Sub(x, t)
            e = Exp(d)
            s = ReduceSum <keepdims = 1> (e, axes)
            y = Div(e, s)
        }"""
    )
    assert operators(optimized(model)) == {"Softmax": 1}


def test_gelu_spelled_out_is_one_operator_from_opset_20_on() -> None:
    body = """g (float[3,7] x) => (float[3,7] y)
    {
        root = Constant <value = float {1.41421354}> ()
        one = Constant <value = float {1.0}> ()
        half = Constant <value = float {0.5}> ()
        d = Div(x, root)
        e = Erf(d)
        a = Add(e, one)
        p = Mul(x, a)
        y = Mul(p, half)
    }"""
    assert operators(optimized(parsed(body, opset=20))) == {"Gelu": 1}
    assert "Gelu" not in operators(optimized(parsed(body, opset=19)))


# ---- NaN after softmax ---------------------------------------------------------------


def attention(mask: str, weights: dict[str, np.ndarray]) -> onnx.ModelProto:
    return parsed(
        f"""g (float[1,4,6] q, float[1,6,4] k, bool[1,4,4] keep) => (float[1,4,4] y)
        {{
            low = Constant <value = float {{-inf}}> ()
            zero = Constant <value = float {{0.0}}> ()
            s = MatMul(q, k)
            {mask}
            t = Add(s, m)
            p = Softmax <axis = -1> (t)
            n = IsNaN(p)
            y = Where(n, zero, p)
        }}""",
        weights,
    )


def test_the_guard_goes_where_each_row_has_a_finite_entry() -> None:
    causal = np.where(np.tri(4, dtype=bool), 0, -np.inf).astype("f4")
    told = operators(optimized(attention("m = Identity(c)", {"c": causal})))
    assert not told["IsNaN"] and not told["Where"]


def test_the_guard_stays_where_a_row_may_be_masked() -> None:
    model = attention("m = Where(keep, zero, low)", {})
    found = rewrite.onnx.optimize(model)
    assert operators(found)["IsNaN"] == 1
    given = {
        "q": np.ones((1, 4, 6), "f4"), "k": np.ones((1, 6, 4), "f4"),
        "keep": np.zeros((1, 4, 4), bool),
    }  # fmt: skip
    assert np.array_equal(run(found.model, given)[0], np.zeros((1, 4, 4)))


def test_the_guard_stays_where_a_row_is_masked() -> None:
    mask = np.zeros((4, 4), "f4")
    mask[2] = -np.inf
    found = rewrite.onnx.optimize(attention("m = Identity(c)", {"c": mask}))
    assert operators(found)["IsNaN"] == 1
