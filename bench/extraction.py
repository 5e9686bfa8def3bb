"""Extraction by method: cost, bound, seconds and the gap to the best known.

    python bench/extraction.py [FAMILY ...] [--sizes 2000,20000] [--long 30]
                               [--methods auto,exact]
    python bench/extraction.py --files A.json B.json ...

Families are those of `tests/extract/instances.py`, and `rules`: graphs of the replay
set, saturated by our own rules.  The best known cost is the least of all methods,
`exact` with `--long` seconds among them.  Seconds are of the processor.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).parent.parent))

from rewrite.extract.dag import Problem
from rewrite.extract.methods import Answer, Effort, Method, extracted
from rewrite.extract.serialized import load
from tests.extract.instances import FAMILIES, from_rules, instance

MODELS = ("mlp", "gpt2_layer", "llama_layer", "moe_layer", "training_step")
ORDER: tuple[Method, ...] = ("tree", "greedy-dag", "local", "auto", "exact")
NEAR = 0.005  # how near `auto` shall be to the best known


def problems(args: argparse.Namespace) -> Iterator[tuple[str, Problem]]:
    for path in map(Path, args.files):
        yield path.stem, load(path).problem
    if args.files and not args.family:
        return
    for family in args.family or [*FAMILIES, "rules"]:
        if family == "rules":
            for model in MODELS:
                yield f"rules {model}", from_rules(model)
            continue
        for size in map(int, args.sizes.split(",")):
            yield f"{family} {size}", instance(family, size)


def timed(p: Problem, method: Method, effort: Effort) -> tuple[Answer, float]:
    start = process_time()
    answer = extracted(p, method, effort, lambda what, cost: None)
    return answer, process_time() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family", nargs="*", help="default: all")
    parser.add_argument("--sizes", default="2000,20000")
    parser.add_argument("--methods", default=",".join(ORDER))
    parser.add_argument("--long", type=float, default=30.0)
    parser.add_argument("--files", nargs="*", default=[], help="e-graphs as JSON")
    args = parser.parse_args()
    methods = [m for m in ORDER if m in args.methods.split(",")]
    far = 0
    for name, p in problems(args):
        nodes = sum(map(len, p.classes))
        print(f"{name}: {nodes} nodes, {len(p.classes)} classes", flush=True)
        long = Effort(seconds=args.long)
        made = {m: timed(p, m, long if m == "exact" else Effort()) for m in methods}
        best = min(answer.cost for answer, _ in made.values())
        for method, (a, seconds) in made.items():
            bound = "-" if a.bound is None else f"{a.bound:.8g}"
            gap = 0.0 if best == 0 else a.cost / best - 1
            print(
                f"  {method:11}{a.cost:14.8g}  bound {bound:>12}  {seconds:6.2f} s"
                f"  {gap:8.3%}{'  optimal' if a.optimal else ''}",
                flush=True,
            )
        far += "auto" in made and made["auto"][0].cost > best * (1 + NEAR)
    print(f"{far} where auto is more than {NEAR:.1%} above the best known")
    return 1 if far else 0


if __name__ == "__main__":
    sys.exit(main())
