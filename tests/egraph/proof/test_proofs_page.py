"""The page on proofs is true: its code runs and prints what it shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "proofs.md"
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)


def test_code_runs_and_prints_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    (_, code), (_, shown) = BLOCKS
    exec(compile(code, "proofs.md", "exec"), {})
    said = capsys.readouterr().out
    blank = [re.sub(r"\.egg:\d+:\d+", ".egg:PLACE", text) for text in (said, shown)]
    assert blank[0] == blank[1]
