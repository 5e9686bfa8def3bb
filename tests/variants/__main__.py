"""All variants, and a table.

python -m tests.variants [--workload W] [--count N] [--seed S] [--real] [--device c]
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass

from .judge import MODELS, Outcome, outcome, wrong, wrong_on
from .workloads import WORKLOADS, variant


@dataclass
class Row:
    """A line of the table."""

    workload: str
    count: int = 0
    lost: int = 0
    wrong: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        numbers = f"{self.count:8} {self.count - self.lost:6} {self.lost:5}"
        return f"{self.workload:15} {numbers} {self.wrong:6} {self.seconds:8.1f}"


def main() -> int:
    p = argparse.ArgumentParser(prog="python -m tests.variants", description=__doc__)
    p.add_argument("--workload", action="append", choices=tuple(WORKLOADS))
    p.add_argument("--count", type=int, default=30)
    p.add_argument("--seed", type=int, default=0, help="the first one")
    p.add_argument("--model", choices=tuple(MODELS), help="instead of each one's own")
    p.add_argument("--device", default="", help="run there, too: c, opencl, ...")
    real = "their twins of real sizes, which are planned and not run"
    p.add_argument("--real", action="store_true", help=real)
    p.add_argument("--quiet", action="store_true", help="the table alone")
    a = p.parse_args()
    rows = [_run(w, a) for w in a.workload or WORKLOADS]
    print(f"{'workload':15} variants  fused  lost  wrong  seconds")
    print("\n".join(map(str, rows)))
    return int(any(r.lost or r.wrong for r in rows))


def _run(workload: str, a: argparse.Namespace) -> Row:
    entry, row = WORKLOADS[workload], Row(workload)
    model = MODELS[a.model] if a.model else entry.judged_by(a.real)
    started = time.perf_counter()
    done: list[Outcome] = []
    for seed in range(a.seed, a.seed + a.count):
        o = outcome(variant(workload, seed, a.real), model)
        done.append(o)
        reason, message = entry.goal(o), None if a.real else wrong(o)
        row.count += 1
        row.lost += reason is not None
        row.wrong += message is not None
        if reason or message:
            _tell(workload, o, reason, message, a.quiet)
    if a.device and not a.real:
        for i, message in wrong_on(a.device, done).items():
            row.wrong += 1
            _tell(workload, done[i], f"on {a.device}", message, a.quiet)
    row.seconds = time.perf_counter() - started
    return row


def _tell(
    workload: str, o: Outcome, reason: str | None, message: str | None, quiet: bool
) -> None:
    if quiet and message is None:
        return
    print(f"{workload} {o.variant.seed}: {reason or 'fused'} [{o.variant.text}]")
    for line in o.kernels:
        print(f"    {line}")
    if message:
        print(f"    WRONG: {message}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
