"""Arrays that never change: the one kind that compiled functions may build in."""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from rewrite.egraph.ir.scalars import Array

_known: WeakValueDictionary[int, Array] = WeakValueDictionary()


def constant(value: Any) -> Array:
    """A read-only copy that `optimize` and `jit` build into what they compile.

    Arrays that a function captures are read at each call.  What depends on constants
    alone is computed once instead, when the function is compiled.
    """
    array = np.array(value)
    array.flags.writeable = False
    _known[id(array)] = array
    return array


def is_constant(value: Any) -> bool:
    return _known.get(id(value)) is value


__all__ = ["constant", "is_constant"]
