"""The allocator of the process, set to keep what is freed."""

from __future__ import annotations

import ctypes

TRIM_THRESHOLD, MMAP_MAX, ARENA_MAX = -1, -4, -8  # of mallopt(3)


def keep_memory() -> bool:
    """Freed memory stays with the process, whichever library frees it: fresh results
    then come from a pool, not as pages that the system must clear.  One arena, for what
    a thread of JAX frees would not be found by the next.  To be called before threads
    start; False where the C library has no such switch."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    settings = ((MMAP_MAX, 0), (TRIM_THRESHOLD, -1), (ARENA_MAX, 1))
    return all(mallopt(name, value) for name, value in settings)
