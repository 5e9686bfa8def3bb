"""A fork while other threads are in calls: its child calls the same functions.

It waited for locks that no thread of its own was there to open.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import rewrite
from rewrite.backends.forks import Lock

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")

HAMMERED = """\
import os, signal, sys, threading, time
import numpy as np, rewrite
from rewrite import xp

CHILDREN, LIMIT = int(sys.argv[1]), 20
x = np.linspace(-1, 1, 1 << 16, dtype=np.float32).reshape(256, 256)
f = rewrite.jit(lambda x: xp.nn.softmax(x * 2), device="c", fallback=False, effort=0)
g = rewrite.optimize(lambda x: x @ x, x, device="c", fallback=False, effort=0)
want = f(x), g(x)
done = threading.Event()

def hammer():
    while not done.is_set():
        f(x), g(x + 1)

threads = [threading.Thread(target=hammer) for _ in range(3)]
[t.start() for t in threads]
wrong = 0
for n in range(CHILDREN):
    time.sleep(0.003)
    child = os.fork()
    if not child:
        signal.alarm(LIMIT)
        same = [np.array_equal(a, b) for _ in range(3)
                for a, b in zip((f(x), g(x)), want)]
        new = rewrite.jit(lambda x: x + n, device="c", effort=0)(x) if n == 0 else x
        os._exit(not all(same))
    wrong += os.waitpid(child, 0)[1] != 0
done.set()
[t.join() for t in threads]
assert np.array_equal(f(x), want[0])
print(wrong)
"""


def test_children_of_a_busy_process_compute() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", HAMMERED, "20"], capture_output=True,
        text=True, timeout=300, env={**os.environ, "REWRITE_THREADS": "3"},
    )  # fmt: skip
    assert (done.returncode, done.stdout.strip()) == (0, "0"), done.stderr


def in_child(work: object) -> int:
    child = os.fork()
    if not child:
        try:
            work()  # type: ignore[operator]
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_lock_of_another_thread_is_open_in_a_child() -> None:
    lock, held, end = Lock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            end.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()

    def use() -> None:
        with lock, lock:
            pass

    assert in_child(use) == 0
    end.set()
    thread.join()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_lock_of_the_thread_that_forks_stays_held() -> None:
    lock = Lock()
    with lock:
        child = os.fork()
        others: list[bool] = []
        if not child:

            def look() -> None:
                others.append(lock._lock.acquire(blocking=False))

            thread = threading.Thread(target=look)
            thread.start()
            thread.join()
    if not child:
        os._exit(others != [False])
    assert os.waitpid(child, 0)[1] == 0


def interrupted(*_: object) -> Any:
    raise KeyboardInterrupt


def test_a_call_that_was_interrupted_leaves_no_address_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it had moved is moved back by the next, whenever the interrupt came."""
    x = np.ones((8, 8), np.float32)
    made = rewrite.optimize(lambda x, y: x + y, x, x, device="c", fallback=False)
    other = np.ones((8, 16), np.float32)[:, ::2]  # copied: in the program's own buffers
    made(other, other)
    ready = made.compiled.executable()
    assert ready is not None
    assert ready._straight is not None
    (run,) = ready.runs
    place = run.place

    def half(moved: object) -> None:
        place(moved)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    def again() -> None:
        np.testing.assert_array_equal(made(other, other), 2 * x)
        np.testing.assert_array_equal(made(x, x * 2), 3 * x)

    with monkeypatch.context() as m:
        m.setattr(run, "place", half)
        with pytest.raises(KeyboardInterrupt):
            made(x * 5, x * 5, out=np.empty_like(x))
    again()
    with monkeypatch.context() as m:  # with the inputs aimed at, and no result
        m.setattr(made, "_by_place", None)
        m.setattr(ready._straight, "makers", [interrupted])
        with pytest.raises(KeyboardInterrupt):
            made(x * 5, x * 5)
    again()
    with monkeypatch.context() as m:  # with all in place, before the launches
        m.setattr(type(run), "__call__", interrupted)
        with pytest.raises(KeyboardInterrupt):
            made(x * 5, x * 5)
    again()


def test_an_array_that_was_aimed_at_is_not_written_later() -> None:
    """A result belongs to its caller: neither kind of call writes to it again."""
    x = np.ones((8, 8), np.float32)
    made = rewrite.optimize(lambda x, y: x + y, x, x, device="c", fallback=False)
    first = made(x, x)
    other = np.full((8, 16), 3, np.float32)[:, ::2]
    second, third = made(other, other), made(x * 4, x)
    for got, want in ((first, 2), (second, 6), (third, 5)):
        np.testing.assert_array_equal(got, want * x)
