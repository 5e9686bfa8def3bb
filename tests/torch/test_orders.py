"""Images whose channels come last stay so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an extra: rewrite[torch]")

from torch import nn  # noqa: E402

from rewrite.egraph.ir.dtypes import F32  # noqa: E402
from rewrite.egraph.ir.evaluate import evaluate  # noqa: E402
from rewrite.egraph.ir.graph import Builder  # noqa: E402
from rewrite.torch.orders import OrderedBuilder  # noqa: E402

from .running import compiled  # noqa: E402

LAST = (0, 2, 3, 1)


class Images(nn.Module):
    def __init__(self) -> None:
        nn.Module.__init__(self)
        self.one, self.two = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 16, 1, bias=False)
        self.norm, self.pool = nn.BatchNorm2d(8), nn.MaxPool2d(3, 2, 1)
        self.short = nn.Conv2d(8, 16, 1, 2)

    def forward(self, x: Any) -> Any:
        y = torch.relu(self.norm(self.one(x)))
        y = self.two(self.pool(y)) + self.short(y)
        return y, y.mean((2, 3)), torch.cat((y, y.flip(1)), 1)[:, :, 1:]


@pytest.mark.parametrize("freeze", [False, True])
def test_a_network(freeze: bool) -> None:
    model: Any = Images().eval().to(memory_format=torch.channels_last)
    x = torch.randn(2, 3, 18, 14).to(memory_format=torch.channels_last)
    run = compiled(model, freeze=freeze)
    with torch.no_grad():
        for want, got in zip(model(x), run(x), strict=True):
            torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)
            assert got.stride() == want.stride()


def net(b: Any, x: int, w: int, scale: int) -> int:
    """What a network does to images between its first and last values."""
    y = b.macro("conv", (x, w, b.expand(b.const(0.0, F32, (1,)), (8,))),
                (1, 1, 1, 1, 1, 1, 1, 1, 1))  # fmt: skip
    shape = b.shape(y)
    y = b.bin("mul", y, b.expand(b.reshape(scale, (1, 8, 1, 1)), shape))
    y = b.un("relu", b.select(b.bin("lt", y, b.un("neg", y)), b.bin("mul", y, y), y))
    y = b.pad(y, (0, 0, 1, 0), (0, 0, 0, 1), -1.0)
    y = b.slice(y, (0, 1, 0, 0), (2, 6, *b.shape(y)[2:]), (1, 1, 1, 1))
    y = b.window(b.window(y, 2, 3, 2), 3, 2, 1)
    y = b.reshape(b.reduce("max", y, (4, 5)), b.shape(y)[:4])
    return b.bin("sub", y, b.expand(b.reduce("sum", y, (1,)), b.shape(y)))


def test_ops_on_arrays_as_they_lie() -> None:
    """The same values, in the order that the first one has."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 9, 11, 3), np.float32)
    w, scale = (rng.standard_normal(s, np.float32) for s in ((8, 3, 3, 3), (8,)))
    plain, ordered = Builder(), OrderedBuilder("ordered")
    results: list[Any] = []
    for b in (plain, ordered):
        entered = b.input("x", F32, x.shape)
        given = b.lying(entered, LAST) if b is ordered else b.permute(
            entered, (0, 3, 1, 2))  # fmt: skip
        y = net(b, given, b.input("w", F32, w.shape), b.input("s", F32, (8,)))
        graph = b.build([b.permute(y, LAST)])
        ((label, out),) = graph.outputs
        results.append(evaluate(graph, {"x": x, "w": w, "s": scale})[label])
        assert (graph.nodes[out].op == "bin") == (b is ordered)
    np.testing.assert_array_equal(results[0], results[1])
