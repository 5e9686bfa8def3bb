"""The readers of ATen: PyTorch's own samples, evaluated; some also as kernels."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an extra: rewrite[torch]")
pytest.importorskip("expecttest", reason="PyTorch's samples (op_db) import it")

from rewrite.torch.site import READERS  # noqa: E402

from . import sweep  # noqa: E402
from .running import compiled, fallbacks, programs, same  # noqa: E402

# What no graph computes yet; the whole list, with all dtypes: tests.torch.sweep --all.
UNREAD = {
    "nonzero", "grid_sampler_2d",
    "masked_scatter", "as_strided_partial_views",
}  # fmt: skip
# Where elements are equal, as integers often are, PyTorch leaves their positions open.
TIED = {"sort", "topk"}
CORE = {i.formatted_name: i for i in sweep.infos("", False)}


def test_readers_are_of_operators_that_there_are() -> None:
    for name in READERS:
        space, packet, overload = name.split(".")
        if space == "transformers":  # a library that need not be there
            continue
        found = getattr(getattr(torch.ops, space), packet, None)
        # One row may name overloads that only some operators have.
        assert found is not None and overload in (
            *found.overloads(), "default", "Tensor", "Scalar"
        ), name  # fmt: skip


@pytest.mark.parametrize("name", sorted(CORE))
def test_samples_of_core_operators(name: str) -> None:
    verdict = sweep.try_operator(CORE[name], ("float32",), most=2)
    if name not in UNREAD | TIED:
        verdict.merge(sweep.try_operator(CORE[name], ("int64", "bool"), most=1))
    assert not verdict.wrong, verdict.wrong
    if name in UNREAD:
        assert not verdict.read
    elif verdict.samples:
        assert verdict.read, verdict.fallbacks


def _index(x: Any) -> Any:
    i, j = torch.tensor([0, 2, -1]), torch.tensor([1, 0, 2])
    return x[i, j], x[:, i], x[i, :, j], x[0, i]


def _written(x: Any) -> Any:
    i = torch.tensor([0, 2, 2])
    y = x.index_put((i,), x[:3] * 2, accumulate=True)
    z = x.clone()
    z[1:3] = 5
    z[:, 0] = -1
    return y, z, x.scatter(1, i[None].expand(4, 3) % 5, 7.0)


def _pools(x: Any) -> Any:
    f = torch.nn.functional
    return (f.max_pool2d(x, 3, 2, 1), f.avg_pool2d(x, 3, 2, 1, ceil_mode=True),
            f.adaptive_avg_pool2d(x, 3), f.interpolate(x, scale_factor=2))  # fmt: skip


def _moves(x: Any) -> Any:
    padded = torch.nn.functional.pad(x, (1, -1))
    return (x.roll(1, 1), x.flip(0), x.repeat(2, 1), padded, x.diagonal() + 1,
            torch.tril(x), x.unfold(1, 2, 1) + 1)  # fmt: skip


def _divided(x: Any) -> Any:
    n = (x * 3).long()
    return (torch.fmod(x, 0.7), torch.remainder(x, -0.7), n // 2, n % 3,
            torch.div(n, 2, rounding_mode="trunc"), n / 2,
            x.clamp(-1, 0.5))  # fmt: skip


@pytest.mark.parametrize(
    ("f", "shape"),
    [
        (_index, (4, 5, 6)),
        (_written, (4, 5)),
        (_pools, (1, 2, 7, 7)),
        (_moves, (4, 5)),
        (_divided, (4, 5)),
    ],
)
def test_kernels_of_operators_that_move_and_cut(f: Any, shape: Any) -> None:
    x = torch.linspace(-3, 3, torch.Size(shape).numel()).reshape(shape)
    with programs() as made:
        same(compiled(f)(x), f(x))
    assert not fallbacks(made)
