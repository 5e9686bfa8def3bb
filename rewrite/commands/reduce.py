"""`rewrite reduce`: a bug report of a few nodes and rules."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rewrite.commands.terminal import (
    AsJson,
    DeviceName,
    Effort,
    PrecisionName,
    RuleFiles,
    fail,
    out,
    plain_errors,
    precision_named,
)

if TYPE_CHECKING:
    from ..authoring.reduce import Reduced
    from ..authoring.reduce.failures import BuiltIn, Command


def reduce(
    model: Annotated[Path, typer.Argument(help="A model that fails.")],
    rules: RuleFiles = None, precision: PrecisionName = "default",
    device: DeviceName = None, effort: Effort = 2,
    check: Annotated[
        str | None,
        typer.Option(help="A command in which {model} and {rules} are paths; it fails "
                     "where its exit status is not 0."),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Only these rules, by name.")
    ] = None,
    inputs: Annotated[
        Path | None, typer.Option(help="An .npz with the inputs by name.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random inputs.", min=0)] = 0,
    to: Annotated[
        Path | None, typer.Option(help="The folder of the report; default: bug-MODEL.")
    ] = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Reduce a failing model and its rules to a small case that still fails.

    Without --check a model fails where its result differs from the reference, the
    optimizer raises, types clash, a kernel does not compile, or the process ends. The
    exit status is 1 where a failure was found, and 0 where there is none.
    """
    from rewrite.authoring.models import NoModel, single
    from rewrite.authoring.reduce import Flaky
    from rewrite.authoring.reduce.failures import BuiltIn, Command, How
    from rewrite.backends.devices import pick_device

    with plain_errors():
        level = precision_named(precision)
        try:
            path = single(model)
        except NoModel as e:
            fail(str(e))
        if check is not None and (only or inputs is not None):
            fail("--check runs your command: --only and --inputs are for the others")
        if check is not None and not _words(check):
            fail(f"--check {check}: a command was expected; is a quote not closed?")
        oracle: BuiltIn | Command
        oracle = Command(check) if check else BuiltIn(How(level, device, effort))
        if not check:
            pick_device(device)  # a device that is none is no failure of the model's
        options = _options(precision, device, effort)
        try:
            result = _found(
                path, oracle, tuple(rules or ()), precision, only, inputs, seed
            )
        except Flaky as e:
            fail(str(e))
        finally:
            oracle.close()
        if result is None:
            out.print(f"{path}: nothing fails")
            return
        folder = to or Path(f"bug-{path.stem}")
        _report(result, path, folder, options, check, tuple(rules or ()), as_json)
        raise typer.Exit(1)


def _words(command: str) -> list[str]:
    """The words of a command; none where it cannot be split."""
    try:
        return shlex.split(command)
    except ValueError:
        return []


def _options(precision: str, device: str | None, effort: int) -> tuple[str, ...]:
    """Those that are not as they are by default."""
    words: list[str] = []
    if precision != "default":
        words += ["--precision", precision]
    if device is not None:
        words += ["--device", device]
    if effort != 2:
        words += ["--effort", str(effort)]
    return tuple(words)


def _found(
    path: Path, oracle: BuiltIn | Command, files: tuple[Path, ...], precision: str,
    only: list[str] | None, inputs: Path | None, seed: int,
) -> Reduced | None:  # fmt: skip
    from rich.console import Console

    from rewrite.authoring.models import NoModel, load
    from rewrite.authoring.reduce import reduce as reduced
    from rewrite.authoring.reduce import rules_for
    from rewrite.authoring.reduce.failures import BuiltIn
    from rewrite.commands.terminal import read_arrays

    try:
        model = load(path)
        rules = rules_for(files, precision, only)
    except (NoModel, KeyError) as e:
        fail(str(e.args[0]))
    console = Console(stderr=True)
    given = None if inputs is None else read_arrays(inputs)
    with console.status("does it fail?") as status:
        return reduced(
            model.graph, rules, oracle, inputs=given, hints=model.hints, files=files,
            bundled=isinstance(oracle, BuiltIn), seed=seed,
            progress=lambda what, tries: status.update(f"{what}, {tries} tries"),
        )  # fmt: skip


def _report(
    found: Reduced, path: Path, folder: Path, options: tuple[str, ...],
    check: str | None, files: tuple[Path, ...], as_json: bool,
) -> None:  # fmt: skip
    from rewrite.authoring.reduce import Asking, write
    from rewrite.egraph.ir.text import show
    from rewrite.fuzz.shrink import Case

    name = path.stem
    written = write(found, folder, name, Asking(options, check, files))
    before = len(Case(found.before).computing)
    names = [r.name for r in found.needed]
    if as_json:
        print(json.dumps({
            "failure": found.failure.kind, "message": found.failure.message,
            "nodes": {"before": before, "after": found.computing},
            "rules": names, "tries": found.tries, "seed": found.seed,
            "graph": show(found.case.graph), "files": list(map(str, written)),
        }, indent=2))  # fmt: skip
        return
    out.print(str(found.failure), soft_wrap=True, markup=False)
    print(f"{before} nodes -> {found.computing}, rules: {' '.join(names) or 'none'}")
    print(show(found.case.graph, inline=64))
    for place in written:
        print(place)
