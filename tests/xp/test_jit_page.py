"""docs/jit.md: its Python runs as it stands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "jit.md"


def test_the_code_of_the_page_runs(tmp_path: Path) -> None:
    code = "\n".join(
        re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    )
    file = tmp_path / "page.py"
    file.write_text(f"import warnings\nwarnings.simplefilter('error')\n{code}", "utf-8")
    env = {**os.environ, "PYTHONPATH": str(PAGE.parents[1])}
    done = subprocess.run(
        [sys.executable, file], capture_output=True, text=True, env=env
    )
    assert done.returncode == 0, done.stderr
