"""The graphs in the documentation parse."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rewrite.egraph.ir.text import parse, show

DOCS = Path(__file__).parent.parent.parent / "docs"
BLOCKS = [
    (path.name, text)
    for path in sorted(DOCS.glob("*.md"))
    for text in re.findall(r"^```graph\n(.*?)^```", path.read_text(), re.M | re.S)
]


@pytest.mark.parametrize(("name", "text"), BLOCKS)
def test_examples_parse_and_print(name: str, text: str) -> None:
    graph = parse(text, name)
    assert parse(show(graph)).nodes == graph.nodes
