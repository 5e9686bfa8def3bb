"""Graphs that are planned together are planned as each alone, but faster."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import saturator
from rewrite.extract.schedule import plan as planning
from rewrite.extract.schedule.plan import Whole, plan, plan_all
from rewrite.extract.schedule.start import Level
from rewrite.fuzz.graphs import random_graph
from tests.extract.standin import cost

RULES = saturator(load_rules())
LEVELS = (Level(RULES, cost),)


def scaled(name: str, by: int) -> Graph:
    """Of one structure, whatever the names; `by` is in the host function alone."""
    b = Builder(name)
    x = b.input(f"{name}x", F32, (4, 8))
    y = b.un("exp", b.bin("mul", x, b.const(2.0, F32, (4, 8))))
    return b.build({f"{name}y": b.call("f", lambda v: v * by, [y], F32, (4, 8))})


def test_each_as_it_is_planned_alone() -> None:
    graphs = [random_graph(seed) for seed in range(6)]
    made = plan_all([Whole(g) for g in graphs], LEVELS, 10)
    for graph, found in zip(graphs, made, strict=True):
        alone = plan(graph, RULES, cost, moves=10)
        assert (found.graph.nodes, found.groups) == (alone.graph.nodes, alone.groups)
        assert found.seconds == alone.seconds


def problems(monkeypatch: pytest.MonkeyPatch, *graphs: Graph) -> int:
    """The pieces that are optimized."""
    seen: list[int] = []
    parts = planning.parts

    def counted(work: planning.Work, jobs: int) -> list[planning.Part]:
        seen.append(len(work.problems))
        return parts(work, jobs)

    monkeypatch.setattr(planning, "parts", counted)
    plan_all([Whole(g) for g in graphs], LEVELS, 10)
    monkeypatch.undo()
    return seen[0]


def test_equal_pieces_are_optimized_once(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(1)
    alone = problems(monkeypatch, graph)
    assert problems(monkeypatch, graph, replace(graph, name="again")) == alone


def test_host_functions_of_one_name_are_two(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = scaled("a", 2), scaled("b", 3)
    assert problems(monkeypatch, one, two) == 2 * problems(monkeypatch, one)
    made = plan_all([Whole(one), Whole(two)], LEVELS, 10)
    assert [p.graph.calls for p in made] == [one.calls, two.calls]
    assert [p.parts[0].before.calls for p in made] == [one.calls, two.calls]
