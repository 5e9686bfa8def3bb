"""Builds the wheel, installs it into a fresh environment and uses it from elsewhere.

The dependencies are those of the environment that runs this file: the new one sees them
but not the checkout.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def run(*command: str | Path, cwd: Path) -> None:
    print("+", *command, flush=True)
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    subprocess.run([str(c) for c in command], cwd=cwd, env=env, check=True)


def fresh(folder: Path) -> Path:
    """A new environment with the wheel in it; returns its folder of programs."""
    pip = (sys.executable, "-m", "pip", "-q", "--disable-pip-version-check")
    build = ("--no-deps", "--no-build-isolation", "-w", folder)
    run(*pip, "wheel", ROOT, *build, cwd=folder)
    run(sys.executable, "-m", "venv", folder / "env", cwd=folder)
    programs = folder / "env" / "bin"
    (wheel,) = folder.glob("rewrite-*.whl")
    run(programs / "pip", "-q", "install", "--no-deps", wheel, cwd=folder)
    # Links of editable installs are .pth files, which are read in site folders only.
    paths = {k: str(folder / "env") for k in ("base", "platbase")}
    site = Path(sysconfig.get_path("purelib", vars=paths))
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return programs


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        programs = fresh(folder)
        where = "import rewrite; assert 'site-packages' in rewrite.__file__"
        run(programs / "python", "-c", where, cwd=folder)
        run(programs / "rewrite", "devices", cwd=folder)
        run(programs / "rewrite", "demo", cwd=folder)
        for example in sorted((ROOT / "examples").glob("*.py")):
            run(programs / "python", example, cwd=folder)
    print("wheel: passed")


if __name__ == "__main__":
    main()
