"""Programs whose best form grows slower than what is written, beside their peers.

    python bench/algebra.py [NAME...] [--sizes 512,4096] [--peers NumPy,jax.jit]
                            [--rounds N] [--threads N] [--write docs/bench/algebra.md]
    python bench/algebra.py --plan-only [NAME...] [--sizes 512] [--kernels] [--far]

Each program of bench/programs runs as it is written under NumPy, jax.jit,
torch.compile and numba, and optimized by us: one process, two threads each, in turns,
medians; answers count that are right beside float64.  A contestant rests once its runs
have taken two seconds.  `pip install -e '.[bench]'` brings the peers; who is not
installed is listed as missing.  Exits with 1 where a program misses its best order of
growth, is slower than a peer, or less exact than what is written.

With `--plan-only` nothing runs but saturation: for each program the flops of our plan,
how many times those of the best form that we know (`x best`), the same of the program
as it is written, its bytes moved beside those of the best form, e-nodes and seconds of
saturation.  `--kernels` lists the kernels, `--far` shows only programs that miss their
order.  No array is made, so any size will do.  A program whose best form rests on laws
that `default` leaves out is asked twice: at `default` for the best form without them,
and at the precision that has them (`NAME, PRECISION`) for the best of all.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench.cpu import limit, load  # noqa: E402

if TYPE_CHECKING:
    from bench.programs.page import Entry


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    from rewrite.egraph.rules.ruleset import PRECISIONS

    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help="programs whose names contain it")
    add("--sizes", default="512", help="by commas")
    add("--peers", default="", help="names, by commas; all where none is given")
    add("--rounds", type=int, default=7)
    add("--threads", type=int, default=2, help="of each")
    add("--precision", default="default", choices=PRECISIONS)
    add("--write", type=Path, metavar="PAGE")
    add("--plan-only", action="store_true", help="what is planned; nothing runs")
    add("--kernels", action="store_true", help="list the kernels of each plan")
    add("--far", action="store_true", help="only programs that miss their order")
    return parser.parse_args(given)


def plan_only(args: argparse.Namespace) -> int:
    from bench.programs import PROGRAMS
    from bench.programs.orders import (
        HEAD,
        Order,
        asked,
        chosen,
        kernel_lines,
        line,
        order,
    )
    from bench.programs.orders import summary as summed

    found: list[Order] = []
    print(HEAD)
    for program in chosen(PROGRAMS, args.names):
        for n, precision in product(
            map(int, args.sizes.split(",")), asked(program, args.precision)
        ):
            found.append(o := order(program, n, precision=precision))
            if not (args.far and o.is_best):
                kernels = kernel_lines(o) if args.kernels else ()
                print(line(o), *kernels, sep="\n", flush=True)
    print(summed(found))
    return int(not all(o.is_best for o in found))


def run(args: argparse.Namespace) -> list[Entry]:
    """Everything that was asked for; a line of progress for each program."""
    from bench.programs import PROGRAMS
    from bench.programs.contestants import CONTESTANTS, OURS
    from bench.programs.orders import chosen, order
    from bench.programs.page import table
    from bench.programs.race import race

    peers = args.peers.split(",") if args.peers else CONTESTANTS
    unknown = set(peers) - set(CONTESTANTS)
    if unknown:
        sys.exit(
            f"--peers: {', '.join(sorted(unknown))}: not of {', '.join(CONTESTANTS)}"
        )
    names = [n for n in CONTESTANTS if n == OURS or n in peers]
    entries: list[Entry] = []
    for program in chosen(PROGRAMS, args.names):
        for n in map(int, args.sizes.split(",")):
            entries.append((order(program, n), race(program, n, names, args.rounds)))
            print(list(table(entries[-1:]))[-1], file=sys.stderr, flush=True)
    if not entries:
        sys.exit(f"{' '.join(args.names)}: no program has that in its name")
    return entries


def report(args: argparse.Namespace) -> int:
    from bench.peers.heap import keep_memory

    pooled = keep_memory()  # libraries start threads as they are loaded
    from bench.peers.ours import describe
    from bench.peers.page import machine, versions
    from bench.programs.page import page, verdict

    before = load()
    entries = run(args)
    known = {
        "machine": machine(),
        "versions": versions(("numpy", "torch", "jax", "numba")),
        "device": describe(),
        "freed memory": "by mallopt" if pooled else "not kept",
        "load": f"{before} before, {load()} at the end",
    }
    text = page(" ".join(["python bench/algebra.py", *sys.argv[1:]]), known, entries)
    print(text)
    if args.write:
        args.write.write_text(text)
    return int(any(verdict(e) != "met" for e in entries))


def main() -> int:
    args = arguments()
    if args.plan_only:
        return plan_only(args)
    limit(args.threads)
    with TemporaryDirectory() as folder:
        os.environ["REWRITE_CACHE"] = folder
        return report(args)


if __name__ == "__main__":
    sys.exit(main())
