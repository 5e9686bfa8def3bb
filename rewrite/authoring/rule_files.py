"""Which rule files take part where some are asked for, and under which names.

Files of a checkout's `rules/` stand in for the bundled ones; others come beside them.
"""

from __future__ import annotations

import importlib.resources
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path

from rewrite.egraph.rules.rulefile import BUNDLED, RuleFileError

CORE = "ir.egg"


@dataclass(frozen=True)
class Place:
    """A rule file that takes part: where it is, and what messages call it."""

    at: Traversable
    shown: str
    asked: bool  # it is one of those to look at
    bundled: bool  # it is part of the library, or stands in for one that is

    @property
    def may_fail(self) -> bool:
        """Whether others are looked at all the same where this one cannot be read: one
        that was asked for, other than what all rules are about."""
        return self.asked and self.at.name != CORE


def places(paths: Sequence[Path]) -> tuple[Place, ...]:
    """The library, then other files, each once; without paths, the library is asked
    for."""
    given: dict[Path, str] = {}
    for file in (f for p in paths for f in _files(p)):
        given.setdefault(file.resolve(), str(file))
    home = next((f.parent for f in given if is_library(f)), None)
    library = home or importlib.resources.files("rewrite.rules")
    out: list[Place] = []
    for name in (CORE, *BUNDLED):
        at = library.joinpath(name)
        if home is None or at.is_file():
            mine = isinstance(at, Path) and home is not None and at in given
            shown = given[at] if mine and isinstance(at, Path) else name
            out.append(Place(at, shown, mine or not paths, True))
    for path, shown in given.items():
        if path.parent != home or not is_library(path):
            out.append(Place(path, shown, True, False))
    return tuple(out)


def _files(path: Path) -> list[Path]:
    """A file, or the rule files of a folder."""
    if not path.is_dir():
        return [path]
    result = sorted(f for f in path.glob("*.egg") if not f.is_dir())
    if not result:
        raise RuleFileError(f"{path}: no .egg file in this folder; name a rule file")
    return result


def is_library(path: Path) -> bool:
    """Whether a file is one of those that come with the terms they are about."""
    return path.name in (CORE, *BUNDLED) and (path.parent / CORE).is_file()
