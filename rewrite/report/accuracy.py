"""The measured error: the optimized program and the graph as written, both run on drawn
inputs and held against the meaning in float64."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.graph import Graph, GraphError, substitute
from rewrite.egraph.ir.scalars import Array

from ..core.compiled import Compiled
from ..core.inputs import random_arrays
from .account import Measured

SEED = 0
SMALL = (3, 4, 5, 2, 8, 16, 1)  # sizes to try for symbols that have none
# What is drawn: (words, standard deviation, what is added to floats).
DRAWS = (("normal", 1.0, 0.0), ("normal x 30 + 1000", 30.0, 1000.0))


def measured(
    c: Compiled, sizes: Mapping[str, int] | None
) -> tuple[tuple[Measured, ...] | None, str]:
    """The errors of each output; None and the reason where nothing can be run."""
    called = {n.attrs[0] for n in c.source.nodes if n.op == "call"}
    if missing := sorted(called - set(c.source.calls)):
        return None, f"the host function {missing[0]!r} is only known to Python"
    bound = sizes_for(c.source, {**c.options.hints, **(sizes or {})})
    if bound is None:
        return None, "no small sizes fit the graph; give some (--dim)"
    out: list[Measured] = []
    has_floats = any(n.dtype.is_float for n in c.source.inputs)
    for words, deviation, offset in DRAWS if has_floats else DRAWS[:1]:
        inputs = random_arrays(c.source, bound, SEED, deviation)
        inputs = {k: _moved(v, offset) for k, v in inputs.items()}
        at = "".join(f", {k}={v}" for k, v in bound.items())
        try:
            out += _errors(c, inputs, words + at)
        except np.linalg.LinAlgError as e:
            return None, f"of what was drawn ({words}) there is no result: {e}"
    return tuple(out), ""


def _moved(value: Array, offset: float) -> Array:
    return value + value.dtype.type(offset) if value.dtype.kind == "f" else value


def _errors(c: Compiled, inputs: dict[str, Array], words: str) -> list[Measured]:
    want = evaluate(c.source, inputs, "f64")
    own = evaluate(c.source, inputs)
    got = c({k: a.copy() for k, a in inputs.items()})  # an alias overwrites it
    return [
        Measured(
            words, label, largest_error(got[label], w), largest_error(own[label], w),
            compared(w, got[label], own[label]),
        )
        for label, w in want.items()
    ]  # fmt: skip


def sizes_for(graph: Graph, known: Mapping[str, int]) -> dict[str, int] | None:
    """The sizes that are known, and small ones that the graph takes for the others."""
    free = [s for s in graph.symbols if s not in known]
    for first in range(len(SMALL)):
        tried = {s: SMALL[(first + k) % len(SMALL)] for k, s in enumerate(free)}
        bound = {s: known.get(s, tried.get(s, 0)) for s in graph.symbols}
        try:
            substitute(graph, bound)
        except GraphError:
            continue  # sizes that it does not take
        return bound
    return None


def compared(want: Array, *others: Array) -> int:
    """How many values an error says something of: those that are finite, or not the
    same infinity or NaN everywhere."""
    b = np.asarray(want, np.float64)
    alike = [_same(np.asarray(a, np.float64), b) for a in others]
    return int(np.sum(np.isfinite(b) | ~np.all(alike, axis=0)))


def _same(a: Array, b: Array) -> Array:
    return (a == b) | (np.isnan(a) & np.isnan(b))


def largest_error(got: Array, want: Array) -> float:
    """The largest difference over the largest magnitude of the reference; 0 also where
    nothing could be `compared`."""
    a, b = np.asarray(got, np.float64), np.asarray(want, np.float64)
    same = _same(a, b)
    if same.all():
        return 0.0
    with np.errstate(invalid="ignore"):
        gap = np.where(
            same, 0.0, np.nan_to_num(np.abs(a - b), nan=np.inf, posinf=np.inf)
        )
    scale = float(np.max(np.abs(b[np.isfinite(b)]), initial=0.0)) or 1.0
    return float(np.max(gap)) / scale
