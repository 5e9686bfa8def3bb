"""Memory of a device in a circle of references is alive when it returns to its pool.

A collection of the circle finalised the device's own object, which the pool then gave
out again: on wgpu, `write_buffer` of a buffer that was released.
"""

from __future__ import annotations

import gc
from typing import Any

from rewrite.backends.memory import Pool


class Raw:
    dead = False

    def __del__(self) -> None:
        self.dead = True


def test_what_returns_is_alive() -> None:
    pool = Pool[Raw]("test", lambda _: Raw(), lambda _: None)
    circle: list[Any] = [pool.take(8)]
    circle.append(circle)
    del circle
    gc.collect()
    assert pool.usage.used == 0 and pool.usage.idle > 0
    assert not pool.take(8).raw.dead
