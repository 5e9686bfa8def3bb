"""The text of twelve kernels in four languages, kept in `sources/` to be read.

`pytest tests/lower/test_sources.py --bless` writes them anew; read the diff.  Each is a
function of a few lines, optimized, so that what is there is what a user would get: on a
CPU of eight threads for C, on a GPU for the others.  The headers and helpers that all
kernels share are left out, but in `header.*`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rewrite import xp
from rewrite.backends.nvidia import nvrtc
from rewrite.egraph.ir import dtypes
from rewrite.egraph.ir.dtypes import F32, I32
from rewrite.egraph.ir.ops import TensorType
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import saturator
from rewrite.extract.schedule.plan import plan
from rewrite.extract.schedule.steps import schedule
from rewrite.lower.device import Caps
from rewrite.lower.emit import host, kernels, wgsl
from rewrite.lower.emit.dialects import OPENCL
from rewrite.lower.emit.layout import LEGEND
from rewrite.lower.loops import Function
from rewrite.lower.model import kernel_cost
from rewrite.lower.program import build
from rewrite.lower.registry import FAMILIES
from tests.replay.planned import CAPS as CPU

HERE = Path(__file__).parent / "sources"
GPU = Caps(
    "gpu", cpu_like=False, dtypes=frozenset(dtypes.ALL), threads=256, max_threads=1024,
    shared_bytes=32 << 10, vector_bytes=0,
)  # fmt: skip
LANGUAGES: dict[str, tuple[Caps, Callable[[list[Function]], str]]] = {
    "c": (CPU, host.source),
    "cl": (GPU, lambda fs: kernels.source(fs, OPENCL, lambda _: 64).text),
    "cu": (GPU, lambda fs: nvrtc.emit(fs).text),
    "wgsl": (GPU, lambda fs: wgsl.source(fs).text),
}


def f32(*shape: int) -> TensorType:
    return TensorType(F32, shape)


def softmax(x: Any) -> Any:
    return xp.nn.softmax(x)


def attention(q: Any, k: Any, v: Any) -> Any:
    return xp.nn.softmax(q @ xp.permute_dims(k, (0, 2, 1)) * 0.125) @ v


def step(x: Any, y: Any, w: Any) -> Any:
    """One step of gradient descent for a linear model with squared loss."""
    error = x @ w - y
    return w - 1e-3 * (xp.permute_dims(x, (1, 0)) @ error)


def layer_norm(x: Any, g: Any, b: Any) -> Any:
    return xp.nn.layer_norm(x, g, b)


KERNELS: dict[str, tuple[Callable[..., Any], tuple[TensorType, ...]]] = {
    "chain": (lambda x, b: xp.nn.gelu(x + b), (f32(4096, 64), f32(64))),
    "matmul": (lambda x, w: x @ w, (f32(256, 128), f32(128, 192))),
    "linear": (
        lambda x, w, b: xp.nn.relu(x @ w + b), (f32(128, 64), f32(64, 128), f32(128)),
    ),
    "softmax": (softmax, (f32(512, 256),)),
    "masked_softmax": (
        lambda x, m: xp.nn.softmax(xp.where(m, x, -1e30)),
        (f32(512, 256), TensorType(dtypes.BOOL, (512, 256))),
    ),
    "layer_norm": (layer_norm, (f32(512, 256), f32(256), f32(256))),
    "attention": (attention, (f32(4, 128, 64),) * 3),
    "transpose": (lambda x: xp.permute_dims(x, (1, 0)) * 2, (f32(256, 512),)),
    "column_sum": (lambda x: xp.sum(x, axis=0), (f32(1024, 256),)),
    "full_sum": (lambda x: xp.sum(x * x), (f32(1024, 256),)),
    "gather": (
        lambda t, i: xp.take(t, i, axis=0) * 8.0,
        (f32(1000, 64), TensorType(I32, (128,))),
    ),
    "step": (step, (f32(256, 64), f32(256, 8), f32(64, 8))),
}  # fmt: skip


@cache
def functions(name: str, caps: Caps) -> list[Function]:
    f, types = KERNELS[name]
    best = plan(
        xp.trace(f, *types), saturator(load_rules()), kernel_cost(caps, FAMILIES)
    )
    return list(build(schedule(best.graph, best.groups, {}), caps).functions)


def text(name: str, language: str) -> str:
    caps, emit = LANGUAGES[language]
    whole = emit(functions(name, caps))
    return whole[whole.index(LEGEND) + len(LEGEND) :].lstrip()


def header(language: str) -> str:
    """What stands above the kernels: types, and the helpers that `chain` uses."""
    caps, emit = LANGUAGES[language]
    whole = emit(functions("chain", caps))
    return whole[: whole.index(LEGEND) + len(LEGEND)]


def agrees(path: Path, got: str, bless: bool) -> None:
    if bless:
        path.parent.mkdir(exist_ok=True)
        path.write_text(got, "utf-8")
    assert got == path.read_text("utf-8"), "read the difference, then --bless"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", KERNELS)
def test_source(name: str, language: str, bless: bool) -> None:
    agrees(HERE / f"{name}.{language}", text(name, language), bless)


@pytest.mark.parametrize("language", LANGUAGES)
def test_header(language: str, bless: bool) -> None:
    agrees(HERE / f"header.{language}", header(language), bless)


def test_there_are_twelve_and_no_others() -> None:
    assert len(KERNELS) == 12
    named = {f"{n}.{e}" for n in (*KERNELS, "header") for e in LANGUAGES}
    assert {p.name for p in HERE.iterdir()} == named
