"""What tells one call from another: the structure of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from ..xp.trace import Leaf, children, is_tensor
from ..xp.tracer import TraceError

TENSOR = "tensor"  # stands for one in the key of a structure


def _key(
    tree: Any, path: str, tensor: Callable[[Any], Any], ordered: bool = True
) -> Any:
    """A hashable key of a structure: its types, its keys, and what its leaves are."""
    if type(tree) is np.ndarray:
        return tensor(tree)
    parts = children(tree)
    if parts is not None:
        inner = [(n, _key(x, f"{path}.{n}", tensor, ordered)) for n, x in parts]
        if not isinstance(tree, Mapping):
            return cast(type[Any], type(tree)), tuple(inner)
        keys = map(repr, cast(Mapping[Any, Any], tree))
        named = [(key, x) for key, (_, x) in zip(keys, inner, strict=True)]
        by_key = named if ordered else sorted(named, key=lambda pair: pair[0])
        return dict, tuple(by_key)  # as `map_tree` makes it
    if is_tensor(tree) or isinstance(tree, Leaf):
        return tensor(tree)
    kind = cast(type[Any], tree.__class__)
    if kind.__hash__ is None or (kind.__eq__ is object.__eq__ and not callable(tree)):
        raise TraceError(
            f"{path}: a {kind.__name__} is no array, number, string or other plain "
            "value: pass the arrays that it holds, as a dict for instance"
        )
    if isinstance(tree, (float, complex, np.inexact)):
        return kind, repr(tree)  # -0.0 equals 0.0, and no NaN equals itself
    return kind, tree


def static_key(tree: Any, path: str) -> Any:
    """All of an argument but its tensors, and the order in which it names them."""
    return _key(tree, path, lambda _: TENSOR, ordered=False)


def signature(tree: Any) -> Any:
    """Shapes and dtypes of tensors, values of all else."""
    return _key(tree, "arguments", lambda x: ("tensor", x.dtype, tuple(x.shape)))
