"""Arrays of a call are told from what only looks like them, and aimed at."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import rewrite
from rewrite.backends.native.aiming import Aim, Place, library
from rewrite.backends.native.toolchain import find_toolchain

F32 = np.dtype(np.float32)


def aim(*places: Place) -> tuple[Any, Any]:
    made = library(find_toolchain())
    assert made is not None
    table = (ctypes.c_void_p * 4)()
    return Aim(made, table, places), table


def twice(x: Any) -> Any:
    return x * 2


def address(a: Any) -> int:
    return a.__array_interface__["data"][0]


def test_addresses_stand_where_they_are_told_to() -> None:
    x, y = np.zeros((2, 3), F32), np.zeros(5, np.int64)
    aims, table = aim(Place(F32, (2, 3), (3, 0)), Place(y.dtype, (5,), (1,)))
    assert aims.at((x, y))
    assert list(table) == [address(x), address(y), None, address(x)]


def test_what_may_only_be_read_is_an_input() -> None:
    x = np.zeros((2, 3), F32)
    x.setflags(write=False)
    aims, table = aim(Place(F32, (2, 3), (0,)))
    assert aims.at((x,)) and table[0] == address(x)


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((2, 3), np.int32), np.zeros((2, 3), ">f4"), np.zeros((3, 2), F32),
        np.zeros(6, F32), np.zeros((1, 2, 3), F32), np.zeros((3, 2), F32).T,
        np.zeros((2, 6), F32)[:, ::2], np.zeros((2, 3), F32)[::-1],
        np.zeros((2, 3), F32).view(np.recarray), np.ma.zeros((2, 3), F32),
        np.frombuffer(bytes(25), np.uint8)[1:].view(F32).reshape(2, 3),
        np.float32(1), [0.0] * 6, None, "array",
    ],
    ids=range(15),
)  # fmt: skip
def test_other_things_are_refused(wrong: Any) -> None:
    aims, table = aim(Place(F32, (2, 3), (0,)))
    assert not aims.at((wrong,))
    assert table[0] is None


def test_a_call_takes_arrays_of_any_layout() -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    made = rewrite.optimize(twice, x, device="c", fallback=False)
    frozen = x.copy()
    frozen.setflags(write=False)
    bytewise = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(F32).reshape(3, 4)
    for given in (x, frozen, x.T.copy().T, x[::-1], bytewise, x.tolist()):
        if isinstance(given, list):
            given = np.array(given, F32)
        np.testing.assert_array_equal(made(given), given * 2)


CALLS = """
import sys
import numpy as np
import rewrite

x = np.ones((4, 4), np.float32)
fast = rewrite.jit(lambda x: x + 1, device="c", fallback=False)
fast(x), fast(x)
seen = []
sys.addaudithook(lambda event, _: seen.append(event))
fast(x)
print(*seen)
"""


def test_a_call_raises_no_event_that_others_listen_to() -> None:
    """Packages add hooks (filelock does, which jax and torch import): each event of a
    call takes as long as a tenth of the call."""
    done = subprocess.run(
        [sys.executable, "-c", CALLS], capture_output=True, text=True, check=True
    )
    assert not done.stdout.strip(), done.stdout
