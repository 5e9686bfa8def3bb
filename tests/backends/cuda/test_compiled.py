"""Kernels of a model compile for every device, and none spills; the twelve models:
`python -m tests.backends.cuda.compiled`."""

from __future__ import annotations

from typing import Any

import pytest

from rewrite.backends.nvidia import nvrtc
from rewrite.backends.nvidia.nvrtc import Usage, usage
from tests.backends.cuda.compiled import ARCHS, CHECKS
from tests.backends.harness import open_device

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


@pytest.mark.sweep(2)
@pytest.mark.parametrize("target", CHECKS)
@pytest.mark.parametrize("name", ["lstm_cell", "mlp"])
def test_kernels_of_a_model_compile(name: str, target: str) -> None:
    if target != "cuda":  # NVRTC needs no GPU
        open_device(target)
    count, faults = CHECKS[target](name)
    assert not faults
    assert count >= 2


@pytest.mark.long
def test_kernels_of_long_rows_do_not_spill() -> None:
    """They did when NVRTC was told how what they read is aligned, and read it wide."""
    count, faults = CHECKS["cuda"]("bert_layer")
    assert not faults
    assert count >= 8


def test_a_kernel_that_spills_is_asked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As if one group were enough: of llama_layer's, ptxas gives one 32 registers."""
    texts: list[str] = []

    def compiled(text: str, *_: Any) -> Any:
        texts.append(text)
        again = "(1024, 1) many(" in text
        return b"", {"few": Usage(8, 0), "many": Usage(64, 0 if again else 944)}

    monkeypatch.setattr(nvrtc, "_compiled", compiled)
    assert usage(SPILLS, "sm_90a")["many"].spilled == 0
    assert texts == [SPILLS, SPILLS.replace("(1024)", "(1024, 1)")]


@pytest.mark.parametrize("arch", ARCHS)
def test_a_spill_is_noticed(arch: str) -> None:
    found = usage(SPILLS, arch)
    assert found["few"].spilled == 0 < found["few"].registers
    assert found["many"].spilled > 0
