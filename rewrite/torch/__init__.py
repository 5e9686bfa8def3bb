"""The PyTorch front end: `torch.compile(model, backend="rewrite")`."""

try:
    import torch as _torch  # noqa: F401  # pyright: ignore[reportUnusedImport]
except ImportError as _e:
    raise ImportError(
        f"the front end of PyTorch needs it ({_e}): pip install 'rewrite[torch]'"
    ) from None

from .compiling import backend
from .explain import GraphView, Report, explain

__all__ = ["GraphView", "Report", "backend", "explain"]
