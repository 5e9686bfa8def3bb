"""Fourier transforms beside `np.fft`, on arrays of the same number of elements.

    python bench/programs/fourier.py [--device c] [--elements 65536]

Milliseconds, the median of interleaved turns: `whole` with complex arrays at both ends,
which are taken apart and put together, `parts` with real ones, `power` the power of a
windowed signal, which NumPy computes in four steps.  `error` is the largest, over the
largest value.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

import rewrite as rw
from rewrite import xp
from rewrite.tuning.timing import interleaved

SIZES = (16, 64, 128, 256, 1000, 1024, 4096, 16384, 65536)


def whole(z: Any) -> Any:
    return xp.fft.fft(z)


def parts(real: Any, imag: Any) -> Any:
    made = xp.fft.fft(real + 1j * imag)
    return xp.real(made), xp.imag(made)


def power(m: Any, x: Any, window: Any) -> Any:
    made = m.fft.rfft(x * window)
    return m.real(made) ** 2 + m.imag(made) ** 2


def row(n: int, elements: int, device: str) -> list[float]:
    rng = np.random.default_rng(n)
    real, imag = rng.standard_normal((2, max(elements // n, 1), n), np.float32)
    z, window = real + 1j * imag, np.hanning(n).astype(np.float32)

    def powers(x: Any, w: Any) -> Any:
        return power(xp, x, w)

    made: list[Any] = [
        rw.optimize(f, *args, device=device)
        for f, args in ((whole, (z,)), (parts, (real, imag)), (powers, (real, window)))
    ]
    runs: dict[str, Callable[[], Any]] = {
        "np.fft": lambda: np.fft.fft(z),
        "whole": lambda: made[0](z),
        "parts": lambda: made[1](real, imag),
        "np power": lambda: power(np, real, window),
        "power": lambda: made[2](real, window),
    }
    want = np.fft.fft(z.astype(np.complex128))
    error = np.max(np.abs(made[0](z) - want)) / np.max(np.abs(want))
    seconds = interleaved(runs, 7)
    return [*(1e3 * seconds[name] for name in runs), float(error)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="c")
    parser.add_argument("--elements", type=int, default=1 << 16)
    asked = parser.parse_args()
    print("size     np.fft   whole   parts | np power   power |   error")
    for n in SIZES:
        a, b, c, d, e, error = row(n, asked.elements, asked.device)
        print(f"{n:6d} {a:8.3f} {b:7.3f} {c:7.3f} | {d:8.3f} {e:7.3f} | {error:.1e}",
              flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
