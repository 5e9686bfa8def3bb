"""How a graph is optimized: what callers may ask for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import index
from pathlib import Path
from typing import TypedDict, Unpack

from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.rules.rulefile import read_text
from rewrite.egraph.rules.ruleset import PRECISIONS, Precision

from .costs import NAMES, CostModel, is_named

MOVES = {0: 0, 1: 10, 2: 40, 3: 200}  # extraction moves per class, by effort
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 1 << 10,
         "MIB": 1 << 20, "GIB": 1 << 30}  # fmt: skip


class Asked(TypedDict, total=False):
    """The keyword options of `optimize`, `jit` and `compile_graph`."""

    precision: Precision
    rules: Sequence[str | Path] | str | Path
    effort: int
    fallback: bool
    hints: Mapping[str, int] | None
    cost: CostModel
    cache: bool
    memory: int | str | None


@dataclass(frozen=True, slots=True)
class Options:
    """How to optimize.  `rules` are files beside the bundled ones."""

    precision: Precision = "default"
    rules: tuple[Path, ...] = ()
    effort: int = 2
    fallback: bool = True
    hints: Mapping[str, int] = field(default_factory=dict[str, int])
    cost: CostModel = "roofline"  # a name of costs.py, or a function of a kernel
    cache: bool = False  # whether plans and programs are kept on disk
    memory: int | None = None  # the most bytes that temporaries may take at once
    constant_inputs: frozenset[str] = frozenset()  # that hold the same in most runs

    @staticmethod
    def of(**asked: Unpack[Asked]) -> Options:
        """What a caller asked for, in plain values; kept on disk unless told not to."""
        known = Asked.__optional_keys__
        unknown = sorted(asked.keys() - known)
        if unknown:
            raise TypeError(
                f"no option {', '.join(unknown)}; known: device, "
                f"{', '.join(sorted(known))}"
            )
        return Options(
            asked.get("precision", "default"),
            rule_paths(asked.get("rules", ())),
            asked.get("effort", 2),
            asked.get("fallback", True),
            _hints(asked.get("hints") or {}),
            asked.get("cost", "roofline"),
            asked.get("cache", True),
            count_bytes(asked.get("memory")),
        )


def _hints(asked: Mapping[str, int]) -> dict[str, int]:
    try:
        hints = {name: index(size) for name, size in dict(asked).items()}
    except (TypeError, ValueError):
        raise TypeError(
            f"hints={asked!r}: a whole number for each symbol expected"
        ) from None
    for name, size in hints.items():
        if not 0 <= size < 1 << 62:
            raise ValueError(f"hints: {name}={size}: a size of 0 or more was expected")
    return hints


def check_hints(graph: Graph, hints: Mapping[str, int]) -> None:
    """ValueError for a likely size of what is no symbol of the graph."""
    unknown = sorted(hints.keys() - set(graph.symbols))
    if unknown:
        known = ", ".join(graph.symbols) or "none"
        raise ValueError(f"hints: no symbol {', '.join(unknown)}; symbols: {known}")


def rule_paths(rules: Sequence[str | Path] | str | Path) -> tuple[Path, ...]:
    """Rule files; a single one needs no list."""
    if isinstance(rules, (str, Path)):
        return (Path(rules),)
    try:
        return tuple(Path(r) for r in rules)
    except TypeError:
        raise TypeError(
            f"rules={rules!r}: the path of a rule file (.egg) or a list of such was "
            "expected"
        ) from None


def count_bytes(asked: int | str | None) -> int | None:
    """A number of bytes, or text of one with a unit, as in "64MiB"."""
    if asked is None:
        return None
    if not isinstance(asked, str):
        if isinstance(asked, bool) or not hasattr(type(asked), "__index__"):
            raise TypeError(f"memory={asked!r}: an int or text as '64MiB' expected")
        return index(asked)
    result = re.fullmatch(r"(\d{1,15}(?:\.\d{1,6})?) ?([A-Za-z]*)", asked.strip(), re.A)
    if not result or result[2].upper() not in UNITS:
        raise ValueError(
            f"memory={asked!r}: bytes were expected, as in 65536, 64KiB or 1.5GB"
        )
    return int(float(result[1]) * UNITS[result[2].upper()])


def check_options(options: Options) -> None:
    """ValueError for an option that cannot be."""
    if options.precision not in PRECISIONS:
        known = ", ".join(map(repr, PRECISIONS[:-1]))
        raise ValueError(
            f"precision={options.precision!r}: {known} or {PRECISIONS[-1]!r} expected"
        )
    if not (is_named(options.cost) or callable(options.cost)):
        names = ", ".join(map(repr, NAMES))
        raise ValueError(
            f"cost={options.cost!r}: {names} or a function of a kernel expected"
        )
    if options.memory is not None and options.memory < 0:
        raise ValueError(f"memory={options.memory}: a number of bytes was expected")
    for name in ("fallback", "cache"):
        value = getattr(options, name)
        if not isinstance(value, bool):
            raise ValueError(f"{name}={value!r}: True or False expected")
    if options.effort not in MOVES:
        raise ValueError(f"effort={options.effort!r}: 0, 1, 2 or 3 expected")
    for path in options.rules:
        read_text(path, str(path))
