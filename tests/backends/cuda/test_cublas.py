"""Products by cuBLAS: what is asked of it, how, and on a GPU what comes out.

Where there is no GPU, a library stands in that has cuBLAS's meaning and its C calls, on
the memory of the host.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import CFUNCTYPE, c_char_p, c_int, c_void_p
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from rewrite.backends.cuda import CudaDevice
from rewrite.backends.nvidia import cublas as finding
from rewrite.backends.nvidia import nvrtc
from rewrite.backends.nvidia.cublas import (
    COMPUTE,
    KINDS,
    SIGNATURES,
    Cublas,
    Handle,
    arguments,
    cublas,
    typed,
)
from rewrite.egraph.ir.dtypes import F16, F32, I32
from rewrite.egraph.ir.scalars import Array
from rewrite.lower.device import Device, DeviceError, Products
from rewrite.lower.emit.stages import is_call
from rewrite.lower.families.library import LIBRARY
from rewrite.lower.interpret import run as interpret
from rewrite.lower.loops import For, Function, Gemm, Lit, Load, Matrix, Op, Param, Var
from rewrite.lower.verify import verify
from tests.backends.cuda.test_cuda_driver import Driver
from tests.backends.harness import launch, open_device
from tests.lower.harness import GPU, buffers_for, close, reference
from tests.lower.products import SMALL, TAKEN, Make, kernel, product, widened

EVERY = TAKEN | SMALL
WITH = replace(GPU, library="cuBLAS")


def lowered(make: Make) -> Function:
    return verify(LIBRARY.lower(kernel(make), WITH, "f", False))


def calls_of(function: Function) -> list[Products]:
    starts = nvrtc.emit([function]).launches[function.name]
    return [x for x in starts if isinstance(x, Products)]


class Library:
    """cuBLAS on the host's memory; `calls` are what it was asked for."""

    def __init__(self, status: int = 0) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.status = status
        for name, types in SIGNATURES.items():
            setattr(self, name, CFUNCTYPE(c_int, *types)(self._named(name)))
        text = c_char_p(b"CUBLAS_STATUS_INVALID_VALUE")
        address = ctypes.cast(text, c_void_p).value
        self.cublasGetStatusString = CFUNCTYPE(c_void_p, c_int)(lambda _: address)

    def _named(self, name: str) -> Callable[..., int]:
        def run(*args: Any) -> int:
            self.calls.append((name, args))
            if name == "cublasGemmStridedBatchedEx" and not self.status:
                multiply(*args)
            return self.status

        return run

    def of(self, name: str) -> list[tuple[Any, ...]]:
        return [args for n, args in self.calls if n == name]


def memory(address: int, dtype: np.dtype[Any], size: int) -> Array:
    data = (ctypes.c_char * (size * dtype.itemsize)).from_address(address)
    return np.frombuffer(data, np.uint8).view(dtype)


def multiply(
    handle: int, turn_a: int, turn_b: int, m: int, n: int, k: int, alpha: int,
    a: int, kind_a: int, lda: int, apart_a: int,
    b: int, kind_b: int, ldb: int, apart_b: int, beta: int,
    c: int, kind_c: int, ldc: int, apart_c: int, batch: int, wide: int, algorithm: int,
) -> None:  # fmt: skip
    """`cublasGemmStridedBatchedEx` as its manual says: all matrices by columns."""
    kinds = {number: dtype.numpy for dtype, number in KINDS.items()}
    scale = {number: dtype.numpy for dtype, number in COMPUTE.items()}[wide]

    def matrices(
        at: int, kind: int, step: int, apart: int, rows: int, columns: int
    ) -> Array:
        assert step >= rows
        size = (batch - 1) * apart + (columns - 1) * step + rows
        steps = tuple(kinds[kind].itemsize * x for x in (apart, 1, step))
        return as_strided(memory(at, kinds[kind], size), (batch, rows, columns), steps)

    def side(where: tuple[int, int, int, int], turn: int, r: int, s: int) -> Array:
        x = matrices(*where, *((s, r) if turn else (r, s))).astype(scale)
        return x.transpose(0, 2, 1) if turn else x

    assert (memory(alpha, scale, 1), memory(beta, scale, 1), algorithm) == (1, 0, -1)
    left = side((a, kind_a, lda, apart_a), turn_a, m, k)
    right = side((b, kind_b, ldb, apart_b), turn_b, k, n)
    matrices(c, kind_c, ldc, apart_c, m, n)[...] = left @ right


@pytest.mark.parametrize("name", EVERY)
def test_what_is_asked_for_is_the_product(name: str) -> None:
    k, made = kernel(EVERY[name]), lowered(EVERY[name])
    arrays = buffers_for(k)
    want = reference(k, arrays)
    held = [*arrays, *(np.full(p.size, 77, p.dtype.numpy) for p in made.scratch)]
    handle = Handle(typed(Library()), 0)
    for call in calls_of(made):
        handle.multiply(arguments(call), [x.ctypes.data for x in held], 0)
    last = tuple(s for s in made.body if not is_call(s))
    whole = replace(made, params=(*made.params, *made.scratch), scratch=(), body=last)
    interpret(whole, held)
    close(k, arrays[k.reads :], want)


def test_one_call_for_all_that_lie_evenly() -> None:
    counts = {n: [x.count for x in calls_of(lowered(m))] for n, m in TAKEN.items()}
    assert counts["plain"] == counts["epilogue"] == [1]
    assert counts["batch"] == [3]
    assert counts["one for all"] == [4]
    assert counts["two axes of a batch"] == [3, 3]
    text = nvrtc.emit([lowered(TAKEN["batch"])]).text
    assert "// cuBLAS: b2 = b0 b1, 3 times 4 by 9 over 6\n" in text
    assert "__global__" not in text.partition("b2 = b0 b1")[2]


def test_leading_dimensions_and_flags_by_hand() -> None:
    """x (17 by 9 in rows of 11) times w, which lies turned: 5 rows of 9."""
    x, w = Matrix("x", Lit(2, I32), 11, 1), Matrix("w", Lit(0, I32), 1, 9)
    body = (Gemm(17, 5, 9, Matrix("out", Lit(0, I32), 5, 1), x, w),)
    sizes = {"x": 200, "w": 45, "out": 85}
    params = tuple(Param(n, F32, size, n == "out") for n, size in sizes.items())
    (call,) = calls_of(verify(Function("f", params, body)))
    found = arguments(call)
    assert found.turns == (1, 0)
    assert (found.rows, found.columns, found.terms) == (5, 17, 9)
    assert [tuple(m) for m in (found.a, found.b, found.c)] == [
        (1, 0, F32, 9, 0), (0, 8, F32, 11, 0), (2, 0, F32, 5, 0)
    ]  # fmt: skip
    assert (found.batch, COMPUTE[found.dtype]) == (1, 68)


def test_what_no_call_can_say_is_refused() -> None:
    i = Var("i", I32)
    params = (Param("x", F32, 16, True), Param("y", F32, 16, True))

    def emitted(at: Op | Lit, out: str, index: Op | Lit | Var) -> None:
        call = Gemm(2, 2, 2, Matrix(out, index, 2, 1), *[Matrix("x", at, 2, 1)] * 2)
        nvrtc.emit([Function("f", params, (For(i, 2, "serial", (call,)),))])

    zero, four = Lit(0, I32), Op("mul", (i, Lit(4, I32)), I32)
    emitted(zero, "y", four)
    with pytest.raises(DeviceError, match="written where it reads"):
        emitted(zero, "x", four)
    with pytest.raises(DeviceError, match="written to one place"):
        emitted(zero, "y", zero)
    with pytest.raises(DeviceError, match="'x' does not move evenly"):
        emitted(Op("imod", (i, Lit(2, I32)), I32), "y", four)


def test_a_stream_is_joined_once_and_keeps_the_workspace() -> None:
    library = Library()
    handle = Handle(typed(library), 4096)
    assert library.of("cublasSetMathMode") == [(None, 16)]
    (call,) = calls_of(lowered(TAKEN["plain"]))
    arrays = buffers_for(kernel(TAKEN["plain"]))
    for stream in (0, 7, 7, 0):
        handle.multiply(arguments(call), [x.ctypes.data for x in arrays], stream)
    streams = [s for _, s in library.of("cublasSetStream_v2")]
    assert streams == [None, 7, None]  # as ctypes has the address 0
    assert library.of("cublasSetWorkspace_v2") == [(None, 4096, 32 << 20)] * 3


def test_an_error_says_which() -> None:
    with pytest.raises(DeviceError, match=r"cublasCreate_v2 answers .*INVALID_VALUE"):
        Handle(typed(Library(status=7)), 0)


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> CudaDevice:
    """The device on the host's memory, where nothing but products can be launched."""
    made = CudaDevice()
    made.__dict__["driver"] = Driver(1 << 26)
    monkeypatch.setattr(CudaDevice, "caps", lambda _: WITH)
    monkeypatch.setattr(CudaDevice, "binary", lambda *_: b"")
    monkeypatch.setattr(CudaDevice, "_loaded", lambda *_: (SimpleNamespace(), b""))
    return made


def test_the_device_calls_it_between_its_kernels(
    stub: CudaDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Cublas, "load", lambda _: typed(Library()))
    for make in (TAKEN["two axes of a batch"], SMALL["f16 batch"]):
        k, made = kernel(make), lowered(make)
        arrays = buffers_for(k)
        got = launch(stub, stub.compile([made]), made, *arrays)
        close(k, got, reference(k, arrays))


def test_without_it_kernels_that_call_it_are_refused(
    stub: CudaDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    none = Cublas("it is not here")
    monkeypatch.setattr("rewrite.backends.cuda.cublas", lambda: none)
    with pytest.raises(DeviceError, match="it is not here"):
        stub.compile([lowered(TAKEN["plain"])])
    monkeypatch.setattr(CudaDevice, "caps", lambda _: GPU)
    with pytest.raises(DeviceError, match="has no library of products"):
        stub.compile([lowered(TAKEN["plain"])])


def test_it_is_found_and_says_which_or_why_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = SimpleNamespace(submodule_search_locations=[str(tmp_path / "nvidia")])
    monkeypatch.setattr(finding, "find_spec", lambda _: places)
    monkeypatch.setattr(finding, "version", lambda _: "13.9")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    monkeypatch.setenv("CUDA_PATH", "")
    monkeypatch.setattr(finding, "USUAL", str(tmp_path / "none"))
    find = finding.cublas.__wrapped__
    assert not find().there
    assert "pip install nvidia-cublas" in find().detail
    with pytest.raises(DeviceError, match="no wheel or toolkit has cuBLAS"):
        find().load()

    def put(name: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text("no library")

    put("toolkit/lib64/libcublas.so.12.4.5")
    assert find().detail == "cuBLAS 12.4.5"
    put("nvidia/cublas/lib/libcublas.so.12")
    put("nvidia/cu13/lib/libcublas.so.13")
    assert find().detail == "cuBLAS 13.9"
    with pytest.raises(DeviceError, match=r"cu13/lib/libcublas.so.13 cannot be called"):
        find().load()


def gpu_with_cublas() -> Device:
    dev = open_device("cuda")
    if not cublas().there:
        pytest.skip(cublas().detail)
    return dev


@pytest.mark.parametrize("name", EVERY)
def test_a_gpu_computes_it(name: str) -> None:
    """Launched one by one, and as a graph that is replayed."""
    dev = gpu_with_cublas()
    k, made = kernel(EVERY[name]), lowered(EVERY[name])
    module = dev.compile([made])
    arrays = buffers_for(k)
    want = reference(k, arrays)
    close(k, launch(dev, module, made, *arrays), want)
    held = [dev.alloc(x.nbytes) for x in arrays]
    for h, x in zip(held, arrays, strict=True):
        dev.copy_in(h, x)
    replay = module.prepare([("f", range(len(held)))], held)
    for _ in range(3):
        dev.copy_in(held[-1], np.full_like(arrays[-1], 77))
        replay()
        dev.sync()
        dev.copy_out(held[-1], arrays[-1])
        close(k, arrays[k.reads :], want)


def test_a_gpu_rounds_no_operand_of_f32() -> None:
    """TF32 has 10 bits; an error of 3e-4 would be its."""
    dev, make = gpu_with_cublas(), product(256, 128, 1024)
    made, (a, b, c) = lowered(make), buffers_for(kernel(make))
    (got,) = launch(dev, dev.compile([made]), made, a, b, c)
    want = a.reshape(256, 1024).astype(np.float64) @ b.reshape(1024, 128)
    error = np.linalg.norm(got.reshape(256, 128) - want) / np.linalg.norm(want)
    assert error < 2e-6


def test_a_gpu_sums_small_floats_in_f32() -> None:
    """Ones: a sum of f16 would stay at 2048."""
    dev, make = gpu_with_cublas(), widened(F16, 4099)
    made, arrays = lowered(make), buffers_for(kernel(make))
    ones = [np.ones_like(x) for x in arrays]
    (got,) = launch(dev, dev.compile([made]), made, *ones)
    np.testing.assert_array_equal(got, np.full_like(got, 4099))


def test_reads_of_memory_are_no_index() -> None:
    """A place that is loaded is known to no launch."""
    where = Op("cast", (Load("n", Lit(0, I32), I32),), I32)
    call = Gemm(2, 2, 2, Matrix("y", Lit(0, I32), 2, 1),
                *[Matrix("x", where, 2, 1)] * 2)  # fmt: skip
    params = tuple(
        Param(n, t, 8, n == "y") for n, t in (("x", F32), ("n", I32), ("y", F32))
    )
    with pytest.raises(DeviceError, match="does not move evenly"):
        nvrtc.emit([Function("f", params, (call,))])
