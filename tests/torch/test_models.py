"""Small models of each kind, forward and backward, beside eager PyTorch."""

from __future__ import annotations

import copy
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an extra: rewrite[torch]")

from torch import nn  # noqa: E402

from .running import compiled, fallbacks, programs, same  # noqa: E402
from .zoo import Lstm, stirred  # noqa: E402


def inferred(model: nn.Module, *inputs: Any) -> None:
    """Equal results, and no node in eager PyTorch."""
    with torch.no_grad(), programs() as made:
        same(compiled(model)(*inputs), model(*inputs))
    assert made and not fallbacks(made)


def trained(model: nn.Module, *inputs: Any, strict_fallbacks: bool = True) -> None:
    """Equal gradients and buffers after a step, and no node in eager PyTorch."""
    other = copy.deepcopy(model)
    with programs() as made:
        fast = compiled(other)
        model(*inputs).square().mean().backward()
        fast(*inputs).square().mean().backward()
    for a, b in zip(other.parameters(), model.parameters(), strict=True):
        same(a.grad, b.grad)
    for a, b in zip(other.buffers(), model.buffers(), strict=True):
        same(a, b)
    assert len(made) == 2 and not (strict_fallbacks and fallbacks(made))


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def test_a_perceptron() -> None:
    model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32),
                          nn.Linear(32, 4), nn.Softmax(-1))  # fmt: skip
    inferred(model.eval(), torch.randn(5, 16))


def test_a_block_of_convolutions() -> None:
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
        nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, groups=2), nn.SiLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(),
    )  # fmt: skip
    inferred(stirred(model), torch.randn(2, 3, 8, 8))


def test_a_layer_of_a_transformer() -> None:
    model = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    torch.backends.mha.set_fastpath_enabled(False)  # one fused operator of eager's
    try:
        inferred(model.eval(), torch.randn(2, 6, 16))
    finally:
        torch.backends.mha.set_fastpath_enabled(True)


def test_a_causal_attention_with_shared_keys() -> None:
    def f(q: Any, k: Any, v: Any) -> Any:
        return nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=True, enable_gqa=True
        )

    q, k, v = (torch.randn(1, n, 6, 8) for n in (4, 2, 2))
    with torch.no_grad(), programs() as made:
        same(compiled(f)(q, k, v), f(q, k, v))
    assert not fallbacks(made)


def test_a_recurrent_cell() -> None:
    model = Lstm().eval()
    inferred(model, torch.randn(2, 3, 64))


def test_a_step_of_training_a_perceptron() -> None:
    model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Tanh(),
                          nn.Linear(16, 4))  # fmt: skip
    trained(model, torch.randn(6, 8))


def test_a_step_of_training_convolutions() -> None:
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.ConvTranspose2d(4, 4, 3, 2, padding=1, groups=2, output_padding=1),
        nn.Conv2d(4, 4, 2, groups=2, dilation=2), nn.Flatten(), nn.Linear(144, 2),
    )  # fmt: skip
    trained(model, torch.randn(2, 3, 16, 16))


def test_transposed_convolutions_multiply_no_zeros_in_between() -> None:
    """Of all kinds of strides, pads and sizes, each in phases; and so few windows."""
    torch.manual_seed(0)
    kinds = (
        (2, 2, 0, 0, 1, 1), (3, 2, 1, 1, 2, 1), (3, 2, 1, 0, 1, 1), (4, 2, 1, 0, 1, 1),
        (5, 3, 2, 1, 1, 1), (1, 3, 0, 0, 2, 1), (2, 4, 0, 0, 1, 1), (3, 2, 1, 0, 1, 2),
        (5, 2, 3, 0, 1, 1), (3, 3, 0, 2, 1, 1), (3, 1, 1, 0, 1, 1), (2, 3, 1, 0, 1, 1),
    )  # fmt: skip
    ws = [torch.randn(4, 3, k, k) for k, *_ in kinds]

    def f(x: Any) -> list[Any]:
        return [
            nn.functional.conv_transpose2d(x, w, w[0, :1, 0, 0].expand(3 * g), stride,
                                           pad, more, g, gap)
            for w, (_, stride, pad, more, g, gap) in zip(ws, kinds, strict=True)
        ]  # fmt: skip

    x = torch.randn(2, 4, 6, 5)
    with torch.no_grad(), programs() as made:
        same(compiled(f)(x), f(x))
    (graph,) = (s.part.graph for s in made[0].first.graphs)
    convs = [n for n in graph.nodes if n.op == "conv"]
    taps = [graph.nodes[n.args[1]].shape[2] for n in convs]
    assert not fallbacks(made) and taps == [1, 2, 2, 2, 2, 1, 1, 3, 3, 1, 3, 1]


def test_histograms_and_rows_by_group() -> None:
    """What mixtures of experts count and multiply."""
    pytest.importorskip("transformers.integrations.moe", reason="it has the operator")

    def f(x: Any, w: Any, ends: Any, which: Any) -> Any:
        y = torch.ops.transformers.grouped_mm_fallback(x, w, ends)
        count = torch.histc(which.float(), bins=4, min=0, max=3)
        return y, count, torch.histc(x, 7, -1.0, 1.0), torch.histc(x, 5)

    args = (torch.randn(9, 8), torch.randn(3, 8, 5), torch.tensor([2, 2, 7]).int(),
            torch.randint(0, 4, (50,)))  # fmt: skip
    with torch.no_grad(), programs() as made:
        same(compiled(f)(*args), f(*args))
    assert not fallbacks(made)


def test_a_step_of_training_pools() -> None:
    class Pools(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Conv2d(1, 2, 3)

        def forward(self, x: Any) -> Any:
            f, y = nn.functional, self.first(x)
            parts = (
                f.avg_pool2d(y, 3, 2, 1, count_include_pad=False, ceil_mode=True),
                f.adaptive_avg_pool2d(y, (3, 5)), f.max_pool2d(y, 3, 1),
                f.interpolate(y, scale_factor=2),
            )  # fmt: skip
            return torch.cat([p.square().flatten() for p in parts])

    trained(Pools(), torch.randn(2, 1, 9, 10))


def test_a_step_of_training_a_transformer() -> None:
    model = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    trained(model, torch.randn(2, 4, 8))


def test_a_step_of_training_with_dropout() -> None:
    model = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.5), nn.Linear(16, 4),
                          nn.Dropout(0.1))  # fmt: skip
    other, x = copy.deepcopy(model), torch.randn(6, 8)
    with programs() as made:
        fast = compiled(other)
        torch.manual_seed(1)
        model(x).sum().backward()
        torch.manual_seed(1)
        fast(x).sum().backward()
    assert not fallbacks(made) and all(len(p.first.graphs) == 1 for p in made)
    for a, b in zip(other.parameters(), model.parameters(), strict=True):
        same(a.grad, b.grad)


def test_a_dropout_of_what_is_kept_for_the_backward_pass() -> None:
    """Its operand and its result are both kept, and are two tensors."""
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.5),
                          nn.Linear(16, 4))  # fmt: skip
    other, x = copy.deepcopy(model), torch.randn(6, 8)
    fast = compiled(other)
    for run in (model, fast):
        torch.manual_seed(1)
        run(x).square().mean().backward()
    for a, b in zip(other.parameters(), model.parameters(), strict=True):
        same(a.grad, b.grad)


def test_small_floats() -> None:
    model = nn.Sequential(nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 4)).bfloat16()
    x = torch.randn(3, 16).bfloat16()
    with torch.no_grad():
        same(compiled(model)(x), model(x), rtol=2e-2, atol=1e-2)


def test_changing_sizes() -> None:
    def f(x: Any, w: Any) -> Any:
        return torch.softmax(x @ w, -1).sum(0) + x.shape[0]

    with programs() as made:
        fast, w = compiled(f), torch.randn(8, 3)
        for n in (3, 5, 7, 5, 1):
            x = torch.randn(n, 8)
            same(fast(x, w), f(x, w))
    assert not fallbacks(made)


def test_one_plan_serves_all_sizes() -> None:
    def f(x: Any, w: Any) -> Any:
        return torch.relu(x @ w) * 2

    with programs() as made:
        fast, w = compiled(f), torch.randn(8, 3)
        x = torch.randn(3, 8)
        torch._dynamo.mark_dynamic(x, 0)
        for n in (3, 5, 7):
            x = torch.randn(n, 8)
            if n == 3:
                torch._dynamo.mark_dynamic(x, 0)
            same(fast(x, w), f(x, w))
    assert len(made) == 1
    (step,) = made[0].first.graphs
    assert len(step.part.graph.symbols) == 1
    assert len(step.compiled.sizes) == 3


def test_sizes_that_a_reader_must_know() -> None:
    def f(x: Any) -> Any:
        return torch.nn.functional.adaptive_avg_pool1d(x, 2)

    with programs() as made:
        fast = compiled(f)
        for n in (4, 5, 6):
            x = torch.randn(2, 3, n)
            if n == 4:
                torch._dynamo.mark_dynamic(x, 2)
            same(fast(x), f(x))
    assert len(made) == 1 and not fallbacks(made)


def test_parameters_are_built_in_until_they_change() -> None:
    model = stirred(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()))
    x = torch.randn(1, 3, 8, 8)
    with torch.no_grad(), programs() as made:
        fast = compiled(model, freeze=True)
        same(fast(x), model(x))
        (step,) = made[0].first.graphs
        assert len(step.part.inputs) == 1
        once = [k.once for k in step.compiled.kernels()]
        assert once.count(False) == 1  # batch norm and activation are in it
        model[0].weight.mul_(2)
        model[1].load_state_dict({k: v + 1 for k, v in model[1].state_dict().items()})
        same(fast(x), model(x))
        now = made[0].first
        same(fast(x), model(x))
        assert made[0].first is now is not step


def test_a_number_that_changes_is_an_input() -> None:
    def f(x: Any, n: int) -> Any:
        return x * n + torch.arange(x.shape[1]) + n

    with programs() as made:
        fast, x = compiled(f), torch.randn(3, 4)
        for n in range(2, 7):
            same(fast(x, n), f(x, n))
    assert len(made) == 2 and not fallbacks(made)
    (step,) = made[1].first.graphs
    assert len(step.compiled.sizes) == 1  # one program for all numbers


def test_a_step_of_an_optimizer() -> None:
    mine = nn.Parameter(torch.randn(5))
    theirs = nn.Parameter(mine.detach().clone())
    steps = [torch.optim.AdamW([p], lr=0.1) for p in (mine, theirs)]
    with programs() as made:
        fast = compiled(lambda: steps[0].step())
        for k in range(3):
            mine.grad, theirs.grad = (
                torch.full((5,), 1.0 + k),
                torch.full((5,), 1.0 + k),
            )
            fast()
            steps[1].step()
    same(mine, theirs)
    assert made and not fallbacks(made)
