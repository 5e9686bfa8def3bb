"""A compiled graph between tensors of a GPU, on their own memory."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple, cast

from rewrite.backends.devices import device
from rewrite.backends.resident import Lent, Memory, Resident

from .library import Tensor, torch
from .steps import GraphStep, Scope


class Seen(NamedTuple):
    """A parameter as it was at the last call, and its memory."""

    tensor: Tensor
    address: int
    memory: Memory


class ResidentStep(GraphStep):
    """Launches follow what PyTorch has launched, and it goes on without waiting."""

    _run_on: Resident | None = None

    def _run(self, scope: Scope) -> None:
        with cast(Any, self.compiled).runner.lock:
            run = self._run_on
            if run is None:
                run = self._run_on = self._resident()
            self._launch(run, scope)

    def _launch(self, run: Resident, scope: Scope) -> None:
        copies: dict[str, tuple[Tensor, Tensor]] = {}
        given = [self._memory(label, scope, copies) for label in run.inputs]
        made = [torch.empty(shape, dtype=dtype, device=PLACE)
                for shape, dtype in self._forms]  # fmt: skip
        with in_order():
            run(given, [_memory(x) for x in made])
        for a in self.part.graph.aliases:
            if a.input in copies:  # where it was written was a copy
                tensor, copy = copies[a.input]
                tensor.copy_(copy)
        results = dict(zip(run.outputs, made, strict=True))
        for x in self.outputs:
            scope[x.label] = x.delivered(results[x.label])

    def _resident(self) -> Resident:
        symbols = self.part.graph.symbols
        sizes = {s: self.sizes.bound[s] for s in symbols}
        run = Resident(cast(Any, self.compiled).executable(sizes))
        dtypes = {x.label: x.dtype for x in self.outputs}
        self._forms = [(p.shape, dtypes[p.label]) for p in run.made]
        self._taken = {t.label: t for t in self.inputs}
        self._views = dict(self.views)
        self._seen: dict[str, Seen] = {}
        self._held = {
            label: torch.tensor(int(v), device=PLACE)
            for label, v in self.numbers.items()
        }
        return run

    def _memory(
        self, label: str, scope: Scope, copies: dict[str, tuple[Tensor, Tensor]]
    ) -> Memory:
        """The memory of an input; `copies` takes what does not lie in order, and holds
        it until the launch."""
        taken = self._taken.get(label)
        if taken is None:
            view = self._views.get(label)
            found = self._held[label] if view is None else view.of(scope[view.name])
            return self._lying(label, found, copies)
        tensor = scope[taken.name]
        seen = self._seen.get(label)
        if seen and seen.tensor is tensor and seen.address == tensor.data_ptr():
            return seen.memory
        memory = self._lying(label, taken.tensor(tensor), copies)
        if type(tensor) is torch.nn.Parameter and label not in copies:
            self._seen[label] = Seen(tensor, tensor.data_ptr(), memory)
        return memory

    def _lying(
        self, label: str, tensor: Tensor, copies: dict[str, tuple[Tensor, Tensor]]
    ) -> Memory:
        if tensor.is_contiguous():
            return _memory(tensor)
        copies[label] = tensor, tensor.contiguous()
        return _memory(copies[label][1])


PLACE = "cuda:0"  # whose memory the device `cuda` has


@cache
def gpu() -> Lent:
    found = device("cuda")
    assert isinstance(found, Lent)
    return found


def _memory(tensor: Tensor) -> Memory:
    return gpu().borrowed(tensor.data_ptr(), tensor.numel() * tensor.element_size())


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
