"""What is made of parameters alone is kept, and made anew whenever they change."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an extra: rewrite[torch]")

from torch import nn  # noqa: E402

from rewrite.backends.executable import Executable  # noqa: E402

from .running import compiled, programs, same  # noqa: E402
from .zoo import stirred  # noqa: E402

X = torch.linspace(-1, 1, 8 * 48).reshape(8, 48)


@contextmanager
def renewals() -> Generator[list[Executable]]:
    """The programs that make anew what they keep, as they do so."""
    seen: list[Executable] = []
    plain = Executable._renew

    def renew(self: Executable, moved: Any) -> None:
        seen.append(self)
        plain(self, moved)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Executable, "_renew", renew)
        yield seen


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, 48)).eval()


def _in_place(m: Any) -> None:
    m[0].weight.mul_(2)


def _through_data(m: Any) -> None:
    m[0].weight.data.neg_()


def _one_element_through_data(m: Any) -> None:
    m[2].weight.data[-1, -1] += 1


def _rows_swapped_through_data(m: Any) -> None:
    m[0].weight.data[[3, 9]] = m[0].weight.data[[9, 3]]


def _other_data(m: Any) -> None:
    m[0].weight.data = torch.randn(64, 48)


def _other_data_then_written(m: Any) -> None:
    other = torch.randn(64, 48)
    m[0].weight.data = other
    m(X)
    other.mul_(3)


def _state(m: Any) -> None:
    m.load_state_dict({k: v + 1 for k, v in m.state_dict().items()})


def _a_view(m: Any) -> None:
    m[0].weight.detach().view(-1)[7:90].add_(1)


def _an_array(m: Any) -> None:
    m[0].weight.detach().numpy()[...] *= -1


def _another_parameter(m: Any) -> None:
    m[0].weight = nn.Parameter(torch.randn(64, 48))


def _an_optimizer(m: Any) -> None:
    with torch.enable_grad():
        m(X).square().sum().backward()
    torch.optim.SGD(m.parameters(), 0.1).step()


WRITES = (
    _in_place, _through_data, _one_element_through_data, _rows_swapped_through_data,
    _other_data, _other_data_then_written, _state, _a_view, _an_array,
    _another_parameter, _an_optimizer,
)  # fmt: skip


@pytest.mark.parametrize("write", WRITES, ids=lambda f: f.__name__.strip("_"))
@torch.no_grad()
def test_a_change_is_seen(write: Callable[[Any], None]) -> None:
    model = net()
    fast = compiled(model, effort=2)
    with renewals() as seen:
        for _ in range(4):
            same(fast(X), model(X))
        assert len(seen) == 2  # what they hold is not known before the second call
        for _ in range(2):
            write(model)
            for _ in range(4):
                same(fast(X), model(X))
        assert 4 <= len(seen) <= 6


@torch.no_grad()
def test_tensors_of_inference_mode() -> None:
    with torch.inference_mode():
        model = net()
    fast = compiled(model, effort=2)
    with torch.inference_mode(), renewals() as seen:
        for k in range(6):
            if k == 3:
                model[0].weight.mul_(2)
            same(fast(X), model(X))
    assert len(seen) == 3


@torch.no_grad()
def test_weights_that_are_a_view_of_one_tensor() -> None:
    whole = torch.randn(2, 48, 48)
    model = net()
    model[0].weight, model[2].weight = nn.Parameter(whole[0]), nn.Parameter(whole[1].T)
    model[0].bias = nn.Parameter(torch.randn(48))
    fast = compiled(model, effort=2)
    for _ in range(3):
        for _ in range(3):
            same(fast(X), model(X))
        whole.mul_(-1)


@torch.no_grad()
def test_filters_are_packed_once() -> None:
    model = stirred(nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()))
    x = torch.randn(1, 3, 16, 16)
    with programs() as made:
        fast = compiled(model, effort=2)
        for k in range(6):
            if k == 3:
                model[1].running_var.mul_(4)
            same(fast(x), model(x))
    (step,) = made[0].first.graphs
    ready = step.compiled.executable()
    assert ready.prologue and len(ready.program.steps) == 1
    assert len(ready.steady) == 1


@torch.no_grad()
def test_statistics_that_a_model_writes_are_no_parameters() -> None:
    model = nn.Sequential(nn.Linear(48, 16), nn.BatchNorm1d(16)).train()
    other = nn.Sequential(nn.Linear(48, 16), nn.BatchNorm1d(16)).train()
    other.load_state_dict(model.state_dict())
    fast = compiled(other, effort=2)
    for _ in range(4):
        same(fast(X), model(X))
        same(other[1].running_mean, model[1].running_mean)


@torch.no_grad()
def test_parameters_that_never_rest_are_inputs() -> None:
    model = net()
    with programs() as made, renewals() as seen:
        fast = compiled(model, effort=2)
        for _ in range(14):
            model[0].weight.add_(0.1)
            same(fast(X), model(X))
        assert 8 <= len(seen) < 12
        (step,) = made[0]._fixed(()).graphs
        assert not step.kept


@torch.no_grad()
def test_nothing_is_kept_beyond_the_limit_of_memory() -> None:
    model = net()
    weights = sum(p.numel() * 4 for p in model.parameters())
    for limit, keeps in ((1 << 20, True), (weights // 2, False)):
        with programs() as made:
            same(compiled(model, effort=2, memory=limit)(X), model(X))
        (step,) = made[0].first.graphs
        assert bool(step.kept) is keeps
        assert (step.compiled.executable().kept_bytes > 0) is keeps


def test_in_training_nothing_is_kept() -> None:
    model = net()
    with programs() as made:
        compiled(model, effort=2)(X).sum().backward()
    assert len(made) == 2
    assert not any(step.kept for p in made for step in p.first.graphs)
