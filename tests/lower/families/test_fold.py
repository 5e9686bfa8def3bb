"""The fold family: one pass, no stored score, and right where a quotient is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rewrite.egraph.ir.dtypes import F32
from rewrite.extract.schedule.kernel import Kernel, bits
from rewrite.lower.axes import normalise
from rewrite.lower.device import Caps
from rewrite.lower.families.fold import FOLD
from rewrite.lower.families.folds import tiles as fold_tiles
from rewrite.lower.families.folds.recognize import Fold, classify
from rewrite.lower.interpret import run as interpret
from rewrite.lower.loops import Array, For, If, Stmt
from rewrite.lower.lower import choose
from rewrite.lower.model import model_of
from tests.lower.folds import FOLDS, REFUSED, attend, causal, far_buffers, plain
from tests.lower.harness import (
    CPU,
    GPU,
    NARROW,
    check_compiled,
    close,
    lowered,
    reference,
)

KERNELS = {name: make() for name, make in FOLDS.items()}


IN_GROUPS = (
    "bias", "late", "f64", "grouped", "stored_scores", "entropy_of_a_product"
)  # fmt: skip


@pytest.mark.sweep(4)
@pytest.mark.parametrize(
    ("name", "caps"),
    [(n, c) for n in KERNELS for c in (CPU, NARROW)] + [(n, GPU) for n in IN_GROUPS],
)
def test_interpreted(name: str, caps: Caps) -> None:
    kernel = KERNELS[name]
    buffers = far_buffers(kernel)
    want = reference(kernel, buffers)
    interpret(lowered(FOLD, kernel, caps), buffers)
    close(kernel, buffers[kernel.reads :], want)


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", KERNELS)
def test_in_the_smallest_blocks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Corrections happen where there is more than one block."""
    monkeypatch.setattr(fold_tiles, "BLOCK", 1)
    monkeypatch.setattr(fold_tiles, "ROWS", 1)
    kernel = KERNELS[name]
    buffers = far_buffers(kernel)
    want = reference(kernel, buffers)
    interpret(lowered(FOLD, kernel, CPU), buffers)
    close(kernel, buffers[kernel.reads :], want)


def test_compiled() -> None:
    check_compiled([(k, FOLD) for k in KERNELS.values()], far_buffers)


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    reason = FOLD.accepts(normalise(REFUSED[name]()))
    assert reason is not None


def test_what_groups_of_threads_take() -> None:
    """Rows without products are a group's each; wide sums need registers."""
    large = replace(GPU, threads=256, max_threads=256, shared_bytes=227 << 10)
    for name, kernel in KERNELS.items():
        found = classify(normalise(kernel))
        assert isinstance(found, Fold)
        products = bool(found.inner or found.wide)
        for caps, fits in ((GPU, name != "deep"), (large, True)):
            cost = FOLD.cost(normalise(kernel), model_of(caps))
            assert (cost is not None) == (products and fits), name


def arrays(body: tuple[Stmt, ...]) -> list[Array]:
    out: list[Array] = []
    for s in body:
        if isinstance(s, Array):
            out.append(s)
        elif isinstance(s, (For, If)):
            out += arrays(s.body)
    return out


def test_no_array_holds_the_scores() -> None:
    kernel = normalise(attend(plain, (2, 4000, 6000, 16, 16)))
    made = arrays(FOLD.lower(kernel, CPU, "f", False).body)
    assert sum(a.size for a in made) < 4000 * 6000 / 50


def test_attention_is_cheapest_as_a_fold() -> None:
    kernel = normalise(attend(causal, (8, 512, 512, 64, 64)))
    family, _ = choose(kernel, model_of(CPU))
    assert family is FOLD
    strict, _ = choose(kernel, model_of(CPU), strict=True)
    assert strict is not FOLD


def test_axes_of_plain_attention() -> None:
    found = classify(normalise(KERNELS["plain"]))
    assert isinstance(found, Fold)
    assert [len(x) for x in (found.batch, found.m, found.axes, found.e)] == [1, 1, 1, 1]
    assert [s.monoid for s in found.rows] == ["max", "sum"]
    assert len(found.inner) == len(found.wide) == 1


def with_mask(
    kernel: Kernel, mask: np.ndarray, caps: Caps
) -> tuple[np.ndarray, np.ndarray]:
    """(got, wanted) of attention whose bias is 0 or -inf."""
    buffers = far_buffers(kernel)
    slot = next(s for s in range(kernel.reads) if kernel.slots[s][1] == mask.size)
    buffers[slot][:] = np.where(mask, 0, -np.inf).ravel()
    want = reference(kernel, buffers)
    interpret(lowered(FOLD, kernel, caps), buffers)
    return buffers[kernel.reads], want[0]


@pytest.mark.parametrize("caps", [CPU, GPU], ids=["cpu", "gpu"])
def test_rows_without_any_entry_come_out_as_they_would(caps: Caps) -> None:
    mask = np.zeros((2, 13, 270), bool)
    mask[:, :, 260:] = True  # whole blocks without an entry before these
    mask[1, 4] = False
    got, want = with_mask(KERNELS["bias"], mask, caps)
    assert np.isnan(want).any() and not np.isnan(want).all()
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-4)


def test_reduced_axes_are_not_stored() -> None:
    for kernel in KERNELS.values():
        found = classify(normalise(kernel))
        assert isinstance(found, Fold)
        stored = 0
        for o in normalise(kernel).outputs:
            stored |= bits(o.axes)
        assert not stored & bits(found.axes)
    assert KERNELS["plain"].slots[0][0] is F32
