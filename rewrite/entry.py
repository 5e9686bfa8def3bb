"""Where the command `rewrite` starts: Ctrl-C at any time ends it with status 130.

Imports take a second, and clean-up at the end some more.  An interrupt there would end
in a traceback from wherever it happened to come; in between it is a `KeyboardInterrupt`
like any other, which what runs may catch.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False  # without `typing`, whose import could be interrupted here
if TYPE_CHECKING:
    from sys import UnraisableHookArgs
    from types import FrameType

INTERRUPTED = 128 + signal.SIGINT  # as shells have it


def main() -> None:
    mine = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if mine:  # else it is ignored, as under nohup, or in the hands of the caller
        signal.signal(signal.SIGINT, _end)
        sys.unraisablehook = _unraisable
    from .commands.cli import main as run  # the slow part

    if not mine:
        run()
        return
    try:
        signal.signal(signal.SIGINT, _interrupt)
        run()
    except KeyboardInterrupt:
        _end()
    except SystemExit as e:
        signal.signal(signal.SIGINT, _end)
        if e.code == INTERRUPTED:
            _say()
        raise
    finally:
        signal.signal(signal.SIGINT, _end)


def _interrupt(signum: int, frame: FrameType | None) -> None:
    """The first may be caught, and what it ends is cleaned up; another ends that."""
    signal.signal(signal.SIGINT, _end)
    raise KeyboardInterrupt


def _end(signum: int = 0, frame: FrameType | None = None) -> None:
    """Ends the process here: workers end with it, since their pipes do."""
    _say()
    os._exit(INTERRUPTED)


def _say() -> None:
    os.write(2, b"interrupted\n")


def _unraisable(found: UnraisableHookArgs) -> None:
    """An interrupt that came where no exception can pass, as in a destructor."""
    if isinstance(found.exc_value, KeyboardInterrupt):
        _end()
    sys.__unraisablehook__(found)
