"""`python -m rewrite` is the command `rewrite`."""

from .commands.cli import main

main()
