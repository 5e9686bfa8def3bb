"""Who imports whom, read off the sources: imports inside functions count, those for
type checkers alone do not."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("egraph", "extract", "lower", "backends", "rewrite", "rules")

type Graph = Mapping[str, frozenset[str]]


def name_of(path: Path) -> str:
    """The module at a path, by the name it is imported under."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts if parts[0] == "rewrite" else ("rewrite", *parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def modules() -> dict[str, Path]:
    found = (p for folder in FOLDERS for p in (ROOT / folder).rglob("*.py"))
    return {name_of(p): p for p in sorted(found)}


@functools.cache
def imports() -> Graph:
    known = modules()
    return {
        m: frozenset(_imported(m, p, ast.parse(p.read_text("utf-8")))) - {m}
        for m, p in known.items()
    }


def closure(start: str) -> frozenset[str]:
    """A module and all that runs because of it."""
    graph, found, todo = imports(), {start}, [start]
    while todo:
        new = graph[todo.pop()] - found
        found |= new
        todo.extend(new)
    return frozenset(found)


def _imported(module: str, path: Path, tree: ast.Module) -> Iterator[str]:
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in _run(tree):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name in modules())
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level]
            near = [*above, *([node.module] if node.module else [])]
            base = ".".join(near) if node.level else node.module or ""
            for alias in node.names:
                full = f"{base}.{alias.name}"
                if full in modules():
                    yield full
                elif base in modules():
                    yield base


def _run(node: ast.AST) -> Iterator[ast.AST]:
    """The statements of a tree that are not for type checkers alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            continue
        checked = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test)
        if not checked:
            yield child
            yield from _run(child)
