"""`rewrite check`: a model against what another framework recorded of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rewrite.commands.terminal import (
    AsJson,
    DeviceName,
    Effort,
    GraphFile,
    PrecisionName,
    RuleFiles,
    fail,
    out,
    plain_errors,
    precision_named,
    read_arrays,
    read_graph,
)

if TYPE_CHECKING:
    from rewrite.egraph.ir.graph import Graph

    from ..core.compiled import Compiled
    from ..report.against import Record, Row, Verdict

MOST = 12  # rows that are printed of one record


def check(
    file: GraphFile,
    against: Annotated[
        list[Path],
        typer.Option("--against", help="An .npz of inputs and results by name; again "
                     "for another."),
    ],
    device: DeviceName = None, precision: PrecisionName = "default",
    rules: RuleFiles = None, effort: Effort = 2,
    rtol: Annotated[
        float | None,
        typer.Option(help="Relative tolerance of floats; default: by dtype.", min=0),
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Leave out recorded names that the model "
                           "does not have.")
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Print each comparison.")
    ] = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Compare a model with values recorded from any framework, node by node.

    The exit status is 1 where a value is off, and the first one is named.
    """
    with plain_errors():
        graph = read_graph(file)
        _runs(file, graph)
        records = [_record(path, graph, partial) for path in against]
        c = _compiled(graph, device, precision, rules, effort, records)
        verdicts = [_verdict(graph, r, c, rtol) for r in records]
    agrees = all(v.first is None for v in verdicts)
    if as_json:
        cases = [
            {"against": str(path), **v.json(), "unknown": list(r.unknown)}
            for path, r, v in zip(against, records, verdicts, strict=True)
        ]
        print(json.dumps({"model": str(file), "agrees": agrees, "cases": cases},
                         indent=2))  # fmt: skip
    else:
        for path, r, v in zip(against, records, verdicts, strict=True):
            _print(file, path, r, v, every)
    raise typer.Exit(0 if agrees else 1)


def _runs(file: Path, graph: Graph) -> None:
    called = {n.attrs[0] for n in graph.nodes if n.op == "call"}
    if missing := sorted(called - set(graph.calls)):
        fail(f"{file}: the host function {missing[0]!r} is only known to Python")


def _record(path: Path, graph: Graph, partial: bool) -> Record:
    from rewrite.egraph.ir.evaluate import InputError

    from ..report.against import BadRecord, matched, nothing_called

    try:
        record = matched(graph, read_arrays(path))
    except (BadRecord, InputError) as e:
        fail(f"{path}: {e}")
    if record.unknown and not partial:
        fail(f"{path}: {nothing_called(graph, record.unknown[0])} "
             "(--partial leaves out such names)")  # fmt: skip
    return record


def _compiled(
    graph: Graph, device: str | None, precision: str, rules: list[Path] | None,
    effort: int, records: list[Record],
) -> Compiled | None:  # fmt: skip
    """The optimized program; None where no record has an output to compare."""
    from ..api import compile_graph

    level = precision_named(precision)
    if not any(k in r.values for k, _ in graph.outputs for r in records):
        return None
    return compile_graph(graph, device, precision=level, rules=list(rules or ()),
                         effort=effort, fallback=False)  # fmt: skip


def _verdict(
    graph: Graph, record: Record, c: Compiled | None, rtol: float | None
) -> Verdict:
    from ..report.against import check as compared
    from ..report.against import with_device

    verdict = compared(graph, record, rtol)
    if c is None:
        return verdict
    got = c({k: a.copy() for k, a in record.inputs.items()})  # an alias overwrites it
    return with_device(verdict, graph, record, got, c.device.name, rtol)


# ---- the terminal --------------------------------------------------------------------


def _print(
    file: Path, path: Path, record: Record, verdict: Verdict, every: bool
) -> None:
    from ..report.against import READ, told

    wrong = [r for r in verdict.rows if not r.agrees]
    results = [r for r in verdict.rows if r.where != READ]
    chosen = list(verdict.rows) if every else [*wrong, *results][:MOST]
    for row in verdict.rows:
        if row in chosen:
            out.print(_line(row), soft_wrap=True)
    count = len(record.values)
    for name in record.unknown:
        out.print(f"note: {name} is nothing in the model", soft_wrap=True)
    for name in dict.fromkeys(r.name for r in verdict.rows if not r.finite):
        out.print(f"note: of {name} no recorded value is finite", soft_wrap=True)
    first = verdict.first
    if first is None:
        out.print(f"{path}: agrees, {count} values compared", soft_wrap=True)
        return
    for line in told(first, verdict.sources if first.where == READ else ()):
        out.print(line, soft_wrap=True)
    if first.where != READ:
        reads = file.suffix.lower() != ".pt2"  # those that `rewrite reduce` takes
        how = f": `rewrite reduce {file} --inputs {path}` cuts it down" if reads else ""
        out.print(f"as it was read the model agrees{how}", soft_wrap=True)
    out.print(f"{path}: {len({r.name for r in wrong})} of {count} values are off",
              soft_wrap=True)  # fmt: skip


def _line(row: Row) -> str:
    sign = "ok " if row.agrees else "off"
    errors = f"abs {row.absolute:.2e} rel {row.relative:.2e}"
    if row.agrees and not row.finite:
        errors = "no value is finite"
    return f"{sign} {row.name} ({row.where}): {errors} of {row.tolerance:.0e}"
