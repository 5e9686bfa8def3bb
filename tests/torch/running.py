"""What tests of the PyTorch backend share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch

from rewrite.torch import backend
from rewrite.torch.compiling import listening
from rewrite.torch.program import Program

from .zoo import MODELS, MORE, MORE_TRAINED, TRAINED

# What PyTorch itself says of this Python, or of how it calls compilers.
warnings.filterwarnings("ignore", message="Guards may run slower")


def compiled(f: Callable[..., Any], mode: str | None = None, **options: Any) -> Any:
    """`f` by the backend, strict and with little effort unless told otherwise."""
    torch.compiler.reset()
    asked = {"strict": True, "cache": False, "effort": 0, **options}
    return torch.compile(f, backend=partial(backend, mode=mode, options=asked))


@contextmanager
def programs() -> Generator[list[Program]]:
    """The programs made meanwhile."""
    made: list[Program] = []
    token = listening.set(made)
    try:
        yield made
    finally:
        listening.reset(token)


def step(
    model: Any, run: Callable[..., Any], inputs: tuple[Any, ...]
) -> Callable[[], list[torch.Tensor]]:
    """A step of training: gradients of the mean square of the result."""

    def call() -> list[torch.Tensor]:
        model.zero_grad()
        run(*inputs).float().square().mean().backward()
        return [p.grad for p in model.parameters() if p.grad is not None]

    return call


def once(
    run: Callable[..., Any], inputs: tuple[Any, ...]
) -> Callable[[], list[torch.Tensor]]:
    @torch.no_grad()
    def call() -> list[torch.Tensor]:
        return [run(*inputs)]

    return call


def calls(
    name: str, train: bool, compiled: Callable[[Any], Any]
) -> Callable[[], list[torch.Tensor]]:
    """What a model of the zoo does in a call, the same whoever compiles it."""
    torch.manual_seed(0)
    zoo = {**TRAINED, **MORE_TRAINED} if train else {**MODELS, **MORE}
    model, inputs = zoo[name]()
    run = compiled(model)
    return step(model, run, inputs) if train else once(run, inputs)


def error(found: list[torch.Tensor], expected: list[torch.Tensor]) -> float:
    """Over the largest value of all: some gradients are sums that cancel."""
    size = max(float(b.abs().max()) for b in expected)
    pairs = zip(found, expected, strict=True)
    return max(float((a - b).abs().max()) for a, b in pairs) / size


def fallbacks(made: list[Program]) -> list[str]:
    return [f.operator for p in made for f in p.first.fallbacks]


def same(found: Any, expected: Any, rtol: float = 1e-4, atol: float = 1e-5) -> None:
    """Values, and what a caller sees of a tensor besides them."""
    torch.testing.assert_close(found, expected, rtol=rtol, atol=atol, equal_nan=True)
    flat = torch.utils._pytree.tree_leaves
    for a, b in zip(flat(found), flat(expected), strict=True):
        if isinstance(b, torch.Tensor):
            assert a.shape == b.shape and a.dtype is b.dtype
            assert a.stride() == b.stride(), (a.stride(), b.stride())
