"""The README's first screen is true: its code runs and prints what it shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", README, re.M | re.S)


def block(kind: str, nth: int = 0) -> str:
    return [text for k, text in BLOCKS if k == kind][nth]


def without_numbers(text: str) -> list[str]:
    """Lines with predicted times and line numbers blanked: machines differ in those."""
    text = re.sub(r"(\d+\.\d+ -> )?\d+\.\d+ us", "TIME us", text)
    text = re.sub(r"(\.egg):\d+", r"\1:LINE", text)
    return [re.sub(r"\s+", " ", line).strip() for line in text.strip().splitlines()]


@pytest.mark.usefixtures("one_machine")
def test_code_runs_and_prints_the_schedule_and_the_explanation(
    capsys: pytest.CaptureFixture[str],
) -> None:
    scope: dict[str, object] = {}
    exec(compile(block("python"), "README.md", "exec"), scope)
    assert without_numbers(capsys.readouterr().out) == without_numbers(block("", 0))
    fast = scope["fast"]
    said = without_numbers(str(fast.explain()))  # type: ignore[attr-defined]
    unnumbered = [re.sub(r"^[\d-]+ ", "", line) for line in said]
    for line in without_numbers(block("", 1)):
        assert re.sub(r"^[\d-]+ ", "", line) in unnumbered


def test_the_rule_stands_in_the_rule_file() -> None:
    rules = (ROOT / "rules" / "algebra.egg").read_text(encoding="utf-8")
    assert block("lisp") in rules


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("http") or (ROOT / target).exists(), target


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", "rules/README.md",
             *(f"docs/{p.name}" for p in sorted((ROOT / "docs").glob("*.md")))],
)  # fmt: skip
def test_files_that_pages_name_are_there(page: str) -> None:
    """Four had moved, and architecture.md still led a reader to their old places."""
    text = (ROOT / page).read_text(encoding="utf-8")
    folders = ("egraph", "extract", "lower", "backends", "rewrite", "rules", "tests",
               "bench", "docs")  # fmt: skip
    known = [
        f"/{p.relative_to(ROOT)}" for d in folders for p in (ROOT / d).rglob("*.*")
    ]
    for name in re.findall(r"`([\w/]+\.(?:py|egg|js|css|c))`", text):
        assert any(k.endswith(f"/{name}") for k in known), name
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        there = (ROOT / page).parent / target
        assert target.startswith("http") or there.exists(), target
