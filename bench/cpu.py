"""The c device beside NumPy, torch, torch.compile, ONNX Runtime and jax.jit, on a CPU.

    python bench/cpu.py [--only NAME] [--rounds N] [--peers NumPy,torch]
                        [--threads N] [--calibrate] [--json]
                        [--write docs/bench/cpu.md]

One process, two threads each, in turns, medians; answers count that are right beside
float64.  `pip install -e '.[bench]'` brings the peers; who is not installed is listed
as missing.  The device plans by what is assumed of its kind; with `--calibrate` it is
measured first.  What was optimized or measured before is not used.  Exits with 1 where
a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]

if TYPE_CHECKING:
    from bench.peers.race import Result

COUNTS = (  # where libraries look for the number of their threads
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "REWRITE_THREADS",
    "NPROC",
)  # fmt: skip


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    add = parser.add_argument
    add("--only", metavar="NAME", default="", help="workloads whose names contain it")
    add("--rounds", type=int, default=11)
    add("--threads", type=int, default=2, help="of each; the bars are for two")
    add("--peers", default="", help="names, by commas; all where none is given")
    add("--calibrate", action="store_true", help="measure the device first")
    add("--json", action="store_true")
    add("--write", type=Path, metavar="PAGE")
    return parser.parse_args(given)


def limit(threads: int) -> None:
    """Before any library is loaded: so many threads, and processors to run them on."""
    os.environ.update(dict.fromkeys(COUNTS, str(threads)))
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def calibrate() -> None:
    command = [sys.executable, "-m", "rewrite", "calibrate", "--device", "c"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)


def run(args: argparse.Namespace) -> list[Result]:
    """Everything that was asked for; a line of progress for each workload."""
    from bench.peers.page import table
    from bench.peers.race import CONTESTANTS, OURS, race
    from bench.peers.workloads import kernels, models

    peers = args.peers.split(",") if args.peers else CONTESTANTS
    names = [n for n in CONTESTANTS if n == OURS or n in peers]
    unknown = set(peers) - set(CONTESTANTS)
    if unknown:
        sys.exit(
            f"--peers: {', '.join(sorted(unknown))}: not of {', '.join(CONTESTANTS)}"
        )
    results: list[Result] = []
    for w in (*kernels(), *models()):
        if args.only in w.name:
            found = race(w, names, args.rounds)
            print(*list(table(found))[2:], sep="\n", file=sys.stderr, flush=True)
            results += found
    if not results:
        sys.exit(f"--only {args.only}: no workload has that in its name")
    return results


def load() -> str:
    """Threads that wanted a processor, those here too, over 1, 5 and 15 minutes."""
    return ", ".join(f"{x:.1f}" for x in os.getloadavg())


def facts(pooled: bool, before: str) -> dict[str, str]:
    from bench.peers.ours import describe
    from bench.peers.page import machine, versions

    keeps = "by mallopt" if pooled else "not kept: this C library has no mallopt"
    return {
        "machine": machine(),
        "versions": versions(),
        "device": describe(),
        "freed memory": keeps,
        "load": f"{before} before, {load()} at the end",
    }


def main() -> int:
    args = arguments()
    sys.path.insert(0, str(ROOT))
    limit(args.threads)
    with TemporaryDirectory() as folder:
        os.environ["REWRITE_CACHE"] = folder
        if args.calibrate:
            calibrate()
        return report(args)


def report(args: argparse.Namespace) -> int:
    from bench.peers.heap import keep_memory

    pooled = keep_memory()  # libraries start threads as they are loaded
    from bench.peers.page import page

    before = load()
    results = run(args)
    known = facts(pooled, before)
    command = " ".join(["python bench/cpu.py", *sys.argv[1:]])
    if args.json:
        rows = [
            {**asdict(r), "ratio": r.ratio, "best": r.best, "cpu_ratio": r.cpu_ratio,
             "verdict": r.verdict}
            for r in results
        ]  # fmt: skip
        print(json.dumps({"command": command, **known, "results": rows}, indent=1))
    else:
        print(page(command, known, results))
    if args.write:
        args.write.write_text(page(command, known, results))
    return int(any(not r.verdict.startswith("met") for r in results))


if __name__ == "__main__":
    sys.exit(main())
