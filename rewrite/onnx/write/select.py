"""The cheapest operators that compute a model: a reading in, instructions out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from rewrite.egraph.ir.graph import substitute, witness
from rewrite.egraph.ir.table import TensorType
from rewrite.egraph.saturate.saturate import Saturated, Saturator
from rewrite.extract.dag.dag import Problem
from rewrite.extract.operators import choose
from rewrite.extract.operators.constants import store
from rewrite.extract.symbols import Symbols

from ..value import Value
from . import price, products, tiles  # noqa: F401  # pyright: ignore[reportUnusedImport]  # tiles register themselves
from .blocks import blocks
from .cover import Cover, Instruction
from .price import Runtime
from .propose import proposed
from .reading import Reading, Step
from .splits import split

FOLDED = 1 << 20  # bytes of a constant that may always be stored
LIKELY = 16  # a symbolic size of which nothing is said: a batch or a sequence in use
GROWTH = 2  # beyond that, as a multiple of the constants that it is computed from


@dataclass(frozen=True)
class Selection:
    """One instruction for each class that is needed, operands first."""

    cover: Cover
    reading: Reading
    chosen: Mapping[int, Instruction]
    outputs: Mapping[str, int]
    names: Mapping[int, str]  # the model's words for classes
    seconds: float  # predicted


def cover(
    reading: Reading,
    found: Saturated,
    opset: int,
    values: Mapping[str, int],
    whole: bool,
) -> tuple[Cover, list[int | None]]:
    """All ways: the model's own nodes, and what terms may become."""
    symbols = Symbols(reading.graph, values)
    t = Cover(found.classes, found.types, symbols.dim, opset)
    count = len(t.cells)
    own = list(found.own)
    for k, step in enumerate(reading.steps):
        _step(t, k, step, own)
    for name, value in reading.inputs.items():
        t.way(t.value(value, own), "input", (), ("name", name))
    for name, value in reading.stored.items():
        t.way(t.value(value, own), "stored", (), ("name", name))
    tiles.tile.run(t, count)
    split(t, count)
    if whole:
        blocks(t, reading.graph.data)
    t.reshapes()
    store(t, FOLDED, GROWTH)
    _constants(t, reading, own)
    return t, own


def _constants(t: Cover, reading: Reading, own: list[int | None]) -> None:
    """The model's own arrays, also those whose sizes look like symbols at the witness:
    these are no constants to rules."""
    kept = (s.results for s in reading.steps if s.proto.op_type == "Constant")
    for v in (*reading.initializers.values(), *(v for r in kept for v in r)):
        if v is None or v.known is None or v.known.dtype == object:
            continue
        c = t.value(v, own)
        if t.cells[c].constant is None and not t.cells[c].ways:
            t.cells[c].array = np.asarray(v.known, order="C")
            t.way(c, "constant", ())


def _step(t: Cover, k: int, step: Step, own: list[int | None]) -> None:
    if step.proto.op_type == "Constant" or not any(step.results):
        return
    args = tuple(
        None if v is None else t.value(v, own)
        for v in (*step.operands, *(v for _, v in step.captured))
    )
    results = [None if v is None else t.value(v, own) for v in step.results]
    if len(results) == 1 and results[0] is not None:
        whole = results[0]
    else:
        whole = t.add(None)
        t.parts[whole] = len(results)
        for i, c in enumerate(results):
            if c is not None and c not in args:
                t.cells[c].ways[Instruction("project", (whole,), (("index", i),))] = (
                    None
                )
    if whole not in args:
        t.cells[whole].ways[Instruction(step.proto.op_type, args, (), k)] = None


def problem(t: Cover, outputs: Mapping[str, int], run: Runtime) -> Problem:
    """The plain e-graph of all ways, with their predicted seconds."""
    return choose.problem(t, outputs.values(), partial(price.seconds, run))


class Selector:
    """A model with all the ways of computing it; `select` picks by a runtime."""

    def __init__(
        self, reading: Reading, saturate: Saturator, opset: int,
        hints: Mapping[str, int] | None = None, *, whole: bool = True,
    ) -> None:  # fmt: skip
        self.reading = reading
        graph = proposed(reading.graph)
        likely = dict.fromkeys(graph.symbols, LIKELY) | dict(hints or {})
        values = witness(graph, likely)
        fixed = substitute(graph, values) if values else graph
        self.found = saturate(fixed, bool(values), saturate.facts(graph))
        self.cover, own = cover(reading, self.found, opset, values, whole)
        self._own, self._results = own, choose.results_of(self.cover)
        self.outputs = {n: self.cover.value(v, own) for n, v in reading.outputs.items()}
        self.names: dict[int, str] = {}
        for name, v in reading.initializers.items():
            self.names.setdefault(self.cover.value(v, own), name)
        for step in reading.steps:
            for name, v in zip(step.proto.output, step.results, strict=False):
                if v is not None and name:
                    self.names.setdefault(self.cover.value(v, own), name)

    def select(self, run: Runtime, moves: int) -> Selection:
        p = problem(self.cover, self.outputs, run)
        chosen, seconds = choose.chosen(self.cover, p, moves)
        return Selection(
            self.cover, self.reading, chosen, self.outputs, self.names, seconds
        )

    def cost(self, found: Selection, run: Runtime) -> float:
        """Predicted for a selection, whatever it was chosen by; constants take none."""
        pairs = ((c, h) for c, h in found.chosen.items() if h.op != "constant")
        return sum(self._price(c, h, run) for c, h in pairs)

    def own(self, run: Runtime) -> float:
        """Predicted for the nodes of the model as it is, those that it needs."""
        steps = self.reading.steps
        made = {o: k for k, s in enumerate(steps) for o in s.proto.output if o}
        todo = list(self.reading.outputs)
        seen: set[int] = set()
        while todo:
            k = made.get(todo.pop())
            if k is not None and k not in seen and steps[k].proto.op_type != "Constant":
                seen.add(k)
                todo += [*steps[k].proto.input, *(n for n, _ in steps[k].captured)]
        return sum(self._step_price(steps[k], run) for k in sorted(seen))

    def _step_price(self, step: Step, run: Runtime) -> float:
        def types(values: Iterable[Value | None]) -> list[TensorType | None]:
            result = (self.cover.value(v, self._own) for v in values if v is not None)
            return [self.cover.cells[c].type for c in result]

        op = Instruction(step.proto.op_type, ())
        read = (*step.operands, *(v for _, v in step.captured))
        return price.seconds(run, op, types(read), types(step.results))

    def _price(self, c: int, how: Instruction, run: Runtime) -> float:
        cells = self.cover.cells
        args = [cells[a].type for a in how.args if a is not None]
        out = [cells[r].type for r in self._results.get(c, [c])]
        return price.seconds(run, how, args, out)


__all__ = ["Selection", "Selector"]
