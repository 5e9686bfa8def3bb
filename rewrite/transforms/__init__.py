"""Transforms of array code: derivatives and maps, as functions of graphs."""

from .checkpointing import checkpoint
from .differentiation import grad, jvp, stop_gradient, value_and_grad, vjp
from .vectorization import vmap

__all__ = [
    "checkpoint", "grad", "jvp", "stop_gradient", "value_and_grad", "vjp", "vmap",
]  # fmt: skip
