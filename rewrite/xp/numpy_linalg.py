"""NumPy's functions of matrices with NumPy's parameters, as functions of `xp.linalg`
and `xp.fft`.

Parameters that these cannot honour are left out: giving one is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from .errors import TraceError
from .functions import linalg, linear
from .functions.axes import axes_of
from .operators import functions, public
from .pair import operand
from .tracer import Tracer


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tracer:
    x = operand(x)
    if axis is None and ord is None:
        return linalg.vector_norm(x, keepdims=keepdims)
    places = axes_of(axis, x.ndim, "norm")
    if len(places) == 1:
        order = 2 if ord is None else ord
        return linalg.vector_norm(x, axis=places, ord=order, keepdims=keepdims)
    if len(places) != 2:
        raise TraceError(f"norm: one axis or two were expected, found {len(places)}")
    made = linalg.matrix_norm(public.moveaxis(x, places, (-2, -1)), ord=ord)
    if not keepdims:
        return made
    return public.reshape(
        made, [1 if i in places else n for i, n in enumerate(x.shape)]
    )


def _qr(a: Any, mode: str = "reduced") -> Any:
    return linalg.qr(a).R if mode == "r" else linalg.qr(a, mode=mode)  # pyright: ignore[reportArgumentType]  # it is checked there


def _svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    if not compute_uv:
        return linalg.svdvals(a)
    return linalg.svd(a, full_matrices=full_matrices)


def _pinv(a: Any, rcond: Any = None, *, rtol: Any = None) -> Tracer:
    """NumPy's own default is 1e-15, whatever the dtype and the sizes."""
    limit = rcond if rtol is None else rtol
    return linalg.pinv(a, rtol=1e-15 if limit is None else limit)


def _matrix_rank(A: Any, *, rtol: Any = None) -> Tracer:
    return linalg.matrix_rank(A, rtol=rtol)


def _cross(a: Any, b: Any, *, axis: int = -1) -> Tracer:
    return linalg.cross(a, b, axis=axis)


def _fronted(a: Any, axis1: int, axis2: int) -> Tracer:
    return public.moveaxis(a, (axis1, axis2), (-2, -1))


def _diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tracer:
    return linalg.diagonal(_fronted(a, axis1, axis2), offset=offset)


def _trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None,
           out: Any = None) -> Tracer:  # fmt: skip
    return linalg.trace(_fronted(a, axis1, axis2), offset=offset, dtype=dtype)


def _multi_dot(arrays: Sequence[Any], *, out: Any = None) -> Tracer:
    """In which order they are multiplied, the optimizer decides."""
    return reduce(public.matmul, map(operand, arrays))


def _eig(a: Any) -> Any:
    return linalg.eig(a)


def _eigh(a: Any) -> Any:
    return linalg.eigh(a)


def _shift(name: str) -> Callable[..., Any]:
    def g(x: Any, axes: Any = None) -> Any:
        return functions[f"fft.{name}"](x, axes=axes)

    return g


def _transform(name: str) -> Callable[..., Any]:
    def g(a: Any, n: int | None = None, axis: int = -1, norm: Any = None,
          out: Any = None) -> Any:  # fmt: skip
        f = functions[f"fft.{name}"]
        return f(a, n=n, axis=axis, norm=norm or "backward")

    return g


def _transforms(name: str, both: bool = False) -> Callable[..., Any]:
    """Of several axes; `both`: of the last two, where none are said."""

    def g(a: Any, s: Any = None, axes: Any = (-2, -1) if both else None,
          norm: Any = None, out: Any = None) -> Any:  # fmt: skip
        f = functions[f"fft.{name}"]
        return f(a, s=s, axes=axes, norm=norm or "backward")

    return g


FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.linalg.cholesky: linalg.cholesky, np.linalg.cross: linalg.cross,
    np.linalg.det: linalg.det, np.linalg.diagonal: linalg.diagonal,
    np.linalg.eig: _eig, np.linalg.eigvals: linalg.eigvals,
    np.linalg.eigh: _eigh, np.linalg.eigvalsh: linalg.eigvalsh,
    np.linalg.inv: linalg.inv, np.linalg.matmul: linear.matmul,
    np.linalg.matrix_norm: linalg.matrix_norm,
    np.linalg.matrix_power: linalg.matrix_power,
    np.linalg.matrix_rank: _matrix_rank,
    np.linalg.matrix_transpose: linear.matrix_transpose,
    np.linalg.multi_dot: _multi_dot, np.linalg.norm: _norm,
    np.linalg.outer: linear.outer, np.linalg.pinv: _pinv, np.linalg.qr: _qr,
    np.linalg.slogdet: linalg.slogdet, np.linalg.solve: linalg.solve,
    np.linalg.svd: _svd, np.linalg.svdvals: linalg.svdvals,
    np.linalg.tensordot: linear.tensordot, np.linalg.trace: linalg.trace,
    np.linalg.vecdot: linear.vecdot, np.linalg.vector_norm: linalg.vector_norm,
    np.cross: _cross, np.diagonal: _diagonal, np.trace: _trace,
    np.fft.fftshift: _shift("fftshift"), np.fft.ifftshift: _shift("ifftshift"),
    **{
        getattr(np.fft, name): _transform(name)
        for name in ("fft", "hfft", "ifft", "ihfft", "irfft", "rfft")
    },
    **{
        getattr(np.fft, name): _transforms(name)
        for name in ("fftn", "ifftn", "irfftn", "rfftn")
    },
    **{
        getattr(np.fft, f"{name}2"): _transforms(f"{name}n", both=True)
        for name in ("fft", "ifft", "irfft", "rfft")
    },
}  # fmt: skip
