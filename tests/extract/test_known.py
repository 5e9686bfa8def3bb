"""Kernels that were traced before are those that a trace gives now."""

from __future__ import annotations

import numpy as np
import pytest

from rewrite.egraph.ir.dtypes import BOOL, F32, I32
from rewrite.egraph.ir.evaluate import expand_macros
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import saturator
from rewrite.extract.schedule.assemble import build_kernel
from rewrite.extract.schedule.climb import choose
from rewrite.extract.schedule.known import Forms, Known
from rewrite.extract.schedule.plan import plan
from rewrite.extract.schedule.search import Search
from rewrite.extract.schedule.space import own_space, space_of
from rewrite.fuzz.graphs import random_graph

from ..replay.weights import fill, load
from .standin import cost


@pytest.mark.parametrize("seed", range(6))
def test_what_is_known_is_what_a_trace_gives(seed: int) -> None:
    graph = expand_macros(random_graph(seed))
    space = space_of(saturator(load_rules())(graph, False, frozenset()), ())
    known = Known(cost, space)
    for _ in range(2):  # the second climb finds most kernels known
        search = Search(space, cost, known)
        search.run(4_000)
        kernels = {r: k.traced for r, k in search.kern.items() if k.traced}
        assert kernels
        for root, traced in kernels.items():
            assert traced == build_kernel(search, [root], search.stored)


def test_graphs_share_kernels_of_equal_forms_and_of_no_others() -> None:
    """Under one memory, over graphs with and without rules, each kernel is what a trace
    of it gives."""
    forms, met = Forms(cost), 0
    saturate = saturator(load_rules())
    for seed in range(40, 52):
        graph = expand_macros(random_graph(seed))
        for space in (own_space(graph, {}),
                      space_of(saturate(graph, False, frozenset()), ())):  # fmt: skip
            search = Search(space, forms)
            search.run(500)
            for root, k in search.kern.items():
                if k.traced:
                    met += 1
                    assert k.traced == build_kernel(search, [root], search.stored)
    assert met


def test_constants_that_are_equal_in_python_only_are_apart() -> None:
    forms = Forms(cost)
    values = ((F32, 0.0), (F32, -0.0), (F32, 1.0), (I32, 1), (BOOL, True))
    for dtype, value in values:
        b = Builder("c")
        x = b.input("x", dtype, [4])
        one = b.const(value, dtype, [4])
        graph = b.build({"y": b.bin("mul" if dtype is not BOOL else "and", x, one)})
        space = own_space(graph, {})
        search = Search(space, forms)
        (root,) = search.roots
        k = search.kern[root]
        assert k.traced == build_kernel(search, [root], search.stored)
        consts = [e for e in k.traced.kernel.exprs if e.op == "const"]
        assert [(repr(e.attr[0]), e.dtype) for e in consts] == [(repr(value), dtype)]


def test_layers_that_are_equal_are_traced_once() -> None:
    """However many there are, as long as they stand in one piece."""

    def traced(layers: int) -> int:
        b = Builder("layers")
        outs = []
        for k in range(layers):
            x = b.input(f"x{k}", F32, [8, 16])
            top = b.reduce("max", b.un("exp", b.un("neg", x)), [0, 1])
            outs.append(b.bin("sub", x, b.expand(top, [8, 16])))
        forms = Forms(cost)
        Search(own_space(b.build({f"y{k}": o for k, o in enumerate(outs)}), {}),
               forms).run(5_000)  # fmt: skip
        return len(forms.past)

    assert traced(4) == traced(1) > 1


@pytest.mark.parametrize("seed", range(6))
def test_cuts_to_begin_with_leave_a_schedule(seed: int) -> None:
    """Whatever is stored to begin with, the answer is no dearer than without."""
    graph = expand_macros(random_graph(seed))
    space = space_of(saturator(load_rules())(graph, False, frozenset()), ())
    plain = choose(space, cost, 40)
    rng = np.random.default_rng(seed)
    for share in (0.1, 0.5, 1.0):
        some = frozenset(c for c in range(len(space.classes)) if rng.random() < share)
        cut = choose(space, cost, 40, some)
        assert cut.seconds <= plain.seconds
        assert cut.own_seconds == plain.own_seconds


def test_a_graph_that_is_cheaper_as_it_is_stays_as_it_is() -> None:
    """By the rules a weight that is turned twice is the weight; turned once, when the
    program is made, it is read faster."""
    import rewrite.onnx
    from rewrite.core.costs import cost_for

    graph = expand_macros(rewrite.onnx.load(fill(load("lstm_cell")), {"batch": 3}))
    price = cost_for("c")
    made = plan(graph, saturator(load_rules()), price)
    kept = choose(own_space(graph, {}), price, 40)
    assert made.seconds <= kept.seconds / 0.99
