"""The commands for rule authors, one file each."""

from __future__ import annotations

from collections.abc import Callable

import typer

# Name on the command line -> the function that runs it.
COMMANDS: dict[str, Callable[..., None]] = {}


def register(app: typer.Typer) -> None:
    for name, run in COMMANDS.items():
        app.command(name)(run)
