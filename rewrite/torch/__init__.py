"""The PyTorch front end: `torch.compile(model, backend="rewrite")`."""

from .compiling import backend
from .explain import GraphView, Report, explain

__all__ = ["GraphView", "Report", "backend", "explain"]
