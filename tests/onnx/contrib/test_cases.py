"""Operators of `com.microsoft`: whatever ONNX Runtime runs, a program runs too."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import rewrite.onnx
from rewrite.onnx.hosts import session
from rewrite.onnx.site import READERS, key
from tests.effort import LONG

from .cases import DOMAIN, Case, all_cases

pytest.importorskip("onnxruntime")

MODULE: Any = importlib.import_module("onnxruntime.capi.onnxruntime_pybind11_state")
HERE = {k.op_name for k in MODULE.get_all_opkernel_def() if k.domain == DOMAIN}
CASES = [c for c in all_cases() if c.op in HERE]  # an older runtime has fewer
# What is not tried, and why.
APART = {
    "BeamSearch": "takes decoders of whole models, as the other searches do",
    "GreedySearch": "", "Sampling": "", "WhisperBeamSearch": "",
    "MatMulFpQ4": "takes weights that one function of the runtime packs",
    "SparseAttention": "takes caches that are bound to be written in place",
    "SparseToDenseMatMul": "takes a sparse tensor",
}  # fmt: skip


def named(c: Case) -> str:
    return f"{c.op}-{CASES.index(c)}"


def is_read(c: Case) -> bool:
    """Ranges are read where they are of whole numbers, in steps of 1."""
    return key(DOMAIN, c.op) in READERS and c.op != "Range"


def test_none_is_left_out() -> None:
    assert not HERE - {c.op for c in CASES} - set(APART)


@pytest.mark.sweep(6)
@pytest.mark.filterwarnings("ignore:.*a host runs:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:.*runs this model:RuntimeWarning")
@pytest.mark.parametrize("around", (False, True), ids=("alone", "between"))
@pytest.mark.parametrize("c", CASES, ids=named)
def test_runs(c: Case, around: bool) -> None:
    """At the first call and at the next, which may be by another way.  Fused they are
    in a long run alone: cells of a quantized LSTM are hundreds of nodes."""
    model = c.model(around)
    effort = 2 if LONG else 0
    program = rewrite.onnx.compile(model, "numpy", fallback=True, effort=effort)
    for _ in range(2):
        agree(c, program, model)


@pytest.mark.parametrize("c", [c for c in CASES if is_read(c)], ids=named)
def test_is_a_graph(c: Case) -> None:
    """Where there is a reader, no host is asked."""
    graph = rewrite.onnx.load(c.model())
    assert not graph.calls


def agree(c: Case, program: Any, model: Any) -> None:
    """With one thread: the runtime deals the rows of a quantized LSTM to its threads,
    and each finds a scale of its own for what it feeds back."""
    wanted = session(model, optimized=False, threads=1).run(c.inputs)
    found = list(program(c.inputs).values())
    for have, want in zip(found, wanted, strict=True):
        assert have.shape == want.shape and have.dtype == want.dtype
        if want.dtype.kind == "f":
            np.testing.assert_allclose(have, want, 1e-5, 2e-6)
        else:
            np.testing.assert_array_equal(have, want)
