"""Sampled soundness: a rule, run alone on random instances, must keep every value.

Each instance is saturated with the one rule; then all e-nodes of every class are
evaluated and compared.  `bitwise` and `ieee` rules are compared at their own dtypes, on
inputs with zeros of both signs, infinities and NaN; the others in float64, on finite
inputs, up to what rounded constants can differ by.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import numpy as np

from .choose import all_forms
from .engine import Engine
from .evaluate import Precision, evaluate
from .graph import Graph
from .ops import Array, TensorType
from .ruleset import Rule, RuleSet
from .sample import Sampler
from .saturate import RuleError, Saturated, saturate

SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0)
# Zeros of both signs, ties of rounding, and what exp overflows f32 at.
TELLING = (0.0, -0.0, 0.5, -0.5, 1.5, -2.5, 200.0, -200.0)


@dataclass(frozen=True)
class Verdict:
    """How often the rule fired on samples, and the first instance it got wrong."""

    rule: str
    sampled: int
    fired: int
    counterexample: str | None


def sample_rule(
    rule: Rule, rules: RuleSet, seed: int = 0, count: int = 40,
    engine: Engine | None = None,
) -> Verdict:  # fmt: skip
    """Samples `count` instances of the side(s) that match and checks what they make."""
    sampler = Sampler(random.Random(f"{rule.name}:{seed}"))
    sides = [rule.left, rule.right] if rule.both else [rule.left]
    drawn = (sampler.instance(sides[i % len(sides)]) for i in range(count))
    roots = [r for r in drawn if r is not None]
    if not roots:
        return Verdict(rule.name, 0, 0, None)
    graph = sampler.builder.build(roots)
    alone = replace(rules, on=frozenset([rule.name]))
    finite = rule.contract not in ("bitwise", "ieee")  # what `_compare` draws
    known = frozenset(i for i, n in enumerate(graph.nodes) if n.op == "input")
    try:
        result = saturate(
            graph, alone, engine=engine, nan_free=known if finite else frozenset()
        )
    except RuleError as e:
        return Verdict(rule.name, len(roots), len(roots), str(e))
    fired = sum(len(result.classes[c]) > 1 for c in result.outputs)
    return Verdict(rule.name, len(roots), fired, _compare(graph, result, rule, seed))


def _compare(graph: Graph, result: Saturated, rule: Rule, seed: int) -> str | None:
    exact = rule.contract in ("bitwise", "ieee")
    forms = all_forms(result, graph)
    precision: Precision = "own" if exact else "f64"
    rng = np.random.default_rng(seed)
    inputs = {n.attrs[0]: draw(n.type, rng, special=exact) for n in graph.inputs}
    values = evaluate(forms, inputs, precision)
    for c, nodes in enumerate(result.classes):
        for i in range(1, len(nodes)):
            a, b = values[f"{c}.0"], values[f"{c}.{i}"]
            if not agree(a, b, result.types[c], rule.contract):
                return (
                    f"{result.types[c]}: {nodes[0].op} {nodes[0].attrs} gives "
                    f"{_shown(a)}, {nodes[i].op} {nodes[i].attrs} gives {_shown(b)}"
                )
    return None


def _shown(a: Array) -> str:
    return np.array2string(a.ravel()[:8], precision=6)


def draw(t: TensorType, rng: np.random.Generator, *, special: bool) -> Array:
    """Values of a type: floats of ordinary size, `TELLING`, `SPECIAL`; any integers."""
    shape = tuple(int(n) for n in t.shape)  # type: ignore[arg-type]
    if t.dtype.kind == "bool":
        return rng.random(shape) < 0.5
    if t.dtype.is_int:
        info = np.iinfo(t.dtype.numpy)
        return rng.integers(info.min, info.max, shape, t.dtype.numpy, endpoint=True)
    value = rng.uniform(0.5, 2.0, shape) * rng.choice((-1.0, 1.0), shape)
    value = np.where(rng.random(shape) < 0.1, rng.choice(TELLING, shape), value)
    if special:
        value = np.where(rng.random(shape) < 0.3, rng.choice(SPECIAL, shape), value)
    return np.asarray(value).astype(t.dtype.numpy)


def agree(a: Array, b: Array, t: TensorType, contract: str) -> bool:
    """Whether two values are equal as the contract promises."""
    if a.shape != b.shape:
        return False
    if not t.dtype.is_float:
        return bool(np.array_equal(a, b))
    a, b = a.astype(np.float64), b.astype(np.float64)
    if contract == "bitwise":
        signs = np.signbit(a) == np.signbit(b)
        return bool(
            np.array_equal(a, b, equal_nan=True) and (signs | np.isnan(a)).all()
        )
    if contract == "ieee":
        return bool(np.array_equal(a, b, equal_nan=True))
    # A pole may lie at either infinity: 1 / sqrt(-0.0) is -inf, (-0.0) ** -0.5 is inf.
    poles = ~(np.isfinite(a) | np.isfinite(b))
    a, b = np.where(poles, 0, a), np.where(poles, 0, b)
    # Constants are rounded to the dtype; sums of a few such terms differ by some ulp.
    bound = 32 * float(2.0 ** -_digits(t))
    finite = np.where(np.isfinite(a), np.abs(a), 0)
    scale = max(1.0, float(finite.max(initial=0.0)))
    return bool(np.allclose(a, b, rtol=bound, atol=bound * scale, equal_nan=True))


def _digits(t: TensorType) -> int:
    """Bits of the significand, at most 44: the oracle itself rounds."""
    return min(44, {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}.get(t.dtype.name, 3))
