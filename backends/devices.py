"""The devices by name.  Packages that a device needs are imported when it is used."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from ..egraph.ir.dtypes import ALL
from ..lower.device import Device, DeviceError, Probe
from .limits import support
from .native.pool import thread_count

CLASSES = {
    "cuda": ("cuda", "CudaDevice"),
    "c": ("c", "CDevice"),
    "numpy": ("interpreter", "NumpyDevice"),
    "opencl": ("opencl", "OpenCLDevice"),
    "wgpu": ("wgpu", "WgpuDevice"),
}
LIBRARIES = {"c": "blas", "cuda": "cublas"}  # modules with a function of that name
# What lowering and programs ask of any device (`lower/device.py`).
ASKED = ("name", "probe", "caps", "alloc", "emit", "build")
DEFAULTS = ("cuda", "c", "numpy")  # the first whose probe passes


@cache
def device(name: str) -> Device:
    """The device called `name`, probed or not."""
    if name not in CLASSES:
        raise DeviceError(f"unknown device {name!r}; known: {', '.join(CLASSES)}")
    module, cls = CLASSES[name]
    made: Device = getattr(import_module(f".{module}", __package__), cls)()
    return made


def all_devices() -> tuple[Device, ...]:
    """Every device, whether or not it works here."""
    return tuple(device(name) for name in CLASSES)


def default_device() -> Device:
    thread_count()  # a setting that is wrong is said, not passed over
    reasons: list[str] = []
    for name in DEFAULTS:
        result = device(name)
        probe = result.probe()
        if probe.ok:
            return result
        reasons.append(f"{name}: {probe.detail}")
    raise DeviceError(f"no device works ({'; '.join(reasons)})")


def pick_device(found: str | Device | None) -> Device:
    """The device meant: by name, as it is if its probe says yes, or the default one.
    One by name says why it cannot be used when its `caps` are asked for."""
    if found is None:
        return default_device()
    if isinstance(found, str):
        return device(found)
    check_device(found)
    probe = found.probe()
    if not probe.ok:
        raise DeviceError(f"the device {found.name!r} cannot be used here, says its "
                          f"probe: {probe.detail}")  # fmt: skip
    return found


def check_device(found: object) -> None:
    """DeviceError for what names no device and is none; nothing is probed."""
    if found is None:
        return
    if isinstance(found, str):
        device(found)
        return
    lacks = [m for m in ASKED if not hasattr(found, m)]
    if isinstance(found, type) or lacks:
        why = "a class; make one of it" if isinstance(found, type) else (
            f"it has no {', '.join(lacks)}; docs/backends.md says what a device has"
        )  # fmt: skip
        raise DeviceError(
            f"device={found!r}: one of {', '.join(map(repr, CLASSES))} or a device "
            f"was expected ({why})"
        )


def matrix() -> list[list[str]]:
    """Names of the devices that are there, and for each dtype how they have it."""
    result = [d for d in all_devices() if d.probe().ok]
    caps = [d.caps() for d in result]
    lines = [[str(t), *(support(c, t) for c in caps)] for t in ALL]
    return [["dtype", *(d.name for d in result)], *lines]


def library(name: str) -> Probe | None:
    """Whether the device has a library of products; None: its kernels can call none."""
    if name not in LIBRARIES:
        return None
    result = getattr(
        import_module(f".{LIBRARIES[name]}", __package__), LIBRARIES[name]
    )()
    return Probe(result.there, result.detail)


def describe() -> list[tuple[str, Probe]]:
    """Each device's name and whether it is there, or why not."""
    return [(d.name, d.probe()) for d in all_devices()]
