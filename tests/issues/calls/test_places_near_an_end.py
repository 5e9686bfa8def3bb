"""Slices of slices near the end of an axis begin where they do at every size.

Rules add their starts up to a number, at the sizes of which the form is found, and no
size of the graph was that number: the form began there at all sizes.  It was compared
with the graph at small sizes alone, and a graph that takes none of them was not: it
gave other elements than it should, or fell back to NumPy.
"""

from __future__ import annotations

import numpy as np
import pytest

from rewrite.core.options import Options
from rewrite.egraph.ir.dims import floor_div, symbol
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.graph import Builder, Graph, GraphError
from rewrite.extract.schedule import part
from rewrite.extract.schedule.part import check_sizes
from rewrite.pipeline import optimize_graph


def mirrored(last: int = 3) -> Graph:
    """Of each 64th element three before the `last`, turned, after the first four."""
    b = Builder()
    n = floor_div(symbol("n"), 64)
    x = b.input("x", F32, (symbol("n"),))
    m = b.slice(x, (0,), (n,), (64,))
    end = b.slice(m, (n - last - 2,), (4,), (1,))
    turned = b.slice(end, (2,), (3,), (-1,))
    return b.build({"y": b.concat([b.slice(m, (0,), (4,), (1,)), turned], 0)})


@pytest.mark.parametrize("n", [320, 5000, 100_000])
def test_they_begin_where_they_should(n: int) -> None:
    run = optimize_graph(mirrored(), "c", Options(fallback=False, cache=False))
    x = np.arange(n, dtype="f4")
    m = x[: 64 * (n // 64) : 64]
    want = np.concatenate([m[:4], m[-3], m[-4], m[-5]], axis=None)
    np.testing.assert_array_equal(run({"x": x})["y"], want)


def test_forms_of_graphs_that_take_no_small_sizes_are_compared() -> None:
    assert check_sizes(mirrored(), mirrored()) == [{"n": 449}, {"n": 1021}, {"n": 4099}]
    with pytest.raises(GraphError, match="differs at sizes"):
        check_sizes(mirrored(), mirrored(last=2))


@pytest.mark.parametrize("answer", [GraphError("y differs at sizes {'n': 5}"), []])
def test_a_form_that_is_refused_is_not_taken(
    answer: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was noted, and taken all the same; one that was compared nowhere is noted."""

    def checked(_: Graph, after: Graph) -> object:
        tried.append(after)
        if isinstance(answer, GraphError):
            raise answer
        return answer

    tried: list[Graph] = []
    monkeypatch.setattr(part, "check_sizes", checked)
    b = Builder()
    x = b.input("x", F32, (symbol("n"), 8))
    graph = b.build({"y": b.un("exp", b.un("neg", b.un("neg", x)))})
    found = optimize_graph(graph, "c", Options(cache=False)).plan
    assert tried and len(tried[0].live) < len(graph.live)
    if isinstance(answer, GraphError):
        assert len(found.graph.live) == len(graph.live)
        assert any("holds only for some sizes" in note for note in found.notes)
    else:
        assert len(found.graph.live) == len(tried[0].live)
        assert part.UNCOMPARED in found.notes
