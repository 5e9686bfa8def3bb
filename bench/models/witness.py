"""What it costs to know that parameters have not changed: a model of BERT-base's size.

    python bench/models/witness.py [--length 4] [--rounds 9]

Milliseconds of a call, and of the witness alone: all parameters digested, and their
pages watched by the system (`backends/native/pages.py`).  One process, in turns,
medians.  Needs transformers.
"""

from __future__ import annotations

import argparse
import copy
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch

from rewrite.backends.native import digest
from rewrite.torch import backend
from rewrite.tuning.timing import interleaved
from tests.torch.running import programs
from tests.torch.zoo import text

NOTHING = 1 << 62  # bytes from which on memory is watched, where none is to be


def compiled(model: Any, ids: Any, watched: int) -> tuple[Callable[[], Any], Any]:
    """A call of a copy of the model, and what holds the witness of its parameters."""
    run = torch.compile(copy.deepcopy(model), backend=partial(backend, options={}))

    @torch.no_grad()
    def call() -> Any:
        return run(ids)

    before, digest.WATCHED = digest.WATCHED, watched
    with programs() as made:
        for _ in range(4):
            call()
    digest.WATCHED = before
    (step,) = made[0].first.graphs
    _, holding = step.watch._last
    return call, holding


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--length", type=int, default=4, help="of the sequence")
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    model, (ids,) = text("Bert", given.length, vocab_size=30522)
    runs: dict[str, Callable[[], Any]] = {}
    for name, least in (("digested", NOTHING), ("watched", digest.WATCHED)):
        runs[f"{name}, a call"], holding = compiled(model, ids, least)
        runs[f"{name}, the witness"] = holding.witness
        print(f"{name}: {holding.watched_bytes / 1e6:.0f} MB of pages watched")
    for name, seconds in interleaved(runs, given.rounds).items():
        print(f"{name:22} {seconds * 1e3:8.2f} ms")


if __name__ == "__main__":
    main()
