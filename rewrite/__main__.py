"""`python -m rewrite` is the command `rewrite`."""

from .entry import main

main()
