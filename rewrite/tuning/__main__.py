"""A worker's process: `python -m rewrite.tuning FD`, as `crew.py` starts it."""

import sys

from rewrite.tuning.worker import main

main(sys.argv)
