"""`rewrite tune`: searches how a model's kernels are lowered best on a device."""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from rewrite.backends.devices import library
from rewrite.commands.terminal import (
    AsJson,
    CostOption,
    DeviceName,
    Dims,
    Effort,
    GraphFile,
    Memory,
    PrecisionName,
    RuleFiles,
    bytes_named,
    cost_named,
    counted,
    fail,
    out,
    plain_errors,
    precision_named,
    progress_bar,
    read_graph,
    sizes,
)
from rewrite.core.inputs import random_arrays

if TYPE_CHECKING:
    from rewrite.core.compiled import Compiled

    from ..tuning.tune import KernelTuned, Tuned

SECONDS = 60.0
SEED, DEVIATION = 0, 0.1  # of the inputs, as `rewrite bench` draws them


def tune(
    file: GraphFile, device: DeviceName = None,
    seconds: Annotated[
        float | None, typer.Option(help="Time limit for all kernels together.", min=0.1)
    ] = None,
    trials: Annotated[
        int | None, typer.Option(help="Choices to try for each kernel.", min=1)
    ] = None,
    jobs: Annotated[
        int, typer.Option(help="Processes that compile.", min=1)
    ] = os.cpu_count() or 1,
    precision: PrecisionName = "default", rules: RuleFiles = None, effort: Effort = 2,
    dim: Dims = None, cost: CostOption = "roofline", memory: Memory = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Time other ways to run each kernel, and keep the fastest.

    Tiles, splits and the family that runs a kernel are tried in processes of their own,
    checked and timed. Later optimizations for this device use the best. Ctrl-C ends
    the search; what it has found is kept. Leave the machine alone meanwhile.
    """
    from rewrite.backends.devices import pick_device
    from rewrite.core.options import Options
    from rewrite.pipeline import optimize_graph

    from ..cache import kept
    from ..tuning.tune import Budget
    from ..tuning.tune import tune as search

    with plain_errors(), progress_bar() as tell:
        if kept.folder() is None:
            fail("REWRITE_CACHE=off keeps no choices; name a folder")
        target = pick_device(device)
        if target.caps().interprets:
            fail(f"--device {target.name}: the interpreter runs kernels as they are")
        graph = read_graph(file)
        bound = sizes(graph, dim)
        if any(n.op == "call" and n.attrs[0] not in graph.calls for n in graph.nodes):
            fail(f"{file}: it calls a host function that is only known to Python")
        options = Options(
            precision_named(precision), tuple(rules or ()), min(effort, 2), False,
            bound, cost_named(cost), memory=bytes_named(memory),
        )  # fmt: skip
        c = optimize_graph(graph, target, options)
        most = seconds or (SECONDS if trials is None else 86400.0)
        budget = Budget(most, trials or 1_000_000, jobs)
        inputs = random_arrays(graph, bound, SEED, DEVIATION)
        result = search(c, inputs, bound, budget, tell=tell)
    if as_json:
        print(json.dumps(as_data(result), indent=2))
    else:
        show(c, result)


def as_data(found: Tuned) -> dict[str, Any]:
    """Seconds; of a choice that was refused the reason instead of a ratio."""

    def kernel(k: KernelTuned) -> dict[str, Any]:
        tried = [
            {"choice": str(t.choice), "ratio": t.ratio, "reason": t.reason}
            for t in k.trials
        ]
        return {
            "kernel": k.label, "digest": k.digest, "launches": k.launches,
            "own": str(k.own), "best": str(k.best), "own_seconds": k.own_seconds,
            "seconds": k.seconds, "tried": tried,
        }  # fmt: skip

    return {
        "kernels": [kernel(k) for k in found.kernels], "before": found.before,
        "after": found.after, "interrupted": found.interrupted, "kept": found.kept,
        "dropped": found.dropped, "library_dropped": found.quiet,
    }  # fmt: skip


def show(c: Compiled, found: Tuned) -> None:
    """A line for each kernel, why choices were refused, the program as a whole."""
    table = Table("kernel", box=None)
    for name in ("launches", "us", "tuned", "ratio", "tried", "refused"):
        table.add_column(name, justify="right")
    table.add_column("lowered by")
    for k in found.kernels:
        table.add_row(k.label, str(k.launches), *_figures(k), _changed(k))
    out.print(table)
    reasons = Counter((t.choice.family, t.reason) for k in found.kernels
                      for t in k.refused)  # fmt: skip
    for (family, reason), n in reasons.most_common(5):
        out.print(f"refused: {counted(n, 'choice')} of {family}: {reason}")
    out.print(f"{c.device.name} ({c.device.probe().detail})", soft_wrap=True)
    _library(c.device.name, found)
    _end(found)


def _library(device: str, found: Tuned) -> None:
    """Whether a library of products competed, and how often it was chosen."""
    probe = library(device)
    if probe is None:
        return
    if not probe.ok:
        out.print(f"no library of products competed: {probe.detail}", soft_wrap=True)
        return
    tried = [k for k in found.kernels
             if any(t.choice.family == "library" for t in k.trials)]  # fmt: skip
    if not tried:
        return
    won = sum(k.best.family == "library" for k in tried)
    how = f"won {won} of {counted(len(tried), 'kernel')}"
    if found.quiet:
        how += "; its calls slow the program as a whole and were dropped"
    out.print(f"{probe.detail} competed and {how}", soft_wrap=True)


def _figures(k: KernelTuned) -> tuple[str, ...]:
    tried = str(len(k.trials)), str(len(k.refused))
    if not k.own_seconds:
        return "-", "-", "-", *tried
    times = (f"{s * 1e6:.1f}" for s in (k.own_seconds, k.seconds))
    return *times, f"{k.own_seconds / k.seconds:.2f}", *tried


def _changed(k: KernelTuned) -> str:
    if k.best == k.own:
        return str(k.own)
    names = ", ".join(f"{name} {n}" for name, n in k.best.holes)
    if k.best.family == k.own.family:
        return f"{k.own}: {names}"
    return f"{k.best.family} instead of {k.own}" + (f": {names}" if names else "")


def _end(found: Tuned) -> None:
    how = "kept" if found.kept else "not kept: the cache cannot be written"
    if found.before:
        ratio = found.before / found.after
        out.print(f"program {found.before * 1e6:.1f} -> {found.after * 1e6:.1f} us, "
                  f"{ratio:.2f} times as fast")  # fmt: skip
    if found.dropped:
        out.print("as a whole it was slower: nothing is changed")
    elif found.interrupted:
        out.print(f"interrupted; {counted(len(found.choices), 'choice')} {how}")
    else:
        what = counted(len(found.choices), "kernel")
        out.print(f"{what} lowered otherwise; {how}" if found.choices
                  else "nothing faster was found")  # fmt: skip


__all__ = ["tune"]
