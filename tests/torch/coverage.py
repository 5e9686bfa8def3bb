"""What of real models runs in eager PyTorch, and how far results are from eager's.

    python -m tests.torch.coverage [NAME ..] [--effort 0]

One row per model: graphs, nodes of ATen, those of them in eager PyTorch, and the
largest error of a result (of a gradient) over the largest value; then, for all models,
each operator that ran in eager PyTorch, how often, and why.  Exits with 1 where more
than 2 % of a model's nodes did, or an error is over 1e-4.
"""

from __future__ import annotations

import argparse
import copy
import sys
import warnings
from collections import Counter
from functools import partial

import torch

from rewrite.torch import backend
from rewrite.torch.explain import GraphView, view

from .running import error, once, programs, step
from .zoo import MODELS, MORE, MORE_TRAINED, TRAINED

MOST = 0.02  # of the nodes of a model, in eager PyTorch
CLOSE = 1e-4


def measured(name: str, train: bool, effort: int) -> tuple[list[GraphView], float]:
    torch.compiler.reset()
    torch.manual_seed(0)
    zoo = {**TRAINED, **MORE_TRAINED} if train else {**MODELS, **MORE}
    model, inputs = zoo[name]()
    other = copy.deepcopy(model)
    options = {"cache": False, "effort": effort}
    fast = torch.compile(other, backend=partial(backend, options=options))
    call = step if train else lambda _, run, given: once(run, given)
    torch.manual_seed(1)
    want = call(model, model, inputs)()
    torch.manual_seed(1)
    with programs() as made:
        got = call(other, fast, inputs)()
    return [view(p) for p in made], error(got, want)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.torch.coverage")
    parser.add_argument("names", nargs="*", help="models whose name begins so")
    parser.add_argument("--effort", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    missed, bad = Counter[tuple[str, str]](), list[str]()
    print(f"{'model':24} {'graphs':>6} {'nodes':>6} {'eager':>6} {'error':>8}")
    zoo = [(n, False) for n in {**MODELS, **MORE}]
    zoo += [(n, True) for n in {**TRAINED, **MORE_TRAINED}]
    for name, train in zoo:
        if given.names and not any(map(name.startswith, given.names)):
            continue
        views, off = measured(name, train, given.effort)
        nodes = sum(v.nodes for v in views)
        eager = [m for v in views for m in v.fallbacks]
        missed.update((m.operator, m.reason) for m in eager)
        label = name + (", training" if train else "")
        print(
            f"{label:24} {len(views):6} {nodes:6} {len(eager):6} {off:8.1e}",
            flush=True,
        )
        if len(eager) > MOST * nodes or not off <= CLOSE:
            bad.append(label)
    for (operator, reason), n in missed.most_common():
        print(f"{operator} ({n}): {reason}")
    print("beyond the limits: " + ", ".join(bad) if bad else "within the limits")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
