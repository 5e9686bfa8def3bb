"""Calls of a device's library, told apart from the loops around them.

What a device launches knows no loops: one call does all products along the longest of
them, and there is one for each point of the others.  Such products depend on none of
their kind, since they write what none of them reads, each to a place of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product as points

from ...egraph.ir.dtypes import DType
from ..device import DeviceError, Placed, Products
from ..intervals import Linear, linear
from ..loops import For, Function, Gemm, Let, Matrix
from ..walking import trips
from .stages import Stage


def products(function: Function, stage: Stage) -> tuple[Products, ...]:
    """The calls of a stage, in order."""
    loops, forms, call = _opened(stage)
    if call.out.array in (call.a.array, call.b.array):
        raise DeviceError(f"{stage.name}: a product is written where it reads")
    longest = max(loops, key=trips, default=None)
    outer = [x for x in loops if x is not longest]
    params = (*function.params, *function.scratch)
    numbers = {p.name: (i, p.dtype) for i, p in enumerate(params)}
    count = trips(longest) if longest else 1
    out: list[Products] = []
    for point in points(*(range(0, x.extent, x.step) for x in outer)):
        where = {x.var.name: i for x, i in zip(outer, point, strict=True)}
        c, a, b = (
            _placed(stage, x, numbers[x.array], forms, where, longest)
            for x, _, _ in call.matrices
        )
        if count > 1 and not c.apart:
            raise DeviceError(f"{stage.name}: products are written to one place")
        out.append(Products(stage.name, count, call.m, call.n, call.k, c, a, b))
    return tuple(out)


def _opened(stage: Stage) -> tuple[list[For], Mapping[str, Linear], Gemm]:
    """The loops around the one call of a stage, outermost first, and what is known of
    the integers there."""
    loops: list[For] = []
    forms: dict[str, Linear] = {}
    body = stage.body
    while True:
        for s in body:
            if isinstance(s, Let):
                form = linear(s.value, forms)
                if form is not None:
                    forms[s.var.name] = form
        rest = [s for s in body if not isinstance(s, Let)]
        if len(rest) != 1 or not isinstance(rest[0], For | Gemm):
            raise DeviceError(f"{stage.name}: a product and something else in a loop")
        if isinstance(rest[0], Gemm):
            return loops, forms, rest[0]
        loops.append(rest[0])
        name, body = rest[0].var.name, rest[0].body
        forms[name] = Linear(((name, 1),), 0)


def _placed(
    stage: Stage, x: Matrix, buffer: tuple[int, DType], forms: Mapping[str, Linear],
    where: Mapping[str, int], longest: For | None,
) -> Placed:  # fmt: skip
    """A matrix at a point of the outer loops, and by how much the longest moves it."""
    form = linear(x.at, forms)
    if form is None:
        raise DeviceError(f"{stage.name}: {x.array!r} does not move evenly")
    at = form.const + sum(c * where.get(name, 0) for name, c in form.terms)
    apart = 0
    if longest is not None:
        apart = dict(form.terms).get(longest.var.name, 0) * longest.step
    return Placed(*buffer, at, apart, x.down, x.across)


def described(function: Function, calls: tuple[Products, ...]) -> str:
    """In words, for those who read the source."""
    names = [p.name for p in (*function.params, *function.scratch)]
    x = calls[0]
    out, a, b = (names[p.buffer] for p in (x.out, x.a, x.b))
    times = f"{len(calls) * x.count} times " if len(calls) * x.count > 1 else ""
    return f"{out} = {a} {b}, {times}{x.m} by {x.n} over {x.k}"


__all__ = ["described", "products"]
