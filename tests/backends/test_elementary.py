"""The functions of f32 over their whole range, against f64."""

import math

import numpy as np
import pytest

from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.scalars import Array
from rewrite.lower.emit.elementary import ELEMENTARY
from rewrite.lower.loops import Op

from .harness import RUNNABLE, Make, launch, open_device, parts, several, ulps

NAMES = [n for n in ELEMENTARY if n not in ("sin", "cos", "pow")]


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
