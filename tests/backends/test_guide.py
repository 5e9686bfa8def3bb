"""What docs/backends.md builds up is a backend: it runs models, or says why not."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from rewrite.backends import devices
from rewrite.core.options import Options
from rewrite.egraph.ir import dtypes
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.fuzz.pipeline import fuzz
from rewrite.lower.device import CompileError, DeviceError, KernelSource
from rewrite.pipeline import optimize_graph
from tests.effort import draws
from tests.transformers import transformer

from .harness import open_device
from .models import errors, is_right, ran
from .test_dtypes import inputs, several

PAGE = Path(__file__).parents[2] / "docs" / "backends.md"
SMALL = ("mlp", "lstm_cell")  # of the replay set


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)


@pytest.fixture(scope="module")
def toy() -> Any:
    """The pieces in their order, as a reader would paste them."""
    scope: dict[str, Any] = {"__name__": "toy"}
    exec(compile("\n".join(blocks("python toy")), "backends.md", "exec"), scope)
    dev = scope["PlainDevice"]()
    if not dev.probe().ok:
        pytest.skip(dev.probe().detail)
    return dev


@pytest.mark.parametrize("name", SMALL)
def test_it_runs_models(toy: Any, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert is_right(ran(name, toy))


def test_it_runs_a_transformer_of_any_length(toy: Any) -> None:
    graph = transformer(1, 24)
    compiled = optimize_graph(graph, toy, Options(fallback=False))
    rng = np.random.default_rng(0)
    given = {
        n.attrs[0]: rng.standard_normal(n.shape).astype(np.float32)
        for n in graph.inputs
    }
    for _ in range(2):
        assert is_right(errors(graph, compiled(given), given))


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
def test_it_has_each_dtype_or_refuses_it(toy: Any, dtype: dtypes.DType) -> None:
    graph, given = several(dtype), inputs(dtype)
    compiled = optimize_graph(graph, toy, Options("strict", effort=0, fallback=False))
    if dtype in (dtypes.F8E4M3, dtypes.F8E5M2):
        with pytest.raises(DeviceError, match=f"plain has no {dtype}"):
            compiled(given)
        return
    for label, want in evaluate(graph, given).items():
        np.testing.assert_array_equal(compiled(given)[label], want)


def test_it_passes_the_fuzzer(toy: Any) -> None:
    assert fuzz([toy], 3, draws(20, 2), "exact") == []
    assert fuzz([toy], 3, draws(10, 2), "smooth") == []


def test_its_errors_carry_the_log(toy: Any) -> None:
    with pytest.raises(CompileError, match="nonsense"):
        toy.build(KernelSource("nonsense(;", {}), [], True)


def test_its_memory_is_pooled(toy: Any) -> None:
    first = toy.alloc(5000)
    raw = first.owner.raw
    toy.free(first)
    assert toy.alloc(5000).owner.raw is raw


def test_it_can_have_a_name(toy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = ModuleType("rewrite.backends.plain")
    module.PlainDevice = type(toy)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, module.__name__, module)
        patch.setitem(devices.CLASSES, "plain", ("plain", "PlainDevice"))
        assert devices.device("plain").name == "plain"
        assert ("plain", toy.probe()) in devices.describe()
        with pytest.raises(pytest.skip.Exception, match="plain has no f8e4m3"):
            open_device("plain", dtypes.F8E4M3)
    devices.device.cache_clear()


def test_the_other_examples_run() -> None:
    for text in blocks("python"):
        exec(compile(text, "backends.md", "exec"), {})


def test_the_table_names_every_device() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", PAGE.read_text("utf-8"), re.M)
    unlike = sorted({*rows} ^ {*devices.CLASSES})
    assert not unlike, f"docs/backends.md: the table of devices differs in {unlike}"
