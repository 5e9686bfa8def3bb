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
