"""Extraction by family, size and seed: cost, gap to the best known, seconds, proofs.

    python bench/extraction.py [FAMILY ...] [--sizes 2000,20000] [--seeds 0]
                               [--methods local,auto]
    python bench/extraction.py [FAMILY ...] --best [N]  N times the moves (10), kept
    python bench/extraction.py [FAMILY ...] --large     150,000 nodes, by --seconds 5
    python bench/extraction.py --files A.json B.json ...

Families are those of `tests/extract/instances.py`, and `rules`: graphs of the replay
set, saturated by our own rules.  The best known costs stand in
`bench/data/extraction_best.json`; `--best` runs `auto` with N times its moves and keeps
what is less; what is proved needs none.  Seconds are of the processor, from the problem
in memory; `first` is when the first choice was there.  The last line says what missed
its bar.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).parent.parent))

from rewrite.extract.dag.dag import Problem
from rewrite.extract.dag.methods import (
    METHODS,
    MOVES,
    Answer,
    Effort,
    Method,
    extracted,
)
from rewrite.extract.dag.serialized import load
from tests.extract.instances import FAMILIES, from_rules, instance

MODELS = ("mlp", "gpt2_layer", "llama_layer", "moe_layer", "training_step")
KEPT = Path(__file__).parent / "data" / "extraction_best.json"
EFFORT = 10
LARGE = 150_000  # nodes
NEAR = 0.005  # how near `auto` shall be to the best known,
SECONDS = 9.0  # in how many seconds,
FIRST = 5.0  # and the first choice of a large one
LATE = 0.2  # seconds after those allowed

type Known = dict[str, tuple[float, bool]]  # instance -> the least cost, proved or not


@dataclass(frozen=True, slots=True)
class Run:
    answer: Answer
    seconds: float
    first: float  # seconds to the first choice


def known() -> Known:
    read: dict[str, list[float]] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    return {name: (cost, bool(proved)) for name, (cost, proved) in read.items()}


def keep(name: str, a: Answer) -> None:
    """Into the file, if it is the best, or the first proof; others may write too."""
    best = known()
    cost, proved = best.get(name, (float("inf"), False))
    if a.cost < cost or (a.cost == cost and a.optimal > proved):
        best[name] = (a.cost, a.optimal)
        lines = [f"{json.dumps(k)}: {json.dumps(best[k])}" for k in sorted(best)]
        KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def problems(args: argparse.Namespace) -> Iterator[tuple[str, Problem]]:
    for path in map(Path, args.files):
        yield path.stem, load(path).problem
    if args.files and not args.family:
        return
    sizes = [LARGE] if args.large else [int(s) for s in args.sizes.split(",")]
    others = [] if args.large else ["rules"]
    for family in args.family or [*FAMILIES, *others]:
        if family == "rules":
            for model in MODELS:
                yield f"rules {model}", from_rules(model)
            continue
        for size in sizes:
            for seed in args.seeds.split(","):
                yield f"{family} {size} {seed}", instance(family, size, int(seed))


def timed(p: Problem, method: Method, effort: Effort) -> Run:
    start, found = process_time(), list[float]()
    answer = extracted(
        p, method, effort, lambda what, cost: found.append(process_time() - start)
    )
    seconds = process_time() - start
    return Run(answer, seconds, min([*found, seconds]))


def effort(args: argparse.Namespace) -> Effort:
    if args.large or args.seconds is not None:
        seconds = 5.0 if args.seconds is None else args.seconds
        return Effort(seconds=seconds, clock=process_time)
    return Effort((args.best or 1) * MOVES)


def row(name: str, nodes: int, method: str, run: Run, best: float | None) -> str:
    a = run.answer
    bound = "-" if a.bound is None else f"{a.bound:.8g}"
    known = "-" if best is None else f"{best:.8g}"
    gap = "-" if not best else f"{a.cost / best - 1:.2%}"
    return (
        f"{name:18}{nodes:7}  {method:10}{a.cost:10.8g}{bound:>10}{known:>10}{gap:>8}"
        f"{run.seconds:7.1f}{run.first:6.1f}  {'proved' if a.optimal else ''}"
    )


def misses(args: argparse.Namespace, run: Run, best: float | None) -> list[str]:
    """What `auto` promises and did not hold."""
    a, found = run.answer, list[str]()
    if a.cost > min(a.starts.values(), default=a.cost):
        found.append("is worse than a greedy choice")
    if best is not None and a.cost > best * (1 + NEAR):
        found.append(f"is {a.cost / best - 1:.2%} above the best known")
    limit = effort(args).seconds
    if limit is None and best is None:
        found.append("has no best known cost: run it with --best")
    if limit is None and run.seconds > SECONDS:
        found.append(f"took {run.seconds:.1f} s, more than {SECONDS:.0f}")
    if limit is not None and run.seconds > limit + LATE:
        found.append(f"took {run.seconds:.1f} s of {limit:g}")
    if args.large and run.first > FIRST:
        found.append(f"had its first choice after {run.first:.1f} s")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family", nargs="*", help="default: all")
    parser.add_argument("--sizes", default="2000,20000")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--methods", default="auto")
    parser.add_argument("--seconds", type=float, help="instead of moves")
    parser.add_argument("--best", type=int, nargs="?", const=EFFORT, metavar="N")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--files", nargs="*", default=[], help="e-graphs as JSON")
    args = parser.parse_args()
    wanted = args.methods.split(",")
    if strange := set(wanted).difference(METHODS):
        parser.error(f"{', '.join(sorted(strange))}: one of {METHODS} was expected")
    methods: list[Method] = [m for m in METHODS if m in wanted]
    missed: list[str] = []
    print(f"{'instance':18}{'nodes':>7}  {'method':10}{'cost':>10}{'bound':>10}"
          f"{'best':>10}{'gap':>8}{'s':>7}{'first':>6}")  # fmt: skip
    for name, p in problems(args):
        nodes = sum(map(len, p.classes))
        for method in methods:
            run = timed(p, method, effort(args))
            if args.best:
                keep(name, run.answer)
            proved = run.answer.cost if run.answer.optimal else None
            best = known().get(name, (proved, False))[0]
            print(row(name, nodes, method, run, best), flush=True)
            if method == "auto" and not args.best:
                missed += [f"{name} {what}" for what in misses(args, run, best)]
    judged = "auto" in methods and not args.best
    print(
        "\n".join(missed) or f"auto {'missed no bar' if judged else 'was not judged'}"
    )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
