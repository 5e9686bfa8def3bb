"""The examples are one program in two namespaces: NumPy computes what xp traces."""

from __future__ import annotations

import importlib.util
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rewrite import xp
from rewrite.egraph.ir.evaluate import evaluate

FOLDER = Path(__file__).parents[2] / "examples"
RNG = np.random.default_rng(1)


def module(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def normal(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def arguments(name: str) -> tuple[Any, tuple[Any, ...]]:
    example = module(name)
    match name:
        case "transformer_block":
            return example.block, (normal(2, 5, 16), example.random_params(RNG, 16))
        case "lstm":
            params = example.random_params(RNG, 3, 4)
            return example.lstm, (normal(2, 3, 3), normal(2, 4), normal(2, 4), params)
        case _:
            pytest.fail(f"examples/{name}.py has no arguments here")


TRAINED = ("mnist",)  # has a test of its own: NumPy has no convolutions


@pytest.mark.parametrize(
    "name", sorted({p.stem for p in FOLDER.glob("*.py")} - {*TRAINED})
)
def test_tracing_gives_what_numpy_gives(name: str) -> None:
    f, args = arguments(name)
    names = [f"a{i}" for i in range(len(args))]
    traced = xp.trace_tree(partial(f, xp), dict(zip(names, args, strict=True)))
    inputs = xp.leaves(dict(zip(names, args, strict=True)))
    got = list(evaluate(traced.graph, inputs).values())
    want = f(np, *args)
    want = list(want.values()) if isinstance(want, dict) else [want]
    for a, b in zip(got, want, strict=True):
        assert a.dtype == b.dtype == np.float32
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


def test_a_convnet_learns_the_digits_that_the_example_draws() -> None:
    """A small one, from few images."""
    mnist, options = module("mnist"), {"device": "c", "effort": 0, "fallback": False}
    p = mnist.parameters(np.random.default_rng(0), channels=4)
    step = mnist.ours(**options)
    learned, _ = mnist.train({"us": step}, p, mnist.digits(640, 1), epochs=5)
    assert mnist.accuracy(learned["us"], *mnist.digits(200, 2), **options) > 0.6
