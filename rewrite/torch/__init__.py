"""The PyTorch front end: `torch.compile(model, backend="rewrite")`."""

from .backend import backend

__all__ = ["backend"]
