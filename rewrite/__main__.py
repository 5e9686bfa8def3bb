"""`python -m rewrite` is the command `rewrite`."""

from .cli import main

main()
