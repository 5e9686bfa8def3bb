"""Loading rule files: the bundled ones and a user's, as far as a precision allows."""

from __future__ import annotations

import copyreg
import functools
import importlib.resources
import pickle
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

from ..ir import files
from .ruleset import CONTRACTS, Example, Precision, Rule, RuleFile, RuleSet
from .sexpr import RuleFileError
from .tables import composite_rules
from .whitelist import check

BUNDLED = (
    "algebra.egg", "constants.egg", "factors.egg", "functions.egg", "boolean.egg",
    "choices.egg", "casts.egg", "layout.egg", "reshapes.egg", "slices.egg",
    "joins.egg", "windows.egg", "indexing.egg", "fusion.egg", "contraction.egg",
    "chains.egg", "blocks.egg", "masks.egg", "updates.egg", "pairs.egg", "macros.egg",
    "operators.egg",
)  # fmt: skip
# What a graph shall become: kernels, or a library's operators, with macros kept whole.
type Goal = Literal["kernels", "operators"]


def load_rules(
    paths: Sequence[Path | str] | None = None,
    precision: Precision = "default",
    *,
    bundled: bool = True,
    goal: Goal = "kernels",
) -> RuleSet:
    """The bundled rules, then the files at `paths`, as far as `precision` allows."""
    files = list(_bundled() if bundled else _bundled()[:1])
    for path in paths or ():
        text = read_text(Path(path), str(path))
        files.append(check(text, str(path), files))
    return select(files, precision, goal)


def read_text(at: Traversable, shown: str, what: str = "rule file (.egg)") -> str:
    """The text of a rule file, or of a like one, which messages call `shown`."""
    try:
        whole = files.read_text(at) if isinstance(at, Path) else at.read_text("utf-8")
        return whole.removeprefix("\ufeff")
    except UnicodeDecodeError as e:
        reason = f"byte {e.start} is not UTF-8; it must be text"
    except FileNotFoundError:
        reason = f"no such file; name a {what}"
    except IsADirectoryError:
        reason = f"is a folder; name a {what} in it"
    except OSError as e:
        reason = f"cannot be read: {e.strerror or e}"
    raise RuleFileError(f"{shown}: {reason}")


def select(
    files: Sequence[RuleFile], precision: Precision, goal: Goal = "kernels"
) -> RuleSet:
    """The rules of `files` that serve the goal and whose contract is allowed."""
    allowed = CONTRACTS[precision]
    theirs = (f for f in files if goal == "operators" or f.name != "operators.egg")
    on = frozenset(r.name for f in theirs for r in f.rules if r.contract in allowed)
    return RuleSet(tuple(files), on, precision)


@functools.cache
def _bundled() -> tuple[RuleFile, ...]:
    folder = importlib.resources.files("rewrite.rules")
    files: list[RuleFile] = []
    for name in ("ir.egg", *BUNDLED):
        text = folder.joinpath(name).read_text(encoding="utf-8")
        files.append(check(text, name, files, core=not files, later=True))
    files.append(check(composite_rules(), "composites", files, later=True))
    return tuple(replace(f, bundled=True) for f in files)


def _bundled_as(name: str) -> RuleFile:
    return next(f for f in _bundled() if f.name == name)


def _pickled(file: RuleFile) -> str | tuple[Any, ...]:
    """A bundled file by its name: a process that plans reads it by itself, where a
    megabyte of small objects takes longer to write and as long to read."""
    if any(file is f for f in _bundled()):
        return _bundled_as, (file.name,)
    return file.__reduce_ex__(pickle.DEFAULT_PROTOCOL)


copyreg.pickle(RuleFile, _pickled)


__all__ = [
    "Example", "Goal", "Precision", "Rule", "RuleFile", "RuleFileError", "RuleSet",
    "check", "load_rules", "read_text", "select",
]  # fmt: skip
