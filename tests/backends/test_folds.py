"""Folds by groups of threads, on devices that run groups."""

from __future__ import annotations

import numpy as np
import pytest

from rewrite.egraph.ir.dtypes import F64
from rewrite.lower.axes import normalise
from rewrite.lower.families.fold import FOLD
from rewrite.lower.loops import Function
from rewrite.lower.model import model_of
from tests.lower.folds import FOLDS, far_buffers
from tests.lower.harness import reference

from .harness import launch, open_device

KERNELS = {name: normalise(make()) for name, make in FOLDS.items()}


@pytest.mark.parametrize("target", ["wgpu", "cuda"])
def test_every_fold(target: str) -> None:
    dev = open_device(target)
    caps = dev.caps()
    model, functions = model_of(caps), dict[str, Function]()
    for name, kernel in KERNELS.items():
        there = all(dtype in caps.dtypes for dtype, _ in kernel.slots)
        if there and FOLD.cost(kernel, model) is not None:
            functions[name] = FOLD.lower(kernel, caps, f"f{len(functions)}", False)
    assert len(functions) > 12
    module = dev.compile(list(functions.values()))
    for name, function in functions.items():
        kernel = KERNELS[name]
        buffers = far_buffers(kernel)
        got = launch(dev, module, function, *buffers)
        want = reference(kernel, buffers)
        for g, w, (dtype, _) in zip(
            got, want, kernel.slots[kernel.reads :], strict=True
        ):
            # Scores are hundreds: the last bit of one is 3e-5 of its weight.
            tol = 1e-12 if dtype is F64 else 1e-4
            scale = max(1.0, float(np.max(np.abs(w))))
            np.testing.assert_allclose(g, w, rtol=tol, atol=tol * scale, err_msg=name)
