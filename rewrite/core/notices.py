"""Warnings at the user's line."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path

log = logging.getLogger("rewrite")


def warn(message: str) -> None:
    """A warning at the user's line, whatever of this package is in between."""
    log.info(message)
    here = (str(Path(__file__).parents[1]),)
    warnings.warn(f"rewrite: {message}", RuntimeWarning, skip_file_prefixes=here)
