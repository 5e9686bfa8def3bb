"""Errors that surface at a sync, in words that name what was launched before it."""

from __future__ import annotations

from collections.abc import Iterable

from ..lower.device import DeviceError

KEPT = 1024  # launches that a device remembers; of more only the latest are named


def late_error(
    device: str, why: object, launched: Iterable[str], failed: Iterable[str] = ()
) -> DeviceError:
    """`launched` since the last sync; `failed` are at fault, where that is known."""
    known, names = tuple(dict.fromkeys(failed)), tuple(dict.fromkeys(launched))
    if not names:
        return DeviceError(f"{device}: {why}; no kernel was under way")
    which = ", ".join(known or names)
    of = "" if known else "one of the kernels launched since the last sync: "
    return DeviceError(
        f"{device}: {why}, in {of}{which}; `code()` prints them, and "
        'device="numpy" computes without'
    )
