"""Sums of products as people write them: is each in its best order of growth?

    python bench/algebra.py --plan-only [NAME...] [--sizes 512,4096] [--kernels]
                            [--far] [--precision default]

For each program of bench/programs: the flops of our plan, how many times those of the
best form that we know (`x best`), the same of the program as it is written, its bytes
moved beside those of the best form, e-nodes and seconds of saturation.
`--kernels` lists the kernels, `--far` shows only programs that miss their order.  No
array is made, and nothing is timed but saturation.  Exits with 1 where one misses.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help="programs whose names contain it")
    add("--plan-only", action="store_true", help="what is planned; nothing runs")
    add("--sizes", default="512", help="by commas")
    add("--kernels", action="store_true", help="list the kernels of each plan")
    add("--far", action="store_true", help="only programs that miss their order")
    add("--precision", default="default", choices=("strict", "default", "fast"))
    return parser.parse_args(given)


def plan_only(args: argparse.Namespace) -> int:
    from bench.programs import PROGRAMS
    from bench.programs.orders import HEAD, Order, chosen, kernel_lines, line, order
    from bench.programs.orders import summary as summed
    from rewrite.egraph.rules.rulefile import load_rules

    rules = load_rules(precision=args.precision)
    found: list[Order] = []
    print(HEAD)
    for program in chosen(PROGRAMS, args.names):
        for n in map(int, args.sizes.split(",")):
            found.append(o := order(program, n, rules, args.precision))
            if not (args.far and o.is_best):
                print(line(o), *(kernel_lines(o) if args.kernels else ()), sep="\n",
                      flush=True)  # fmt: skip
    print(summed(found))
    return int(not all(o.is_best for o in found))


def main() -> int:
    args = arguments()
    sys.path.insert(0, str(ROOT))
    return plan_only(args)


if __name__ == "__main__":
    sys.exit(main())
