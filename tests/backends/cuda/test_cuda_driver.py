"""The cuda device on a driver that stands in for pycuda's, with the host's memory."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rewrite.backends.cuda import CudaDevice
from rewrite.lower.device import DeviceError, KernelSource


class Error(Exception):
    pass


class OutOfMemory(Error):
    pass


class Allocation:
    def __init__(self, nbytes: int) -> None:
        self.memory = ctypes.create_string_buffer(nbytes)
        self.freed = 0

    def __int__(self) -> int:
        return ctypes.addressof(self.memory)

    def free(self) -> None:
        self.freed += 1


class Driver:
    """So many bytes of memory; `fault` is what the next wait raises."""

    Error, MemoryError = Error, OutOfMemory

    def __init__(self, room: int) -> None:
        self.room, self.fault = room, ""
        self.made: list[Allocation] = []
        self.loaded: list[bytes] = []
        self.refused = b""
        here = SimpleNamespace()  # the first thread's
        self.Context = SimpleNamespace(synchronize=self.wait, get_current=lambda: here)

    def mem_alloc(self, nbytes: int) -> Allocation:
        held = sum(len(a.memory) for a in self.made if not a.freed)
        if held + nbytes > self.room:
            raise OutOfMemory("cuMemAlloc failed: out of memory")
        self.made.append(Allocation(nbytes))
        return self.made[-1]

    def memcpy_htod(self, address: int, data: np.ndarray) -> None:
        ctypes.memmove(address, data.ctypes.data, data.nbytes)

    def memcpy_dtoh(self, data: np.ndarray, address: int) -> None:
        self.wait()
        ctypes.memmove(data.ctypes.data, address, data.nbytes)

    def wait(self) -> None:
        if self.fault:
            raise Error(self.fault)

    def module_from_buffer(self, cubin: bytes) -> object:
        if cubin == self.refused:
            raise Error("cuModuleLoadDataEx failed: no kernel image")
        self.loaded.append(cubin)
        return object()


@pytest.fixture
def dev() -> Any:
    made = CudaDevice()
    made.__dict__["driver"] = Driver(1 << 20)
    yield made
    made.pool.empty()


def test_memory_is_pooled_and_copies_land(dev: Any) -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    first = dev.alloc(x.nbytes)
    dev.copy_in(first, x)
    part = dev.view(first, 16, 16)
    got = np.zeros(4, np.float32)
    dev.copy_out(part, got)
    np.testing.assert_array_equal(got, x[1])
    columns = np.zeros((3, 4), np.float32).T
    dev.copy_out(first, columns)
    np.testing.assert_array_equal(columns, x.reshape(4, 3))
    with pytest.raises(DeviceError, match="view of bytes 40 to 56 in 48"):
        dev.view(first, 40, 16)
    dev.free(first)
    assert dev.alloc(40).address == first.address
    assert len(dev.driver.made) == 1


def test_a_view_keeps_the_memory(dev: Any) -> None:
    first = dev.alloc(1000)
    part = dev.view(first, 256, 8)
    address = first.address
    del first
    assert dev.alloc(1000).address != address
    del part
    assert dev.pool.usage.used == 0


def test_no_memory_says_what_is_in_use(dev: Any) -> None:
    held, idle = dev.alloc(1 << 19), dev.alloc(1 << 18)
    dev.free(idle)
    more = dev.alloc(1 << 19)  # of another class: what idles goes back first
    assert dev.driver.made[1].freed == 1
    with pytest.raises(
        DeviceError, match=f"cuda: no memory for 4096 bytes while {1 << 20} are in use"
    ):
        dev.alloc(4096)
    del held, more


def test_late_errors_name_what_was_launched(dev: Any) -> None:
    dev.launched.extend(["k0_0", "k1_0"])
    dev.driver.fault = "an illegal memory access was encountered"
    with pytest.raises(DeviceError, match=r"illegal memory access.*k0_0, k1_0;"):
        dev.sync()
    with pytest.raises(DeviceError, match="no kernel was under way"):
        dev.copy_out(dev.alloc(16), np.zeros(4, np.float32))
    dev.driver.fault = ""
    dev.sync()


def test_a_cubin_that_does_not_load_is_made_anew(
    dev: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    monkeypatch.setenv("REWRITE_CACHE", str(tmp_path))
    dev.__dict__["arch"] = "sm_80"
    cubins = iter([b"stale", b"fresh"])
    monkeypatch.setattr(
        "rewrite.backends.nvidia.nvrtc.compile_cubin", lambda *_: next(cubins)
    )
    source = KernelSource("", {})
    assert dev.binary(source, True) == b"stale"
    dev.driver.refused = b"stale"
    assert dev._loaded(source, True, b"stale")[1] == b"fresh"
    assert dev.driver.loaded == [b"fresh"]
    assert dev.binary(source, True) == b"fresh"


# clock in kHz and width in bits of an H100, and of a driver that does not tell
@pytest.mark.parametrize(
    ("clock", "width", "rates"),
    [(2619000, 5120, {"bandwidth": pytest.approx(2.933e12, rel=1e-3)}), (0, 5120, {})],
)
def test_memory_is_priced_as_fast_as_it_says(
    clock: int, width: int, rates: dict[str, float]
) -> None:
    made = CudaDevice()
    names = SimpleNamespace(MEMORY_CLOCK_RATE=0, GLOBAL_MEMORY_BUS_WIDTH=1)
    made.__dict__["driver"] = SimpleNamespace(device_attribute=names)
    made.__dict__["_gpu"] = SimpleNamespace(get_attribute=(clock, width).__getitem__)
    assert dict(made._memory_rate()) == rates
