"""The methods of NumPy arrays that a traced array has as well."""

from __future__ import annotations

from typing import Any, Self

from .operators import Operators, functions


class Methods(Operators):
    """Each is the function of the namespace with its name, NumPy's way of calling."""

    __slots__ = ()

    # -- movement --

    @property
    def T(self) -> Self:
        return functions["__transpose__"](self)

    @property
    def mT(self) -> Self:
        return functions["matrix_transpose"](self)

    def transpose(self, *axes: Any) -> Self:
        return functions["__transpose__"](self, _unpacked(axes))

    def swapaxes(self, axis1: int, axis2: int) -> Self:
        return functions["__swapaxes__"](self, axis1, axis2)

    def reshape(self, *shape: Any) -> Self:
        return functions["reshape"](self, _unpacked(shape))

    def ravel(self) -> Self:
        return functions["reshape"](self, -1)

    def flatten(self) -> Self:
        return functions["reshape"](self, -1)

    def squeeze(self, axis: Any = None) -> Self:
        return functions["__squeeze__"](self, axis)

    def repeat(self, repeats: Any, axis: int | None = None) -> Self:
        return functions["repeat"](self, repeats, axis=axis)

    def take(self, indices: Any, axis: int | None = None) -> Self:
        return functions["__take__"](self, indices, axis)

    # -- elementwise --

    def astype(self, dtype: Any, copy: bool = True) -> Self:
        return functions["astype"](self, dtype, copy=copy)

    def to_device(self, device: Any, /, *, stream: Any = None) -> Self:
        return functions["asarray"](self, device=device)

    def copy(self) -> Self:
        return +self

    def clip(self, min: Any = None, max: Any = None) -> Self:
        return functions["clip"](self, min, max)

    def round(self, decimals: int = 0) -> Self:
        return functions["__round__"](self, decimals)

    def dot(self, other: Any) -> Self:
        return functions["__dot__"](self, other)

    # -- reductions --

    def sum(self, axis: Any = None, dtype: Any = None, *, keepdims: bool = False
            ) -> Self:  # fmt: skip
        return functions["sum"](self, axis=axis, dtype=dtype, keepdims=keepdims)

    def prod(self, axis: Any = None, dtype: Any = None, *, keepdims: bool = False
             ) -> Self:  # fmt: skip
        return functions["prod"](self, axis=axis, dtype=dtype, keepdims=keepdims)

    def mean(self, axis: Any = None, *, keepdims: bool = False) -> Self:
        return functions["mean"](self, axis=axis, keepdims=keepdims)

    def var(self, axis: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Self:
        return functions["var"](self, axis=axis, correction=ddof, keepdims=keepdims)

    def std(self, axis: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Self:
        return functions["std"](self, axis=axis, correction=ddof, keepdims=keepdims)

    def max(self, axis: Any = None, *, keepdims: bool = False) -> Self:
        return functions["max"](self, axis=axis, keepdims=keepdims)

    def min(self, axis: Any = None, *, keepdims: bool = False) -> Self:
        return functions["min"](self, axis=axis, keepdims=keepdims)

    def any(self, axis: Any = None, *, keepdims: bool = False) -> Self:
        return functions["any"](self, axis=axis, keepdims=keepdims)

    def all(self, axis: Any = None, *, keepdims: bool = False) -> Self:
        return functions["all"](self, axis=axis, keepdims=keepdims)

    def argmax(self, axis: int | None = None, *, keepdims: bool = False) -> Self:
        return functions["argmax"](self, axis=axis, keepdims=keepdims)

    def cumsum(self, axis: int | None = None, dtype: Any = None) -> Self:
        return functions["__cumsum__"](self, axis, dtype)

    def cumprod(self, axis: int | None = None, dtype: Any = None) -> Self:
        return functions["__cumprod__"](self, axis, dtype)

    def argmin(self, axis: int | None = None, *, keepdims: bool = False) -> Self:
        return functions["argmin"](self, axis=axis, keepdims=keepdims)


def _unpacked(values: tuple[Any, ...]) -> Any:
    """`f(1, 2)` and `f((1, 2))` are the same call; none at all is None."""
    if not values:
        return None
    return values[0] if len(values) == 1 else values
