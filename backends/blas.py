"""The BLAS that NumPy brings along, for the c device: OpenBLAS, with 64-bit sizes."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..lower.device import DeviceError
from .native.pool import thread_count

PREFIX, SUFFIX = "scipy_", "64_"  # of the names in the library of NumPy's wheels
CALLS = {"rw_sgemm": "cblas_sgemm", "rw_dgemm": "cblas_dgemm"}  # by pointers' names


@dataclass(frozen=True, slots=True)
class Blas:
    """`detail` says which, or why there is none; addresses by pointers' names."""

    detail: str
    calls: tuple[tuple[str, int], ...] = ()

    @property
    def there(self) -> bool:
        return bool(self.calls)


@cache
def blas() -> Blas:
    """NumPy's library, if it works with as many threads as we do: what it is set to is
    the user's."""
    folder = Path(np.__file__).parent.parent / "numpy.libs"
    paths = sorted(folder.glob("*openblas64_*"))
    if not paths:
        return Blas("NumPy brings no OpenBLAS along (numpy.libs has none)")
    try:
        library = ctypes.CDLL(str(paths[0]))
        calls = tuple((k, _address(library, name)) for k, name in CALLS.items())
        threads = int(_function(library, "openblas_get_num_threads")())
        config: Any = _function(library, "openblas_get_config")
    except (OSError, AttributeError) as e:
        return Blas(f"NumPy's OpenBLAS cannot be called ({e})")
    config.restype = ctypes.c_char_p
    name = " ".join(bytes(config()).decode(errors="replace").split()[:2])
    if threads != thread_count():
        return Blas(f"{name} works with {threads} threads, we with {thread_count()}; "
                    "OPENBLAS_NUM_THREADS and REWRITE_THREADS set them")  # fmt: skip
    return Blas(f"{name}, {threads} threads", calls)


def _function(library: ctypes.CDLL, name: str) -> Any:
    return getattr(library, f"{PREFIX}{name}{SUFFIX}")


def _address(library: ctypes.CDLL, name: str) -> int:
    return ctypes.cast(_function(library, name), ctypes.c_void_p).value or 0


def join_blas(library: ctypes.CDLL) -> None:
    """Tells compiled code where the library is, if it calls one."""
    try:
        ctypes.c_void_p.in_dll(library, next(iter(CALLS)))
    except ValueError:  # it has no such pointer
        return
    result = blas()
    if not result.calls:
        raise DeviceError(f"kernels that call a library of products: {result.detail}")
    for pointer, address in result.calls:
        ctypes.c_void_p.in_dll(library, pointer).value = address


__all__ = ["Blas", "blas", "join_blas"]
