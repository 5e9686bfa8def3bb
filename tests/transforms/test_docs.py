"""docs/transforms.md is true: its code runs, its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "transforms.md"


def test_the_code_of_the_page_runs() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)
    assert len(blocks) >= 5
    scope: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "docs/transforms.md", "exec"), scope)


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE.read_text("utf-8")):
        assert (PAGE.parent / target).exists(), target
    assert "docs/transforms.md" in (PAGE.parents[1] / "README.md").read_text("utf-8")
