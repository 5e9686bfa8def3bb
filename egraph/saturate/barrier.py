"""What keeps the engine's worker from everything but its pipes.

The engine's language has commands that read and write files and that run Python.  Rule
files are checked so that none gets there; should one, the system refuses it.  Loaded by
`worker.py` from its path, once all modules are in: nothing can be opened afterwards.

Each layer stands alone.  What a system lacks is left out, and why is kept.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Callable

try:
    import resource  # now: Landlock refuses imports
except ImportError:  # not a POSIX system
    resource = None

# Numbers of the Linux ABI, the same on all of its architectures that Python has wheels
# for (linux/prctl.h, linux/landlock.h, asm-generic/unistd.h).
_PR_SET_NO_NEW_PRIVS = 38
_LANDLOCK_CREATE_RULESET, _LANDLOCK_RESTRICT_SELF = 444, 446
_LANDLOCK_VERSION = 1  # flag of create_ruleset: say which version there is


def close_off() -> dict[str, str]:
    """Puts up every layer: its name, and why it is not there, or "" where it is."""
    layers: dict[str, Callable[[], None]] = {
        "folder": lambda: os.chdir("/"),
        "no-new-privileges": _no_new_privileges,
        "landlock": _landlock,
        "no-writing": lambda: _limit("RLIMIT_FSIZE"),
        "no-core": lambda: _limit("RLIMIT_CORE"),
        "no-processes": lambda: _limit("RLIMIT_NPROC"),
        # Descriptors that are open stay so; no other gets a number.  Last: Landlock
        # needs one.
        "no-opening": lambda: _limit("RLIMIT_NOFILE"),
    }
    missing: dict[str, str] = {}
    for name, put_up in layers.items():
        try:
            put_up()
        except (OSError, ValueError, AttributeError) as e:
            missing[name] = f"{type(e).__name__}: {e}"
        else:
            missing[name] = ""
    return missing


def _limit(name: str) -> None:
    """Sets a limit to 0 for good.  Python ignores SIGXFSZ, so that a write beyond the
    limit is an error of the one who writes."""
    if resource is None:
        raise OSError(f"{sys.platform} has no such limits")
    resource.setrlimit(getattr(resource, name), (0, 0))


def _no_new_privileges() -> None:
    """No program that is run gains rights; Landlock asks for it."""
    _linux()
    _checked(ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


def _landlock() -> None:
    """Refuses every access to files that this kernel's Landlock knows, and the network:
    all of it is handled, and no rule allows any."""
    _linux()
    call = ctypes.CDLL(None, use_errno=True).syscall
    version = _checked(call(_LANDLOCK_CREATE_RULESET, None, 0, _LANDLOCK_VERSION))
    # By version: 13 rights on files, then REFER, TRUNCATE; TCP; IOCTL_DEV; signals.
    files = {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)
    handled = struct.pack("QQQ", (1 << files) - 1, 0b11, 0b11)
    size = 8 if version < 4 else 16 if version < 6 else 24
    ruleset = _checked(call(_LANDLOCK_CREATE_RULESET, handled, size, 0))
    try:
        _checked(call(_LANDLOCK_RESTRICT_SELF, ruleset, 0))
    finally:
        os.close(ruleset)


def _linux() -> None:
    if sys.platform != "linux":
        raise OSError(f"{sys.platform} has none")


def _checked(answer: int) -> int:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return answer
