"""`xp.fft` of the Array API standard, as far as it gives real numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from ..arrays import check_device
from ..errors import NO_COMPLEX
from ..promote import DEFAULT_FLOAT, as_dtype
from ..tracer import Operand, TraceError, Tracer, astype, lift
from .axes import axes_of
from .creation import arange
from .manipulation import roll


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


TRANSFORMS = ("fft", "fftn", "hfft", "ifft", "ifftn", "ihfft", "irfft", "irfftn",
              "rfft", "rfftn")  # fmt: skip


def __getattr__(name: str) -> NoReturn:
    hint = NO_COMPLEX if name in TRANSFORMS else "see dir(rewrite.xp.fft)"
    raise AttributeError(f"rewrite.xp.fft has no {name!r}: {hint}")


__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]
