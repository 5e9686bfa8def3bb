"""Where choices are kept, and those that hold for a device as it is."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from rewrite.backends.store import digest, root
from rewrite.backends.trust import is_trusted
from rewrite.lower.choice import Choices
from rewrite.lower.database import Database
from rewrite.lower.device import Device
from rewrite.lower.lower import NONE

from ..version import VERSION


def folder() -> Path | None:
    """None where the cache is switched off, or strangers may write to it."""
    result = root()
    if result is None or not is_trusted(result / "tuned"):
        return None
    return result / "tuned"


def database(device: Device, strict: bool) -> Database | None:
    """The entries of a device: its driver or compiler, its shape and the machine count,
    and which version lowers."""
    where = _file()
    if where is None:
        return None
    caps = device.caps()
    facts = (
        VERSION, device.name, device.probe().detail, caps.threads,
        caps.vector_bytes, caps.shared_bytes, caps.library, strict, platform.node(),
        platform.machine(),
    )  # fmt: skip
    return Database(where, repr(facts))


def _file() -> Path | None:
    where = folder()
    return where and where / f"tuned-{digest('choices by kernel')[:16]}.sqlite"


def choices_for(device: Device, strict: bool) -> Choices:
    """What has been found faster than what families decide by themselves."""
    where = _file()
    if where is None or not os.path.isfile(where) or device.caps().interprets:
        return NONE
    kept = database(device, strict)
    assert kept is not None
    return {k: e.choice for k, e in kept.read().items() if e.seconds < e.own_seconds}


__all__ = ["choices_for", "database", "folder"]
