"""A compiled graph between tensors of a GPU, on their own memory."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from rewrite.backends.devices import device
from rewrite.backends.resident import Lent, Memory, Resident

from .library import Tensor, torch
from .steps import GraphStep, Scope


class ResidentStep(GraphStep):
    """Launches follow what PyTorch has launched, and it goes on without waiting."""

    _run_on: Resident | None = None

    @property
    def _lock(self) -> Any:
        return cast(Any, self.compiled).runner.lock

    def _run(self, scope: Scope) -> None:
        given = self._given(scope)
        held = {label: x.contiguous() for label, x in given.items()}
        with self._lock, in_order():
            ready = self._ready
            results = self._empty(torch.device("cuda", 0))
            ready(_buffers(held), _buffers(results))
        for a in self.part.graph.aliases:  # where it was written was a copy
            if held[a.input] is not given[a.input]:
                given[a.input].copy_(held[a.input])
        for made in self.outputs:
            scope[made.label] = made.delivered(results[made.label])

    def _given(self, scope: Scope) -> dict[str, Tensor]:
        found = {t.label: t.tensor(scope[t.name]) for t in self.inputs}
        found |= {label: v.of(scope[v.name]) for label, v in self.views}
        if self.numbers:
            found |= {
                k: torch.tensor(int(v), device="cuda:0")
                for k, v in self.numbers.items()
            }
        return found

    def _empty(self, place: Any) -> dict[str, Tensor]:
        """Memory for the results but those that inputs hold afterwards."""
        ports = self._ready.ready.ports
        dtypes = {made.label: made.dtype for made in self.outputs}
        return {
            p.label: torch.empty(p.shape, dtype=dtypes[p.label], device=place)
            for p in ports.outputs
            if p.b not in self._ready.must
        }

    @property
    def _ready(self) -> Resident:
        if self._run_on is None:
            symbols = self.part.graph.symbols
            ready = cast(Any, self.compiled).executable(
                {s: self.sizes.bound[s] for s in symbols}
            )
            self._run_on = Resident(ready)
        return self._run_on


def _buffers(tensors: Mapping[str, Tensor]) -> dict[str, Memory]:
    gpu = device("cuda")
    assert isinstance(gpu, Lent)
    return {
        label: gpu.borrowed(x.data_ptr(), x.numel() * x.element_size())
        for label, x in tensors.items()
    }


@contextmanager
def in_order() -> Generator[None]:
    """Launches are made on the default stream; where PyTorch's is another, one waits
    for the other."""
    here, ours = torch.cuda.current_stream(), torch.cuda.default_stream()
    if here == ours:
        yield
        return
    ours.wait_stream(here)
    try:
        yield
    finally:
        here.wait_stream(ours)
