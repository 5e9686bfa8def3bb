"""Compiled kernels leave memory with the last program that uses them.

Each shared object takes several mappings, of which Linux allows a process a number; of
what was compiled for one shape after another none ever went.
"""

from __future__ import annotations

import gc
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rewrite
from rewrite import xp
from rewrite.backends.c import CDevice
from rewrite.backends.native import libraries
from rewrite.backends.native.toolchain import find_toolchain
from rewrite.lower.device import DeviceError

if sys.platform != "linux":
    pytest.skip("mappings are counted as Linux lists them", allow_module_level=True)


def mappings() -> int:
    gc.collect()
    return Path("/proc/self/maps").read_text().count(".so")


def add_one(rows: int) -> Any:
    return rewrite.optimize(
        lambda x: x + 1, np.ones((rows, 4), np.float32), device="c", effort=0,
        fallback=False,
    )  # fmt: skip


def test_programs_of_many_shapes_leave_no_mappings() -> None:
    add_one(100)(np.ones((100, 4), np.float32))
    before = mappings()
    for rows in range(1, 13):
        x = np.ones((rows, 4), np.float32)
        np.testing.assert_array_equal(add_one(rows)(x), x + 1)
    assert mappings() <= before + 5  # of one; 48 were left


def test_no_collection_is_needed() -> None:
    """Nothing refers to a library in a circle: it goes with the last reference."""
    made = add_one(51)
    x = np.ones((51, 4), np.float32)
    made(x)
    ready = made.compiled.executable()
    found = ready.module.library
    gc.collect()
    gc.disable()
    try:
        before = libraries.loaded()
        made.compiled.runner._ready.clear()
        del ready, found
        assert libraries.loaded() == before - 1
    finally:
        gc.enable()


def test_prepared_launches_hold_their_kernels() -> None:
    made = add_one(52)
    launches = made.compiled.executable().runs
    gc.collect()
    before = libraries.loaded()
    del made
    gc.collect()
    assert libraries.loaded() == before
    for run in launches:
        run()


def test_a_thread_may_run_what_others_have_dropped() -> None:
    wrong: list[int] = []

    def work(rows: int) -> None:
        x = np.ones((rows, 1 << 12), np.float32)
        for _ in range(3):
            made = rewrite.optimize(
                lambda x: xp.exp(x) + 1, x, device="c", effort=0, fallback=False
            )
            if not np.allclose(made(x), np.exp(1) + 1):
                wrong.append(rows)

    threads = [threading.Thread(target=work, args=(n,)) for n in (60, 61, 60, 61)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_at_the_limit_of_mappings_an_error_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(libraries, "most", libraries.loaded)
    with pytest.raises(DeviceError, match=r"vm\.max_map_count"):
        find_toolchain().library("int rw_none(void) { return 1; }\n", contract=False)


def test_at_the_limit_of_mappings_functions_still_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert CDevice().probe().ok
    gc.collect()
    monkeypatch.setattr(libraries, "most", libraries.loaded)
    x = np.ones((53, 4), np.float32)
    made = rewrite.optimize(lambda x: x + 1, x, device="c", effort=0)
    with pytest.warns(RuntimeWarning, match="using NumPy"):
        np.testing.assert_array_equal(made(x), x + 1)
