"""`rewrite test`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .terminal import AsJson, fail, out, plain_errors, progress_bar, told_unread

if TYPE_CHECKING:
    from ..authoring.testing import Report, RuleReport
    from ..authoring.testing.bless import Edited


def test(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Rule files and folders of them; default: the bundled."),
    ] = None,
    only: Annotated[
        str, typer.Option("-k", help="Only rules whose name contains this.")
    ] = "",
    seed: Annotated[int, typer.Option(help="Seed of the random instances.", min=0)] = 0,
    count: Annotated[int, typer.Option(help="Instances of each rule.", min=1)] = 40,
    jobs: Annotated[int, typer.Option(help="Worker processes.", min=1)] = 2,
    bless: Annotated[
        bool, typer.Option("--bless", help="Fill in ';;@ fires TERM =>', in the file.")
    ] = False,
    refuse: Annotated[
        str, typer.Option(help="Turn this rule, if refuted, into a refused law.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Run the examples of rules, and look for tensors on which a rule is wrong."""
    import time

    from ..authoring.testing import test_rules

    paths = list(files or ())
    with plain_errors():
        if bless or refuse:
            if (bless and refuse) or only or as_json:
                fail("--bless and --refuse write into files, one at a time: leave out "
                     "-k and --json")  # fmt: skip
            if bless:
                _bless(paths)
            else:
                _refuse(paths, refuse, seed, count)
            return
        start = time.monotonic()
        with progress_bar() as bar:
            report = test_rules(
                paths, only=only, seed=seed, count=count, jobs=jobs,
                progress=lambda done, of: bar("test", done, of),
            )  # fmt: skip
        if as_json:
            print(json.dumps(asdict(report), indent=2))
        else:
            _print(report, time.monotonic() - start)
    raise typer.Exit(told_unread(report.unread) or (1 if report.failed else 0))


def _bless(paths: Sequence[Path]) -> None:
    from ..authoring.testing import asked, broken, rules_of, unread
    from ..authoring.testing.bless import bless

    if not paths:
        fail("--bless writes into rule files: name one")
    what = asked(paths)
    rules = rules_of(what.sources)
    read = {f.name for f in rules.files} & what.names
    mine = [s for s in what.sources if s.name in read and s.path is not None]
    problems = [*broken(what), *map(str, unread(what.sources))]
    for source in mine:
        assert source.path is not None
        made = bless(Path(source.path), source.name, rules)
        _write(made)
        problems += made.problems
    if problems:
        fail("\n".join(problems))


def _refuse(paths: Sequence[Path], name: str, seed: int, count: int) -> None:
    from ..authoring.testing import asked, broken, rules_of
    from ..authoring.testing import test_rules as tested
    from ..authoring.testing.refuse import refuse

    if not paths:
        fail("--refuse writes into a rule file: name the one that holds the rule")
    what = asked(paths)
    if lost := broken(what):
        fail("\n".join(lost))
    rules = rules_of(what.sources)
    rule = next((r for r in rules.rules if r.name == name), None)
    home = {s.name: s.path for s in what.sources if s.name in what.names}
    path = rule and home.get(rule.place.file)
    if rule is None or path is None:
        fail(f"--refuse {name}: these files hold no rule of that name")
    (result,) = (
        r
        for r in tested(paths, only=name, seed=seed, count=count, jobs=1).rules
        if r.name == name
    )
    if result.counterexample is None:
        fail(f"{rule.place}: {name}: nothing refutes it on {result.samples} samples; "
             "another --seed or a larger --count may")  # fmt: skip
    _write(refuse(Path(path), rule, result.counterexample, rules, seed))


def _write(change: Edited) -> None:
    """Writes a file if it changes, and shows how."""
    if change.before != change.after:
        change.path.write_text(change.after, encoding="utf-8", newline="")
        print(change.diff, end="")


def _print(report: Report, seconds: float) -> None:
    _table(report)
    for r in report.rules:
        _rule(r)
    for law in report.refused:
        if law.shown is None:
            _say("red", "FAIL", f"{law.file}:{law.line}  refused  {law.law}")
            _line("nothing shows it wrong; state its counterexample, or allow it")
    warned = sum(len(r.warnings) for r in report.rules)
    passed = len(report.rules) + len(report.refused) - report.failed
    words = [f"{report.failed} failed"] if report.failed else []
    words += [f"{passed} passed", *([f"{warned} warnings"] if warned else [])]
    print(f"{', '.join(words)} in {seconds:.1f} s")


def _table(report: Report) -> None:
    tested = (*report.rules, *report.refused)
    names = dict.fromkeys(r.file for r in tested)
    wide = max(map(len, names), default=0)
    for name in names:
        mine = [r for r in report.rules if r.file == name]
        laws = sum(law.file == name for law in report.refused)
        totals = [
            sum(getattr(r, k) for r in mine) for k in ("examples", "samples", "fired")
        ]
        shown = f"{totals[0]:5} examples {totals[1]:6} sampled {totals[2]:6} fired"
        extra = f" {laws:3} refused" if laws else ""
        print(f"{name:{wide}} {len(mine):4} rules {shown}{extra}")
    print("" if names else "no rules here")


def _rule(r: RuleReport) -> None:
    from ..authoring.testing.counterexample import WRONG

    for p in r.problems:
        _say("red", "FAIL", f"{p.place}  {r.name}")
        _line(p.message)
    if r.counterexample is not None:
        what = WRONG[r.counterexample.kind]
        _say("red", "FAIL", f"{r.file}:{r.line}  {r.name}  {what}")
        for line in r.counterexample.lines():
            _line(line)
        print()
    for w in r.warnings:
        _say("yellow", "warn", f"{r.file}:{r.line}  {r.name}: {w}")


def _say(colour: str, word: str, text: str) -> None:
    out.print(word, style=colour, end="")
    print(f"  {text}")


def _line(text: str) -> None:
    print(f"      {text}")
