"""Measured kernel times, kept between processes, and the cost model that knows them.

A file of JSON lines for each kind of device, in the cache beside compiled code.  The
last line about a kernel counts; lines that are no measurement are passed over.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any, cast

from rewrite.backends.store import digest as digest_of
from rewrite.backends.store import root
from rewrite.backends.trust import is_trusted
from rewrite.egraph.ir.files import check_plain, open_plain
from rewrite.extract.schedule.kernel import Cost, Kernel, KernelCost
from rewrite.lower.choice import digest
from rewrite.lower.device import Device

FORMAT = 1  # of digests; to be raised where lowering makes other code of a kernel


class MeasuredCost:
    """Seconds as measured where a kernel was, else as predicted; not scaled.

    The parts of a cost stay those of the prediction.
    """

    def __init__(self, predicted: KernelCost, seconds: Mapping[str, float]) -> None:
        self.predicted, self.seconds = predicted, seconds
        self.memo: dict[Kernel, Cost | None] = {}

    def __call__(self, kernel: Kernel) -> Cost | None:
        if kernel not in self.memo:
            self.memo[kernel] = self._known(kernel)
        return self.memo[kernel]

    def _known(self, kernel: Kernel) -> Cost | None:
        cost = self.predicted(kernel)
        seconds = self.seconds.get(digest(kernel))
        if cost is None or seconds is None:
            return cost
        return cost._replace(seconds=seconds)


def database(device: Device, strict: bool) -> Path | None:
    """The file of a device as it is: its compiler, threads and vectors count.

    None where the cache is switched off.
    """
    folder = root()
    if folder is None or not is_trusted(folder / "measured"):
        return None
    caps = device.caps()
    facts = (
        FORMAT, device.name, device.probe().detail, caps.threads, caps.vector_bytes,
        caps.shared_bytes, strict,
    )  # fmt: skip
    return folder / "measured" / f"{device.name}-{digest_of(repr(facts))[:16]}.jsonl"


def recall(path: Path | None) -> dict[str, float]:
    """Seconds by digest; nothing where there is no file to be read."""
    if path is None:
        return {}
    try:
        with open_plain(path) as file:
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return {}
    return dict(result for line in lines if (result := _entry(line)) is not None)


def _entry(line: str) -> tuple[str, float] | None:
    try:
        read: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(read, dict):
        return None
    entry = cast(dict[str, Any], read)
    key, seconds = entry.get("digest"), entry.get("seconds")
    if not isinstance(key, str) or not isinstance(seconds, float):
        return None
    return (key, seconds) if isfinite(seconds) and seconds > 0 else None


def learn(path: Path, seconds: Mapping[str, float]) -> None:
    """Adds measurements; written at once, so that processes do not mix their lines.

    The first begins a line, since the last writer may have been stopped within one.
    """
    lines = (json.dumps({"digest": k, "seconds": s}) for k, s in seconds.items())
    path.parent.mkdir(parents=True, exist_ok=True)
    check_plain(path)
    with path.open("ab", buffering=0) as file:
        file.write("\n".join(("", *lines, "")).encode())


__all__ = ["MeasuredCost", "database", "digest", "learn", "recall"]
