"""The functions of f32 over their whole range, against f64."""

import math

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.scalars import Array
from rewrite.lower.emit.elementary import ELEMENTARY
from rewrite.lower.loops import Op

from .harness import RUNNABLE, Make, launch, open_device, parts, several, ulps

APART = "sin", "cos", "far_sin", "far_cos", "pow"  # far: parts of the first two
NAMES = [n for n in ELEMENTARY if n not in APART]


def sweep() -> Array:
    """Every exponent and sign, with dense stretches where functions turn."""
    patterns = np.arange(0, 1 << 32, 8191, dtype=np.uint64).astype(np.uint32)
    near = [np.linspace(-w, w, 20001) for w in (0.01, 1.5, 6, 110, 160)]
    near = np.concatenate(near).astype(np.float32)
    return np.concatenate([patterns.view(np.float32), near])


def exact(name: str, x: Array) -> Array:
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        if name == "erf":
            return np.array([math.erf(v) for v in wide.tolist()])
        return getattr(np, name)(wide)


@pytest.mark.parametrize("device", RUNNABLE)
@pytest.mark.parametrize("contract", [True, False])
def test_errors_stay_below_four_units(device: str, contract: bool):
    dev = open_device(device)
    x = sweep()
    if device == "wgpu":  # WGSL may flush subnormals
        x = x[np.abs(x) >= np.finfo(np.float32).tiny]
    groups = list(parts(dev, NAMES, 1))
    functions = [
        several(f"f{k}", x.size, [F32], [(F32, function(n)) for n in names])
        for k, names in enumerate(groups)
    ]
    module = dev.compile(functions, contract=contract)
    for names, f in zip(groups, functions, strict=True):
        outs = [np.empty_like(x) for _ in names]
        for name, got in zip(names, launch(dev, module, f, x, *outs), strict=True):
            check(device, name, x, got)


def function(name: str) -> Make:
    return lambda a: Op(name, (a,), F32)


def check(device: str, name: str, x: Array, got: Array) -> None:
    with np.errstate(all="ignore"):
        want = exact(name, x)
        single = want.astype(np.float32)
    beyond = ~np.isfinite(single) & np.isfinite(want)
    tiny = np.abs(single) < np.finfo(np.float32).tiny
    keep = ~beyond & ~(tiny if device == "wgpu" else np.False_)
    assert ulps(got[keep], single[keep]) <= 4, name
    np.testing.assert_array_equal(got[beyond], single[beyond], name)


@pytest.mark.parametrize("op", ["sin", "cos"])
def test_periodic_functions_of_any_size(op: str) -> None:
    """All exponents, and numbers near multiples of a quarter turn."""
    rng = np.random.default_rng(7)
    every = rng.integers(0, 1 << 32, 200_000, dtype=np.uint32).view(np.float32)
    near = np.round(rng.integers(1, 1 << 24, 100_000) * (np.pi / 2)).astype(np.float32)
    edges = np.array([np.inf, -np.inf, np.nan, 0, -0.0, 8192, 8191.999, -8192, 3.4e38],
                     np.float32)  # fmt: skip
    x = np.concatenate([every, near, -near, edges])
    f = getattr(xp, op)
    got = np.asarray(rw.optimize(f, x, device="c", effort=0, fallback=False)(x))
    with np.errstate(all="ignore"):
        want = getattr(np, op)(x.astype(np.float64))
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    there = ~np.isnan(want)
    unit = np.spacing(np.abs(want[there]).astype(np.float32)).astype(np.float64)
    assert (np.abs(got[there] - want[there]) <= 4 * unit).all()
    if op == "sin":
        assert np.signbit(got[x == 0]).tolist() == np.signbit(x[x == 0]).tolist()
