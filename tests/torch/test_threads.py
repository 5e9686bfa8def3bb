"""Threads that call and compile at once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an extra: rewrite[torch]")

from torch import nn  # noqa: E402

from .running import compiled  # noqa: E402

THREADS, CALLS = 10, 100  # of each thread
KINDS = 5


def nets() -> list[nn.Module]:
    torch.manual_seed(0)
    return [
        nn.Sequential(nn.Linear(8 + k, 16), nn.GELU(), nn.Linear(16, 4 + k)).eval()
        for k in range(KINDS)
    ]


def test_ten_threads_call_and_compile_at_once() -> None:
    """A thousand calls of models that are compiled meanwhile, each by whoever comes
    first; batches of several sizes make PyTorch compile them again."""
    models = nets()
    fast = [compiled(m, effort=1) for m in models]
    start = threading.Barrier(THREADS)

    def calls(thread: int) -> int:
        rng = torch.Generator().manual_seed(thread)
        start.wait()
        agreed = 0
        with torch.no_grad():
            for n in range(CALLS):
                k = (thread + n) % KINDS
                x = torch.randn(2 + (thread + n) % 3, 8 + k, generator=rng)
                agreed += _agree(fast[k](x), models[k](x))
        return agreed

    with ThreadPoolExecutor(THREADS) as pool:
        assert sum(pool.map(calls, range(THREADS))) == THREADS * CALLS


def test_weights_change_between_calls_of_many_threads() -> None:
    """Each round all threads see the weights of that round, never packed ones of the
    round before."""
    model = nets()[0]
    fast = compiled(model, effort=2)
    x = torch.randn(3, 8)
    with torch.no_grad(), ThreadPoolExecutor(THREADS) as pool:
        for _ in range(20):
            model[0].weight.data.add_(0.5)
            want = model(x)
            found = pool.map(lambda _: _called(fast, x), range(3 * THREADS))
            assert all(_agree(y, want) for y in found)


def _called(f: Any, x: Any) -> Any:
    with torch.no_grad():
        return f(x)


def _agree(found: Any, want: Any) -> bool:
    return torch.allclose(found, want, rtol=1e-4, atol=1e-5)
