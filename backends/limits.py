"""What a device refuses before any text is made, in words that say what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from ..egraph.ir.dtypes import DType, compute
from ..lower.device import Caps, DeviceError, Grid, Products, Start
from ..lower.emit.stages import dtypes_of
from ..lower.loops import Function


def check_functions(caps: Caps, functions: Sequence[Function]) -> None:
    for f in functions:
        for dtype in sorted(dtypes_of(f) - caps.dtypes, key=str):
            raise DeviceError(lacks(caps, f.name, dtype))
        count = len(f.params) + len(f.scratch)
        if count > caps.max_buffers:
            raise DeviceError(
                f"{caps.name}: {f.name!r} has {count} buffers, the device binds at "
                f"most {caps.max_buffers} at once; lower it in parts"
            )
        for p in (*f.params, *f.scratch):
            nbytes = p.size * p.dtype.itemsize
            if nbytes > caps.max_buffer:
                raise DeviceError(
                    f"{caps.name}: buffer {p.name!r} of {f.name!r} has {nbytes} bytes, "
                    f"the device binds at most {caps.max_buffer}; split the tensor or "
                    "choose another device"
                )


def support(caps: Caps, dtype: DType) -> str:
    """How a device has a dtype: "yes", "as f32" (stored so, computed in f32), "no"."""
    if dtype not in caps.dtypes:
        return "no"
    return "yes" if compute(dtype) is dtype else f"as {compute(dtype)}"


def lacks(caps: Caps, name: str, dtype: DType) -> str:
    have = ", ".join(sorted(map(str, caps.dtypes)))
    return (
        f"{caps.name} has no {dtype}, which {name!r} uses; cast to one of {have}, or "
        "choose another device"
    )


def check_launches(
    caps: Caps, launches: Mapping[str, Sequence[Start]]
) -> dict[str, tuple[Grid, ...]]:
    """The kernels of each function, if the device takes them."""
    if not caps.library and any(isinstance(x, Products) for x in _every(launches)):
        raise DeviceError(f"{caps.name} has no library of products; lower without one")
    for launch in (x for x in _every(launches) if isinstance(x, Grid)):
        if launch.threads > caps.max_threads:
            raise DeviceError(
                f"{caps.name}: {launch.name} wants groups of {launch.threads} threads, "
                f"the device has at most {caps.max_threads}; lower with fewer"
            )
        if launch.shared_bytes > caps.shared_bytes:
            raise DeviceError(
                f"{caps.name}: {launch.name} shares {launch.shared_bytes} bytes, "
                f"the device has {caps.shared_bytes}; lower with smaller tiles"
            )
    return {
        name: tuple(x for x in each if isinstance(x, Grid))
        for name, each in launches.items()
    }


def _every(launches: Mapping[str, Sequence[Start]]) -> Iterator[Start]:
    return chain.from_iterable(launches.values())


def check_count(function: Function, buffers: Sequence[object]) -> None:
    if len(buffers) != len(function.params):
        raise DeviceError(
            f"function {function.name!r} takes {len(function.params)} buffers, "
            f"found {len(buffers)}"
        )
