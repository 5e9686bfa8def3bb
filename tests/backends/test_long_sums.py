"""Long sums of products, shared out among groups of threads that have tiles each."""

from __future__ import annotations

import pytest

from rewrite.lower.axes import normalise
from rewrite.lower.model import model_of
from rewrite.lower.tiles.staged import STAGED
from tests.backends.harness import launch, open_device
from tests.lower.families.test_parts_of_sums import KERNELS
from tests.lower.harness import buffers_for, close, reference


@pytest.mark.parametrize("target", ["wgpu", "cuda"])
def test_slopes(target: str) -> None:
    dev = open_device(target)
    caps = dev.caps()
    there = [
        k
        for k in map(normalise, KERNELS.values())
        if all(dtype in caps.dtypes for dtype, _ in k.slots)
        and STAGED.accepts(k) is None
        and STAGED.cost(k, model_of(caps)) is not None
    ]
    made = [STAGED.lower(k, caps, f"f{i}", False) for i, k in enumerate(there)]
    assert len(made) > 10
    module = dev.compile(made)
    for kernel, function in zip(there, made, strict=True):
        buffers = buffers_for(kernel)
        got = launch(dev, module, function, *buffers)
        close(kernel, got, reference(kernel, buffers))
