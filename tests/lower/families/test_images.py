"""Products of weights with a batch of images: each image is columns of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.backends.devices import device
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.ops import TensorType
from rewrite.extract.schedule.kernel import Launch
from rewrite.extract.schedule.steps import schedule
from rewrite.lower.lower import lower


def pointwise(x: Any, w: Any, b: Any) -> Any:
    """What a convolution by filters of one entry is between two activations."""
    x = x * xp.clip(x * 0.25 + 0.5, 0, 1)
    y = xp.nn.conv(x, w) + b
    return y * xp.clip(y * 0.25 + 0.5, 0, 1)


@pytest.mark.sweep(5)
@pytest.mark.parametrize("images", [1, 2, 5])
@pytest.mark.parametrize("sizes", [(1, 1), (2, 2), (3, 5), (7, 9), (23, 17), (32, 32)])
@pytest.mark.parametrize(("channels", "filters"), [(5, 9), (24, 16)])
def test_any_number_of_images_of_any_size(
    images: int, sizes: tuple[int, int], channels: int, filters: int
) -> None:
    rng = np.random.default_rng(images)
    x = rng.standard_normal((images, channels, *sizes), "f4")
    w = rng.standard_normal((filters, channels, 1, 1), "f4")
    b = rng.standard_normal((filters, 1, 1), "f4")

    made = rw.optimize(
        lambda x: pointwise(x, w, b), x, device="c", cache=False, fallback=False
    )

    def reference(v: Any) -> Any:
        v = v * np.clip(v * 0.25 + 0.5, 0, 1)
        y = np.einsum("ncij,fc->nfij", v, w[:, :, 0, 0].astype("f8")) + b
        return y * np.clip(y * 0.25 + 0.5, 0, 1)

    want = reference(x.astype("f8"))
    np.testing.assert_allclose(made(x), want, rtol=3e-5, atol=3e-5)


@pytest.mark.parametrize("step", [1, 2])
def test_no_place_in_a_loop_of_vectors_is_a_quotient(step: int) -> None:
    """Every second pixel of every second line: lines are the batch then."""
    w = np.ones((32, 16, 1, 1), "f4")
    graph = xp.trace(
        lambda x: xp.nn.conv(xp.clip(x, 0, 6), w, stride=step),
        TensorType(F32, (3, 16, 96, 96)),
    )
    made = rw.compile_graph(graph, "c", cache=False, fallback=False).plan
    (step_, *_) = (s for s in schedule(made.graph, made.groups, {}).steps
                   if isinstance(s, Launch) and s.kernel.reductions)  # fmt: skip
    c = device("c")
    text = c.emit([lower(step_.kernel, c.caps(), "k")]).text
    loops = [part.split("}")[0] for part in text.split("#pragma omp simd")[1:]]
    assert loops and not any("%" in body for body in loops)
