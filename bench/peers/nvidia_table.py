"""The table of docs/bench/cuda.md, from what `bench/nvidia.py --json FILE` wrote.

python bench/peers/nvidia_table.py FILE
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

HEAD = (
    "row", "ours µs", "of copy", "TFLOP/s", "torch µs", "ratio", "before µs",
    "swept µs", "predicted µs", "family",
)  # fmt: skip
type Result = Mapping[str, Any]


def rate(results: Sequence[Result]) -> float:
    """Bytes in a second of the fastest copy."""
    copies = (r for r in results if r["row"].startswith("copy"))
    return max(r["bytes"] / min(r["seconds"].values()) for r in copies)


def line(r: Result, copy: float) -> Iterator[str]:
    seconds = r["seconds"]
    own = seconds["ours"]
    swept = [s for n, s in seconds.items() if n in r["families"] and n != "before"]
    best = min(seconds[n] for n in r["torch"])
    yield r["row"]
    yield micro(own)
    yield f"{r['bytes'] / own / copy:.2f}" if not r["flops"] else ""
    yield f"{r['flops'] / own / 1e12:.0f}" if r["flops"] else ""
    yield micro(best)
    yield f"{best / own:.2f}"
    yield micro(seconds["before"]) if "before" in seconds else ""
    yield micro(min(swept)) if len(swept) > 1 else ""
    yield micro(r["predicted"]["ours"])
    yield r["families"]["ours"]


def micro(seconds: float) -> str:
    us = seconds * 1e6
    return f"{us:.1f}" if us < 100 else f"{us:.0f}"


def table(results: Sequence[Result]) -> str:
    copy = rate(results)
    rows = [list(line(r, copy)) for r in results]
    keep = [k for k in range(len(HEAD)) if any(row[k] for row in rows)]
    aligned = ["---" if k in (0, len(HEAD) - 1) else "---:" for k in keep]
    shown = [[row[k] for k in keep] for row in (list(HEAD), *rows)]
    lines = [shown[0], aligned, *shown[1:]]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


if __name__ == "__main__":
    print(table(json.loads(Path(sys.argv[1]).read_text())))
