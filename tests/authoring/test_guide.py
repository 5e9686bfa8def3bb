"""`docs/rules.md` is true: its files are written, its commands run, their output is as
it says; `…` stands for anything."""

import re
import shlex
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

import pytest

from rewrite.authoring.lint.findings import CODES
from tests.command import invoke

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "rules.md"
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Step:
    """A file to write, or a command with its output; `line` is where it stands."""

    line: int
    file: str
    text: str
    command: str = ""


def steps(text: str) -> list[Step]:
    out: list[Step] = []
    for m in BLOCK.finditer(text):
        line = text.count("\n", 0, m.start()) + 2
        language, file, body = m.groups()
        if file:
            out.append(Step(line, file, body))
        elif language == "console":
            parts = re.split(r"^\$ (.*)\n", body, flags=re.MULTILINE)
            assert not parts[0], f"line {line}: output before the first command"
            for command, output in zip(parts[1::2], parts[2::2], strict=True):
                out.append(Step(line, "", output, command))
    return out


def pattern(output: str) -> re.Pattern[str]:
    """`…` is anything within a line; a line that is `…` alone is any lines."""
    lines = output.rstrip("\n").split("\n")
    parts = (re.escape(line).replace("…", ".*") + r"\n" for line in lines)
    return re.compile("".join(r"(.*\n)*?" if p == r".*\n" else p for p in parts))


def run(command: str, folder: Path) -> str:
    """What the command prints in a reader's folder."""
    name, *args = shlex.split(command)
    assert name == "rewrite", f"the guide runs rewrite, not {name}"
    with chdir(folder):
        status, out, err = invoke(*args, COLUMNS="200", NO_COLOR="1")
    assert status in (0, 1), err
    return out


def test_the_guide(tmp_path: Path) -> None:
    todo = steps(GUIDE.read_text())
    assert sum(bool(s.command) for s in todo) >= 8
    for step in todo:
        if step.file:
            (tmp_path / step.file).write_text(step.text)
            continue
        lines = run(step.command, tmp_path).splitlines()
        output = "\n".join(line.rstrip() for line in lines)
        assert pattern(step.text).fullmatch(f"{output}\n"), (
            f"docs/rules.md:{step.line}: {step.command} now prints\n{output}"
        )


def test_the_guide_lists_what_the_linter_finds() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (.*) \|$", GUIDE.read_text(), re.MULTILINE)
    assert dict(rows) == CODES


@pytest.mark.parametrize(
    ("said", "printed", "same"),
    [
        ("a … c\n", "a b c", True),
        ("a … c\n", "a b\nc", False),
        ("a\n…\nz\n", "a\nb\nc\nz", True),
        ("a\n…\n", "a\nb", True),
        ("a\n…\n", "b\na", False),
        ("1 step.\n", "1 steps", False),
    ],
)
def test_what_stands_for_anything(said: str, printed: str, same: bool) -> None:
    assert bool(pattern(said).fullmatch(f"{printed}\n")) == same
