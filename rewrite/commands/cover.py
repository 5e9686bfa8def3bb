"""`rewrite cover`: which rules matter for real models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rewrite.commands.terminal import (
    AsJson,
    DeviceName,
    Dims,
    Effort,
    PrecisionName,
    RuleFiles,
    counted,
    fail,
    named_sizes,
    out,
    plain_errors,
    precision_named,
    progress_bar,
)

if TYPE_CHECKING:
    from ..authoring.cover import Cover, RuleCover, Setting
    from ..authoring.cover.order import Spread

Models = Annotated[
    list[Path], typer.Argument(help=".graph, .onnx or .pt2 files, or folders.")
]


def cover(
    models: Models, rules: RuleFiles = None, precision: PrecisionName = "default",
    device: DeviceName = None, effort: Effort = 2, dim: Dims = None,
    names: Annotated[
        str, typer.Option("-k", help="Only rules whose name contains this.")
    ] = "",
    fast: Annotated[
        bool, typer.Option(help="Do not optimize again without each rule.")
    ] = False,
    jobs: Annotated[int, typer.Option(help="Processes.", min=1)] = 2,
    shuffle: Annotated[
        int,
        typer.Option(help="Instead: load the rules in this many orders.", min=0),
    ] = 0,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Which rules match in models, are used in the result, and are the only way to it.

    With --shuffle N it only loads the rules in N random orders. The exit status is then
    1 if a predicted cost depends on the order: at all where saturation is complete, or
    by more than 0.5 % where a budget ended it.
    """
    from rewrite.authoring.cover import Setting
    from rewrite.authoring.models import NoModel, check_sizes, find

    with plain_errors():
        level, bound = precision_named(precision), tuple(named_sizes(dim).items())
        setting = Setting(tuple(rules or ()), level, device, effort, sizes=bound)
        try:
            paths = find(models)
            check_sizes(paths, bound)
            if shuffle:
                _shuffle(paths, setting, shuffle, jobs, as_json)
            else:
                _cover(paths, setting, fast, names, jobs, as_json)
        except NoModel as e:
            fail(str(e))


def _cover(
    paths: tuple[Path, ...], setting: Setting, fast: bool, names: str, jobs: int,
    as_json: bool,
) -> None:  # fmt: skip
    from rewrite.authoring.cover import cover as covered

    with progress_bar() as progress:
        result = covered(
            paths, setting, fast=fast, wanted=lambda name: names in name, jobs=jobs,
            progress=progress,
        )  # fmt: skip
    if not result.rules and not result.off:
        fail(f"-k {names}: no rule's name holds this")
    if as_json:
        print(json.dumps(as_data(result), indent=2))
    else:
        show(result)


# ---- what is printed -----------------------------------------------------------------


def show(found: Cover) -> None:
    total = sum(m.enodes for m in found.models)
    rows = [_row(r, len(found.models), total) for r in found.rules if r.matched]
    head = ["rule", "matched", "used", "only route", "ms", "matches", "e-nodes", ""]
    print(columns([head, *rows], "<>><>>><"))
    _footnotes(found)


def columns(rows: Sequence[Sequence[str]], sides: str) -> str:
    """Rows as lines of aligned columns; `sides` has < or > for each column."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines: list[str] = []
    for row in rows:
        cells = zip(row, sides, widths, strict=True)
        lines.append("  ".join(f"{x:{side}{w}}" for x, side, w in cells).rstrip())
    return "\n".join(lines)


def _row(r: RuleCover, models: int, total: int) -> list[str]:
    used = str(len(r.used)) if r.matched else "–"
    enodes = "" if r.enodes is None else f"{r.enodes:+d}" if r.enodes else "0"
    return [
        r.name, f"{len(r.matched)}/{models}", used, _route(r),
        f"{r.spent * 1e3:.1f}", str(r.matches), enodes, _note(r, total),
    ]  # fmt: skip


def _route(r: RuleCover) -> str:
    """Yes, in how many models and how much worse the worst of them gets."""
    if r.only_route is None or not r.used:
        return "–" if not r.used else "?"
    if not r.only_route:
        return "no"
    worst = max(rise for _, rise in r.change or ())
    return f"yes {len(r.only_route)} (+{worst:.2%})"


def _note(r: RuleCover, total: int) -> str:
    notes: list[str] = []
    if not r.used:
        notes.append("never chosen")
    better = [(m, rise) for m, rise in r.change or () if rise < -1e-9]
    if better:
        model, fall = min(better, key=lambda x: x[1])
        notes.append(f"without it {model} is predicted {-fall:.2%} faster")
    if r.enodes and r.enodes > total / 50:
        notes.append(f"{r.enodes / total:.0%} of e-nodes")
    return "; ".join(notes)


def _footnotes(found: Cover) -> None:
    facts = sum(m.spent.get("facts", 0.0) for m in found.models)
    spent = facts + sum(r.spent for r in found.rules)
    out.print(
        f"\n{counted(len(found.rules), 'rule')}, "
        f"{counted(len(found.models), 'model')}, "
        f"{counted(sum(m.enodes for m in found.models), 'e-node')}; "
        f"{spent:.2f} s in the engine, {facts:.2f} s of that for types and "
        f"other facts; costs predicted for {found.device}",
        soft_wrap=True,
    )
    if any(r.enodes is not None for r in found.rules):
        out.print(
            "e-nodes: how many are lost when this rule alone is left out",
            soft_wrap=True,
        )
    for m in found.models:
        if m.stopped:
            out.print(f"{m.name}: stopped by its budget of {', '.join(m.stopped)}")
    if found.dead:
        out.print(f"dead, no model reaches them ({len(found.dead)}):")
        for file, names in _by_file(found.dead).items():
            out.print(f"  {file}: {' '.join(names)}", soft_wrap=True)
        for r in found.dead:
            if why := _sizes(r, found):
                print(f"  {r.name}{why}")
    by_reason: dict[str, list[str]] = {}
    for name, why in found.off:
        by_reason.setdefault(why, []).append(name)
    for why, names in by_reason.items():
        out.print(f"off ({why}): {' '.join(names)}", soft_wrap=True)


def _by_file(rules: Sequence[RuleCover]) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for r in rules:
        file, _, line = r.place.rpartition(":")
        out.setdefault(file, []).append(f"{r.name}:{line}")
    return out


def _sizes(r: RuleCover, found: Cover) -> str:
    symbolic = sum(m.symbolic for m in found.models)
    off = r.reads_sizes and symbolic
    many = f"{symbolic} of {len(found.models)}"
    return (
        f"  (off in {many} models: it reads sizes, theirs are symbolic)" if off else ""
    )


def as_data(found: Cover) -> dict[str, Any]:
    """The same as plain data; times are in seconds."""
    rules = [
        {
            "rule": r.name, "place": r.place, "contract": r.contract,
            "matched": r.matched, "used": r.used, "only_route": r.only_route,
            "without": None if r.change is None else dict(r.change),
            "matches": r.matches, "engine_s": r.spent, "enodes": r.enodes,
            "reads_sizes": r.reads_sizes, "dead": not r.matched,
        }
        for r in found.rules
    ]  # fmt: skip
    models = [
        {
            "model": m.name, "nodes": m.nodes, "symbolic": m.symbolic,
            "predicted_s": m.seconds,
            "enodes": m.enodes, "stopped": m.stopped, "used": sorted(m.used),
            "facts_s": m.spent.get("facts", 0.0),
        }
        for m in found.models
    ]  # fmt: skip
    off = [{"rule": name, "reason": why} for name, why in found.off]
    return {"device": found.device, "rules": rules, "models": models, "off": off}


# ---- --shuffle -----------------------------------------------------------------------


def _shuffle(
    paths: tuple[Path, ...], setting: Setting, times: int, jobs: int, as_json: bool
) -> None:
    from rewrite.authoring.cover.order import shuffled_costs

    with progress_bar() as progress:
        result = shuffled_costs(paths, setting, times, jobs, progress)
    if as_json:
        data = [{**asdict(s), "spread": s.spread, "ok": s.ok} for s in result]
        print(json.dumps(data, indent=2))
    else:
        _show_spread(result, times)
    raise typer.Exit(0 if all(s.ok for s in result) else 1)


def _show_spread(found: tuple[Spread, ...], times: int) -> None:
    rows = [["model", "saturated", "e-nodes", "predicted us", "spread", ""]]
    for s in found:
        low, high = min(s.seconds) * 1e6, max(s.seconds) * 1e6
        few, many = min(s.enodes), max(s.enodes)
        rows.append([
            s.model, "yes" if s.complete else f"no: {', '.join(s.stopped)}",
            str(few) if few == many else f"{few} to {many}",
            f"{low:.2f}" if low == high else f"{low:.2f} to {high:.2f}",
            f"{s.spread:.3%}" if s.spread else "none", "" if s.ok else "WRONG",
        ])  # fmt: skip
    print(columns(rows, "<<>>><"))
    print(f"\n{times} orders of the rules beside the files' own")
