"""Assignments in place to complex arrays: to each of their parts."""

from __future__ import annotations

from typing import Any

from ..building import of_tracer
from ..errors import TraceError
from ..inplace import assign as assign_real
from ..inplace import updated as updated_real
from ..pair import ComplexTracer, common, is_complex, pair
from ..tracer import Tracer, astype


def assign(x: Any, key: Any, value: Any) -> None:
    """`x[key] = value`; the value takes the dtype of `x`."""
    if not isinstance(x, ComplexTracer):
        if is_complex(value):
            raise _lost(value, x)
        assign_real(x, key, value)
        return
    new = pair(value, x.dtype)
    assign_real(x.real, key, new.real)
    assign_real(x.imag, key, new.imag)


def updated(x: Any, new: Any) -> Any:
    """`x`, which holds `new` from now on."""
    if not isinstance(x, ComplexTracer):
        if isinstance(new, ComplexTracer):
            raise _lost(new, x)
        return updated_real(x, new)
    z = pair(new)
    if z.shape != x.shape:
        raise TraceError(f"{z.type} does not fit into {x.type} in place")
    real, imag = (astype(p, x.dtype.part) for p in (z.real, z.imag))
    builder = of_tracer(x.real)
    if builder.is_view(x.real) or builder.is_view(x.imag):
        # The real part stands for both: `x[key] = ..`, which follows, assigns it first.
        return ComplexTracer(builder.update_view(x.real, real.node), imag)
    builder.update(x.real, real.node, 0)
    builder.update(x.imag, imag.node, 0)
    return x


def _lost(value: Any, x: Tracer) -> TypeError:
    return TypeError(f"{common(value)} cannot be assigned to {x.dtype} in place: its "
                     "imaginary part would be lost; take xp.real(..)")  # fmt: skip
