"""Slices of products on their way while threads multiply, in tiles of all kinds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.choice import Holes
from rewrite.lower.families.contract import CONTRACT
from rewrite.lower.interpret import run
from rewrite.lower.loops import Function
from rewrite.lower.model import model_of
from rewrite.lower.verify import verify

from .harness import GPU, buffers_for, close, reference
from .tiles import tiled

WIDE = replace(GPU, max_threads=256)
MODEL = model_of(WIDE)


def lowered(seed: int) -> Function:
    kernel, holes = tiled(seed, MODEL, 40)
    return verify(CONTRACT.lower(kernel, WIDE, "f", False, holes))


@pytest.mark.parametrize("seed", range(12))
def test_tiles(seed: int) -> None:
    kernel, _ = tiled(seed, MODEL, 40)
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers)
    run(lowered(seed), buffers)
    close(kernel, buffers[kernel.reads :], want)


def test_they_are_of_all_kinds() -> None:
    """A slice alone, several, and slices that not all threads have a part of."""
    made = [str(lowered(seed)) for seed in range(12)]
    assert any("held" in text for text in made)
    assert not all("held" in text for text in made)
    shares = [spared(*tiled(seed, MODEL, 40)) for seed in range(12)]
    assert any(shares) and not all(shares)


def spared(kernel: Kernel, holes: Holes) -> bool:
    """Whether threads are left over where a slice is read."""
    named = dict(holes)
    threads = named["rows"] // named["height"] * named["columns"] // named["width"]
    return named["rows"] * named["depth"] < threads
