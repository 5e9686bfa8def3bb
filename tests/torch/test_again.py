"""Backward graphs that compute scores again instead of reading them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an extra: rewrite[torch]")

from rewrite.torch import again  # noqa: E402
from rewrite.torch.compiling import decomposition_table  # noqa: E402
from rewrite.torch.library import aot_autograd  # noqa: E402

ROWS, WIDTH = 512, 32
SCORES = 2 * ROWS * ROWS


def attention(q: Any, k: Any, v: Any) -> Any:
    x = (q @ k.transpose(-1, -2)) * q.shape[-1] ** -0.5
    hidden = torch.ones(ROWS, ROWS, dtype=torch.bool).triu(1)
    x = x.masked_fill(hidden, -float("inf"))
    return torch.softmax(x.float(), -1).to(q.dtype) @ v


def dropped(q: Any, k: Any, v: Any) -> Any:
    p = torch.softmax(q @ k.transpose(-1, -2), -1)
    return torch.nn.functional.dropout(p, 0.5) @ v


def sides(dtype: Any = torch.bfloat16, width: int = WIDTH) -> list[Any]:
    torch.manual_seed(0)
    return [torch.randn(1, 2, ROWS, width, dtype=dtype, requires_grad=True)
            for _ in "qkv"]  # fmt: skip


def parted(f: Callable[..., Any], args: list[Any]) -> tuple[list[Any], list[int]]:
    """Gradients, and how many elements each value has that the backward graph reads."""
    read: list[int] = []

    def forward(gm: Any, _: Any) -> Any:
        return aot_autograd.make_boxed_func(gm.forward)

    def backward(gm: Any, inputs: Any) -> Any:
        read.extend(x.numel() for x in inputs if isinstance(x, torch.Tensor))
        return aot_autograd.make_boxed_func(gm.forward)

    run = aot_autograd.aot_function(
        f, fw_compiler=forward, bw_compiler=backward, partition_fn=again.partition,
        decompositions=decomposition_table(),
    )  # fmt: skip
    out = run(*args)
    torch.manual_seed(1)
    return list(torch.autograd.grad(out, args, torch.randn_like(out))), read


def test_a_backward_graph_reads_no_scores() -> None:
    args = sides()
    got, read = parted(attention, args)
    torch.manual_seed(1)
    out = attention(*args)
    want = torch.autograd.grad(out, args, torch.randn_like(out))
    assert max(read) < SCORES
    for g, w in zip(got, want, strict=True):
        torch.testing.assert_close(g, w, rtol=2e-2, atol=2e-2)


def test_what_is_drawn_is_kept() -> None:
    """Weights after dropout; those before it are computed again."""
    _, read = parted(dropped, sides())
    assert read.count(SCORES) in (1, 2)


@pytest.mark.parametrize(
    "args", [sides(torch.float32), sides(width=512)], ids=["f32", "wide"]
)
def test_products_that_cost_much_or_save_little_are_kept(args: list[Any]) -> None:
    _, read = parted(attention, args)
    assert SCORES in read
