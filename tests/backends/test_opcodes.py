"""Every opcode on every dtype, against the NumPy meaning in the op table."""

from collections import defaultdict

import numpy as np
import pytest

from rewrite.egraph.ir import dtypes
from rewrite.egraph.ir.dtypes import BOOL
from rewrite.egraph.ir.scalars import BY_NAME, Scalar

from .harness import (
    RUNNABLE,
    edge_values,
    launch,
    open_device,
    pairs,
    parts,
    result,
    several,
    ulps,
)

PLAIN = [s for s in BY_NAME.values() if s.expansion is None]
# Units in the last place of the result that a function may be off by; more where the
# device's own are specified to no better.
CLOSE, LOOSE = 4, {"wgpu": 16}
# WGSL promises its own sine on [-pi, pi] only; ours takes over up to here.
TURN_WGPU = 8000.0


def reference(entry: Scalar, dtype: dtypes.DType, *args):
    """At the dtype itself; inexact functions of f32 and f64 from f64."""
    if entry.exact or not dtype.is_float or dtype is dtypes.F64:
        return entry.numpy(*args)
    with np.errstate(all="ignore"):
        wide = entry.numpy(*(a.astype(np.float64) for a in args))
        return wide.astype(dtype.numpy)


def inputs(entry: Scalar, dtype: dtypes.DType):
    values = edge_values(dtype)
    if entry.arity == 2:
        return pairs(values)
    if dtype.is_float and not entry.exact:
        span = 20 if dtype.bits > 8 else 4
        dense = np.linspace(-span, span, 4001).astype(dtype.numpy)
        values = np.concatenate([values, dense])
    return (values,)


def bounded(entry: Scalar, args):
    if entry.name not in ("sin", "cos"):
        return args
    (a,) = args
    return (a[~(np.abs(a.astype(np.float64)) > TURN_WGPU)],)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", RUNNABLE)
@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
def test_opcodes_have_their_numpy_meaning(name: str, dtype: dtypes.DType):
    dev = open_device(name, dtype)
    entries = [s for s in PLAIN if dtype.kind in s.takes]
    cases = [(e, inputs(e, dtype)) for e in entries]
    if name == "wgpu":
        cases = [(e, bounded(e, args)) for e, args in cases]
    groups = alike(dev, cases)
    functions = [
        several(
            f"f{k}", args[0].size, [dtype] * len(args), [result(e, dtype) for e in g]
        )
        for k, (args, g) in enumerate(groups)
    ]
    module = dev.compile(functions)
    for (args, group), function in zip(groups, functions, strict=True):
        kinds = [BOOL if e.gives_bool else dtype for e in group]
        outs = [np.empty(args[0].shape, k.numpy) for k in kinds]
        for entry, got in zip(
            group, launch(dev, module, function, *args, *outs), strict=True
        ):
            check(name, entry, dtype, got, args)


def alike(dev, cases):
    """Opcodes that take the same values, few enough for one launch."""
    groups = defaultdict(list)
    for entry, args in cases:
        groups[tuple(a.tobytes() for a in args)].append((entry, args))
    return [
        (part[0][1], [e for e, _ in part])
        for group in groups.values()
        for part in parts(dev, group, len(group[0][1]))
    ]


def check(name: str, entry: Scalar, dtype: dtypes.DType, got, args) -> None:
    want = reference(entry, dtype, *args)
    if not entry.gives_bool:
        want = want.astype(dtype.numpy)
    allowed = 0 if entry.exact else LOOSE.get(name, CLOSE) if dtype.bits >= 32 else 1
    if dtype.is_float and not entry.gives_bool:
        error = ulps(got, want)
        assert error <= allowed, f"{entry.name}: {error} ulp"
    else:
        np.testing.assert_array_equal(got, want, err_msg=entry.name)
