"""Random forms of the operators of `com.microsoft` that are read: the graph gives what
ONNX Runtime gives, or the loader says what of the node it leaves."""

from __future__ import annotations

import importlib
import re
from typing import Any

import numpy as np
import onnx
import pytest

import rewrite.onnx
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.onnx import ModelError
from rewrite.onnx.hosts import session
from rewrite.onnx.site import READERS

from . import integers  # noqa: F401  # pyright: ignore[reportUnusedImport]  # registers its draws
from .cases import DOMAIN, Case
from .draws import DRAWS, Draw

pytest.importorskip("onnxruntime")
ort: Any = importlib.import_module("onnxruntime")
MODULE: Any = importlib.import_module("onnxruntime.capi.onnxruntime_pybind11_state")
SCHEMAS = {s.name: s for s in MODULE.get_all_operator_schema() if s.domain == DOMAIN}
OPS = sorted(DRAWS.keys() & SCHEMAS.keys())
COUNT = 12
# What the readers leave to the runtime, of the forms that are drawn.
LEFT = {
    "Attention": "a mask of starts and ends",
    "QAttention": "a mask of starts and ends",
    "GroupQueryAttention": "operand 9 is not read",
    "QLinearAveragePool": "means over windows that reach beyond the padding",
    "MatMulNBits": "blocks in another order, of other than 4 bits or with packed zeros",
}
# Attributes that are drawn for no form, and why.
NOT_DRAWN = {
    "GroupQueryAttention": {"q_norm_epsilon", "k_norm_epsilon"},  # as qk_norm_epsilon
}


def wanted(c: Case, model: onnx.ModelProto) -> Any:
    """None where the runtime does not take the node."""
    refusals = tuple(
        getattr(MODULE, n) for n in ("InvalidGraph", "InvalidArgument", "Fail",
                                     "RuntimeException", "NotImplemented")
    )  # fmt: skip
    try:
        return session(model, optimized=False, threads=1).run(c.inputs)
    except refusals:
        return None


def test_every_reader_has_draws() -> None:
    read = {k.partition(":")[2] for k in READERS if k.startswith(DOMAIN)}
    assert read == DRAWS.keys()


@pytest.mark.parametrize("op", OPS)
def test_forms(op: str) -> None:
    compared = 0
    for seed in range(COUNT):
        c = DRAWS[op](Draw(seed))
        model = c.model()
        want = wanted(c, model)
        if want is None:
            continue
        try:
            graph = rewrite.onnx.load(model)
        except ModelError as e:
            assert op in LEFT and LEFT[op] in str(e), f"seed {seed}: {e}"
            continue
        have = evaluate(graph, c.inputs).values()
        compared += 1
        for h, w in zip(have, want, strict=True):
            agree(h, w, f"seed {seed}: {dict(c.attributes)}")
    assert compared >= COUNT // 2


def agree(have: Any, want: Any, where: str) -> None:
    """Halves as near as one rounding of the greatest entry."""
    assert have.shape == want.shape and have.dtype == want.dtype, where
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(have, want, where)
    elif want.dtype == np.float16:
        top = float(np.abs(want.astype("f8")).max(initial=0))
        np.testing.assert_allclose(have, want, 2**-10, 2**-10 * top, err_msg=where)
    else:
        np.testing.assert_allclose(have, want, 1e-5, 2e-6, err_msg=where)


@pytest.mark.parametrize("op", OPS)
def test_draws_have_every_attribute(op: str) -> None:
    drawn: set[str] = set()
    for seed in range(200):
        drawn |= set(DRAWS[op](Draw(seed)).attributes)
    assert SCHEMAS[op].attributes.keys() - NOT_DRAWN.get(op, set()) == drawn


@pytest.mark.parametrize("op", OPS)
def test_nothing_is_passed_over(op: str) -> None:
    """An attribute that no reader knows, an operand or a result too many."""
    c = next(c for c in (DRAWS[op](Draw(s)) for s in range(COUNT)) if is_read(c))
    refused("the attribute 'strange' is not read", c, lambda n: n.attribute.append(
        onnx.helper.make_attribute("strange", 1)))  # fmt: skip
    if op == "QLinearConcat":
        return  # of as many as there are
    count = len(c.operands)

    def more(n: onnx.NodeProto) -> None:
        n.input.extend([""] * (30 - count) + ["x0"])

    refused("operand 30 is not read", c, more)
    refused("result 7 is not computed", c, lambda n: n.output.extend(
        [""] * (7 - len(n.output)) + ["z"]))  # fmt: skip


def is_read(c: Case) -> bool:
    try:
        rewrite.onnx.load(c.model())
    except ModelError:
        return False
    return True


def refused(why: str, c: Case, change: Any) -> None:
    model = c.model()
    change(model.graph.node[0])
    with pytest.raises(ModelError, match=re.escape(why)):
        rewrite.onnx.load(model)


def test_a_kernel_of_another_shape_than_is_said() -> None:
    c = DRAWS["FusedConv"](Draw(1))
    rank = c.operands[0].ndim - 2
    attrs = {**c.attributes, "kernel_shape": [9] * rank}
    model = Case(c.op, c.operands, attrs, c.stored).model()
    with pytest.raises(ModelError, match="kernel_shape"):
        rewrite.onnx.load(model)


def test_the_total_length_may_be_an_input() -> None:
    """A program for each of its values; no host is asked."""
    drawn = (DRAWS["GroupQueryAttention"](Draw(seed)) for seed in range(40))
    c = next(c for c in drawn if c.operands[3] is not None and is_read(c))
    c = Case(c.op, c.operands, c.attributes, c.stored - {6}, c.given)
    want = wanted(c, c.model())
    program = rewrite.onnx.compile(c.model(), "numpy", fallback=False)
    for h, w in zip(program(c.inputs).values(), want, strict=True):
        agree(h, w, "")
