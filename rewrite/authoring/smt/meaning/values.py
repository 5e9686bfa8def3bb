"""Elements evaluated by NumPy: for dtypes of 8 bits, and in tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from rewrite.egraph.ir.dtypes import BY_NAME as DTYPES
from rewrite.egraph.ir.dtypes import DType
from rewrite.egraph.ir.ops import cast_array
from rewrite.egraph.ir.scalars import BY_NAME, MONOIDS, Array

from .conditions import holds, value
from .elements import (
    Access,
    Apply,
    Branch,
    Elem,
    Fold,
    Literal,
    Number,
    Special,
    Str,
    Variable,
    Whole,
    renamed,
)
from .paths import Unsupported


@dataclass
class Values:
    """Evaluates at the dtypes that `name_of` gives; `atom` reads inputs."""

    name_of: Callable[[Str], str]
    atom: Callable[[Access | Variable | Special], Array]
    integers: Mapping[str, int]

    def dtype(self, e: Elem) -> DType:
        return DTYPES[self.name_of(e.dtype)]

    def of(self, e: Elem) -> Array:
        match e:
            case Access() | Variable() | Special():
                return self.atom(e)
            case Number(v):
                return np.asarray(float(v))
            case Whole(v):
                return np.asarray(value(v, self.integers), np.int64)
            case Literal(n):
                return self.of(n).astype(self.dtype(e).numpy)
            case Branch():
                return self.of(e.yes if holds(e.condition, self.integers) else e.no)
            case Fold():
                return self._fold(e)
            case Apply():
                return self._apply(e)

    def _apply(self, e: Apply) -> Array:
        args = [self.of(a) for a in e.args]
        if e.dtype == "number":
            return _plain(str(e.op), args)
        match e.op:
            case "select":
                return np.where(args[0], args[1], args[2])
            case "cast":
                return cast_array(args[0], self.dtype(e))
            case "bitcast":
                return np.asarray(args[0], order="C").view(self.dtype(e).numpy)
            case "product":
                wide = self.dtype(e).numpy
                return BY_NAME["mul"].numpy(*(a.astype(wide) for a in args))
            case _:
                result = BY_NAME[str(e.op)].numpy(*args)
                return np.asarray(result).astype(self.dtype(e).numpy)

    def _fold(self, e: Fold) -> Array:
        sizes = [value(n, self.integers) for _, n in e.binders]
        names = [s for s, _ in e.binders]
        parts = [
            self.of(renamed(e.body, dict(zip(names, at, strict=True))))
            for at in product(*map(range, sizes))
        ]
        if e.monoid in ("argmax", "argmin"):
            f = np.argmax if e.monoid == "argmax" else np.argmin
            return f(np.stack(parts), axis=0).astype(self.dtype(e).numpy)
        return self._folded(e, parts)

    def _folded(self, e: Fold, parts: Sequence[Array]) -> Array:
        monoid, out = MONOIDS[str(e.monoid)], self.dtype(e)
        acc = DTYPES[self.name_of(e.acc)].numpy
        total = np.asarray(monoid.identity(out)).astype(acc)
        for p in parts:
            total = BY_NAME[monoid.op].numpy(total, p.astype(acc)).astype(acc)
        return total.astype(out.numpy)


def _plain(op: str, args: list[Array]) -> Array:
    functions: dict[str, Callable[..., Any]] = {
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
        "neg": np.negative, "abs": np.abs, "max": np.maximum, "min": np.minimum,
        "sqrt": np.sqrt,
    }  # fmt: skip
    if op not in functions:
        raise Unsupported(f"{op} of numbers")
    return np.asarray(functions[op](*args))
