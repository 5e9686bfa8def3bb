"""Device memory is pooled, binaries are kept, and late errors have names."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rewrite.backends import opencl, store
from rewrite.backends.devices import CLASSES, device
from rewrite.backends.nvidia.nvrtc import emit, kept_cubin, units
from rewrite.backends.pending import late_error
from rewrite.egraph.ir.dtypes import F32
from rewrite.lower.device import CompileError, Device, DeviceError, KernelSource
from rewrite.lower.loops import Op
from tests.backends.harness import elementwise, open_device, run

HELD = ("opencl", "wgpu", "cuda")  # memory of their own


def double(name: str = "double") -> Any:
    return elementwise(name, 8, [F32], F32, lambda a: Op("add", (a, a), F32))


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setenv("REWRITE_CACHE", str(tmp_path))
    return tmp_path


# ---- memory ----


@pytest.mark.parametrize("name", HELD)
def test_freed_memory_is_given_out_again(name: str) -> None:
    dev: Any = open_device(name)
    first = dev.alloc(5000)
    used = dev.pool.usage.used
    dev.free(first)
    again = dev.alloc(5100)  # of the same class
    assert again.owner.raw is first.owner.raw
    assert dev.pool.usage.used == used
    part = dev.view(again, 1024, 64)
    dev.copy_in(part, np.arange(16, dtype=np.float32))
    del again  # the part holds the block
    other = dev.alloc(5100)
    dev.copy_in(other, np.zeros(1275, np.float32))
    got = np.empty(16, np.float32)
    dev.copy_out(part, got)
    np.testing.assert_array_equal(got, np.arange(16))


@pytest.mark.parametrize("name", [n for n in CLASSES if n != "numpy"])
def test_what_no_device_has_is_refused_in_words(name: str) -> None:
    dev = open_device(name)
    with pytest.raises(DeviceError, match=f"{1 << 55}"):
        dev.alloc(1 << 55)


@pytest.mark.parametrize("name", CLASSES)
def test_a_copy_lands_in_arrays_of_any_order(name: str) -> None:
    dev = open_device(name)
    value = np.arange(12, dtype=np.float32).reshape(3, 4)
    buffer = dev.alloc(value.nbytes)
    dev.copy_in(buffer, value.T)  # its elements in their order, wherever they lie
    columns = np.zeros((3, 4), np.float32).T
    dev.copy_out(buffer, columns)
    np.testing.assert_array_equal(columns, value.T)
    one = np.zeros((), np.float32)
    dev.copy_out(buffer, one)
    assert one == 0


# ---- binaries ----


def test_opencl_binaries_are_kept_and_load(kept, monkeypatch) -> None:
    dev: Any = open_device("opencl")
    x = np.arange(8, dtype=np.float32)
    run(dev, double(), x, x)
    (path,) = (kept / "opencl").iterdir()

    def fail(*_: Any) -> None:
        raise AssertionError("it was compiled again")

    with monkeypatch.context() as patch:
        patch.setattr(opencl.OpenCLDevice, "_compiled", fail)
        np.testing.assert_array_equal(run(dev, double(), x, x)[0], 2 * x)
    path.write_bytes(path.read_bytes()[:-1])  # damaged
    np.testing.assert_array_equal(run(dev, double(), x, x)[0], 2 * x)
    assert store.store("opencl").find(path.name) == path


def test_opencl_binaries_that_do_not_load_are_made_anew(kept, caplog) -> None:
    dev: Any = open_device("opencl")
    x = np.arange(8, dtype=np.float32)
    source = dev.emit([double()])
    good = dev.binary(source, True)
    (path,) = (kept / "opencl").iterdir()
    store.store("opencl").write(path.name, b"whole, and no program")
    with caplog.at_level("INFO", "rewrite"):
        np.testing.assert_array_equal(run(dev, double(), x, x)[0], 2 * x)
    assert "does not load" in caplog.text
    assert len(dev.binary(source, True)) >= len(good) // 2


@pytest.mark.parametrize("name", ["c", "opencl"])
def test_contraction_and_text_decide_a_binary(name: str, kept) -> None:
    dev: Device = open_device(name)
    source, other = dev.emit([double()]), dev.emit([double("other")])
    for s, contract in ((source, True), (source, False), (other, True), (source, True)):
        assert dev.binary(s, contract)
    kinds = [p.name for p in (kept / name).iterdir()]
    assert len(kinds) == 3


def test_text_that_does_not_compile_leaves_nothing(kept) -> None:
    dev = open_device("opencl")
    with pytest.raises(CompileError, match="did not build"):
        dev.binary(KernelSource("nonsense(;", {}), True)
    assert not (kept / "opencl").exists()


def test_cubins_are_kept(kept, monkeypatch) -> None:
    text = emit([double()]).text
    made = kept_cubin(text, "sm_80", True)
    assert made.startswith(b"\x7fELF")
    monkeypatch.setattr("rewrite.backends.nvidia.nvrtc.compile_cubin", None)
    assert kept_cubin(text, "sm_80", True) == made
    assert len(list((kept / "cuda").iterdir())) == 1


def test_functions_are_compiled_apart_and_kept_for_other_programs(kept) -> None:
    first, again = emit([double("f"), double("g")]), emit([double("g"), double("h")])
    made, other = units(first), units(again)
    assert [list(u.launches) for u in made] == [["f"], ["g"]]
    assert {k: v for u in made for k, v in u.launches.items()} == first.launches
    assert made[1] == other[0]
    for u in (*made, *other):
        assert kept_cubin(u.text, "sm_80", True).startswith(b"\x7fELF")
    assert len(list((kept / "cuda").iterdir())) == 3


def test_what_has_no_binary_says_so() -> None:
    for name in ("numpy", "wgpu"):
        dev = device(name)
        if dev.probe().ok:
            assert dev.binary(dev.emit([double()]), True) is None


# ---- errors ----


def test_a_late_error_names_the_kernels() -> None:
    said = str(late_error("gpu", "illegal address", ["k0", "k1", "k0"]))
    assert said.startswith("gpu: illegal address, in one of the kernels launched")
    assert "k0, k1;" in said
    assert "in k1;" in str(late_error("gpu", "stopped", ["k0", "k1"], ["k1"]))
    assert "no kernel was under way" in str(late_error("gpu", "lost", []))


def test_a_failed_event_surfaces_at_sync() -> None:
    dev: Any = open_device("opencl")
    module: Any = dev.compile([double()])
    x = np.ones(8, np.float32)
    buffers = [dev.alloc(32), dev.alloc(32)]
    dev.copy_in(buffers[0], x)
    module.launch("double", buffers)
    dev._events.append(("k7_0", SimpleNamespace(command_execution_status=-5)))
    with pytest.raises(DeviceError, match="the driver answers with -5, in k7_0;"):
        dev.sync()
    dev.sync()  # it is said once
    dev.copy_out(buffers[1], x)
    np.testing.assert_array_equal(x, 2)


def test_a_lost_wgpu_device_surfaces_at_the_next_read(monkeypatch) -> None:
    dev: Any = open_device("wgpu")
    module: Any = dev.compile([double()])
    buffers = [dev.alloc(32), dev.alloc(32)]
    module.launch("double", buffers)

    def lost(*_: Any) -> None:
        raise dev._wgpu.GPUInternalError("device lost")

    with monkeypatch.context() as patch:
        patch.setattr(type(dev._device.queue), "read_buffer", lost)
        with pytest.raises(DeviceError, match=r"device lost.*double_0"):
            dev.sync()
    dev.sync()
