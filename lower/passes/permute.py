"""A `simd` loop around nothing but a loop in order moves inside: its turns do not
depend on each other and may as well take each step of the other loop together."""

from __future__ import annotations

from dataclasses import replace

from ..loops import For, Function, If, Stmt


def permute(function: Function) -> Function:
    return replace(function, body=tuple(map(_statement, function.body)))


def _statement(s: Stmt) -> Stmt:
    if isinstance(s, If):
        return replace(s, body=tuple(map(_statement, s.body)))
    if not isinstance(s, For):
        return s
    if s.kind == "simd" and len(s.body) == 1:
        inner = s.body[0]
        if isinstance(inner, For) and inner.kind in ("serial", "unroll"):
            moved = _statement(replace(s, body=inner.body))
            return replace(inner, body=(moved,))
    return replace(s, body=tuple(map(_statement, s.body)))
