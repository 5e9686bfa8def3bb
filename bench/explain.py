"""What a proof costs beside the optimization that it explains, in CPU time.

    python bench/explain.py

Transformers whose layers repeat, and some in which no two are alike, so that nothing is
outlined.  Proving is the journalled run of each distinct piece, the proof, both checks
and the check of the whole; the engine's process counts.  Then one node is asked about.
Exits with 1 where a bar is missed.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).parent.parent))

from rewrite.backends.devices import device
from rewrite.core.costs import cost_for
from rewrite.egraph.proof.whole import Optimization
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.engine import shared
from rewrite.egraph.saturate.saturate import saturate, saturator
from rewrite.extract.schedule.plan import plan
from tests.proofs import explained_plan
from tests.transformers import transformer

BARS = {12: 1.5, 32: 4.0}  # seconds over the plain run, layers alike
NODE_SECONDS = 0.2


@dataclass(frozen=True)
class Cost:
    plain: float
    proof: float
    found: Optimization


def spent[R](work: Callable[[], R]) -> tuple[float, R]:
    """CPU seconds of this process and of a fresh engine's, whose end counts it."""
    shared().close()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = process_time()
    out = work()
    here = process_time() - start
    shared().close()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    engine = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return here + engine, out


def measured(layers: int, alike: bool, rounds: int = 3) -> Cost:
    """The least of some rounds: what else the machine does only adds."""
    graph, rules = transformer(layers, 512, 768, 12, alike), load_rules()
    target = device("c")
    saturate(transformer(1), rules)
    best: Cost | None = None
    for _ in range(rounds):
        price = cost_for(target)
        plain, made = spent(lambda price=price: plan(graph, saturator(rules), price))
        proof, found = spent(lambda made=made: explained_plan(graph, made, rules))
        if best is None or proof < best.proof:
            best = Cost(min(plain, best.plain) if best else plain, proof, found)
    assert best is not None
    return best


def main() -> int:
    print(f"{'transformer':24}{'plan s':>8}{'proof s':>9}{'pieces':>8}{'places':>8}"
          f"{'steps':>7}{'node ms':>9}")  # fmt: skip
    bad: list[str] = []
    for layers, alike in ((1, True), (12, True), (32, True), (4, False)):
        cost = measured(layers, alike, 3 if alike else 1)
        pieces = cost.found.pieces
        steps = sum(len(p.why.steps) for p in pieces)
        start = process_time()
        largest = max(pieces, key=lambda p: len(p.before.nodes))
        largest.why.about(len(largest.before.nodes) // 2)
        node = process_time() - start
        name = f"{layers} layers{'' if alike else ', unlike'}"
        print(f"{name:24}{cost.plain:8.2f}{cost.proof:9.2f}{len(pieces):8}"
              f"{len(cost.found.instances):8}{steps:7}{node * 1e3:9.2f}")  # fmt: skip
        if alike and cost.proof > BARS.get(layers, cost.proof):
            bad.append(f"{name}: the proof took {cost.proof:.2f} s")
        if node > NODE_SECONDS:
            bad.append(f"{name}: one node took {node:.2f} s")
    print("\n" + ("; ".join(bad) or "within every bar"))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
