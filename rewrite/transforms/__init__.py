"""Transforms of array code: derivatives and maps, as functions of graphs."""

from .differentiation import grad, jvp, stop_gradient, value_and_grad, vjp
from .vectorization import vmap

__all__ = ["grad", "jvp", "stop_gradient", "value_and_grad", "vjp", "vmap"]
