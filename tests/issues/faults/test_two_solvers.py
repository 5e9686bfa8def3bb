"""A driver of GPUs (that of PoCL, Mesa) brings another release of the solver for all to
find; the solver called that one's functions on its own data, and the process ended."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("z3")

OTHER = "void Z3_get_numeral_rational(void) { __builtin_trap(); }"
PROVED = """
import ctypes, sys
ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
from rewrite.authoring.smt.meaning.conditions import solver
z3 = solver()
print(z3.RealVal("1/3").as_string())
"""


@pytest.mark.skipif(
    sys.platform != "linux" or not shutil.which("cc"),
    reason="libraries are built with cc, and found as on Linux",
)
def test_the_solver_calls_its_own_functions(tmp_path: Path) -> None:
    source, library = tmp_path / "other.c", tmp_path / "libother.so"
    source.write_text(OTHER)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    done = subprocess.run(
        [sys.executable, "-c", PROVED, str(library)], capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "1/3\n"), done.stderr
