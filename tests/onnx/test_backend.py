"""The suite that comes with `onnx`, through the backend protocol.

By default on the kernel interpreter; `REWRITE_ONNX_DEVICE=c` names another device.
What is left out stands, with reasons, in the table of docs/onnx.md, which is read here.
"""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx.backend.test as suite
import pytest
from onnx.reference.ops import op_pool_common

from rewrite.onnx.backend import RewriteBackend

pytestmark = pytest.mark.filterwarnings("ignore:.*runs this model")

DEVICE = os.environ.get("REWRITE_ONNX_DEVICE", "numpy")
DOCS = Path(__file__).parents[2] / "docs" / "onnx.md"


MARKS = {
    "OnnxBackendNodeModelTest": pytest.mark.sweep(6),
    "OnnxBackendRealModelTest": pytest.mark.long,
}


class OnDevice(RewriteBackend):
    """`CPU` is the device under test; the search for schedules is tested elsewhere."""

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device == "CPU"

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **kwargs: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of models the host runs
            return RewriteBackend.prepare(model, DEVICE, effort=0, precision="strict")


def excluded() -> dict[str, str]:
    """Pattern -> reason, from the table."""
    rows = re.findall(r"^\| `([^`]+)` +\| ([^|]+) \|$", DOCS.read_text("utf-8"), re.M)
    return {pattern: reason.strip() for pattern, reason in rows}


class Later:
    """What ONNX's reference makes of a pool, window by window, once it is asked for:
    all of its cases take seconds, and most are run by no one process."""

    def __init__(self, padded: np.ndarray, x_shape: Any, kernel: Any, strides: Any,
                 out_shape: Any, *rest: Any, **named: Any) -> None:  # fmt: skip
        self.args = (padded, x_shape, kernel, strides, out_shape, *rest)
        self.named = named
        self.shape, self.dtype = (*x_shape[:2], *out_shape), padded.dtype

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        made = POOL(*self.args, **self.named)
        assert (made.shape, made.dtype) == (self.shape, self.dtype)
        return made


POOL = op_pool_common.pool
with pytest.MonkeyPatch.context() as patch:
    patch.setattr(op_pool_common, "pool", Later)
    backend_test = suite.BackendTest(OnDevice, __name__)
for pattern in excluded():
    backend_test.exclude(rf"^{pattern}_cpu$")
cases = backend_test.test_cases  # made anew at each access
for kind, case in cases.items():
    if kind in MARKS:
        MARKS[kind](case)
    for name in [n for n in dir(case) if n.endswith("_cuda")]:
        delattr(case, name)  # one device is tested, under the name of CPU
globals().update(cases)


def test_every_exclusion_has_a_reason_and_a_case() -> None:
    tests = {
        name for case in cases.values() for name in dir(case) if name.endswith("_cpu")
    }
    for pattern, reason in excluded().items():
        assert len(reason) > 10
        assert any(re.search(rf"^{pattern}_cpu$", t) for t in tests), pattern
