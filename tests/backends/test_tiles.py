"""Products by groups of threads in tiles of all kinds, on devices that run groups."""

from __future__ import annotations

import pytest

from rewrite.lower.families.contract import CONTRACT
from rewrite.lower.model import model_of
from tests.lower.harness import buffers_for, close, reference
from tests.lower.tiles import tiled

from .harness import launch, open_device


@pytest.mark.parametrize("target", ["wgpu", "cuda"])
def test_every_tile(target: str) -> None:
    dev = open_device(target)
    caps = dev.caps()
    there = [tiled(seed, model_of(caps), 150) for seed in range(30)]
    made = [
        CONTRACT.lower(kernel, caps, f"f{i}", False, holes)
        for i, (kernel, holes) in enumerate(there)
    ]
    module = dev.compile(made)
    for (kernel, _), function in zip(there, made, strict=True):
        buffers = buffers_for(kernel)
        got = launch(dev, module, function, *buffers)
        close(kernel, got, reference(kernel, buffers))
