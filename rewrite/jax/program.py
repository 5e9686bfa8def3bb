"""A jaxpr in, the cheapest equal jaxpr out.

What is not predicted to gain clearly comes out as it went in.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from rewrite.core.options import MOVES, Options
from rewrite.egraph.rules.rulefile import RuleFileError, load_rules
from rewrite.egraph.saturate.saturate import Saturated, saturator
from rewrite.extract.operators import choose
from rewrite.extract.operators.constants import store
from rewrite.extract.operators.cover import Instruction

from . import price, tiles
from .flat import Flat, Step, Value, flatten
from .library import Jaxpr, bodies, opened
from .reading import Reading, read
from .writing import Chosen, write

CLEAR = 0.95  # what a gain must take the predicted seconds down to
STORED = 1 << 16  # bytes of a constant that may always be stored


@dataclass(frozen=True)
class Made:
    """The result and what is known of it."""

    before: Jaxpr
    after: Jaxpr
    seconds: tuple[float, float]  # predicted
    fired: Mapping[str, int]  # how often each rule matched
    stayed: Counter[tuple[str, str]]  # primitives that rules do not see, and why
    notes: tuple[str, ...] = ()
    bodies: tuple[Made, ...] = field(default=())

    @property
    def changed(self) -> bool:
        return self.after is not self.before


def optimize(jaxpr: Jaxpr, options: Options) -> Made:
    """`jaxpr` is closed.  A drop-in never fails by its optimizer: it is said, and the
    jaxpr stays."""
    try:
        return _Optimizer(jaxpr, options).made()
    except RuleFileError:
        raise
    except Exception as e:
        if not options.fallback:
            raise
        note = f"not optimized: {type(e).__name__}: {e}"
        warnings.warn(f"rewrite: {note}", RuntimeWarning, stacklevel=2)
        return _unchanged(jaxpr, note)


def _unchanged(jaxpr: Jaxpr, *notes: str) -> Made:
    cost = price.program(jaxpr)
    return Made(jaxpr, jaxpr, (cost, cost), {}, Counter(), notes)


def rewritten(jaxpr: Jaxpr, options: Options) -> list[Jaxpr]:
    """All candidates, whatever they are predicted to take."""
    return _Optimizer(jaxpr, options).candidates()[2]


class _Optimizer:
    def __init__(self, jaxpr: Jaxpr, options: Options) -> None:
        self.jaxpr, self.options = jaxpr, options
        self.inner: list[Made] = []
        self.parameters: dict[int, dict[str, Any]] = {}

    def made(self) -> Made:
        if opened(self.jaxpr)[0].effects:
            return _unchanged(self.jaxpr, "it has effects, and rules see no order")
        reading, found, candidates = self.candidates()
        before, best = price.program(self.jaxpr), self.jaxpr
        after, limit = before, before * CLEAR
        for candidate in candidates:
            cost = price.program(candidate)
            if cost < min(after, limit):
                best, after = candidate, cost
        return Made(
            self.jaxpr, best, (before, after), found.fired, reading.stayed, (),
            tuple(self.inner),
        )  # fmt: skip

    def candidates(self) -> tuple[Reading, Saturated, list[Jaxpr]]:
        """What was read and found, and the jaxprs that it leads to."""
        flat = flatten(self.jaxpr)
        for k in range(len(flat.steps)):
            self.bodies(flat, k)
        reading = read(flat)
        rules = load_rules(
            self.options.rules or None, self.options.precision, goal="operators"
        )
        found = saturator(rules)(reading.graph, False)
        return reading, found, self.written(reading, found)

    def bodies(self, flat: Flat, k: int) -> None:
        """The jaxprs that a loop or a choice runs, each optimized by itself."""
        changed: dict[str, Any] = {}
        inner: list[Made] = []
        eqn = flat.steps[k].equation
        for name, body in bodies(eqn):
            made = optimize(body, self.options)
            if opened(made.after)[1]:  # arrays of its own, made again in every turn
                made = replace(made, after=body)
            inner.append(made)
            many = isinstance(eqn.params[name], tuple | list)
            before = changed.get(name, ())
            changed[name] = (*before, made.after) if many else made.after
        self.inner += inner
        if any(m.changed for m in inner):
            self.parameters[k] = changed

    def written(self, reading: Reading, found: Saturated) -> list[Jaxpr]:
        c, own = cover(reading, found)
        roots = [c.value(v, own) for v in reading.flat.outputs]
        result: dict[Any, Jaxpr] = {}
        for run in price.CANDIDATES:
            problem = choose.problem(c, roots, partial(price.seconds, run))
            moves = MOVES[self.options.effort] * 2_000
            chosen, _ = choose.chosen(c, problem, moves)
            key = tuple(chosen.items())
            if key not in result:
                data = reading.graph.data
                parts = Chosen(c, own, reading.flat, chosen, data, self.parameters)
                result[key] = write(parts)
        return list(result.values())


def cover(reading: Reading, found: Saturated) -> tuple[tiles.Cover, dict[Value, int]]:
    """All ways: the jaxpr's own equations, and what terms may become."""
    t = tiles.Cover(found.classes, found.types)
    count = len(t.cells)
    own: dict[Value, int] = {}
    for v, node in reading.nodes.items():
        c = found.own[node]
        if c is not None:
            own[v] = c
    for k, step in enumerate(reading.flat.steps):
        _step(t, k, reading, own)
        for v in step.operands:
            _given(t, v, reading, own)
    for v in (*reading.flat.inputs, *reading.flat.outputs):
        _given(t, v, reading, own)
    tiles.tile.run(t, count)
    t.reshapes()
    store(t, STORED, 1.0)
    return t, own


def _step(t: tiles.Cover, k: int, reading: Reading, own: dict[Value, int]) -> None:
    step = reading.flat.steps[k]
    args = tuple(t.value(v, own) for v in step.operands)
    results = [t.value(v, own) for v in step.results]
    if not step.equation.primitive.multiple_results:
        whole = results[0]
    else:
        whole = t.add(None)
        t.parts[whole] = len(results)
        for i, c in enumerate(results):
            if c not in args:
                project = Instruction("project", (whole,), (("index", i),))
                t.cells[c].ways[project] = None
    if whole not in args:
        t.cells[whole].ways[Instruction(step.name, args, _attributes(step), k)] = None


def _attributes(step: Step) -> tuple[tuple[str, Any], ...]:
    """What the price of a product depends on."""
    params = step.equation.params
    if step.name == "dot_general":
        return (("sums", params["dimension_numbers"][0]),)
    if step.name == "conv_general_dilated":
        return (("out", params["dimension_numbers"].rhs_spec[0]),)
    return ()


def _given(t: tiles.Cover, v: Value, reading: Reading, own: dict[Value, int]) -> None:
    """What is there before anything runs; constants that rules see are theirs."""
    node = reading.nodes.get(v)
    seen = node is not None and reading.graph.nodes[node].op in ("const", "data")
    if (v.known is not None or v in reading.flat.inputs) and not seen:
        ways = t.cells[t.value(v, own)].ways
        ways[Instruction("input", (), (("value", v),))] = None
