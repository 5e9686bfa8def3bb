"""`rewrite lint`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from .terminal import AsJson, counted, out, plain_errors, progress_bar, told_unread


def lint(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Rule files and folders of them; default: the bundled."),
    ] = None,
    strict: Annotated[bool, typer.Option(help="Treat warnings as errors.")] = False,
    jobs: Annotated[int, typer.Option(help="Worker processes.", min=1)] = 2,
    as_json: AsJson = False,
) -> None:
    """Report all errors and warnings in rule files, one line each."""
    from ..authoring.lint import lint as run

    with plain_errors():
        with progress_bar() as bar:
            report = run(files or (), jobs, lambda done, of: bar("lint", done, of))
        if as_json:
            print(json.dumps(_data(report), indent=2))
        else:
            _print(report)
    failed = report.errors or (strict and report.warnings)
    raise typer.Exit(told_unread(report.unread) or (1 if failed else 0))


def _data(report: Any) -> dict[str, Any]:
    return {
        "files": list(report.files),
        "unread": list(report.unread),
        "rules": report.rules,
        "errors": report.errors,
        "warnings": report.warnings,
        "findings": [
            {
                "file": f.place.file, "line": f.place.line, "column": f.place.column,
                "severity": f.severity, "code": f.code, "rule": f.rule,
                "message": f.message, "fix": f.fix,
            }
            for f in report.findings
        ],
    }  # fmt: skip


def _print(report: Any) -> None:
    for f in report.findings:
        colour = "red" if f.severity == "error" else "yellow"
        out.print(f"{f.place}: ", end="", markup=False, soft_wrap=True)
        out.print(f"{f.severity} {f.code}", style=colour, end="", soft_wrap=True)
        out.print(f": {f.message}; {f.fix}", markup=False, soft_wrap=True)
    counts = [counted(report.errors, "error"), counted(report.warnings, "warning")]
    print(f"{', '.join(counts)} in {counted(report.rules, 'rule')}")
