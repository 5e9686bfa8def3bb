"""Inputs for random graphs, and whether a computed result is right.

The tolerance of smooth graphs is their own: how far the value moves when every rounded
operation errs by a few units in the last place (Monte Carlo arithmetic, Parker 1997),
and how far the reference at its own dtypes is from the one in float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, cast

import ml_dtypes
import numpy as np

from rewrite.egraph.ir import dims
from rewrite.egraph.ir.dtypes import DType
from rewrite.egraph.ir.evaluate import bind_inputs, evaluate, expand_macros
from rewrite.egraph.ir.graph import Builder, Graph, Node, substitute
from rewrite.egraph.ir.ops import TABLE
from rewrite.egraph.ir.scalars import BY_NAME, Array

from .draw import Mode

_SAMPLES = 6
_ULPS = 4.0  # error that a device may add to one operation


def random_inputs(
    graph: Graph, seed: int, mode: Mode, sizes: Mapping[str, int] | None = None
) -> dict[str, Array]:
    """A value for each input; dimension symbols are drawn from 1 .. 6 unless given."""
    rng = np.random.default_rng([seed, mode == "smooth"])
    drawn = {s: int(rng.integers(1, 7)) for s in graph.symbols}
    bound = drawn | dict(sizes or {})
    return {
        n.attrs[0]: _draw(rng, n.dtype, dims.bind_shape(n.shape, bound), mode)
        for n in graph.inputs
    }


def _draw(
    rng: np.random.Generator, dtype: DType, shape: tuple[int, ...], mode: Mode
) -> Array:
    if dtype.kind == "bool":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype.is_int:
        low = 0 if dtype.kind == "uint" else -3
        return rng.integers(low, 9, shape).astype(dtype.numpy)
    if mode == "exact":  # quarters in -2 .. 2
        return (rng.integers(-8, 9, shape) / 4).astype(dtype.numpy)
    return np.clip(rng.standard_normal(shape), -2, 2).astype(dtype.numpy)


def compare(
    graph: Graph, inputs: Mapping[str, Array], got: Mapping[str, Array], mode: Mode
) -> str | None:
    """None where `got` is right, else a message with the worst element.

    Exact graphs agree as numbers: laws of the reals may turn -0.0 into 0.0.
    """
    own = evaluate(graph, inputs)
    if set(own) != set(got):
        return f"{graph.name}: outputs {sorted(own)} expected, found {sorted(got)}"
    for label, want in own.items():
        have = got[label]
        if have.shape != want.shape or have.dtype != want.dtype:
            return (
                f"{graph.name}: {label} should be {want.dtype}{list(want.shape)}, "
                f"found {have.dtype}{list(have.shape)}"
            )
    if mode == "exact":
        return _first(graph, (_exact(k, own[k], got[k]) for k in own))
    oracle = evaluate(graph, inputs, "f64")
    spread = deviations(graph, inputs, oracle)
    return _first(
        graph,
        (_smooth(k, own[k], oracle[k], spread[k], got[k]) for k in own),
    )


def _first(graph: Graph, messages: Iterable[str | None]) -> str | None:
    result = next((m for m in messages if m), None)
    return f"{graph.name}: {result}" if result else None


def _exact(label: str, want: Array, have: Array) -> str | None:
    return _report(label, have, want, want, ~_same(want, have), np.zeros(want.shape))


def _same(a: Array, b: Array) -> Array:
    return (a == b) | ((a != a) & (b != b))


def _smooth(
    label: str, own: Array, oracle: Array, spread: Array, have: Array
) -> str | None:
    if own.dtype.kind in "biu":
        return _exact(label, own, have)
    wide, ulp = have.astype(np.float64), _eps(own.dtype)
    with np.errstate(invalid="ignore"):  # the distance of equal infinities
        error = np.abs(own.astype(np.float64) - oracle)
        tolerance = 4 * np.maximum(error, spread) + 4 * ulp * np.abs(oracle)
        # Of the others: one beside a pole says nothing of its neighbours.
        tolerance += 0.02 * np.max(spread[np.isfinite(spread)], initial=0) + 1e-30
        wrong = ~((np.abs(wide - oracle) <= tolerance) | _same(wide, oracle))
    return _report(label, wide, oracle, own, wrong, tolerance)


def _report(
    label: str, have: Array, want: Array, own: Array, wrong: Array, tolerance: Array
) -> str | None:
    if not wrong.any():
        return None
    with np.errstate(all="ignore"):
        miss = np.abs(have.astype(np.float64) - want.astype(np.float64))
        excess = np.nan_to_num(miss / (tolerance + 1e-30), nan=np.inf, posinf=np.inf)
        excess = np.where(wrong, excess, -1)
    at = tuple(int(i) for i in np.unravel_index(int(np.argmax(excess)), wrong.shape))
    return (
        f"{label}{list(at)} is {have[at]}, expected {want[at]} (reference {own[at]}, "
        f"tolerance {tolerance[at]:.3g}); {int(wrong.sum())} of {wrong.size} are wrong"
    )


def _eps(dtype: np.dtype[Any]) -> float:
    info = cast(Any, ml_dtypes.finfo(dtype))
    return float(info.eps)


# ---- Monte Carlo arithmetic ----------------------------------------------------------


def deviations(
    graph: Graph, inputs: Mapping[str, Array], oracle: Mapping[str, Array]
) -> dict[str, Array]:
    """The largest distance from the oracle over runs with noise at every rounding."""
    fixed = expand_macros(substitute(graph, bind_inputs(graph, inputs)))
    far = {k: np.zeros(np.shape(v)) for k, v in oracle.items()}
    for sample in range(_SAMPLES):
        noisy = evaluate(noisy_graph(fixed, sample), inputs, "f64")
        for label, value in noisy.items():
            if value.dtype.kind == "f":
                with np.errstate(invalid="ignore"):  # of equal infinities
                    gap = np.abs(value - oracle[label].astype(np.float64))
                far[label] = np.fmax(far[label], gap)
    return far


def noisy_graph(graph: Graph, seed: int, ulps: float = _ULPS) -> Graph:
    """The graph with each rounded result off by a few units in the last place.

    Every use of a result has noise of its own: a kernel may compute a value twice, with
    and without a fused multiply-add.
    """
    rng = np.random.default_rng(seed)
    b = Builder(graph.name)
    b.data, b.calls = dict(graph.data), dict(graph.calls)
    where: list[int] = []
    rounded: list[bool] = []  # whether a rounding lies behind a node

    def used(i: int) -> int:
        node = graph.nodes[i]
        if not rounded[i]:
            return where[i]
        width = ulps * _eps(node.dtype.numpy)
        noise = 1 + width * rng.uniform(-0.5, 0.5, dims.bind_shape(node.shape, {}))
        return b.bin("mul", where[i], _wide(b, noise, node))

    for node in graph.nodes:
        behind = node.dtype.is_float and any(rounded[a] for a in node.args)
        rounded.append(behind or _rounds(node))
        args = [used(a) for a in node.args]
        i = b.add(node.op, args, node.attrs)
        where.append(_reordered(b, rng, node, i, args) if _sums(node) else i)
    return b.build({label: used(i) for label, i in graph.outputs})


def _sums(node: Node) -> bool:
    """Whether many terms are added in an order that is not fixed."""
    folds = node.op in ("reduce", "scan") and node.attrs[0] == "sum"
    summed = node.op == "contract" or folds
    return summed and node.dtype.is_float


def _reordered(
    b: Builder, rng: np.random.Generator, node: Node, i: int, args: list[int]
) -> int:
    """A sum off by what another order of its terms may do.

    The error of n additions grows as sqrt(n) units in the last place of the sum of
    magnitudes (Higham, Accuracy and Stability, 4.2: for random signs).
    """
    sizes = dims.bind_shape(_summed(b, node, args), {})
    terms = math.prod(sizes)
    whole = b.add(node.op, [b.un("abs", a) for a in args], node.attrs)
    width = 2 * _eps(node.attr("acc").numpy) * math.sqrt(terms)
    noise = width * rng.uniform(-0.5, 0.5, dims.bind_shape(node.shape, {}))
    return b.bin("add", i, b.bin("mul", whole, _wide(b, noise, node)))


def _wide(b: Builder, noise: Array, node: Node) -> int:
    """Float64 values beside a narrower node: computed wide, a cast changes nothing."""
    return b.cast(b.array(np.asarray(noise), f"noise{len(b.data)}"), node.dtype)


def _summed(b: Builder, node: Node, args: list[int]) -> dims.Shape:
    """The sizes of the axes that are summed over."""
    if node.op == "scan":
        return (node.shape[int(node.attrs[1])],)
    full = node.attr("full") if node.op == "contract" else b.shape(args[0])
    return tuple(d for d, m in zip(full, node.attr("mask"), strict=True) if m)


_MOVING = ("gather", "scatter", "bitcast", "sort", "argsort")


def _rounds(node: Node) -> bool:
    if not node.dtype.is_float or not node.args or node.op == "select":
        return False
    if node.op in ("un", "bin"):
        name = node.attrs[0]
        exact = ("neg", "abs", "sign", "max", "min", "relu")
        return name in BY_NAME and name not in exact
    if node.op in ("reduce", "scan"):
        return node.attrs[0] in ("sum", "prod")
    return not TABLE[node.op].view and node.op not in _MOVING
