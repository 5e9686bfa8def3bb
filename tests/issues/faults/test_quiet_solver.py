"""HiGHS 1.16 greets on standard output while it is made, before options can be set."""

from __future__ import annotations

import subprocess
import sys

MADE = "from rewrite.extract.dag.exact import solver; solver().run()"


def test_what_prints_json_prints_nothing_else() -> None:
    made = subprocess.run([sys.executable, "-c", MADE], capture_output=True, check=True)
    assert made.stdout == b""
