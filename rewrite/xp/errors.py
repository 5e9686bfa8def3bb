"""The error of array code, and what there is instead of what there is not."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TraceError(TypeError):
    """Array code that has no meaning while its values are not known."""


class ShapeError(TraceError, ValueError):
    """Shapes that do not fit together."""


class AxisError(TraceError, ValueError, IndexError):
    """An axis that there is not, or that is named twice."""


class DeviceError(TraceError, ValueError):
    """A device that arrays cannot be made on."""


_SORTED = "sort, and take the elements in the middle"
_BY_VALUES = "its shape depends on values"

INSTEAD = {
    "allclose": "use all(abs(x - y) <= tolerance)",
    "append": "use concat",
    "argwhere": f"{_BY_VALUES}; use where(mask, x, 0)",
    "array": "use asarray",
    "average": "use mean, or sum(x * w) / sum(w)",
    "concatenate": "use concat",
    "convolve": "use sliding_window and a product",
    "cumprod": "use cumulative_prod",
    "cumsum": "use cumulative_sum",
    "dot": "use matmul, vecdot or tensordot",
    "from_dlpack": "pass the array as an argument of the traced function",
    "flatnonzero": f"{_BY_VALUES}; use where(mask, x, 0)",
    "hstack": "use concat along axis 1",
    "isclose": "use abs(x - y) <= tolerance",
    "median": _SORTED,
    "nonzero": f"{_BY_VALUES}; use where(mask, x, 0)",
    "partition": "use sort, or top_k",
    "percentile": _SORTED,
    "power": "use pow or **",
    "quantile": _SORTED,
    "ravel": "use reshape(x, -1)",
    "rint": "use round",
    "topk": "use top_k",
    "swapaxes": "use permute_dims or matrix_transpose",
    "transpose": "use permute_dims, x.T or x.mT",
    "unique": _BY_VALUES,
    "unique_all": _BY_VALUES,
    "unique_counts": _BY_VALUES,
    "unique_inverse": _BY_VALUES,
    "unique_values": _BY_VALUES,
    "vstack": "use concat along axis 0",
    "lstsq": "use linalg.pinv, or linalg.solve of a.T @ a",
    **{name: f"use linalg.{name}" for name in (
        "cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh",
        "inv", "matrix_norm", "matrix_power", "matrix_rank", "pinv", "qr", "slogdet",
        "solve", "svd", "svdvals", "vector_norm",
    )},
    "norm": "use linalg.vector_norm or linalg.matrix_norm",
    **{name: f"use fft.{name}" for name in (
        "fft", "fftn", "hfft", "ifft", "ifftn", "ihfft", "irfft", "irfftn", "rfft",
        "rfftn",
    )},
}  # fmt: skip


def instead_of(name: str, known: Iterable[str]) -> str:
    """What a caller of `name`, which there is not, can use."""
    names = list(dict.fromkeys(known))
    near = difflib.get_close_matches(name, names, 3)
    if name in INSTEAD:
        return INSTEAD[name]
    if f"nn.{name}" in names:
        return f"use xp.nn.{name}"
    if near:
        return f"near it: {', '.join(near)}"
    return "see dir(rewrite.xp) for what there is"
