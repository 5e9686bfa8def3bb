"""What decides a plan: the key that it is kept under."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from rewrite.backends.store import digest
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.ir.text import show
from rewrite.egraph.rules.rulefile import Precision, load_rules
from rewrite.egraph.saturate.saturate import facts_for
from rewrite.lower.device import Caps
from rewrite.lower.model import DeviceModel

from ..version import VERSION

# What a plan and its programs are made by, and how they are written down.
PARTS = ("egraph", "extract", "lower", "backends", "rules", "core", "cache")


def plan_key(
    graph: Graph, rules: Sequence[Path], precision: Precision, model: DeviceModel,
    cost: str, moves: int, hints: Mapping[str, int], memory: int | None = None,
    constant_inputs: frozenset[str] = frozenset(),
) -> str:  # fmt: skip
    """Equal for equal graphs under equal rules, prices, effort, limits and versions.

    Of the arrays of a graph only what rules may read of them has a part in it.  Rules
    are loaded for no other graph: that takes longer than all else here.
    """
    facts = frozenset[int]()
    if graph.data:
        facts = facts_for(graph, load_rules(rules or None, precision))
    return digest(
        code_version(), show(graph, inline=0),
        *(hashlib.sha256(f.read_bytes()).hexdigest() for f in rules),
        repr(sorted(facts)), repr(model), f"{precision} {cost} {moves}",
        repr(sorted(hints.items())), repr(memory), repr(sorted(constant_inputs)),
    )  # fmt: skip


def program_key(plan: str, sizes: Mapping[str, int], caps: Caps, strict: bool) -> str:
    return digest(plan, repr(sorted(sizes.items())), device_key(caps), str(strict))


def device_key(caps: Caps) -> str:
    kinds = sorted(d.name for d in caps.dtypes)
    rest = replace(caps, dtypes=frozenset())  # sets print in any order
    return digest(repr(rest), *kinds)


@functools.cache
def code_version() -> str:
    """Changes with the text of every file that has a part in a plan, and the engine.

    Their times say less: installers and images may give the same one to all files.
    """
    result = hashlib.sha256(repr((VERSION, *_engine())).encode())
    for name, path in sorted(_files().items()):
        result.update(f"\0{name}\0".encode() + path.read_bytes())
    return result.hexdigest()


def _files() -> dict[str, Path]:
    """By what they are called wherever they are installed."""
    return {
        f"{part}/{path.relative_to(folder)}": path
        for part in PARTS
        for folder in _folders(f"rewrite.{part}")
        for path in folder.rglob("*")
        if path.suffix in (".py", ".egg", ".c")
    }


def _engine() -> list[str]:
    """The engine's version; asking `importlib.metadata` takes longer than all else."""
    beside = (p.parent.glob("egglog-*.dist-info") for p in _folders("egglog"))
    return sorted(p.name for result in beside for p in result)


def _folders(package: str) -> list[Path]:
    """Where a package lies, without importing it."""
    spec = find_spec(package)
    return [Path(p) for p in (spec and spec.submodule_search_locations) or ()]


__all__ = ["code_version", "device_key", "plan_key", "program_key"]
