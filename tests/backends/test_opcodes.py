"""Every opcode on every dtype, against the NumPy meaning in the op table."""

import numpy as np
import pytest

from rewrite.egraph.ir import dtypes
from rewrite.egraph.ir.dtypes import BOOL
from rewrite.egraph.ir.scalars import BY_NAME, Scalar

from .harness import RUNNABLE, edge_values, launch, opcode, open_device, pairs, ulps

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
    functions = [opcode(e, dtype, a[0].size) for e, a in cases]
    module = dev.compile(functions)
    for (entry, args), function in zip(cases, functions, strict=True):
        want = reference(entry, dtype, *args)
        if not entry.gives_bool:
            want = want.astype(dtype.numpy)
        out = np.empty(want.shape, (BOOL if entry.gives_bool else dtype).numpy)
        (got,) = launch(dev, module, function, *args, out)
        allowed = (
            0 if entry.exact else LOOSE.get(name, CLOSE) if dtype.bits >= 32 else 1
        )
        if dtype.is_float and not entry.gives_bool:
            error = ulps(got, want)
            assert error <= allowed, f"{entry.name}: {error} ulp"
        else:
            np.testing.assert_array_equal(got, want, err_msg=entry.name)
