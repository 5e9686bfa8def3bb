"""What is made of parameters alone is kept, and made anew whenever they change."""

from __future__ import annotations

import ctypes
import tempfile
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
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


def net(hidden: int = 64) -> nn.Module:
    torch.manual_seed(0)
    layers = nn.Linear(48, hidden), nn.ReLU(), nn.Linear(hidden, 48)
    return nn.Sequential(*layers).eval()


def _in_place(m: Any) -> None:
    m[0].weight.mul_(2)


def _through_data(m: Any) -> None:
    m[0].weight.data.neg_()


def _one_element_through_data(m: Any) -> None:
    m[2].weight.data[-1, -1] += 1


def _rows_swapped_through_data(m: Any) -> None:
    m[0].weight.data[[3, 9]] = m[0].weight.data[[9, 3]]


def _other_data(m: Any) -> None:
    m[0].weight.data = torch.randn_like(m[0].weight)


def _other_data_then_written(m: Any) -> None:
    other = torch.randn_like(m[0].weight)
    m[0].weight.data = other
    m(X)
    other.mul_(3)


def _state(m: Any) -> None:
    m.load_state_dict({k: v + 1 for k, v in m.state_dict().items()})


def _a_view(m: Any) -> None:
    m[0].weight.detach().view(-1)[7:90].add_(1)


def _an_array(m: Any) -> None:
    m[0].weight.detach().numpy()[...] *= -1


def _through_dlpack(m: Any) -> None:
    np.from_dlpack(m[0].weight.detach())[5:7] += 1


def _by_its_address(m: Any) -> None:
    other = torch.randn(100)
    ctypes.memmove(m[2].weight.data_ptr() + 8192, other.data_ptr(), 400)


def _by_the_system(m: Any) -> None:
    """As files are read: no code of this process writes."""
    memory = m[0].weight.detach().numpy().reshape(-1).view(np.uint8)
    with tempfile.TemporaryFile() as file:
        file.write(torch.randn(100).numpy().tobytes())
        file.seek(0)
        assert file.readinto(memoryview(memory)[8192:8592]) == 400


def _by_another_thread(m: Any) -> None:
    thread = threading.Thread(target=_through_data, args=(m,))
    thread.start()
    thread.join()


def _another_parameter(m: Any) -> None:
    m[0].weight = nn.Parameter(torch.randn_like(m[0].weight))


def _an_optimizer(m: Any) -> None:
    with torch.enable_grad():
        m(X).square().sum().backward()
    torch.optim.SGD(m.parameters(), 0.1).step()


WRITES = (
    _in_place, _through_data, _one_element_through_data, _rows_swapped_through_data,
    _other_data, _other_data_then_written, _state, _a_view, _an_array,
    _through_dlpack, _by_its_address, _by_the_system, _by_another_thread,
    _another_parameter, _an_optimizer,
)  # fmt: skip


@pytest.mark.sweep(2)
@pytest.mark.parametrize("hidden", [64, 2048], ids=["digested", "watched"])
@pytest.mark.parametrize("write", WRITES, ids=lambda f: f.__name__.strip("_"))
@torch.no_grad()
def test_a_change_is_seen(write: Callable[[Any], None], hidden: int) -> None:
    """Small parameters are digested, the pages of large ones are watched."""
    model = net(hidden)
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
def test_two_programs_of_the_same_parameters_both_see_a_change() -> None:
    """The system tells of a write once."""
    model = net(2048)
    wide = torch.linspace(-1, 1, 16 * 48).reshape(16, 48)
    fast = [compiled(model, effort=2), compiled(model.forward, effort=2)]
    for k in range(8):
        if k % 4 == 3:
            model[0].weight.data[7, 7] += 5
        for f, x in zip(fast, (X, wide), strict=True):
            same(f(x), model(x))


@torch.no_grad()
def test_parameters_in_a_file_that_others_write_to(tmp_path: Path) -> None:
    """Its pages are not this process's own, so they are read."""
    file, model = tmp_path / "weights", net(2048)
    file.write_bytes(model[0].weight.numpy().tobytes())
    shared = torch.from_file(str(file), True, 2048 * 48).reshape(2048, 48)
    model[0].weight = nn.Parameter(shared)
    fast = compiled(model, effort=2)
    for k in range(6):
        if k == 3:
            with file.open("r+b") as other:
                other.seek(9000 * 4)
                other.write(np.float32(7).tobytes())
        same(fast(X), model(X))


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
    assert len(ready.constant_inputs) == 1


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
