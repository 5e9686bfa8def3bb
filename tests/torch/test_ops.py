"""The readers of ATen: PyTorch's own samples, evaluated; some also as kernels."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an extra: rewrite[torch]")
pytest.importorskip("expecttest", reason="PyTorch's samples (op_db) import it")

from rewrite.torch.site import READERS  # noqa: E402
from tests.effort import LONG, draws  # noqa: E402

from . import sweep  # noqa: E402
from .running import compiled, fallbacks, programs, same  # noqa: E402

# What no graph computes yet; the whole list, with all dtypes: tests.torch.sweep --all.
UNREAD = {"nonzero"}
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


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", sorted(CORE))
def test_samples_of_core_operators(name: str) -> None:
    verdict = sweep.try_operator(CORE[name], ("float32",), most=draws(2, 2))
    if name not in UNREAD | TIED:
        dtypes = ("int64", "bool") if LONG else ("int64",)
        verdict.merge(sweep.try_operator(CORE[name], dtypes, most=1))
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
            torch.div(n, 2, rounding_mode="trunc"), n / 2, n.abs() ** n,
            x.clamp(-1, 0.5))  # fmt: skip


def _masked(x: Any) -> Any:
    mask = x > 0
    rows = torch.tensor([True, False, True, False])
    return (x.masked_scatter(mask, -x.flatten()), x.masked_scatter(rows[:, None], x),
            x.index_put((rows,), x[1:3]), x.index_put((rows,), x[1], accumulate=True),
            x.index_put((mask,), torch.tensor(7.0)))  # fmt: skip


def _apart(x: Any) -> Any:
    d, inf = torch.ops.aten._cdist_forward, float("inf")
    powers = 0.0, 1.0, 2.0, 3.0, inf
    return [(d(x, x[1:] + 1, p, None), torch.nn.functional.pdist(x, p)) for p in powers]


def _bags(x: Any) -> Any:
    i, starts = torch.tensor([0, 2, 3, 1, 1, 2]), torch.tensor([0, 2, 2, 5])
    bag = torch.ops.aten._embedding_bag_forward_only
    modes = [(m, p) for m in range(3) for p in (-1, 1)]
    weights = torch.arange(6.0)
    return ([bag(x, i, starts, False, m, False, None, False, p) for m, p in modes],
            bag(x, i, starts, False, 0, False, weights)[0],
            bag(x, i, starts, False, 0, False, None, True)[0])  # fmt: skip


def _integers(x: Any) -> Any:
    """What of whole numbers is cut off, and what adding truth values up gives."""
    n, a = (x * 3).long(), torch.ops.aten
    image, few = n.reshape(1, 1, 4, 5), n[0].to(torch.int8)
    at, told = torch.tensor([0, 1, 1, 2]), torch.tensor([False, True, False, True])
    base = torch.tensor([True, False, False, False])
    return (a.avg_pool2d(image, [2, 3], [1, 2], [1, 1], True, False),
            a.avg_pool2d(image, [2, 2], [1, 1], [0, 0], False, True, 5),
            a.hardtanh(few, -0.5, 0.5), a.hardtanh(few, -2.7, 3.7),
            base.index_put((at,), told, accumulate=True),
            n[0].scatter_reduce(0, at, n[1, :4], "mean"),
            n[0].scatter_reduce(0, at, n[1, :4], "mean", include_self=False),
            a.scatter.value(n, 1, at[None], 2.5),
            a.scalar_tensor(-5, dtype=torch.uint8),
            base.scatter_reduce(0, at, told, "sum", include_self=False),
            base.scatter_reduce(0, at, told, "prod"))  # fmt: skip


def _strided(x: Any) -> Any:
    return x.t().as_strided((3, 2), (2, 1), 1) * 2, x[1:].as_strided((2, 2), (5, 1)) + 1


@pytest.mark.parametrize(
    ("f", "shape"),
    [
        (_masked, (4, 5)),
        (_apart, (4, 5)),
        (_bags, (4, 5)),
        (_strided, (4, 5)),
        (_integers, (4, 5)),
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


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
def test_strides_may_reach_beyond_an_input(dtype: Any) -> None:
    """What lies between its elements, and, by an offset, before them: at each call."""

    def f(x: Any) -> Any:
        return x.as_strided((2, 3), (3, 1), 1) * 2, x.as_strided((3, 2), (1, 3)) + x[:2]

    memory = torch.arange(20).to(dtype)
    with programs() as made:
        fast = compiled(f)
        for start in (0, 3, 9):
            x = memory[start : start + 10 : 3]
            same(fast(x), f(x))
    assert not fallbacks(made)


@pytest.mark.parametrize("weighted", [False, True])
def test_bags_of_bfloat16_give_what_the_kernel_gives(weighted: bool) -> None:
    i, starts = torch.tensor([0, 2, 3, 1, 1]), torch.tensor([0, 2])
    weights = torch.linspace(0, 1, 5).bfloat16() if weighted else None

    def f(x: Any) -> Any:
        return torch.ops.aten._embedding_bag(x, i, starts, False, 0, False, weights)

    x = torch.linspace(-3, 3, 50).bfloat16().reshape(10, 5)
    with programs() as made:
        same(compiled(f)(x), f(x), rtol=1e-2)
    assert not fallbacks(made)


@pytest.mark.parametrize("grown", [False, True])
def test_strides_look_through_views(grown: bool) -> None:
    """At the memory of an input, or of what the model makes."""

    def f(x: Any) -> Any:
        x = x + 1 if grown else x
        part = x[1::2]
        return part.as_strided((2, 2), (1, 2)) * 2, part.as_strided((2,), (3,), 2) + 1

    memory = torch.arange(12.0)
    with programs() as made:
        fast = compiled(f)
        for start in (0,) if grown else (0, 2):  # an offset is one in all memory
            x = memory[start : start + 8]
            same(fast(x), f(x))
    assert not fallbacks(made)
