"""`rewrite prove`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .terminal import AsJson, fail, out, plain_errors, told_unread

if TYPE_CHECKING:
    from ..authoring.prove import Report, RuleProof


def prove(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Rule files and folders of them; default: the bundled."),
    ] = None,
    only: Annotated[
        str, typer.Option("-k", help="Only rules whose name contains this.")
    ] = "",
    rank: Annotated[
        int, typer.Option(help="The highest rank that is tried.", min=0, max=8)
    ] = 4,
    timeout: Annotated[
        float, typer.Option(help="Seconds of processor time for one rule.", min=0.1)
    ] = 15.0,
    jobs: Annotated[int, typer.Option(help="Worker processes.", min=1)] = 2,
    cache: Annotated[bool, typer.Option(help="Read and write cached proofs.")] = True,
    as_json: AsJson = False,
) -> None:
    r"""Prove rules for all sizes and, where the rule treats axes alike, all ranks.

    Needs z3: pip install 'rewrite\[prove]'. The exit status is 1 if a rule is refuted.
    docs/prove.md says what a proof covers, and what --json prints.
    """
    import time

    from rich.console import Console
    from rich.progress import Progress

    from ..authoring.prove import cache_folder, prove_rules
    from ..authoring.smt.meaning.conditions import MissingSolver
    from ..authoring.smt.verdict import Limits

    start = time.monotonic()
    screen = Console(stderr=True)
    with plain_errors():
        try:
            with Progress(
                console=screen, transient=True, disable=not screen.is_terminal
            ) as bar:
                task = bar.add_task("prove", total=None)

                def tell(done: int, total: int) -> None:
                    bar.update(task, completed=done, total=total)

                report = prove_rules(
                    list(files or ()), only, Limits(timeout, rank), jobs=jobs,
                    cache=cache_folder() if cache else None, progress=tell,
                )  # fmt: skip
        except MissingSolver as e:
            fail(str(e))
        if only and not report.rules:
            why = f"-k {only}: no rule has this in its name"
            fail("\n".join((why, *report.unread)))
        if as_json:
            print(json.dumps(_data(report), indent=2))
        else:
            _print(report, time.monotonic() - start)
    raise typer.Exit(told_unread(report.unread) or (1 if report.refuted else 0))


def _data(report: Report) -> dict[str, Any]:
    return {
        "rules": [
            {
                "file": r.file, "line": r.line, "contract": r.contract, "kept": r.kept,
                **r.verdict.to_json(),
            }
            for r in report.rules
        ],
        "unread": list(report.unread),
        "counts": {s: report.count(s) for s in ("proved", "sampled only", "refuted")},
    }  # fmt: skip


def _print(report: Report, seconds: float) -> None:
    names = dict.fromkeys(r.file for r in report.rules)
    wide = max(map(len, names), default=0)
    for name in names:
        mine = [r for r in report.rules if r.file == name]
        print(f"{name:{wide}} {len(mine):4} rules  {_counts(mine)}")
        for r in mine:
            if r.verdict.status == "proved" and r.verdict.rank is not None:
                _note(r, f"{r.verdict.text}: {r.verdict.reason}")
            elif r.verdict.status == "sampled only":
                _note(r, r.verdict.text)
    for r in report.refuted:
        _refuted(r)
    print(f"\n{_counts(report.rules)} in {seconds:.1f} s")


def _counts(rules: tuple[RuleProof, ...] | list[RuleProof]) -> str:
    proved = [r.verdict for r in rules if r.verdict.status == "proved"]
    everywhere = sum(v.rank is None for v in proved)
    parts = [f"{len(proved)} proved ({everywhere} at all ranks)"]
    for status in ("sampled only", "refuted"):
        n = sum(r.verdict.status == status for r in rules)
        parts += [f"{n} {status}"] if n else []
    return ", ".join(parts)


def _note(r: RuleProof, text: str) -> None:
    out.print(f"  {r.line}: {r.name}  {text}", markup=False, soft_wrap=True)


def _refuted(r: RuleProof) -> None:
    out.print("\nFAIL", style="red", end="", soft_wrap=True)
    out.print(f"  {r.file}:{r.line}  {r.name}  is not equal ({r.contract})",
              markup=False, soft_wrap=True)  # fmt: skip
    for line in r.verdict.example.lines() if r.verdict.example else ():
        for part in line.splitlines():
            out.print(f"      {part}", markup=False, soft_wrap=True)
