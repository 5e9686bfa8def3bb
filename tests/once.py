"""Values that take long and that all workers of one run of tests may share."""

from __future__ import annotations

import fcntl
import os
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

_folder: list[Path] = []  # of this run of tests, set as it starts


def share_in(folders: pytest.TempPathFactory) -> None:
    own = folders.getbasetemp()
    several = "PYTEST_XDIST_WORKER" in os.environ  # a worker's lies in that of the run
    _folder[:] = [own.parent if several else own]


def once[T](name: str, make: Callable[[], T]) -> T:
    """What `make` makes in the first worker that asks; the others wait for it."""
    if not _folder:
        return make()
    path = _folder[0] / f"{name}.pickle"
    if not path.exists():
        with path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                part = path.with_suffix(".part")
                part.write_bytes(pickle.dumps(make()))
                part.replace(path)
    return pickle.loads(path.read_bytes())


def in_turn(names: Sequence[str]) -> Sequence[str]:
    """The names in the order in which this worker makes what they stand for: every
    other one begins at the end, so that two do not wait for each other."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0")
    return names[:: -1 if int(worker.removeprefix("gw")) % 2 else 1]
