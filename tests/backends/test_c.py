"""The C device: programs, cache, compilers that are missing or fail."""

import gc
import os
import subprocess
import sys
import weakref

import numpy as np
import pytest

from rewrite.backends import store
from rewrite.backends.c import CDevice
from rewrite.backends.native import toolchain
from rewrite.egraph.ir.dtypes import F32
from rewrite.lower.device import CompileError, DeviceError
from rewrite.lower.loops import Op

from .functions import softmax_rows, two_steps
from .harness import elementwise, launch, open_device, run


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """An empty cache of its own, where the pool of threads was not built."""
    open_device("c").compile([double("first")])
    monkeypatch.setenv("REWRITE_CACHE", str(tmp_path))
    return tmp_path / "c"


@pytest.fixture
def fresh_search():
    toolchain.find_toolchain.cache_clear()
    yield
    toolchain.find_toolchain.cache_clear()


def double(name: str):
    return elementwise(name, 8, [F32], F32, lambda a: Op("add", (a, a), F32))


def test_a_program_runs_its_launches_in_order(cached):
    dev = CDevice()
    module = dev.compile([double("double"), double("again")])
    a, b = np.arange(8, dtype=np.float32), np.empty(8, np.float32)
    wrapped = dev.wrap(a), dev.wrap(b)
    program = module.prepare([("double", (0, 1)), ("again", (1, 0))], wrapped)
    program()
    np.testing.assert_array_equal(a, np.arange(8) * 4)
    program()
    np.testing.assert_array_equal(a, np.arange(8) * 16)


def test_results_do_not_change_between_runs(cached):
    dev, case = CDevice(), two_steps()
    out = np.empty(9, np.float32)
    first, second = (run(dev, case.function, *case.reads, out) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_wrong_number_of_buffers_is_refused(cached):
    dev = CDevice()
    with pytest.raises(DeviceError, match="takes 2 buffers, found 1"):
        dev.compile([double("double")]).launch("double", [dev.alloc(32)])


@pytest.mark.parametrize("cut", [0, 100, -1])
def test_a_damaged_cache_file_is_rebuilt(cached, cut: int):
    dev, f = CDevice(), double("double")
    dev.compile([f])
    (path,) = cached.glob("*.so")
    whole = path.read_bytes()
    path.unlink()  # the loaded file stays as it is
    path.write_bytes(whole[:cut])
    (got,) = run(dev, f, np.ones(8, np.float32), np.empty(8, np.float32))
    np.testing.assert_array_equal(got, 2)
    assert store.store("c").find(path.name) == path


def test_two_processes_share_a_cache(cached):
    script = (
        "from tests.backends.test_c import CDevice, double, run, np\n"
        "x = np.ones(8, np.float32)\n"
        "assert (run(CDevice(), double('double'), x, x)[0] == 2).all()\n"
    )
    command = [sys.executable, "-c", script]
    both = [subprocess.Popen(command, env=dict(os.environ)) for _ in range(2)]
    assert [p.wait(60) for p in both] == [0, 0]
    # The function, the pool of threads, and what aims launches at arrays.
    assert len(list(cached.iterdir())) == 3


@pytest.mark.parametrize("contract", [True, False])
def test_products_are_rounded_before_they_are_subtracted(cached, contract: bool):
    x = (1 + np.arange(64) / 4096).astype(np.float32)
    f = elementwise(
        "poly", 64, [F32], F32,
        lambda a: Op("sub", (Op("mul", (a, a), F32), a), F32),
    )  # fmt: skip
    dev, out = CDevice(), np.empty_like(x)
    (got,) = launch(dev, dev.compile([f], contract=contract), f, x, out)
    np.testing.assert_array_equal(got, x * x - x)


@pytest.mark.parametrize("contract", [True, False])
def test_only_an_fma_may_have_one_rounding(cached, contract: bool):
    x = (1 + np.arange(64) / 4096).astype(np.float32)
    f = elementwise(
        "f", 64, [F32], F32, lambda a: Op("fma", (a, a, Op("neg", (a,), F32)), F32)
    )
    dev, out = CDevice(), np.empty_like(x)
    (got,) = launch(dev, dev.compile([f], contract=contract), f, x, out)
    rounded, exact = x * x - x, (x.astype(np.float64) * x - x).astype(np.float32)
    fast = contract and "__FMA__" in dev.toolchain.features.split()
    np.testing.assert_array_equal(got, exact if fast else rounded)


def test_no_compiler_says_what_to_do(monkeypatch, fresh_search):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    probe = CDevice().probe()
    assert not probe.ok and "install gcc or clang" in probe.detail
    with pytest.raises(DeviceError, match="set CC"):
        CDevice().compile([double("double")])


def test_the_compiler_of_cc_is_the_only_one_tried(monkeypatch, fresh_search):
    monkeypatch.setenv("CC", "no-such-compiler")
    probe = CDevice().probe()
    assert not probe.ok and "no-such-compiler" in probe.detail


def test_source_that_fails_carries_the_log(cached):
    with pytest.raises(CompileError, match="nonsense"):
        CDevice().toolchain.build("nonsense(;", contract=True)


def test_one_thread_computes_the_same(cached, monkeypatch):
    monkeypatch.setenv("REWRITE_THREADS", "1")
    dev, case = CDevice(), softmax_rows()
    assert dev.caps().threads == 1
    (got,) = run(dev, case.function, *case.reads, np.empty(37 * 50, np.float32))
    (want,) = case.meaning(*case.reads)
    np.testing.assert_allclose(got, want.ravel(), rtol=1e-5)


FORK = """
import os, signal
from rewrite.backends.native.pool import thread_count
from tests.backends.test_c import CDevice, F32, Op, elementwise, launch, np

def add(name):
    return elementwise(name, 1 << 17, [F32], F32, lambda a: Op("add", (a, a), F32))

dev, f, x = CDevice(), add("before"), np.ones(1 << 17, np.float32)
module = dev.compile([f])
launch(dev, module, f, x, x)  # starts the pool
child = os.fork()
if not child:
    signal.alarm(30)  # what hangs is killed
    later = add("after")
    old = launch(dev, module, f, x, x)[0]
    new = launch(dev, dev.compile([later]), later, x, x)[0]
    os._exit(not ((old == 2).all() and (new == 2).all()))
status = os.waitpid(child, 0)[1]
assert thread_count() == 2 and (launch(dev, module, f, x, x)[0] == 2).all()
raise SystemExit(status != 0)
"""


def test_a_fork_of_a_process_with_threads_computes(cached):
    command = [sys.executable, "-W", "ignore", "-c", FORK]
    env = {**os.environ, "REWRITE_THREADS": "2"}
    assert subprocess.run(command, env=env, timeout=60).returncode == 0


MANY = """
import threading
from tests.backends.test_c import CDevice, F32, Op, elementwise, launch, np

n = 1 << 17
f = elementwise("grow", n, [F32], F32, lambda a: Op("add", (a, Lit(1.0, F32)), F32))
dev = CDevice()
module = dev.compile([f])
wrong = []

def work(seed):
    x = np.arange(n, dtype=np.float32) % 1000 + seed
    for _ in range(200):
        (got,) = launch(dev, module, f, x, np.zeros_like(x))
        if not (got == x + 1).all():
            wrong.append(seed)

callers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
[t.start() for t in callers]
[t.join() for t in callers]
raise SystemExit(bool(wrong))
"""


@pytest.mark.parametrize("threads", ["1", "3", "16"])
def test_callers_share_the_pool(cached, threads):
    command = [sys.executable, "-c", "from rewrite.lower.loops import Lit\n" + MANY]
    env = {**os.environ, "REWRITE_THREADS": threads}
    assert subprocess.run(command, env=env, timeout=120).returncode == 0


def test_thread_count_must_be_a_number(monkeypatch):
    monkeypatch.setenv("REWRITE_THREADS", "many")
    assert "REWRITE_THREADS='many'" in CDevice().probe().detail


def test_prepared_launches_keep_their_buffers(cached):
    """The addresses that they hold are of memory that nobody else may get."""
    dev = CDevice()
    module = dev.compile([double("double")])
    buffers = [dev.alloc(32), dev.alloc(32)]
    owners = [weakref.ref(b.owner) for b in buffers]
    launches = module.prepare([("double", (0, 1))], buffers)
    del buffers
    gc.collect()
    assert all(owner() is not None for owner in owners)
    launches()
    del launches
    gc.collect()
    assert all(owner() is None for owner in owners)
