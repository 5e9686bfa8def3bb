"""Some of the rules of some files, as one file: comments, layout and all they need."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from pathlib import Path

from rewrite.egraph.ir.files import read_text
from rewrite.egraph.rules.sexpr import Comment, Expr, Form, laid_out, parse

RULES = ("rewrite", "birewrite")


def together(paths: Sequence[Path], on: AbstractSet[str] | None) -> str:
    """The files one after the other, with those of their rewrites that are on."""
    return "\n".join(_some(path, on) for path in paths)


def _some(path: Path, on: AbstractSet[str] | None) -> str:
    out: list[str] = []
    comments: list[str] = []
    for item in parse(read_text(path).removeprefix("\ufeff"), str(path)):
        if isinstance(item, Comment):
            comments.append(item.text)
            continue
        if isinstance(item, Form) and (on is None or _kept(item, on)):
            out += [*comments, laid_out(item), ""]
        comments = []
    return "\n".join(out)


def _kept(form: Form, on: AbstractSet[str]) -> bool:
    return form.head not in RULES or name_of(form) in on


def name_of(form: Form) -> str:
    """The :name of a rule, or ""."""
    words = list(form.items)
    for key, value in pairwise(words):
        if str(key) == ":name":
            return str(value).strip('"')
    return ""


def bare(text: str, name: str) -> str:
    """A file without the declarations that none of its rewrites uses."""
    groups = _groups(text, name)
    rules = [f for _, f in groups if f.head in RULES]
    used = {w for f in rules for w in _words(f)}
    kept = [(c, f) for c, f in groups if f.head in RULES or str(f.items[1]) in used]
    lines = [x for c, f in kept for x in (*c, laid_out(f), "")]
    return "\n".join(lines)


def _groups(text: str, name: str) -> list[tuple[list[str], Form]]:
    out: list[tuple[list[str], Form]] = []
    comments: list[str] = []
    for item in parse(text, name):
        if isinstance(item, Comment):
            comments.append(item.text)
        elif isinstance(item, Form):
            out.append((comments, item))
            comments = []
    return out


def _words(e: Expr) -> list[str]:
    return [w for a in e.items for w in _words(a)] if isinstance(e, Form) else [str(e)]
