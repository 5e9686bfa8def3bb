"""Results as text: a table that terminals and pages both show."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from math import prod
from pathlib import Path

from .race import CONTESTANTS, OURS, Result
from .task import MODES

PACKAGES = ("numpy", "torch", "onnxruntime", "jax", "onnx", "transformers")
INTRODUCTION = """# The c device and its peers

Written by the command below.  Milliseconds of one result, `float32`, one process, all
with the same number of threads, in turns, medians of the rounds; answers count that are
right beside float64.  *Preallocated*: written into arrays that were there before.
*Pooled*: fresh arrays, from an allocator that keeps what was freed, for all of them.
Ratio: the best peer's time over ours; the best is in bold.  CPU: milliseconds of the
processor, all threads together, medians, of ours and of the best peer; their ratio
decides where the rounds leave open on which side of the bar the other one lies (the
90 % interval of the median of what they say in pairs).
"""


def cells(result: Result) -> list[str]:
    """A row of the table."""
    times = [_time(result, name) for name in CONTESTANTS]
    row = [result.workload, result.mode, *times]
    if result.ratio is None or result.cpu_ratio is None or result.best is None:
        return [*row, "-", f"{result.bar:g}", "-", "-", "-", result.verdict]
    ours, best = result.figures[OURS], result.figures[result.best]
    return [
        *row, f"{result.ratio:.2f}", f"{result.bar:g}", milliseconds(ours.cpu),
        milliseconds(best.cpu), f"{result.cpu_ratio:.2f}", result.verdict,
    ]  # fmt: skip


HEAD = [
    "workload", "mode", *CONTESTANTS, "ratio", "bar", "CPU", "best peer's",
    "ratio of CPU", "bar is",
]  # fmt: skip


def _time(result: Result, name: str) -> str:
    if name not in result.figures:
        return "-"
    shown = milliseconds(result.figures[name].wall)
    return f"**{shown}**" if name == result.best else shown


def milliseconds(seconds: float) -> str:
    """Three digits that count."""
    ms = seconds * 1e3
    return f"{ms:.0f}" if ms >= 100 else f"{ms:.3g}" if ms >= 1 else f"{ms:.3f}"


def table(results: Sequence[Result]) -> Iterator[str]:
    rows = [HEAD, *map(cells, results)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    rows.insert(1, ["-" * w for w in widths])
    for row in rows:
        padded = (c.ljust(w) for c, w in zip(row, widths, strict=True))
        yield f"| {' | '.join(padded)} |"


def means(results: Sequence[Result]) -> Iterator[str]:
    """Geometric means of the ratios of the models, by mode."""
    for mode in MODES:
        mine = [r for r in results if r.model and r.mode == mode]
        walls = [r.ratio for r in mine if r.ratio is not None]
        cpus = [r.cpu_ratio for r in mine if r.cpu_ratio is not None]
        if walls:
            yield (
                f"Geometric mean of {len(walls)} of {len(mine)} models, {mode}: "
                f"{geometric(walls):.2f}, of CPU {geometric(cpus):.2f}; the bar is 1."
            )


def geometric(ratios: Sequence[float]) -> float:
    return prod(ratios) ** (1 / len(ratios))


def reasons(results: Sequence[Result]) -> Iterator[str]:
    """Why someone is missing, once for all who are for the same reason."""
    found: dict[tuple[str, str], list[str]] = {}
    for r in results:
        for name, why in r.absent.items():
            found.setdefault((name, why), []).append(f"{r.workload} ({r.mode})")
    for (name, why), where in found.items():
        yield f"- {name}: {why}: {_both(where)}"


def _both(where: list[str]) -> str:
    """Names of rows; that of a workload alone where both modes are meant."""
    names = dict.fromkeys(w.rsplit(" (", 1)[0] for w in where)
    modes = {n: [w for w in where if w.rsplit(" (", 1)[0] == n] for n in names}
    return ", ".join(n if len(ws) == len(MODES) else ws[0] for n, ws in modes.items())


def machine() -> str:
    """The processor, by the name that it gives itself."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = (line.partition(":") for line in info.read_text().splitlines())
        name = next((v.strip() for k, _, v in lines if k.strip() == "model name"), name)
    return f"{name}, {os.cpu_count()} processors, {platform.system()}"


def versions(packages: Sequence[str] = PACKAGES) -> str:
    def known(package: str) -> str:
        try:
            return f"{package} {version(package)}"
        except PackageNotFoundError:
            return f"{package} absent"

    return ", ".join([f"Python {platform.python_version()}", *map(known, packages)])


def page(command: str, facts: Mapping[str, str], results: Sequence[Result]) -> str:
    """The whole page."""
    known = "\n".join(f"- {key}: {value}" for key, value in facts.items())
    parts = [INTRODUCTION, f"    {command}\n", known + "\n"]
    for title, model in (("Kernels", False), ("Models", True)):
        chosen = [r for r in results if r.model == model]
        if chosen:
            lines = [f"## {title}", "", *table(chosen), "", *means(chosen)]
            parts.append("\n".join(lines).rstrip() + "\n")
    missing = list(reasons(results))
    if missing:
        parts.append("\n".join(["## Who is missing, and why", "", *missing]) + "\n")
    return "\n".join(parts)
