"""Structures of tensors that are differentiated: tuples, lists, dicts and what is in
them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from ..xp.trace import children, is_tensor, map_tree
from ..xp.tracer import TraceError, Tracer, is_scalar, lift, wrap


def floats(tree: Any, path: str, what: str) -> Any:
    """The structure as arrays of floats in the current trace; numbers become arrays."""

    def array(label: str, x: Any) -> Tracer:
        if not (is_tensor(x) or is_scalar(x)):
            raise TraceError(
                f"{what}: {label} is a {type(x).__name__}; arrays are expected, or "
                "tuples, lists and dicts of them: argnums= says which arguments to "
                "differentiate by"
            )
        t = lift(x)
        if not t.dtype.is_float:
            raise TraceError(
                f"{what}: {label} is {t.type}, and only floats have a derivative: "
                "convert it with xp.astype(x, xp.float32), or choose others by argnums="
            )
        return wrap(t.node)

    return map_tree(array, tree, path)


def tensors(tree: Any, path: str) -> dict[str, Tracer]:
    """The arrays of a structure by label, in the current trace."""
    found: dict[str, Tracer] = {}

    def keep(label: str, x: Any) -> None:
        if is_tensor(x):
            found[label] = wrap(lift(x).node)

    map_tree(keep, tree, path)
    return found


def paired(tree: Any, other: Any, what: str, path: str = "") -> list[tuple[Any, Any]]:
    """Leaves at the same place of two structures; TraceError where these differ."""
    parts, others = children(tree), children(other)
    if parts is None:
        return [(tree, other)]
    if others is None:
        raise TraceError(f"{what}{path}: the structure of the values it belongs to was "
                         f"expected, found {type(other).__name__}")  # fmt: skip
    first, second = list(parts), list(others)
    if [k for k, _ in first] != [k for k, _ in second]:
        raise TraceError(f"{what}{path}: parts {[k for k, _ in first]} were expected, "
                         f"found {[k for k, _ in second]}")  # fmt: skip
    return [
        pair
        for (k, a), (_, b) in zip(first, second, strict=True)
        for pair in paired(a, b, what, f"{path}.{k}")
    ]


def spread_over(prefix: Any, tree: Any, what: str) -> list[tuple[Any, Any]]:
    """The leaves of a structure, each with the entry of `prefix` that covers it."""
    if prefix is None or isinstance(prefix, int):
        leaves: list[tuple[Any, Any]] = []
        map_tree(lambda _, x: leaves.append((prefix, x)), tree, "")
        return leaves
    if isinstance(prefix, Mapping) != isinstance(tree, Mapping):
        raise TraceError(f"{what}: {prefix!r} does not fit a {type(tree).__name__}")
    if isinstance(prefix, Mapping) and isinstance(tree, Mapping):
        named = cast(Mapping[Any, Any], prefix), cast(Mapping[Any, Any], tree)
        if named[0].keys() != named[1].keys():
            raise TraceError(f"{what}: the keys {sorted(map(str, named[1]))} expected")
        pairs = [(named[0][k], v) for k, v in named[1].items()]
    else:
        pairs = _side_by_side(prefix, tree, what)
    return [leaf for p, part in pairs for leaf in spread_over(p, part, what)]


def _side_by_side(prefix: Any, tree: Any, what: str) -> list[tuple[Any, Any]]:
    if not isinstance(prefix, Sequence) or not isinstance(tree, Sequence):
        raise TraceError(f"{what}: an axis, None, or a structure of them was expected, "
                         f"found {prefix!r} for a {type(tree).__name__}")  # fmt: skip
    axes, parts = cast(Sequence[Any], prefix), cast(Sequence[Any], tree)
    if len(axes) != len(parts):
        raise TraceError(f"{what}: {len(parts)} entries expected, found {len(axes)}")
    return list(zip(axes, parts, strict=True))


__all__ = ["floats", "paired", "spread_over", "tensors"]
