"""Mutation testing of the rule library.

    python -m tests.authoring.mutation 1000 --seed 0

Mutants are taken in turns of their kinds, and within a kind of their rules, until so
many change the meaning: those that sampling refutes, and those that it misses.  What
only looks like a change is told apart by an argument
(`mutants/verdicts.py`).
"""

from __future__ import annotations

import argparse
import functools
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from time import perf_counter

from rewrite.authoring.parallel import each
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.rules.ruleset import RuleSet
from rewrite.egraph.saturate.engine import Engine

from .mutants import KINDS, Mutant, mutants
from .mutants.verdicts import Fate, Judged, judge

SHARE = 0.98  # of the mutants that change the meaning: to be refuted at least
BATCH = 8  # mutants judged by one task
ROUND = 240  # and by all of them before anything is said
FATES: tuple[Fate, ...] = (
    "refuted", "missed", "equivalent", "vacuous", "refused", "crashed",
)  # fmt: skip


@functools.cache
def library() -> RuleSet:
    """Every rule of the bundled files, those for operators and approximate ones too."""
    return load_rules(precision="unstable", goal="operators")


@functools.cache
def every() -> tuple[Mutant, ...]:
    return mutants(library())


@functools.cache
def _engine() -> Engine:
    return Engine(memory=3 << 30)


def chosen(seed: int) -> Iterator[Mutant]:
    """All mutants, shuffled, kinds and then rules taking turns."""
    rng = random.Random(seed)
    found = list(every())
    rng.shuffle(found)
    kinds: dict[str, dict[str, list[Mutant]]] = {k: {} for k in KINDS}
    for m in found:
        kinds[m.kind].setdefault(m.origin, []).append(m)
    turns = [_turns(list(kinds[k].values())) for k in KINDS]
    yield from _turns([list(t) for t in turns])


def _turns(rows: Sequence[Sequence[Mutant]]) -> Iterator[Mutant]:
    """The first of each row, then the second of each."""
    for i in range(max(map(len, rows), default=0)):
        yield from (row[i] for row in rows if i < len(row))


def judged(batch: Sequence[Mutant]) -> list[Judged]:
    return [judge(m, library(), _engine()) for m in batch]


def run(
    count: int, seed: int, jobs: int, told: Callable[[str], None] = lambda s: None
) -> list[Judged]:
    """Judges mutants until `count` of them change the meaning."""
    pool, out = chosen(seed), list[Judged]()
    while (missing := count - sum(j.counts for j in out)) > 0:
        few = list(islice(pool, min(missing, ROUND)))
        if not few:
            break
        batches = [few[i : i + BATCH] for i in range(0, len(few), BATCH)]
        new = [j for found in each(judged, batches, jobs) for j in found]
        out += new
        told("\n".join(map(str, (j for j in new if j.fate in ("missed", "crashed")))))
        told(f"{len(out)} mutants, {sum(j.counts for j in out)} of {count}: "
             f"{share(out):.2%}")  # fmt: skip
    return out


def table(found: Iterable[Judged]) -> str:
    """Counts by kind."""
    counts = Counter[tuple[str, str]]()
    for j in found:
        counts[j.mutant.kind, j.fate] += 1
        counts["all", j.fate] += 1
    head = f"{'':22}" + "".join(f"{f:>11}" for f in FATES)
    rows = (
        f"{kind:22}" + "".join(f"{counts[kind, f]:11}" for f in FATES)
        for kind in (*KINDS, "all")
    )
    return "\n".join((head, *rows))


def report(found: Sequence[Judged]) -> str:
    ways = Counter((j.fate, j.by) for j in found)
    lines = [table(found), ""]
    lines += [f"{fate} by {by}: {n}" for (fate, by), n in sorted(ways.items())]
    listed = [j for j in found if j.fate in ("missed", "crashed")]
    lines += ["", *(f"{j}; {j.why}" for j in sorted(listed, key=str))]
    return "\n".join(lines)


def share(found: Iterable[Judged]) -> float:
    """Of the mutants that change the meaning, how many were refuted."""
    counts = Counter(j.fate for j in found)
    meant = counts["refuted"] + counts["missed"]
    return counts["refuted"] / meant if meant else 1.0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="mutation testing of the rules")
    parser.add_argument("count", type=int, help="mutants that change the meaning")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args(arguments)
    started = perf_counter()
    found = run(
        given.count, given.seed, given.jobs, lambda s: print(s, file=sys.stderr)
    )
    print(report(found))
    seconds = perf_counter() - started
    print(f"\n{share(found):.2%} of those that change the meaning were refuted; "
          f"{len(found)} mutants, {seconds:.0f} s")  # fmt: skip
    return 0 if share(found) >= SHARE else 1


if __name__ == "__main__":
    sys.exit(main())
