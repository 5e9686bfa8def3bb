"""What decides a plan: the key that it is kept under."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from rewrite.backends.store import digest
from rewrite.egraph.graph import Graph
from rewrite.egraph.rulefile import Precision, load_rules
from rewrite.egraph.saturate import facts_for
from rewrite.egraph.text import show
from rewrite.lower.device import Caps
from rewrite.lower.model import DeviceModel

PARTS = ("egraph", "extract", "lower", "rules")  # that a plan is made by


def plan_key(
    graph: Graph, rules: Sequence[Path], precision: Precision, model: DeviceModel,
    cost: str, moves: int, hints: Mapping[str, int],
) -> str:  # fmt: skip
    """Equal for equal graphs under equal rules, prices, effort and versions.

    Of the arrays of a graph only what rules may read of them has a part in it.  Rules
    are loaded for no other graph: that takes longer than all else here.
    """
    facts = frozenset[int]()
    if graph.data:
        facts = facts_for(graph, load_rules(rules or None, precision))
    return digest(
        code_version(), show(graph, inline=0), *(f.read_text("utf-8") for f in rules),
        repr(sorted(facts)), repr(model), f"{precision} {cost} {moves}",
        repr(sorted(hints.items())),
    )  # fmt: skip


def program_key(plan: str, sizes: Mapping[str, int], caps: Caps, strict: bool) -> str:
    kinds = sorted(d.name for d in caps.dtypes)
    rest = replace(caps, dtypes=frozenset())  # sets print in any order
    return digest(plan, repr(sorted(sizes.items())), repr(rest), *kinds, str(strict))


@functools.cache
def code_version() -> str:
    """Changes with every file that has a part in a plan, by its time and size."""
    found = hashlib.sha256()
    for path in sorted(_files()):
        stat = path.stat()
        found.update(f"{path} {stat.st_mtime_ns} {stat.st_size}\n".encode())
    return found.hexdigest()


def _files() -> list[Path]:
    folders = {p for part in PARTS for p in _folders(f"rewrite.{part}")}
    mine = [p for f in folders for p in f.rglob("*") if p.suffix in (".py", ".egg")]
    return [*mine, *(p / "__init__.py" for p in _folders("egglog"))]


def _folders(package: str) -> list[Path]:
    """Where a package lies, without importing it."""
    spec = find_spec(package)
    return [Path(p) for p in (spec and spec.submodule_search_locations) or ()]


__all__ = ["code_version", "plan_key", "program_key"]
