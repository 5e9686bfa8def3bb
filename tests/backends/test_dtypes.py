"""Every device with every dtype: what it computes is right, or it says what to do."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from rewrite.backends.devices import CLASSES, matrix
from rewrite.backends.limits import support
from rewrite.commands.cli import app
from rewrite.core.options import Options
from rewrite.egraph.ir.dtypes import ALL, F32, DType, compute
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.lower.device import DeviceError
from rewrite.pipeline import optimize_graph

from .harness import open_device

PAGE = Path(__file__).parents[2] / "docs" / "backends.md"
STRICT = Options("strict", effort=0, fallback=False)


def several(dtype: DType) -> Graph:
    """Loads, stores, arithmetic, a choice, a reduction, a sum of products, casts."""
    b = Builder(f"several_{dtype}")
    x, y = b.input("x", dtype, (4, 6)), b.input("y", dtype, (4, 6))
    numbers = dtype.kind != "bool"
    out = {
        "larger": b.bin("max" if numbers else "or", x, y),
        "picked": b.select(b.bin("lt", x, y), x, y),
        "least": b.reduce("min" if numbers else "all", x, (1,)),
        "turned": b.permute(x, (1, 0)),
        "parts": b.concat([x, y], 0),
        "cast": b.cast(x, F32),
    }
    if numbers:
        out["sum"] = b.bin("add", x, y)
        out["product"] = b.matmul(x, b.permute(y, (1, 0)))
    return b.build(out)


def inputs(dtype: DType) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    low = 0 if dtype.kind in ("uint", "bool") else -3
    high = 2 if dtype.kind == "bool" else 4
    return {k: rng.integers(low, high, (4, 6)).astype(dtype.numpy) for k in "xy"}


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_a_dtype_is_right_or_refused(name: str, dtype: DType) -> None:
    """Small whole numbers: every format holds them and their products exactly."""
    dev = open_device(name)
    graph, given = several(dtype), inputs(dtype)
    compiled = optimize_graph(graph, dev, STRICT)
    if support(dev.caps(), dtype) == "no":
        with pytest.raises(DeviceError) as raised:
            compiled(given)
        said = str(raised.value)
        assert re.search(rf"has no {dtype}, which 'k\d+' uses", said)
        assert "cast to one of" in said and "another device" in said
        return
    want, got = evaluate(graph, given), compiled(given)
    for label, value in want.items():
        assert got[label].dtype == value.dtype
        np.testing.assert_array_equal(got[label], value, err_msg=label)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_the_matrix_says_what_kernels_compute_in(dtype: DType) -> None:
    caps = open_device("numpy").caps()
    said = support(caps, dtype)
    assert said == ("yes" if compute(dtype) is dtype else "as f32")


def test_the_command_prints_the_matrix() -> None:
    done = CliRunner().invoke(app, ["devices", "--dtypes"])
    assert done.exit_code == 0, done.output
    rows = [re.split(r" {2,}", line) for line in done.output.splitlines()]
    assert rows == matrix()


def test_the_page_shows_the_matrix() -> None:
    """Of the devices that are here."""
    block = re.search(r"rewrite devices --dtypes\n\n(.*?)```", PAGE.read_text(), re.S)
    assert block is not None
    rows = [re.split(r" {2,}", line) for line in block[1].splitlines()]
    shown = {name: [r[k] for r in rows] for k, name in enumerate(rows[0])}
    here = matrix()
    for k, name in enumerate(here[0]):
        assert name in shown, f"docs/backends.md: the dtypes of {name} are not shown"
        assert shown[name] == [r[k] for r in here], name
