"""f8e4m3, which is no IEEE format: value by value, or as a part of f16."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewrite.egraph.ir.dtypes import BY_NAME as DTYPES
from rewrite.egraph.ir.scalars import Array

from .instance import NumberFact
from .meaning.elements import (
    COMPARE,
    NUMBER,
    Access,
    Apply,
    Branch,
    Elem,
    Special,
    Str,
    Variable,
    walk,
    words,
)
from .meaning.paths import Unsupported
from .meaning.values import Values
from .theory.theories import FREE

EXACT = words("neg abs max min lt le eq ne isnan select and or not xor")
MOST_ATOMS = 2  # that are tried in all combinations


@dataclass(frozen=True)
class Narrow:
    string: Callable[[Str], Str]  # what is known of a string
    contract: str
    facts: Sequence[NumberFact]

    def agree(self, a: Elem, b: Elem, sorts: Mapping[str, str]) -> bool:
        """Whether both are equal for every value of their inputs; False if too many."""
        atoms = sorted(
            {x for e in (a, b) for x in walk(e) if isinstance(x, Access | Variable)},
            key=repr,
        )
        opaque = any(isinstance(x, Branch | Special) for e in (a, b) for x in walk(e))
        names = set(sorts.values()) - {"f8e4m3", "bool", FREE}
        if opaque or names or len(atoms) > MOST_ATOMS or not _plain(a, b):
            return False
        table = _all_values(len(atoms))
        columns = dict(zip(atoms, table, strict=True))
        keep = _constants_only(columns)
        v = Values(lambda d: self._sort(d, sorts), lambda x: columns[x], {})  # type: ignore[index]
        with np.errstate(all="ignore"):
            try:
                left, right, kept = np.broadcast_arrays(
                    v.of(a), v.of(b), keep & self._premises(v)
                )
            except (Unsupported, KeyError):
                return False
        return bool((_agreeing(left, right, self.contract) | ~kept).all())

    def _sort(self, d: Str, sorts: Mapping[str, str]) -> str:
        name = str(self.string(d))
        return "f64" if name == NUMBER else sorts.get(name, name)

    def _premises(self, v: Values) -> Array:
        out: Array = np.asarray(True)
        for how, x, y in self.facts:
            try:
                out = out & COMPARE[how](v.of(x), v.of(y))
            except (Unsupported, KeyError):
                continue  # of limits of the dtype: more values are tried
        return out


def _plain(a: Elem, b: Elem) -> bool:
    """Only opcodes, so that values alone decide."""
    return all(
        not isinstance(x, Apply) or x.op not in ("cast", "bitcast") or _of_truth(x)
        for e in (a, b)
        for x in walk(e)
    )


def _of_truth(e: Apply) -> bool:
    """A cast from or to bool."""
    return e.op == "cast" and "bool" in (e.dtype, e.args[0].dtype)


def embeds(a: Elem, b: Elem) -> bool:
    """Only opcodes that round nothing: they commute with f8e4m3 -> f16, which is exact,
    so what the solver shows of f16 holds of f8e4m3."""
    return all(
        x.dtype == NUMBER or x.op in EXACT or _of_truth(x)
        for e in (a, b) for x in walk(e) if isinstance(x, Apply)
    )  # fmt: skip


def _all_values(n: int) -> list[Array]:
    """Every combination of n values of f8e4m3, as n columns."""
    every = np.arange(256, dtype=np.uint8).view(DTYPES["f8e4m3"].numpy)
    grid = np.meshgrid(*([np.arange(256)] * n), indexing="ij")
    return [every[g.ravel()] for g in grid]


def _constants_only(columns: dict[Any, Array]) -> Array:
    """Constants of rules are finite and no -0.0."""
    keep: Array = np.asarray(True)
    for x, values in columns.items():
        if isinstance(x, Variable):
            wide = values.astype(np.float64)
            keep = keep & np.isfinite(wide) & ~((wide == 0) & np.signbit(wide))
    return keep


def _agreeing(a: Array, b: Array, contract: str) -> Array:
    if a.dtype == np.bool_:
        return a == b
    nan = np.isnan(a.astype(np.float64)) & np.isnan(b.astype(np.float64))
    if contract == "ieee":
        return (a == b) | nan
    return (
        np.ascontiguousarray(a).view(np.uint8) == np.ascontiguousarray(b).view(np.uint8)
    ) | nan
