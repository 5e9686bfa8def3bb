"""Graphs on the memory of a GPU's tensors; the host's stands in for it."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an extra: rewrite[torch]")

from torch import nn  # noqa: E402

from rewrite.torch import program, resident  # noqa: E402
from tests.backends.test_resident import Lending  # noqa: E402

from .running import compiled  # noqa: E402


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Lending:
    """Tensors of the CPU as if they were a GPU's."""
    made = Lending()
    monkeypatch.setattr(program, "GraphStep", resident.ResidentStep)

    def place_of(_: Any) -> Any:
        return torch.device("cuda")

    monkeypatch.setattr(program, "place_of", place_of)
    monkeypatch.setattr(resident, "PLACE", "cpu")
    monkeypatch.setattr(resident, "gpu", lambda: made)
    monkeypatch.setattr(resident, "in_order", nullcontext)
    return made


def check(model: Any, run: Any, *inputs: Any) -> None:
    with torch.no_grad():
        torch.testing.assert_close(run(*inputs), model(*inputs))


def test_parameters_are_read_where_they_are(here: Lending) -> None:
    layers: Any = nn.Linear(24, 48), nn.GELU(), nn.LayerNorm(48)
    model: Any = nn.Sequential(*layers).eval()
    x, run = torch.randn(8, 24), compiled(model, device=here)
    for _ in range(3):
        check(model, run, x)
    layers[0].weight.data.mul_(3)  # where they lie
    check(model, run, x)
    layers[0].weight.data = torch.randn(48, 24)  # and elsewhere
    check(model, run, x)


def test_what_does_not_lie_in_order_is_copied(here: Lending) -> None:
    def f(x: Any, y: Any) -> Any:
        return (x * 2 + y).sum(-1), x.t()

    run = compiled(f, device=here)
    for x in (torch.randn(6, 8), torch.randn(6, 16)[:, ::2], torch.randn(8, 6).t()):
        check(f, run, x, torch.randn(8).flip(0)[::1])


def test_state_is_written_where_it_lies(here: Lending) -> None:
    def f(cache: Any, at: Any, x: Any) -> Any:
        cache.index_copy_(1, at, x)
        return cache.sum(0)

    run = compiled(f, device=here)
    for cache in (torch.zeros(3, 8, 4), torch.zeros(3, 4, 8).transpose(1, 2)):
        own, at, x = cache.clone(), torch.tensor([5]), torch.randn(3, 1, 4)
        with torch.no_grad():
            want, got = f(own, at, x), run(cache, at, x)
        torch.testing.assert_close(got, want)
        torch.testing.assert_close(cache, own)


def test_a_size_that_changes_is_a_number_of_the_graph(here: Lending) -> None:
    def f(x: Any) -> Any:
        return x.sum(0) / x.shape[0]

    run = compiled(f, device=here)
    for n in (4, 7, 9):
        check(f, run, torch.randn(n, 16))
