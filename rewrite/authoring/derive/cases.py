"""Questions for `rewrite derive`: from the command line, or a `.derive` file.

A `.derive` file holds one case: comments, of which `;;@` lines say what is expected,
then two terms as examples write them, or two graphs.

    ;; A scale leaves a product.
    ;;@ expect equal              ; or: unequal
    ;;@ precision default         ; strict, default, fast or unstable; may be left out
    ;;@ goal kernels              ; or: operators; may be left out
    ;;@ wanted WORDS              ; why no rule shows it yet; in `wanted/` alone
    (Bin "mul" (Bin "mul" x 2.0) y)
    (Bin "mul" (Bin "mul" x y) 2.0)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.ir.text import parse as parse_graph
from rewrite.egraph.rules.rulefile import read_text
from rewrite.egraph.rules.ruleset import PRECISIONS, Precision
from rewrite.egraph.rules.sexpr import Comment, Expr, RuleFileError, parse

from ..terms import graphs_of
from .derivation import aligned

GOALS = ("kernels", "operators")


@dataclass(frozen=True)
class Case:
    """Two graphs with one set of outputs, and what is expected of them."""

    name: str
    sentence: str
    left: Graph
    right: Graph
    equal: bool
    precision: Precision = "default"
    goal: Literal["kernels", "operators"] = "kernels"


def read_case(path: Path) -> Case:
    """The case in a file; errors name the place."""
    text = read_text(path, str(path), "case (.derive)")
    lines = text.splitlines()
    head = [line for line in lines if line.startswith(";")]
    doc = [line.lstrip("; ") for line in head if not line.startswith(";;@")]
    said = _said(path, lines)
    if re.search(r"^graph\b", text, re.MULTILINE):
        left, right = _graphs(path, text)
    else:
        left, right = _terms(path, text)
    return Case(
        path.stem, " ".join(doc), left, right, said["expect"] == "equal",
        said.get("precision", "default"), said.get("goal", "kernels"),  # type: ignore[arg-type]
    )  # fmt: skip


def _said(path: Path, lines: list[str]) -> dict[str, str]:
    """The `;;@` lines: what is expected, under which rules."""
    known = {"expect": ("equal", "unequal"), "precision": PRECISIONS, "goal": GOALS}
    out: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.startswith(";;@"):
            continue
        word, _, value = line[3:].split(" ;")[0].strip().partition(" ")
        value = value.strip()
        if word == "wanted" and value:
            continue  # why the rules do not show it yet
        if value not in known.get(word, ()):
            wanted = "; ".join(f"{w} {' | '.join(v)}" for w, v in known.items())
            raise RuleFileError(f"{path}:{number}:1: one of {wanted} was expected")
        out[word] = value
    if "expect" not in out:
        raise RuleFileError(f"{path}:1:1: ';;@ expect equal' or 'unequal' is missing")
    return out


def _terms(path: Path, text: str) -> tuple[Graph, Graph]:
    result = [e for e in parse(text, str(path)) if not isinstance(e, Comment)]
    if len(result) != 2:
        raise RuleFileError(f"{path}:1:1: two terms were expected, found {len(result)}")
    return aligned(*graphs_of(result[0], result[1]))


def _graphs(path: Path, text: str) -> tuple[Graph, Graph]:
    starts = [m.start() for m in re.finditer(r"^graph\b", text, re.MULTILINE)]
    if len(starts) != 2:
        raise RuleFileError(
            f"{path}:1:1: two graphs were expected, found {len(starts)}"
        )
    first, second = text[: starts[1]], text[starts[1] :]
    lines = "\n" * first.count("\n")  # so that errors name the right line
    left, right = parse_graph(first, str(path)), parse_graph(lines + second, str(path))
    return aligned(left, right)


def is_term(text: str) -> bool:
    """Whether an argument is a term, and not the name of a file."""
    return text.lstrip().startswith("(") or not (
        Path(text).suffix or Path(text).exists()
    )


def term(text: str, what: str) -> Expr:
    """The one term in an argument."""
    result = parse(text, what)
    if len(result) != 1 or isinstance(result[0], Comment):
        raise RuleFileError(f"{what}: one term was expected, found {text!r}")
    return result[0]


def of_terms(left: str, right: str) -> tuple[Graph, Graph]:
    return aligned(*graphs_of(term(left, "left"), term(right, "right")))


__all__ = ["Case", "is_term", "of_terms", "read_case"]
