"""cuBLAS, where it is present, for the cuda device: launches between its kernels.

Products of f32 are never made by TF32, those of small floats are summed in f32.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from ctypes import c_char_p, c_double, c_float, c_int, c_longlong, c_size_t, c_void_p
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from ...egraph.ir.dtypes import BF16, F16, F32, F64, DType, compute
from ...lower.device import DeviceError, Placed, Products

AS_IT_IS, TURNED = 0, 1  # cublasOperation_t
KINDS = {F32: 0, F64: 1, F16: 2, BF16: 14}  # cudaDataType_t
COMPUTE = {F32: 68, F64: 70}  # CUBLAS_COMPUTE_32F, which is no TF32, and _64F
DEFAULT_ALGORITHM = -1  # CUBLAS_GEMM_DEFAULT
# CUBLAS_DEFAULT_MATH with CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION.
MATH = 16
USUAL = "/usr/local/cuda"  # where toolkits are
WORKSPACE = 32 << 20  # bytes; what NVIDIA recommends for its largest devices
ONES = {F32: c_float(1), F64: c_double(1)}
ZEROS = {F32: c_float(0), F64: c_double(0)}

_MATRIX = (c_void_p, c_int, c_int, c_longlong)  # address, kind, step, distance
SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cublasCreate_v2": (c_void_p,),
    "cublasSetMathMode": (c_void_p, c_int),
    "cublasSetStream_v2": (c_void_p, c_void_p),
    "cublasSetWorkspace_v2": (c_void_p, c_void_p, c_size_t),
    "cublasGemmStridedBatchedEx": (
        c_void_p, c_int, c_int, c_int, c_int, c_int,
        c_void_p, *_MATRIX, *_MATRIX, c_void_p, *_MATRIX, c_int, c_int, c_int,
    ),
}  # fmt: skip


class Columns(NamedTuple):
    """Matrices as cuBLAS has them, column after column: bytes to the first of them in
    a numbered buffer, elements from column to column and from matrix to matrix."""

    buffer: int
    at: int
    dtype: DType
    step: int
    apart: int


class Arguments(NamedTuple):
    """Of `cublasGemmStridedBatchedEx`: c (rows x columns) = a b, each turned or not."""

    turns: tuple[int, int]  # of a and b
    rows: int
    columns: int
    terms: int
    a: Columns
    b: Columns
    c: Columns
    batch: int
    dtype: DType  # that is computed in


def arguments(p: Products) -> Arguments:
    """What we have row after row is the other way round there, so that our result lies
    as the product of our right side, turned, and our left side, turned."""
    (right, b), (left, a), (_, c) = map(_columns, (p.b, p.a, p.out))
    kind = compute(p.out.dtype)
    return Arguments((right, left), p.n, p.m, p.k, b, a, c, p.count, kind)


def _columns(x: Placed) -> tuple[int, Columns]:
    """Whether it is to be turned there, to be what we have, turned."""
    turn = AS_IT_IS if x.across == 1 else TURNED
    step = x.down if x.across == 1 else x.across
    at = x.at * x.dtype.itemsize
    return turn, Columns(x.buffer, at, x.dtype, step, x.apart)


@dataclass(frozen=True, slots=True)
class Cublas:
    """`detail` says which, or why there is none; then there is no `path`."""

    detail: str
    path: Path | None = None

    @property
    def there(self) -> bool:
        return self.path is not None

    def load(self) -> Any:
        """The library.  That takes some 0.3 s, so it is left to who calls it."""
        if self.path is None:
            raise DeviceError(f"cuda: products by a library: {self.detail}")
        try:
            for needed in sorted(self.path.parent.glob("libcublasLt.so.*")):
                ctypes.CDLL(str(needed), ctypes.RTLD_GLOBAL)
            return typed(ctypes.CDLL(str(self.path)))
        except (OSError, AttributeError) as e:
            raise DeviceError(f"{self.path} cannot be called ({e})") from e


@cache
def cublas() -> Cublas:
    """The newest library of a wheel, else of a toolkit."""
    for folder in (*_wheels(), *_toolkits()):
        if files := sorted(folder.glob("libcublas.so.[0-9]*")):
            return Cublas(f"cuBLAS {_version(files[0])}", files[0])
    return Cublas("no wheel or toolkit has cuBLAS; `pip install nvidia-cublas`, or set "
                  "CUDA_HOME")  # fmt: skip


def _wheels() -> Iterator[Path]:
    spec = find_spec("nvidia")
    for place in (spec and spec.submodule_search_locations) or ():
        yield from sorted(Path(place).glob("cu[0-9]*/lib"), reverse=True)
        yield Path(place) / "cublas" / "lib"


def _toolkits() -> Iterator[Path]:
    named = (os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH"))
    for home in filter(None, (*named, USUAL)):
        yield Path(home) / "lib64"


def _version(path: Path) -> str:
    """As the file is called, or the wheel that brought it along."""
    full = path.resolve().name.removeprefix("libcublas.so.")
    for wheel in ("nvidia-cublas", "nvidia-cublas-cu12") if "." not in full else ():
        try:
            return version(wheel)
        except PackageNotFoundError:
            continue
    return full


def typed(library: Any) -> Any:
    """With the types of what is called; AttributeError where a function is missing."""
    for name, types in SIGNATURES.items():
        function = getattr(library, name)
        function.argtypes, function.restype = types, c_int
    library.cublasGetStatusString.argtypes = (c_int,)
    library.cublasGetStatusString.restype = c_char_p
    return library


@dataclass(slots=True)
class Handle:
    """cuBLAS in the context that is current.  It uses `workspace`, an address, so that
    it allocates nothing while a graph is captured, and all its calls are in order: on
    one stream, or on streams that wait for each other."""

    library: Any
    workspace: int
    handle: c_void_p = field(default_factory=c_void_p)
    stream: int = 0

    def __post_init__(self) -> None:
        self._call("cublasCreate_v2", ctypes.byref(self.handle))
        self._call("cublasSetMathMode", self.handle, MATH)
        self._join(0)

    def _join(self, stream: int) -> None:
        self._call("cublasSetStream_v2", self.handle, stream)  # forgets the workspace
        self._call("cublasSetWorkspace_v2", self.handle, self.workspace, WORKSPACE)
        self.stream = stream

    def multiply(self, x: Arguments, addresses: Sequence[int], stream: int) -> None:
        if stream != self.stream:
            self._join(stream)
        a, b, c = (
            (addresses[m.buffer] + m.at, KINDS[m.dtype], m.step, m.apart)
            for m in (x.a, x.b, x.c)
        )
        one, zero = (ctypes.byref(n[x.dtype]) for n in (ONES, ZEROS))
        self._call(
            "cublasGemmStridedBatchedEx", self.handle, *x.turns,
            x.rows, x.columns, x.terms, one, *a, *b, zero, *c,
            x.batch, COMPUTE[x.dtype], DEFAULT_ALGORITHM,
        )  # fmt: skip

    def _call(self, name: str, *args: Any) -> None:
        status = getattr(self.library, name)(*args)
        if status:
            text = self.library.cublasGetStatusString(status).decode()
            raise DeviceError(f"{name} answers {text}")


__all__ = ["Arguments", "Columns", "Cublas", "Handle", "arguments", "cublas", "typed"]
