"""`rewrite.torch.explain`: what it says of a model is what became of it."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an extra: rewrite[torch]")

import rewrite.torch  # noqa: E402
from rewrite.report.explanation import Explanation  # noqa: E402

OPTIONS = {"effort": 1, "strict": True}
X = torch.linspace(-2, 2, 24).reshape(4, 6)


def test_graphs_kernels_rules_and_fallbacks() -> None:
    def f(x: Any) -> Any:
        y = torch.softmax(x * 2.0, -1)
        z, _ = torch.cummax(y, -1)
        w, _ = torch.cummax(z + y, -1)
        return w * 3

    report = rewrite.torch.explain(f, X, options=OPTIONS)
    (graph,) = report.graphs
    assert [m.operator for m in graph.fallbacks] == ["aten.cummax.default"] * 2
    assert graph.share == report.share == 2 / graph.nodes
    assert len(graph.compiled) == 3
    assert graph.seconds[1] < graph.seconds[0] and graph.kernels[1] == 3
    assert "max-scale" in graph.rules
    text = str(report)
    assert "aten.cummax.default (2 times): it has no reader" in text
    assert "first in File" in text and "z, _ = torch.cummax(y, -1)" in text


def test_forward_and_backward() -> None:
    layer = torch.nn.Linear(6, 3)
    report = rewrite.torch.explain(lambda x: layer(x).tanh(), X, options=OPTIONS)
    forward, backward = report.graphs
    assert not forward.fallbacks and not backward.fallbacks
    assert "tanh" in str(forward) and len(backward.compiled) == 1


def test_the_whole_decision_about_a_graph() -> None:
    report = rewrite.torch.explain(lambda x: (x * 1 + 0) * 2, X, options=OPTIONS)
    account = report.graphs[0].explain(run=False)
    assert isinstance(account, Explanation)
    assert account.steps and "mul" in str(account)


def test_a_function_without_a_graph() -> None:
    assert "no graph" in str(rewrite.torch.explain(lambda: 3))
