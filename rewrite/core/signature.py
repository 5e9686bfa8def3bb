"""What tells one call from another: the structure of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from ..xp.captured import is_read_apart
from ..xp.pair import Parts, is_complex_array
from ..xp.trace import Apart, Leaf, children, is_tensor
from ..xp.tracer import TraceError, is_array, plain

TENSOR = "tensor"  # stands for one in the key of a structure

type OfLeaf = Callable[[str, Any], Any]


def _key(tree: Any, path: str, tensor: OfLeaf, number: OfLeaf, ordered: bool) -> Any:
    """A hashable key of a structure: its types, its keys, and what its leaves are."""
    kind = cast(type[Any], type(tree))
    if kind is np.ndarray:
        return tensor(path, tree)
    if kind is float or kind is int:
        return number(path, tree)
    parts = None if is_complex_array(tree) else children(tree)
    if parts is not None:
        inner = [(n, _key(x, f"{path}.{n}", tensor, number, ordered)) for n, x in parts]
        if not isinstance(tree, Mapping):
            return kind, tuple(inner)
        keys = map(repr, cast(Mapping[Any, Any], tree))
        named = [(key, x) for key, (_, x) in zip(keys, inner, strict=True)]
        by_key = named if ordered else sorted(named, key=lambda pair: pair[0])
        return dict, tuple(by_key)  # as `map_tree` makes it
    if is_array(tree):  # a table has no one dtype before it is made an array
        return tensor(path, plain(tree))
    if is_tensor(tree) or isinstance(tree, Leaf | Parts):
        return tensor(path, tree)
    if is_read_apart(tree) or isinstance(tree, Apart):
        return tree.kind if isinstance(tree, Apart) else kind
    if kind.__hash__ is None or (kind.__eq__ is object.__eq__ and not callable(tree)):
        raise TraceError(
            f"{path}: a {kind.__name__} is no array, number, string or other plain "
            "value: pass the arrays that it holds, as a dict for instance"
        )
    if kind is memoryview:  # whose hash is that of what it shows now
        raise TraceError(f"{path}: a memoryview is not an array: pass np.asarray(view)")
    if isinstance(tree, (complex, np.inexact)):
        # -0.0 equals 0.0, and no NaN equals itself.
        return kind, repr(cast(Any, tree))
    return kind, tree


def exactly(_: str, x: float) -> Any:
    """The number with its type; a zero with its sign, and a NaN as one value."""
    return (type(x), x) if x and x == x else (type(x), repr(x))


def _tensor(_: str, x: Any) -> Any:
    return TENSOR


def static_key(tree: Any, path: str) -> Any:
    """All of an argument but its tensors, and the order in which it names them."""
    return _key(tree, path, _tensor, exactly, ordered=False)


def signature(
    tree: Any, path: str = "arguments", tensor: OfLeaf | None = None,
    number: OfLeaf = exactly,
) -> Any:  # fmt: skip
    """Shapes and dtypes of tensors, values of all else, unless told otherwise."""
    return _key(tree, path, tensor or exact_type, number, ordered=True)


def exact_type(_: str, x: Any) -> Any:
    return (TENSOR, x.dtype, tuple(x.shape))
