"""`xp.fft` of the Array API standard: Fourier transforms along axes of known sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from typing import Any, Literal, NoReturn

from ..arrays import check_device
from ..complex_dtypes import complex_of
from ..errors import ShapeError
from ..pair import ComplexTracer, dtype_of, is_complex, pair
from ..promote import DEFAULT_FLOAT, as_dtype
from ..tracer import Operand, TraceError, Tracer, astype, lift
from . import fourier
from .axes import axes_of, axis_of
from .creation import arange
from .manipulation import moveaxis, pad, roll, slice_axis

type Norm = Literal["backward", "ortho", "forward"]
type Sizes = Sequence[int] | None
type Axes = Sequence[int] | None
type Place = tuple[int, int | None]  # an axis, and the size of its transform


# ---- of one axis ---------------------------------------------------------------------


def fft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
        ) -> ComplexTracer:  # fmt: skip
    """Σ x[j] exp(-2πi jk / n), of the first n elements, or with zeros behind them."""
    return _transformed("fft", pair(x), n, axis, norm, False)


def ifft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
         ) -> ComplexTracer:  # fmt: skip
    """The inverse of `fft`."""
    return _transformed("ifft", pair(x), n, axis, norm, True)


def rfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
         ) -> ComplexTracer:  # fmt: skip
    """Of real numbers: the half that says all, from frequency 0 on."""
    z = _real("rfft", x)
    at, size = _place("rfft", z, n, axis)
    made = fourier.rfft(_last(_fitted(z, at, size), at))
    return _back(made, at, _scale("rfft", norm, size, False))


def irfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
          ) -> Tracer:  # fmt: skip
    """The inverse of `rfft`; n is even where it is not said."""
    z = pair(x)
    at, have = _place("irfft", z.real, None, axis)
    size = 2 * (have - 1) if n is None else n
    if size < 1:
        raise ShapeError(f"irfft to n={size}: one element or more was expected")
    half = _each(z, lambda p: _last(_fitted(p, at, size // 2 + 1), at))
    made = fourier.irfft(half, size)
    scale = _scale("irfft", norm, size, True) * size
    return moveaxis(made if scale == 1 else made * scale, -1, at)


def hfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
         ) -> Tracer:  # fmt: skip
    """The transform, which is real, of what is its own conjugate reflected; x is the
    first half of it."""
    z = pair(x)
    return irfft(ComplexTracer(z.real, -z.imag), n=n, axis=axis, norm=_swapped(norm))


def ihfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
          ) -> ComplexTracer:  # fmt: skip
    """The inverse of `hfft`."""
    z = rfft(x, n=n, axis=axis, norm=_swapped(norm))
    return ComplexTracer(z.real, -z.imag)


# ---- of several ----------------------------------------------------------------------


def fftn(x: Any, /, *, s: Sizes = None, axes: Axes = None, norm: Norm = "backward"
         ) -> ComplexTracer:  # fmt: skip
    z = pair(x)
    return _along(_over("fftn", z, s, axes), fft, z, norm)


def ifftn(x: Any, /, *, s: Sizes = None, axes: Axes = None, norm: Norm = "backward"
          ) -> ComplexTracer:  # fmt: skip
    z = pair(x)
    return _along(_over("ifftn", z, s, axes), ifft, z, norm)


def rfftn(x: Any, /, *, s: Sizes = None, axes: Axes = None, norm: Norm = "backward"
          ) -> ComplexTracer:  # fmt: skip
    """`rfft` along the last of the axes, then `fft` along the others."""
    real = _real("rfftn", x)
    *rest, (at, n) = _over("rfftn", real, s, axes)
    return _along(rest, fft, rfft(real, n=n, axis=at, norm=norm), norm)


def irfftn(x: Any, /, *, s: Sizes = None, axes: Axes = None, norm: Norm = "backward"
           ) -> Tracer:  # fmt: skip
    """The inverse of `rfftn`."""
    z = pair(x)
    *rest, (last, n) = _over("irfftn", z, s, axes)
    z = _along(rest, ifft, z, norm)
    return irfft(z, n=n if s is not None else None, axis=last, norm=norm)


def _along(
    places: Sequence[Place], each: Callable[..., ComplexTracer], z: ComplexTracer,
    norm: Norm,
) -> ComplexTracer:  # fmt: skip
    """One transform after the other."""
    for at, n in places:
        z = each(z, n=n, axis=at, norm=norm)
    return z


def _over(what: str, x: Tracer | ComplexTracer, s: Sizes, axes: Axes) -> list[Place]:
    """The axes, which may be named twice, and the size along each."""
    if axes is None:
        count = x.ndim if s is None else len(s)
        axes = range(x.ndim - count, x.ndim)
    places = [axis_of(a, x.ndim, what) for a in axes]
    if not places:
        raise ShapeError(f"{what}: no axis of {x.type} is transformed")
    if s is not None and len(s) != len(places):
        raise ShapeError(f"{what}: {len(s)} sizes for {len(places)} axes")
    sizes: Sequence[int | None] = [None] * len(places) if s is None else list(s)
    return list(zip(places, (None if n == -1 else n for n in sizes), strict=True))


# ---- sizes and scales ----------------------------------------------------------------


def _transformed(
    what: str, z: ComplexTracer, n: int | None, axis: int, norm: Norm, inverse: bool
) -> ComplexTracer:
    at, size = _place(what, z.real, n, axis)
    ready = _each(z, lambda p: _last(_fitted(p, at, size), at))
    made = fourier.dft(ready, inverse)
    return _back(made, at, _scale(what, norm, size, inverse))


def _place(what: str, x: Tracer, n: int | None, axis: int) -> tuple[int, int]:
    """The axis, and the size of the transform."""
    at = axis_of(axis, x.ndim, what)
    size = x.shape[at] if n is None else n
    if not isinstance(size, int) or not isinstance(x.shape[at], int):
        raise TraceError(f"{what}: axis {at} of {x.type} has a symbolic size; the axis "
                         "of a transform has a number, others may have symbols"
                         )  # fmt: skip
    if size < 1:
        raise ShapeError(f"{what} of n={size}: one element or more was expected")
    return at, size


def _fitted(x: Tracer, at: int, n: int) -> Tracer:
    """The first n elements, or zeros behind all."""
    have = x.shape[at]
    assert isinstance(have, int), "`_place` has checked it"
    if have < n:
        return pad(x, [(0, n - have if i == at else 0) for i in range(x.ndim)])
    return slice_axis(x, at, 0, n)


def _last(x: Tracer, at: int) -> Tracer:
    return moveaxis(x, at, -1)


def _each(z: ComplexTracer, f: Callable[[Tracer], Tracer]) -> ComplexTracer:
    return ComplexTracer(f(z.real), f(z.imag))


def _back(z: ComplexTracer, at: int, scale: float) -> ComplexTracer:
    made = z if scale == 1 else _each(z, lambda p: p * scale)
    return _each(made, lambda p: moveaxis(p, -1, at))


def _scale(what: str, norm: Norm | None, n: int, inverse: bool) -> float:
    if norm not in ("backward", "ortho", "forward"):
        raise TraceError(f"{what}: norm is 'backward', 'ortho' or 'forward', found "
                         f"{norm!r}")  # fmt: skip
    if norm == "ortho":
        return 1 / sqrt(n)
    return 1 / n if (norm == "backward") == inverse else 1.0


def _swapped(norm: Norm) -> Norm:
    swaps: dict[str, Norm] = {"backward": "forward", "forward": "backward"}
    return swaps.get(norm, norm)


def _real(what: str, x: Any) -> Tracer:
    if is_complex(x):
        raise TraceError(f"{what} takes real numbers: fft takes complex ones, or take "
                         "xp.real(x)")  # fmt: skip
    return astype(lift(x), complex_of(dtype_of(lift(x))).part)


# ---- frequencies ---------------------------------------------------------------------


def fftfreq(
    n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None
) -> Tracer:
    """The frequencies of a transform of `n` points that are `d` apart: from 0 on, then
    those below 0."""
    turned = (arange(n) + n // 2) % n - n // 2
    return _frequencies("fftfreq", turned, n * d, dtype, device)


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None
) -> Tracer:
    """Those of the transform of real numbers: from 0 on."""
    return _frequencies("rfftfreq", arange(n // 2 + 1), n * d, dtype, device)


def _frequencies(
    what: str, x: Tracer, length: float, dtype: Any, device: Any
) -> Tracer:
    check_device(device)
    chosen = as_dtype(dtype or DEFAULT_FLOAT)
    if not chosen.is_float:
        raise TraceError(f"{what}: frequencies are floats, found dtype={chosen}")
    return astype(x, chosen) / length


def fftshift(x: Operand, /, *, axes: int | Sequence[int] | None = None) -> Tracer:
    """What stands first, the frequency 0, in the middle."""
    return _shifted("fftshift", x, axes, 1)


def ifftshift(x: Operand, /, *, axes: int | Sequence[int] | None = None) -> Tracer:
    """The inverse of `fftshift`."""
    return _shifted("ifftshift", x, axes, -1)


def _shifted(
    what: str, x: Operand, axes: int | Sequence[int] | None, sign: int
) -> Tracer:
    x = lift(x)
    for axis in axes_of(axes, x.ndim, what):
        n = x.shape[axis]
        if not isinstance(n, int):
            raise TraceError(f"{what}: where the middle of {n} is, is not known")
        x = roll(x, sign * (n // 2), axis=axis)
    return x


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(f"rewrite.xp.fft has no {name!r}: see dir(rewrite.xp.fft)")


__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft",
    "irfft", "irfftn", "rfft", "rfftfreq", "rfftn",
]  # fmt: skip
