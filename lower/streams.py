"""Results that no cache holds are written past the caches of a CPU.

A cache brings a line from memory before it is written in part, and holds what nothing
reads soon in place of what would be.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .loops import Fetch, For, Function, If, Load, Stmt, Store
from .walking import subterms, values, walk


def streamed(function: Function, cache: int) -> Function:
    """Stores of `simd` loops stream to buffers of more than `cache` bytes that the
    function does not read."""
    read = {
        x.array
        for s in walk(function.body)
        for v in values(s)
        for x in subterms(v)
        if isinstance(x, Load)
    }
    far = frozenset(
        p.name
        for p in function.params
        if p.writable and p.size * p.dtype.itemsize > cache and p.name not in read
    )
    return replace(function, body=_body(function.body, far)) if far else function


def _body(
    body: Iterable[Stmt], far: frozenset[str], simd: bool = False
) -> tuple[Stmt, ...]:
    out: list[Stmt] = []
    for s in body:
        match s:
            case For():
                inside = _body(s.body, far, simd or s.kind == "simd")
                out.append(replace(s, body=inside))
            case If():
                out.append(replace(s, body=_body(s.body, far, simd)))
            case Store(array=array, lanes=1) if simd and array in far:
                out.append(replace(s, stream=True))
            case Fetch(array=array, write=True) if array in far:
                pass
            case _:
                out.append(s)
    return tuple(out)
