"""Norms along an axis that is not the last: columns lie side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.ops import TensorType
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import saturator
from rewrite.extract.schedule.kernel import Launch
from rewrite.extract.schedule.plan import plan
from rewrite.extract.schedule.steps import schedule
from rewrite.lower.axes import normalise
from rewrite.lower.families.nests.plan import plan as order
from rewrite.lower.model import kernel_cost
from rewrite.lower.registry import FAMILIES
from tests.replay.planned import CAPS


def norm(x: Any, g: Any) -> Any:
    c = x - xp.mean(x, axis=0, keepdims=True)
    return c / xp.sqrt(xp.mean(c * c, axis=0, keepdims=True) + 1e-3) * g


def summed(x: Any, g: Any) -> Any:
    """What ends a column is needed by another sum, and the store."""
    s = 1 / xp.sqrt(xp.sum(x * x, axis=0, keepdims=True))
    return xp.exp(-s) * x + xp.sum(xp.abs(x - s), axis=0, keepdims=True) + g


@pytest.mark.parametrize("columns", [1, 7, 48, 300])
@pytest.mark.parametrize("f", [norm, summed])
def test_a_root_is_taken_once_a_column(f: Any, columns: int) -> None:
    rng = np.random.default_rng(columns)
    x, g = rng.standard_normal((40, columns), "f4"), rng.random((40, 1), "f4")
    made = rw.optimize(f, x, g, device="c", cache=False, fallback=False)
    want = f(x.astype("f8"), g.astype("f8"))
    np.testing.assert_allclose(made(x, g), want, rtol=3e-5, atol=3e-5)


def test_the_loop_over_rows_takes_no_root() -> None:
    """A loop over the columns alone takes it, after the sums and before the stores."""
    graph = xp.trace(norm, TensorType(F32, (40, 48)), TensorType(F32, (40, 1)))
    made = plan(graph, saturator(load_rules()), kernel_cost(CAPS, FAMILIES))
    (step,) = schedule(made.graph, made.groups, {}).steps
    assert isinstance(step, Launch)
    kernel = normalise(step.kernel)
    (column,) = (a for a, n in enumerate(kernel.extents) if n == 48)
    steps = order(kernel, (), column, 48, CAPS.shared_bytes).steps
    *_, ended, stores = steps
    assert stores.outputs and not (ended.roots or ended.outputs or ended.axes)
    roots = [e for e, x in enumerate(kernel.exprs) if x.op in ("sqrt", "rsqrt")]
    assert roots and all(ended.work >> e & 1 for e in roots)
    assert not any(stores.work >> e & 1 for e in roots)


def pooled(x: Any) -> Any:
    return xp.nn.max_pool(x, (5, 5), stride=(1, 1), padding=(2, 2))


@pytest.mark.parametrize("lanes", [8, 16])
@pytest.mark.parametrize("width", [9, 13, 14])
def test_maxima_of_small_images_are_columns(width: int, lanes: int) -> None:
    """Places along a row of the image lie side by side, though fewer of them than a
    vector has lanes; taken place by place no maximum is a vector."""
    graph = xp.trace(pooled, TensorType(F32, (1, 32, width, width)))
    price = kernel_cost(replace(CAPS, vector_bytes=4 * lanes), FAMILIES)
    made = plan(graph, saturator(load_rules()), price)
    kernels = [
        normalise(s.kernel)
        for s in schedule(made.graph, made.groups, {}).steps
        if isinstance(s, Launch)
    ]
    chosen = [c.family for c in map(price, kernels) if c is not None]
    assert len(chosen) == len(kernels) and "row" not in chosen
