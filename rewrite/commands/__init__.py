"""The commands for rule authors, one file each."""

from __future__ import annotations

from collections.abc import Callable

import typer

from . import (
    cover,
    derive,
    lint,
    prove,
    reduce,
    test,
    why_not,
)

# Name on the command line -> the function that runs it.
COMMANDS: dict[str, Callable[..., None]] = {
    "cover": cover.cover,
    "derive": derive.derive,
    "lint": lint.lint,
    "prove": prove.prove,
    "reduce": reduce.reduce,
    "test": test.test,
    "why-not": why_not.why_not,
}


def register(app: typer.Typer) -> None:
    for name, run in COMMANDS.items():
        app.command(name)(run)
