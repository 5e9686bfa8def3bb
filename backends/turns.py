"""Prepared launches of a device that starts them one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..lower.device import Module

type Step = tuple[str, Sequence[int]]  # a function, its arguments' numbers


@dataclass(frozen=True, slots=True)
class InTurn:
    """Each step is launched by the module, on the buffers of these numbers."""

    module: Module
    steps: Sequence[Step]
    buffers: list[Any]

    def place(self, moved: Mapping[int, Any]) -> None:
        for b, buffer in moved.items():
            self.buffers[b] = buffer

    def __call__(self) -> None:
        for name, args in self.steps:
            self.module.launch(name, [self.buffers[b] for b in args])
