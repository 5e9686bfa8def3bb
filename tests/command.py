"""The command `rewrite` within the process of the tests.

A process of its own takes two seconds to import everything and to read the rules; that
it starts and ends as it should is a matter of tests/rewrite/test_interrupts.py, of
`rewrite --version` and of those that set its environment.
"""

from __future__ import annotations

from typer.testing import CliRunner

from rewrite.commands.cli import app


def invoke(*args: object, **env: str) -> tuple[int, str, str]:
    """The exit status, and what it says to standard output and error."""
    done = CliRunner().invoke(app, [*map(str, args)], env=env)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr
