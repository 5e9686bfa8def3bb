"""Kernels of a model compile for every device, and none spills; the twelve models:
`python -m tests.backends.compiled`."""

from __future__ import annotations

import pytest

from rewrite.backends.nvrtc import usage

from .compiled import ARCHS, CHECKS
from .harness import open_device

SPILLS = """
extern "C" __global__ void __launch_bounds__(1024) many(const float *x, float *y) {
  float a[200], s = 0;
#pragma unroll
  for (int i = 0; i < 200; i++) a[i] = x[i * 1024 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 200; i++) y[i * 1024 + threadIdx.x] = s += a[i] * a[199 - i];
}
extern "C" __global__ void few(const float *x, float *y) { *y = *x; }
"""


@pytest.mark.parametrize("target", CHECKS)
@pytest.mark.parametrize("name", ["lstm_cell", "mlp"])
def test_kernels_of_a_model_compile(name: str, target: str) -> None:
    if target != "cuda":  # NVRTC needs no GPU
        open_device(target)
    count, faults = CHECKS[target](name)
    assert not faults
    assert count >= 2


@pytest.mark.parametrize("arch", ARCHS)
def test_a_spill_is_noticed(arch: str) -> None:
    found = usage(SPILLS, arch)
    assert found["few"].spilled == 0 < found["few"].registers
    assert found["many"].spilled > 0
