"""The table of models that ship inside packages.

    python -m bench.wild CACHE [NAME...] [--again]   (needs '.[bench]'; fetched by pip)

A process for each, of at most SECONDS and GIGABYTES.  What a model gave is kept in the
cache: a run that was cut off goes on where it was; `--again` forgets it.  The columns
are explained above the table that it prints.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from .collect import models

SECONDS, GIGABYTES = 240, 12
HEAD = """\
`nodes`: of the file, optimized, and of the best of onnxsim, onnxslim, onnxscript,
onnxoptimizer; `error`: between the file and the optimized one; `file x`: ONNX Runtime's
time for the file over that for the optimized one; `on`: kernels of c, or a host, and
the share of nodes that a host runs (of unrolled bodies, each); `off f64`: relative
distance from what the model gives in f64, ours (ONNX Runtime's), at the larger and the
smaller of two sizes; with `!` from ONNX Runtime, where the f64 is not known (how far it
moves where its inputs move by 1e-6); `x`: ONNX Runtime's time over ours at the larger,
two threads; `s`: to compile, with the first call, the median of three processes; `GB`:
the most that a process had, after ONNX Runtime's and after our call.
Sizes that a file leaves open are drawn: the first that it takes, which is small, and
the largest of images up to 128 x 128, of signals and of rows up to 65,536 numbers.
"""
COLUMNS = ("model", "nodes", "error", "file x", "on", "off f64", "x", "s", "GB", "")


def tried(path: Path, kept: Path) -> dict[str, Any]:
    if kept.exists():
        return json.loads(kept.read_text("utf-8"))
    limits = [str(SECONDS), str(GIGABYTES)]
    done = subprocess.run(
        [sys.executable, "-m", "bench.wild.one", str(path), *limits],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = [x for x in done.stdout.splitlines() if x.startswith("{")]
    report: dict[str, Any] = json.loads(lines[-1] if lines else "{}")
    if done.returncode:
        said = done.stderr.strip().splitlines()[-1:]
        report["end"] = f"ended by {done.returncode} {' '.join(said)}"[:160]
    kept.write_text(json.dumps(report), "utf-8")
    return report


def cells(name: str, r: dict[str, Any]) -> tuple[str, ...]:
    best = min(r.get("tools", {}).values(), default="-")
    counts = " ".join(map(str, (*r.get("nodes", ("-", "-")), best)))
    error = "-" if r.get("error") is None else f"{r['error']:.0e}"
    distances = (r.get(k, ()) for k in ("differs", "theirs", "exact"))
    differs = " ".join(_off(*x) for x in zip(*distances, strict=True)) or "-"
    on = f"{r['on']} {100 * r['share']:.0f} %" if "share" in r else "-"
    memory = f"{r.get('their_gigabytes', '-')} {r.get('our_gigabytes', '-')}"
    peers = [f"{tool}_error" for tool in ("onnxsim", "onnxslim", "onnxscript",
                                          "onnxoptimizer")]  # fmt: skip
    why = [r[k] for k in r if k.endswith("_error") and k not in peers]
    why += [*r.get("notes", ()), *r.get("hosts", ())[:1], *filter(None, [r.get("end")])]
    shown = (str(r.get(k, "-")) for k in ("their_ratio", "ratio", "first_s"))
    file_x, x, seconds = shown
    return (name, counts, error, file_x, on, differs, x, seconds, memory,
            "; ".join(why)[:120].replace("|", "/").replace("\n", " "))  # fmt: skip


def _off(ours: float, theirs: float, exact: bool) -> str:
    return f"{ours:.0e}{'' if exact else '!'} ({theirs:.0e})"


def right(r: dict[str, Any]) -> bool:
    """Within 1e-3, or twice what ONNX Runtime is off itself, where much cancels, or
    what it moves by with its inputs."""
    pairs = zip(r["differs"], r["theirs"], strict=True)
    return all(ours <= max(1e-3, 2 * theirs) for ours, theirs in pairs)


def summary(rows: list[dict[str, Any]]) -> str:
    n = len(rows)
    done = [r for r in rows if "nodes" in r]
    ran = [r for r in rows if "ratio" in r]
    good = [r for r in ran if right(r)]
    both = [r for r in good if len(r["differs"]) == 2]
    fewer = [
        r for r in done if "tools" in r and r["nodes"][1] <= min(r["tools"].values())
    ]
    on_c = [r for r in ran if r["on"] == "c" and r["share"] <= 0.05]
    ratios = [r["ratio"] for r in ran]
    seconds = sorted(r["first_s"] for r in rows if "first_s" in r)
    small = [r for r in ran if r["our_gigabytes"] <= 3 * r["their_gigabytes"]]
    lines = [
        f"{n} models: optimized {len(done)}, checked "
        f"{sum(r.get('error') is not None for r in rows)}, run {len(ran)}, right "
        f"(within 1e-3, or twice ONNX Runtime's distance) "
        f"{len(good)} ({len(both)} of them at two sizes), nodes <= the best tool's "
        f"{len(fewer)}, on c with <= 5 % of nodes on a host {len(on_c)};",
    ]
    if ratios:
        lines.append(
            f"geometric mean {statistics.geometric_mean(ratios):.2f} x ONNX Runtime, "
            f"{sum(x < 0.7 for x in ratios)} below 0.7; seconds to the first result: "
            f"median {statistics.median(seconds):.1f}, most {seconds[-1]:.1f}; memory "
            f"<= 3 x ONNX Runtime's {len(small)}."
        )
    return "\n".join(lines)


def main(cache: str, *names: str) -> None:
    again = "--again" in names
    chosen = [n for n in names if not n.startswith("--")]
    results = Path(cache) / "results"
    results.mkdir(parents=True, exist_ok=True)
    print(HEAD)
    print("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|")
    rows: list[dict[str, Any]] = []
    for entry, path in models(Path(cache)):
        if not chosen or any(n in entry.name for n in chosen):
            kept = results / f"{entry.digest}.json"
            if again:
                kept.unlink(missing_ok=True)
            rows.append(tried(path, kept))
            print("| " + " | ".join(cells(entry.name, rows[-1])) + " |", flush=True)
    print("\n" + summary(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
