"""Real models with random weights: the backend beside eager PyTorch and inductor.

    python -m tests.torch.models [NAME ..] [--rounds 7] [--no-inductor] [--freeze]

One row per model: nodes of ATen (forward and backward), how many ran in eager PyTorch,
kernels as written and as optimized, the largest error of a result (of a gradient, where
a step of training is timed) over the largest value, seconds of the first call, and
medians of calls, taken in turns in this one process.  Models need torchvision and
transformers.
"""

from __future__ import annotations

import argparse
import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import torch
import torch._inductor.config

from rewrite.torch import backend
from rewrite.torch.compiling import listening
from rewrite.torch.explain import view
from rewrite.torch.program import Program
from rewrite.tuning.timing import interleaved

from .zoo import MODELS, TRAINED

type Call = Callable[[], Any]


@dataclass(frozen=True)
class Row:
    name: str
    nodes: int
    eager_nodes: int
    kernels: tuple[int, int]
    error: float
    seconds: float  # of the first call
    inductor_seconds: float
    times: dict[str, float]

    def __str__(self) -> str:
        t = self.times
        eager, ours, inductor = t["eager"], t["rewrite"], t.get("inductor")
        other = (
            f"{self.inductor_seconds:8.1f} {inductor * 1e3:9.2f} {ours / inductor:6.2f}"
            if inductor
            else ""
        )
        return (
            f"{self.name:24} {self.nodes:5} {self.eager_nodes:5} "
            f"{self.kernels[0]:5} {self.kernels[1]:5} {self.error:8.1e} "
            f"{self.seconds:7.1f} {eager * 1e3:9.2f} {ours * 1e3:9.2f} "
            f"{ours / eager:6.2f} {other}"
        )


HEAD = (
    f"{'model':24} {'nodes':>5} {'eager':>5} {'writ.':>5} {'kern.':>5} {'error':>8} "
    f"{'first s':>7} {'eager ms':>9} {'ours ms':>9} {'ratio':>6} "
    f"{'ind. s':>8} {'ind. ms':>9} {'ratio':>6}"
)


def step(model: Any, run: Callable[..., Any], inputs: tuple[Any, ...]) -> Call:
    """A step of training: gradients of the mean square of the result."""

    def call() -> list[torch.Tensor]:
        model.zero_grad()
        run(*inputs).float().square().mean().backward()
        return [p.grad for p in model.parameters() if p.grad is not None]

    return call


def once(run: Callable[..., Any], inputs: tuple[Any, ...]) -> Call:
    @torch.no_grad()
    def call() -> list[torch.Tensor]:
        return [run(*inputs)]

    return call


def calls(name: str, train: bool, compiled: Callable[[Any], Any]) -> Call:
    torch.manual_seed(0)
    model, inputs = (TRAINED if train else MODELS)[name]()
    run = compiled(model)
    return step(model, run, inputs) if train else once(run, inputs)


def error(found: list[torch.Tensor], expected: list[torch.Tensor]) -> float:
    """Over the largest value of all: some gradients are sums that cancel."""
    size = max(float(b.abs().max()) for b in expected)
    pairs = zip(found, expected, strict=True)
    return max(float((a - b).abs().max()) for a, b in pairs) / size


def row(name: str, train: bool, rounds: int, inductor: bool, options: Any) -> Row:
    torch.compiler.reset()
    made: list[Program] = []
    token = listening.set(made)
    ours = calls(name, train, lambda m: torch.compile(
        m, backend=partial(backend, options={"cache": False, **options})))  # fmt: skip
    eager = calls(name, train, lambda m: m)
    began = perf_counter()
    found = copy.deepcopy(ours())
    seconds = perf_counter() - began
    listening.reset(token)
    runs = {"eager": eager, "rewrite": ours}
    other = 0.0
    if inductor:
        runs["inductor"] = calls(name, train, torch.compile)
        began = perf_counter()
        runs["inductor"]()
        other = perf_counter() - began
    views = [view(p) for p in made]
    return Row(
        name + (", training" if train else ""),
        sum(v.nodes for v in views),
        sum(len(v.fallbacks) for v in views),
        (sum(v.kernels[0] for v in views), sum(v.kernels[1] for v in views)),
        error(found, eager()),
        seconds,
        other,
        interleaved(runs, rounds),
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.torch.models")
    parser.add_argument("names", nargs="*", help="models whose name begins so")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--no-inductor", action="store_true")
    parser.add_argument("--freeze", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    options = {"freeze": True} if given.freeze else {}
    torch._inductor.config.force_disable_caches = True
    print(f"{torch.get_num_threads()} threads, PyTorch {torch.__version__}\n{HEAD}")
    for train, models in ((False, MODELS), (True, TRAINED)):
        for name in models:
            if given.names and not any(map(name.startswith, given.names)):
                continue
            made = row(name, train, given.rounds, not given.no_inductor, options)
            print(made, flush=True)


if __name__ == "__main__":
    main()
