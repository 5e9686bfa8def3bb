"""Random graphs through the whole pipeline, against the evaluator.

600 graphs on c and the interpreter, 100 on OpenCL and on WebGPU.  `rewrite fuzz
--count 1000000` runs as many as one likes.
"""

from __future__ import annotations

from typing import Any

import pytest

from rewrite.backends.devices import device
from rewrite.fuzz.pipeline import fuzz
from tests.effort import draws

CHUNK = draws(50, 16)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("first", range(0, 300, 50))
@pytest.mark.parametrize("mode", ["exact", "smooth"])
def test_c_and_the_interpreter(mode: Any, first: int) -> None:
    failures = fuzz([device("c"), device("numpy")], first, CHUNK, mode)
    assert not failures, "\n".join(map(str, failures))


@pytest.mark.parametrize("first", (5000,))
@pytest.mark.parametrize("mode", ["exact", "smooth"])
@pytest.mark.parametrize("name", ["opencl", "wgpu"])
def test_gpu_languages(name: str, mode: Any, first: int) -> None:
    target = device(name)
    probe = target.probe()
    if not probe.ok:
        pytest.skip(f"{name}: {probe.detail}")
    failures = fuzz([target], first, CHUNK, mode)
    assert not failures, "\n".join(map(str, failures))


@pytest.mark.parametrize("mode", ["exact", "smooth"])
def test_strict_precision(mode: Any) -> None:
    failures = fuzz(
        [device("c"), device("numpy")], 9000, CHUNK, mode, precision="strict"
    )
    assert not failures, "\n".join(map(str, failures))
