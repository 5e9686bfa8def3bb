"""Planning makes millions of small tuples and hardly a cycle, for which the collector
of cycles looks through all of them again and again."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Generator[None]:
    """Without collections meanwhile, unless who calls has paused them anyway."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
