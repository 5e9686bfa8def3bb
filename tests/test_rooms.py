"""The house: imports go one way, and no folder holds more than a reader can take in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

import pytest

from .imports import FOLDERS, ROOT, imports, modules

MOST = 25  # files of one folder
# Each may import those before it.  A room is a package here, a module at the root.
ORDER = ("egraph", "extract", "lower", "backends", "rewrite")


def room(module: str) -> str:
    """The folder that a module belongs to, two levels deep; loose files stand alone."""
    parts = module.split(".")
    deep = modules()[module].name == "__init__.py"
    return ".".join(parts[:3]) if len(parts) > 3 or deep else module


def rooms() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for module, targets in imports().items():
        if module == "rewrite":
            continue  # the names that users see
        near = found.setdefault(room(module), set())
        near |= {room(t) for t in targets if t != "rewrite"} - {room(module)}
    return found


def circle(graph: Mapping[str, Iterable[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as e:
        return e.args[1]
    return []


def test_no_module_imports_itself_through_others() -> None:
    assert not circle(imports())


def test_no_room_imports_itself_through_others() -> None:
    # Families implement what `lower/` declares and `lower/` lists them: the one pair
    # of rooms that know each other.
    apart = {r: ts for r, ts in rooms().items() if not r.startswith("rewrite.lower")}
    assert not circle(apart)


def test_a_circle_is_seen() -> None:
    assert circle({"a": ["b"], "b": ["c"], "c": ["a"]})


@pytest.mark.parametrize("module", sorted(modules()))
def test_imports_go_one_way(module: str) -> None:
    def rank(name: str) -> int:
        first = name.partition(".")[2].partition(".")[0] or "rewrite"
        return ORDER.index(first) if first in ORDER else len(ORDER)

    upward = {t for t in imports()[module] if rank(t) > rank(module)}
    upward -= imports()["rewrite"] if module == "rewrite" else set()
    assert not upward, f"{module} imports {sorted(upward)}"


def test_nothing_below_imports_the_commands() -> None:
    for module, targets in imports().items():
        if not module.startswith(
            ("rewrite.commands", "rewrite.__main__", "rewrite.entry")
        ):
            assert not [t for t in targets if t.startswith("rewrite.commands")], module


def test_no_folder_is_crowded() -> None:
    """Of whatever files; in tests, of code: no one reads through their data."""
    for top in (*FOLDERS, "bench", "tests"):
        kind = "*.py" if top == "tests" else "*.*"
        for path in (ROOT / top, *(ROOT / top).rglob("*")):
            files = [p for p in path.glob(kind) if p.is_file()]
            assert len(files) <= MOST, f"{path} holds {len(files)} files"
