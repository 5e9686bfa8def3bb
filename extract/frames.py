"""CPython holds the frames of calls in chunks of 16 KiB, which it maps as calls reach
into them and unmaps as they return.  A loop whose calls happen to cross the end of a
chunk does so each time: by how deep its caller stood, a plan took twice as long."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

ROOM = 1 << 16  # words; a chunk has a power of two, so twice as many


def in_one_chunk[**P, R](f: Callable[P, R]) -> Callable[P, R]:
    """The function, whose calls find their frames in the other half of the chunk of one
    that claims to be as large as this; what no frame fills is never touched."""

    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        return f(*args, **kwargs)

    called.__code__ = called.__code__.replace(co_stacksize=ROOM)
    return wraps(f)(called)
