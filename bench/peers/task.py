"""What the contestants of bench/cpu.py are given, and what they make of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from rewrite.egraph.ir.scalars import Array

type Mode = Literal["preallocated", "pooled"]
MODES: tuple[Mode, ...] = ("preallocated", "pooled")


@dataclass(frozen=True)
class Contestant:
    """A task in one library's hands."""

    run: Callable[[], Any]  # once, finished when it returns
    answers: Callable[[Any], Sequence[Any]]  # what `run` returned, as NumPy takes it


@dataclass(frozen=True)
class Absent:
    """Why a library does not take part."""

    reason: str


class Inexpressible(Exception):
    """A library cannot do a task; the message says why."""


type Entry = Contestant | Absent
type Entries = Mapping[Mode, Entry]


@dataclass(frozen=True)
class Code:
    """Array code `f(m, *inputs, *weights, out=None)`, in the language `m` of a library.

    With `out`, the result (or each of several) is written there.
    """

    f: Callable[..., Any]
    inputs: tuple[Array, ...]
    weights: tuple[Array, ...] = ()  # known before the first run
    library: bool = False  # ours may call the library that its peers call


@dataclass(frozen=True)
class Step:
    """A training step: `loss(m, parameters, *batch)`, its gradient, the update.

    `by_hand(m, parameters, *batch, rate)` is the same for who has no gradients: the
    loss and the new parameters.
    """

    loss: Callable[..., Any]
    by_hand: Callable[..., tuple[Any, ...]]
    parameters: tuple[Array, ...]
    batch: tuple[Array, ...]
    rate: float


class Network:
    """A torch module of one input, which the others read as torch exports it."""

    def __init__(self, name: str, case: Callable[[], Any], folder: Path) -> None:
        """`case` gives the `Case` of bench/onnx_models.py, when it is asked for."""
        self.name, self.folder, self._case = name, folder, case

    @cached_property
    def case(self) -> Any:
        return self._case()

    @cached_property
    def made(self) -> tuple[Any, Any]:
        """The module and its input, a torch tensor."""
        from bench.onnx_models import build

        return build(self.case), self.case.example()

    @cached_property
    def file(self) -> Path:
        from bench.onnx_models import export

        path = self.folder / f"{self.name}.opt.onnx"
        self.folder.mkdir(parents=True, exist_ok=True)
        network, given = self.made
        export(network, self.case, given, path)
        return path

    @property
    def inputs(self) -> dict[str, Array]:
        return {self.case.names[0]: self.made[1].numpy()}


type Task = Code | Step | Network
