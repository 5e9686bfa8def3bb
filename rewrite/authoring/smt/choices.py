"""What premises on tables leave: opcodes, monoids and numbers, row by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from rewrite.egraph.ir import dtypes
from rewrite.egraph.rules.sexpr import Atom as Word
from rewrite.egraph.rules.sexpr import Expr, Form

from .meaning.language import Library


def joined(library: Library, premises: Sequence[Expr]) -> Iterator[dict[str, Any]]:
    """Every way to meet the premises on tables of opcodes, monoids and numbers."""
    tables: list[tuple[tuple[Expr, ...], Sequence[tuple[str | float, ...]]]] = []
    for p in premises:
        result = _table(library, p)
        if result is not None:
            tables.append(result)

    def rest(i: int, known: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if i == len(tables):
            yield known
            return
        words, rows = tables[i]
        for row in rows:
            new = _matched(words, row, known)
            if new is not None:
                yield from rest(i + 1, new)

    seen = [
        dict(t)
        for t, _ in groupby(
            sorted(tuple(sorted(k.items(), key=str)) for k in rest(0, {}))
        )
    ]
    yield from seen


def _table(
    library: Library, p: Expr
) -> tuple[tuple[Expr, ...], Sequence[tuple[str | float, ...]]] | None:
    """A premise that is a row of a table, dtypes aside: those come as kinds."""
    if not isinstance(p, Form):
        return None
    words: tuple[Expr, ...] = p.args
    name = p.head
    if name == "=" and len(p.args) == 2:
        calls = [a for a in p.args if isinstance(a, Form)]
        if len(calls) != 1:
            return None
        name = calls[0].head
        words = (*calls[0].args, *(a for a in p.args if a is not calls[0]))
    rows = library.rows.get(name, ())
    plain = all(isinstance(w, Word) for w in words)
    if not rows or not plain or str(rows[0][0]) in dtypes.BY_NAME:
        return None
    return words, rows


def _matched(
    words: Sequence[Expr], row: Sequence[str | float], known: dict[str, Any]
) -> dict[str, Any] | None:
    new = dict(known)
    for w, v in zip(words, row, strict=True):
        assert isinstance(w, Word)
        if not w.is_symbol:
            literal = w.string if w.is_string else float(w.text)
            if literal != v:
                return None
        elif new.setdefault(w.text, v) != v:
            return None
    return new
