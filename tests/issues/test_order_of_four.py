"""From A(B(CD)) extraction came to (AB)(CD) and no further: ((AB)C)D brings (AB)C into
use, whose default e-node was A(BC), since it ignored the products that takes."""

from __future__ import annotations

from rewrite import xp
from rewrite.egraph.ir.dtypes import F32
from rewrite.xp import Tracer
from tests.variants.judge import GENERIC_CPU

from ..variants.draw import typed
from ..variants.judge import Variant, fewest_products, outcome


def test_four_factors_of_a_batch() -> None:
    def f(a: Tracer, b: Tracer, c: Tracer, d: Tracer) -> Tracer:
        return a @ (b @ (c @ d))

    shapes = (3, 8, 307), (307, 200), (200, 61), (61, 128)
    graph = xp.trace(f, *(typed(F32, s) for s in shapes))
    fewest = 3 * 8 * (307 * 200 + 200 * 61 + 61 * 128)
    o = outcome(Variant(0, graph, "", fewest), GENERIC_CPU)
    assert fewest_products(o) is None, "\n".join(o.kernels)
