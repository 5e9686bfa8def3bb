"""`vmap` of every op equals the loop over its operands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.egraph.ir.node import attr_kinds
from rewrite.egraph.ir.ops import LEAVES
from rewrite.transforms.batching import ALONE, GROWN
from rewrite.xp import TraceError
from rewrite.xp.staging import at_once

from .cases import CASES, OPS, Array, Case, Draw


@pytest.mark.parametrize(
    "op", [op for op in OPS if op not in (*ALONE, *LEAVES, "random")]
)
def test_each_attribute_says_how_it_grows(op: str) -> None:
    unknown = [k for k in attr_kinds(op) if k not in GROWN]
    assert not unknown, (
        f"{op}: say in rewrite/transforms/batching.py how {unknown} grow"
    )


COUNT = 3


def several(d: Draw, case: Case) -> tuple[list[Array], list[int | None]]:
    """Operands with an axis more, somewhere, or as they are."""
    axes: list[int | None] = []
    args: list[Array] = []
    keep = d.int(0, len(case.args) - 1)  # this one is mapped in any case
    for i, a in enumerate(case.args):
        if i != keep and d.int(0, 1):
            axes.append(None)
            args.append(a)
            continue
        parts = [
            d.rng.permutation(a.reshape(-1)).reshape(a.shape) for _ in range(COUNT)
        ]
        axis = d.int(-a.ndim - 1, a.ndim)
        axes.append(axis)
        args.append(np.stack(parts, axis))
    return args, axes


@pytest.mark.parametrize("op", OPS)
def test_vmap_is_the_loop(op: str) -> None:
    for seed in range(8):
        d = Draw(seed)
        case = CASES[op](d)
        args, axes = several(d, case)
        each = [
            at_once(case.apply)(
                *(a if x is None else np.take(a, i, axis=x)
                  for a, x in zip(args, axes, strict=True))
            )
            for i in range(COUNT)
        ]  # fmt: skip
        to = d.int(-each[0].ndim - 1, each[0].ndim)
        made = rw.vmap(case.apply, tuple(axes), to)(*args)
        expected = np.stack(each, to)
        assert made.dtype == expected.dtype
        np.testing.assert_allclose(made, expected, rtol=1e-12, atol=1e-12)


def test_axes_of_structures_and_keywords() -> None:
    def f(p: dict[str, Any], x: Any, *, y: Any) -> Any:
        return {"a": p["w"] @ x + y, "b": p["b"]}

    d = Draw(0)
    w, b, x, y = d.signed((2, 4, 3)), d.signed((2,)), d.signed((3, 5)), d.signed((5,))
    made = rw.vmap(
        f, in_axes=({"w": None, "b": None}, 1), out_axes={"a": 2, "b": None}
    )({"w": w, "b": b}, x, y=y)
    expected = np.stack([w @ x[:, i] + y[i] for i in range(5)], 2)
    np.testing.assert_allclose(made["a"], expected, rtol=1e-12)
    np.testing.assert_array_equal(made["b"], b)


@pytest.mark.parametrize(
    ("f", "options", "args", "message"),
    [
        (xp.sin, {}, (2.0,), "in_axes=None says"),
        (xp.add, {}, (np.ones(2), np.ones(3)), "one size expected, found 2, 3"),
        (xp.sin, {"in_axes": 1}, (np.ones(2),), r"f64\[2\] has no axis 1"),
        (xp.add, {"in_axes": (0,)}, (np.ones(2), np.ones(2)), "2 entries expected"),
        (xp.sin, {"in_axes": None}, (np.ones(2),), "no array is mapped"),
        (xp.sin, {"out_axes": None}, (np.ones(2),), "not the same for all"),
    ],
)
def test_errors(f: Any, options: Any, args: Any, message: str) -> None:
    with pytest.raises(TraceError, match=message):
        rw.vmap(f, **options)(*args)
