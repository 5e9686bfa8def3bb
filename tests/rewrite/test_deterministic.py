"""The same bytes in, the same schedule out: in every process, by every hash seed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.effort import LONG

CODE = """
import hashlib, sys
from rewrite.pipeline import optimize_graph
from rewrite.core.options import Options
from rewrite.egraph.ir.text import show
{graph}
c = optimize_graph(graph, "c", Options(fallback=False, effort={effort}))
print(hashlib.sha256(c.code().encode()).hexdigest(), c.plan.groups)
print(show(c.plan.graph))
"""
LAYERS = "from tests.transformers import transformer; graph = transformer(2, 64, 64, 4)"
MODEL = (
    "import rewrite.onnx\nfrom tests.replay.weights import fill, load\n"
    "graph = rewrite.onnx.load(fill(load({!r})))"
)
EFFORT = 2 if LONG else 1
GRAPHS = {"layers": LAYERS, "moe": MODEL.format("moe_layer")}


def schedule(graph: str, seed: int) -> str:
    code = CODE.format(graph=graph, effort=EFFORT)
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, text=True,
        env={**os.environ, "PYTHONHASHSEED": str(seed)}, capture_output=True,
    )  # fmt: skip
    return done.stdout


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", GRAPHS)
def test_the_schedule_is_the_same_by_every_hash_seed(name: str) -> None:
    first, *others = (schedule(GRAPHS[name], seed) for seed in range(3 if LONG else 2))
    assert first
    assert others == [first] * len(others)
