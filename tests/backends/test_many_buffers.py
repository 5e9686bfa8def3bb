"""Kernels of many inputs or outputs, on devices that bind few buffers at once.

A kernel was made of all that fits together, and the device refused it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from rewrite.api import compile_graph
from rewrite.backends.c import CDevice
from rewrite.backends.limits import check_functions
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.graph import Builder
from rewrite.lower.device import DeviceError

from .harness import elementwise, open_device

MANY = 40


def inputs(b: Builder) -> list[int]:
    return [b.input(f"x{i}", F32, (8, 8)) for i in range(MANY)]


def outputs(b: Builder) -> list[int]:
    x = b.input("x", F32, (8, 8))
    return [b.bin("add", x, b.const(i + 0.5, F32, (8, 8))) for i in range(MANY)]


def sums(b: Builder) -> list[int]:
    return [b.reduce("sum", x, (1,)) for x in outputs(b)]


def added(b: Builder) -> list[int]:
    total, *rest = inputs(b)
    for x in rest:
        total = b.bin("add", total, x)
    return [total]


def joined(b: Builder) -> list[int]:
    return [b.un("neg", b.concat(inputs(b), 0))]


def reduced(b: Builder) -> list[int]:
    return [b.reduce("sum", x, (0, 1)) for x in added(b)]


def check(name: str, make: Callable[[Builder], list[int]], most: int) -> None:
    b = Builder()
    graph = b.build(make(b))
    rng = np.random.default_rng(0)
    arrays = {
        n.attrs[0]: rng.standard_normal(n.shape).astype(np.float32)
        for n in graph.inputs
    }
    want = evaluate(graph, arrays, "f64")
    for effort in (0, 1):
        made = compile_graph(graph, name, fallback=False, effort=effort)
        counts = [len(f.params) + len(f.scratch) for f in made.functions()]
        assert max(counts, default=0) <= most
        got = made(arrays)
        for label, value in want.items():
            np.testing.assert_allclose(got[label], value, rtol=1e-4, atol=1e-4)


MAKERS = (outputs, sums, added, joined, reduced)


@pytest.mark.parametrize("make", MAKERS, ids=lambda f: f.__name__)
def test_a_device_that_binds_six(
    make: Callable[[Builder], list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    caps = open_device("c").caps()
    few = replace(caps, max_buffers=6)
    monkeypatch.setattr(CDevice, "caps", lambda _: few)
    check("c", make, 6)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("make", MAKERS, ids=lambda f: f.__name__)
def test_wgpu(make: Callable[[Builder], list[int]]) -> None:
    check("wgpu", make, open_device("wgpu").caps().max_buffers)


def test_what_is_lowered_all_the_same_is_refused() -> None:
    caps = replace(open_device("c").caps(), max_buffers=2)
    f = elementwise("f", 8, [F32, F32], F32, lambda a, b: a)
    with pytest.raises(DeviceError, match="'f' has 3 buffers, the device binds at"):
        check_functions(caps, [f])
