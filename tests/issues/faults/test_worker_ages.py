"""The longer a worker had served, the longer it took to return to its rules: each push
and pop of an e-graph leaves something behind in it."""

from __future__ import annotations

from typing import Any

from rewrite.egraph.saturate.worker import USES, Worker


class Bindings:
    """Counts what is built from files; e-graphs know when they are used up."""

    def __init__(self) -> None:
        self.built = 0

    def EGraph(self, **options: Any) -> Bindings.Graph:
        self.built += 1
        return self.Graph()

    class Graph:
        pushes = 0

        def parse_and_run_program(self, text: str, name: str) -> list[Any]:
            self.pushes += text == "(push)"
            assert self.pushes <= USES
            return []


def test_a_base_is_built_anew_after_a_number_of_uses() -> None:
    bindings = Bindings()
    worker = Worker(bindings)
    for _ in range(3 * USES):
        worker.load([("a.egg", "")])
        worker.load([("b.egg", "")])
    assert bindings.built == 6


def test_files_that_begin_with_those_of_a_base_are_read_on_top_of_it() -> None:
    """Until they are asked for again at once: then they are worth a base."""
    bindings, library = Bindings(), ("library.egg", "")
    worker = Worker(bindings)
    worker.load([library])
    for name in "abc":
        worker.load([library, (f"{name}.egg", "")])
    assert bindings.built == 1
    worker.load([library, ("c.egg", "")])
    worker.load([library, ("c.egg", "")])
    assert bindings.built == 2
