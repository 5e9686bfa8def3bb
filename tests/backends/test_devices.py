"""The registry of devices."""

import ctypes
import os

import numpy as np
import pytest

import rewrite
from rewrite.backends import devices
from rewrite.backends.wgpu import WgpuDevice
from rewrite.egraph.ir.dtypes import F32, F64
from rewrite.egraph.ir.graph import Builder
from rewrite.lower.device import DeviceError, Probe
from rewrite.lower.loops import Op

from .harness import elementwise, open_device
from .models import errors, is_right, ran


def test_every_device_says_whether_it_is_there():
    told = dict(devices.describe())
    assert list(told) == [*devices.CLASSES]
    assert all(isinstance(p, Probe) and p.detail for p in told.values())
    assert told["numpy"].ok


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(DeviceError, match="known: cuda, c, numpy"):
        devices.device("abacus")


def test_the_default_is_the_first_that_works(monkeypatch):
    for name, ok in (("cuda", False), ("c", False), ("numpy", True)):
        probe = Probe(ok, name)
        monkeypatch.setattr(type(devices.device(name)), "probe", lambda _, p=probe: p)
    assert devices.default_device().name == "numpy"


def test_a_device_whose_probe_says_no_is_not_used(monkeypatch):
    made = type(devices.device("numpy"))()
    assert devices.pick_device(made) is made
    monkeypatch.setattr(made, "probe", lambda: Probe(False, "unplugged"))
    with pytest.raises(DeviceError, match=r"'numpy' cannot be used .* unplugged"):
        devices.pick_device(made)
    with pytest.raises(DeviceError, match="unplugged"):
        rewrite.optimize(lambda x: x + 1, np.ones(3, np.float32), device=made)


def test_a_missing_driver_is_a_reason(monkeypatch):
    def missing(name: str):
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", missing)
    probe = devices.device("cuda").probe()
    assert not probe.ok and "libcuda.so.1" in probe.detail


def test_a_missing_package_is_a_reason(monkeypatch):
    def missing(name: str):
        raise ImportError(name)

    monkeypatch.setattr("rewrite.backends.wgpu.import_module", missing)
    probe = WgpuDevice().probe()
    assert not probe.ok and "pip install wgpu" in probe.detail


@pytest.mark.parametrize("name", ["opencl", "wgpu"])
def test_a_device_opened_before_a_fork_is_refused(name: str, monkeypatch):
    dev = open_device(name)
    f = elementwise("double", 4, [F32], F32, lambda a: Op("add", (a, a), F32))
    module, x = dev.compile([f]), np.ones(4, np.float32)
    buffers = [dev.alloc(16), dev.alloc(16)]
    uses = (
        lambda: dev.alloc(16),
        lambda: dev.copy_in(buffers[0], x),
        lambda: dev.copy_out(buffers[0], x),
        lambda: module.launch("double", buffers),
        lambda: dev.compile([f]),
        dev.sync,
    )
    child = os.getpid() + 1
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: child)
        for use in uses:
            with pytest.raises(DeviceError, match="before fork: use the spawn start"):
                use()
        probe = dev.probe()
        assert not probe.ok and "spawn" in probe.detail
    dev.sync()


def test_a_dtype_that_a_device_lacks_is_named():
    dev = open_device("wgpu")
    f = elementwise("wide", 4, [F64], F32, lambda a: Op("cast", (a,), F32))
    with pytest.raises(DeviceError, match="wgpu has no f64, which 'wide' uses"):
        dev.compile([f])


@pytest.mark.parametrize("name", ["opencl", "wgpu", "cuda"])
@pytest.mark.parametrize("model", ["lstm_cell"])
def test_a_model_runs_on_every_device(model: str, name: str):
    """All twelve: `python -m tests.backends.models`."""
    open_device(name)
    assert is_right(ran(model, name))


def test_a_wrong_result_is_noticed():
    graph = Builder()
    x = graph.input("x", F32, (4,))
    made = graph.build({"y": graph.un("neg", x)})
    given = {"x": np.ones(4, np.float32)}
    assert is_right(errors(made, {"y": -given["x"]}, given))
    assert not is_right(errors(made, {"y": -given["x"] + 1e-5}, given))
