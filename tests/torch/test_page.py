"""docs/torch.md: its Python runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an extra: rewrite[torch]")

PAGE = Path(__file__).parents[2] / "docs" / "torch.md"


def test_the_code_of_the_page_runs(tmp_path: Path) -> None:
    """From a file: PyTorch looks up the lines of what it traces."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    file = tmp_path / "page.py"
    file.write_text("\n".join(blocks), "utf-8")
    scope: dict[str, Any] = {"__name__": "page"}
    torch.compiler.reset()
    exec(compile(file.read_text("utf-8"), file, "exec"), scope)
    assert "aten.kthvalue.default: it has no reader" in str(scope["report"])


def test_options_that_the_page_names_are_those_there_are() -> None:
    from rewrite.torch.options import known

    text = PAGE.read_text("utf-8")
    assert [name for name in known() if f"`{name}`" not in text
            and f'"{name}"' not in text] == []  # fmt: skip
