"""A small scale between two products kept them from being a chain where one operand of
the second has the full shape: in (AB·½)c it stands left, and no rule took it away."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rewrite import xp
from rewrite.egraph.ir.dtypes import F32
from rewrite.xp import Tracer
from tests.variants.judge import GENERIC_CPU

from ..variants.draw import typed
from ..variants.judge import Variant, fewest_products, outcome, wrong

type Made = Callable[[Tracer, Tracer, Tracer], Tracer]

BETWEEN: dict[str, Callable[[Tracer], Tracer]] = {
    "half": lambda y: y * 0.5,
    "third": lambda y: y / 3.0,
    "negative": lambda y: y * -0.5,
    "transposed": lambda y: (y.mT * 0.5).mT,
    "twice": lambda y: y * 0.5 * 0.3,
}


def _judge(f: Made, shapes: list[tuple[int, ...]], fewest: int) -> None:
    graph = xp.trace(f, *(typed(F32, s) for s in shapes))
    o = outcome(Variant(0, graph, "", fewest), GENERIC_CPU)
    assert fewest_products(o) is None, "\n".join(o.kernels)
    assert wrong(o) is None


@pytest.mark.parametrize("name", BETWEEN)
def test_a_column_last(name: str) -> None:
    between = BETWEEN[name]
    shapes = [(128, 307), (307, 200), (200, 1)]
    _judge(lambda a, b, c: between(a @ b) @ c, shapes, 307 * (200 + 128))


@pytest.mark.parametrize("name", BETWEEN)
def test_a_row_first(name: str) -> None:
    between = BETWEEN[name]
    shapes = [(1, 200), (200, 307), (307, 128)]
    _judge(lambda a, b, c: a @ between(b @ c), shapes, 307 * (200 + 128))


@pytest.mark.parametrize("lead", [(), (3,)])
def test_a_batch(lead: tuple[int, ...]) -> None:
    shapes = [(3, 128, 307), (*lead, 307, 128), (*lead, 128, 1)]
    times = 3 if lead else 1
    _judge(lambda a, b, c: (a @ b) * 0.5 @ c, shapes, 307 * 128 * (times + 3))
