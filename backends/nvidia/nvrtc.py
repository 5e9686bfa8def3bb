"""CUDA C++ to a cubin by NVRTC, which needs neither a driver nor a GPU."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from ...lower.device import CompileError, DeviceError, KernelSource
from ...lower.emit import kernels
from ...lower.emit.dialects import CUDA
from ...lower.emit.layout import functions_of
from ...lower.loops import Function
from ..binaries import binary, renewed

_USAGE = re.compile(
    r"entry function '(\w+)'.*?(\d+) bytes spill stores.*?Used (\d+) registers", re.S
)
GRID_GROUP = 256  # threads that share the points of a grid


def emit(functions: Sequence[Function]) -> KernelSource:
    return kernels.source(functions, CUDA, lambda _: GRID_GROUP)


def units(source: KernelSource) -> list[KernelSource]:
    """Each function by itself, so that they are compiled side by side, and one that is
    the same in another program is not compiled again."""
    head, texts = functions_of(source.text)
    return [
        KernelSource(f"{head}{text.rstrip()}\n", {name: starts})
        for text, (name, starts) in zip(texts, source.launches.items(), strict=True)
    ]


@cache
def library() -> Any:
    """NVRTC's bindings, seen to work."""
    try:
        nvrtc: Any = import_module("cuda.bindings.nvrtc")
        error, *_ = nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError) as e:
        raise DeviceError(
            f"NVRTC cannot be loaded ({e}); "
            "`pip install cuda-bindings nvidia-cuda-nvrtc`"
        ) from e
    if int(error):
        raise DeviceError(f"NVRTC answers with error {error}; reinstall it")
    return nvrtc


def compile_cubin(text: str, arch: str, contract: bool) -> bytes:
    return _roomy(text, arch, contract)[0]


class Usage(NamedTuple):
    """What a thread of a kernel takes."""

    registers: int
    spilled: int  # bytes stored to memory for want of registers


def usage(text: str, arch: str, contract: bool = True) -> dict[str, Usage]:
    """By kernel, as the assembler tells it."""
    return _roomy(text, arch, contract)[1]


def _roomy(text: str, arch: str, contract: bool) -> tuple[bytes, dict[str, Usage]]:
    """The cubin; the assembler takes few registers, so that many groups fit, and may
    spill for that: such kernels are asked for again as if one group were enough."""
    cubin, result = _compiled(text, arch, contract)
    short = "|".join(name for name, u in result.items() if u.spilled)
    if not short:
        return cubin, result
    bounds = rf"__launch_bounds__\((\d+)(?:, 2)?\) ({short})\("
    alone = re.sub(bounds, r"__launch_bounds__(\1, 1) \2(", text)
    return _compiled(alone, arch, contract)


def _compiled(text: str, arch: str, contract: bool) -> tuple[bytes, dict[str, Usage]]:
    nvrtc = library()
    flags = [
        f"--gpu-architecture={arch}",
        "--std=c++17",
        "--fmad=false",
        "--ptxas-options=-v",
    ]
    if contract:
        flags.append("-DRW_CONTRACT")
    options = [f.encode() for f in flags]
    error, program = nvrtc.nvrtcCreateProgram(text.encode(), b"kernels.cu", 0, [], [])
    _check(nvrtc, error, "create a program")
    try:
        (error,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if int(error):
            raise CompileError(f"NVRTC for {arch} failed:\n{_log(nvrtc, program)}")
        error, size = nvrtc.nvrtcGetCUBINSize(program)
        _check(nvrtc, error, "tell the size of a cubin")
        cubin = bytearray(size)
        (error,) = nvrtc.nvrtcGetCUBIN(program, cubin)
        _check(nvrtc, error, "hand over a cubin")
        return bytes(cubin), _used(_log(nvrtc, program))
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def kept_cubin(text: str, arch: str, contract: bool, anew: bool = False) -> bytes:
    """The cubin, from disk where it is there; `anew`: made in any case."""
    nvrtc = library()
    _, *version = nvrtc.nvrtcVersion()
    parts = (text, arch, str(contract), str(version))
    find = renewed if anew else binary
    return find("cuda", parts, lambda: compile_cubin(text, arch, contract))


def _used(log: str) -> dict[str, Usage]:
    result = _USAGE.findall(log)
    return {name: Usage(int(used), int(spilled)) for name, spilled, used in result}


def _log(nvrtc: Any, program: Any) -> str:
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    text = bytearray(size)
    nvrtc.nvrtcGetProgramLog(program, text)
    return text.rstrip(b"\0").decode(errors="replace")


def _check(nvrtc: Any, error: Any, what: str) -> None:
    if int(error):
        _, text = nvrtc.nvrtcGetErrorString(error)
        raise DeviceError(f"NVRTC could not {what}: {text.decode()}")
