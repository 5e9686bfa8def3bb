"""Tensors without elements: as inputs, in between and as outputs, on every device."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from rewrite.api import compile_graph
from rewrite.egraph.ir.dtypes import F32, I32
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.graph import Builder, Graph

from .harness import RUNNABLE, open_device

type Make = Callable[[Builder, int], int | list[int]]


def fill(b: Builder, x: int, over: list[int]) -> int:
    """The mean along axes, expanded again."""
    return b.expand(b.reduce("sum", x, over), b.shape(x))


def matmul(b: Builder, x: int) -> int:
    return b.matmul(x, b.permute(x, (1, 0)))


def inner(b: Builder, x: int) -> int:
    return b.matmul(b.permute(x, (1, 0)), x)


OPS: dict[str, Make] = {
    "neg": lambda b, x: b.un("neg", x),
    "add": lambda b, x: b.bin("add", x, x),
    "sum_0": lambda b, x: b.reduce("sum", x, (0,)),
    "sum_1": lambda b, x: b.reduce("sum", x, (1,)),
    "sum": lambda b, x: b.reduce("sum", x, (0, 1)),
    "max_full": lambda b, x: b.reduce("max", x, (0 if b.shape(x)[0] else 1,)),
    "minus": lambda b, x: b.bin("sub", x, fill(b, x, [0])),
    "mean": lambda b, x: b.macro("mean", (x,), (1, 0)),
    "mean_1": lambda b, x: b.macro("mean", (x,), (0, 1)),
    "softmax": lambda b, x: b.macro("softmax", (x,), (0, 1)),
    "matmul": matmul, "inner": inner,
    "pad": lambda b, x: b.pad(x, (1, 0), (1, 2), 1),
    "slice": lambda b, x: b.slice(x, (0, 0), (0, 0), (1, 1)),
    "slice_pad": lambda b, x: b.pad(
        b.slice(x, (0, 0), (0, 0), (1, 1)), (2, 2), (0, 0), 3
    ),
    "concat": lambda b, x: b.concat([x, x, b.pad(x, (1, 0), (0, 0), 2)], 0),
    "reshape": lambda b, x: b.reshape(x, (0, 5)),
    "permute": lambda b, x: b.permute(x, (1, 0)),
    "two": lambda b, x: [
        b.un("neg", x),
        b.reduce("sum", x, (0, 1)),
        b.bin("mul", x, x),
    ],
    "iota": lambda b, x: b.bin("add", b.iota(0, b.type(x).dtype, b.shape(x)), x),
    "data": lambda b, x: b.bin(
        "add", x, b.array(np.zeros(b.shape(x), b.type(x).dtype.numpy))),
    "gather": lambda b, x: b.gather(
        b.iota(0, F32, (3, 2)), b.iota(0, I32, (0, 2)), 0),
    "itself": lambda b, x: x,
}  # fmt: skip


def graph(shape: tuple[int, ...]) -> Graph:
    """Every op on one input, and each on a value between as well."""
    b = Builder()
    outputs: dict[str, int] = {}
    for k, x in enumerate((b.input("x", F32, shape), b.input("y", F32, shape))):
        for op, make in OPS.items():
            made = make(b, b.un("exp", x) if k else x)
            each = made if isinstance(made, list) else [made]
            outputs |= {f"{op}_{k}_{i}": node for i, node in enumerate(each)}
    return b.build(outputs)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", ("numpy", *RUNNABLE))
@pytest.mark.parametrize("shape", [(0, 3), (3, 0)], ids=str)
def test_tensors_of_no_elements(name: str, shape: tuple[int, ...]) -> None:
    open_device(name)
    whole = graph(shape)
    inputs = dict.fromkeys("xy", np.zeros(shape, np.float32))
    with np.errstate(all="ignore"):
        want = evaluate(whole, inputs)
    for effort in (0, 1):
        got = compile_graph(whole, name, fallback=False, effort=effort)(inputs)
        for label, value in want.items():
            assert got[label].shape == value.shape
            np.testing.assert_array_equal(got[label], value, err_msg=label)
