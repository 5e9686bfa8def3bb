"""docs/explain.md is true: its commands print what it shows, its code runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner

from rewrite.commands.cli import app
from tests.report.test_explain import SCHEMA

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explain.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, re.M | re.S)
pytestmark = pytest.mark.usefixtures("one_machine")
GRAPH, SHOWN, *_ = (text for kind, text in BLOCKS if not kind)


def blanked(text: str) -> list[str]:
    """Lines without figures that machines differ in, spaces made one."""
    text = re.sub(r"[+-]?\d+\.\d+(e-\d+)?", "N", text)
    text = re.sub(r"\.egg:\d+", ".egg:LINE", text)
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "attend.graph"
    path.write_text(GRAPH, encoding="utf-8")
    return path


def test_the_graph_is_one_of_the_examples() -> None:
    example = (ROOT / "examples" / "attend.graph").read_text("utf-8")
    assert [s for s in example.splitlines() if s[:1] != ";"] == GRAPH.splitlines()


def test_the_command_prints_what_is_shown(model: Path) -> None:
    found = re.search(r"^`(rewrite explain attend.graph .*)`$", PAGE, re.M)
    assert found
    words = found[1].replace("attend.graph", str(model)).split()[1:]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.stderr
    printed = iter(blanked(done.stdout))
    for line in blanked(SHOWN):
        assert line in printed, line  # in this order


def test_the_step_is_the_one_that_is_printed(model: Path) -> None:
    words = ["explain", str(model), "--device", "c", "--dim", "b=256", "--no-run"]
    done = CliRunner().invoke(app, [*words, "--json"])
    (step,) = json.loads(done.stdout)["steps"]
    (shown,) = (json.loads(text) for kind, text in BLOCKS if kind == "json")
    figures: dict[str, object] = {"line": 0, "cost": None}
    assert {**step, **figures} == {**shown, **figures}
    assert step["cost"] and step["cost"][0] < step["cost"][1]
    jsonschema.validate(shown, {**SCHEMA["$defs"]["step"], "$defs": SCHEMA["$defs"]})


def test_the_code_runs() -> None:
    (code,) = (text for kind, text in BLOCKS if kind == "python")
    exec(compile(code, "docs/explain.md", "exec"), {})


def test_all_options_are_there() -> None:
    described = set(re.findall(r"`(--[a-z-]+)", PAGE))
    for command in ("explain", "diff"):
        described -= set(
            re.findall(
                r"--[a-z-]+", CliRunner().invoke(app, [command, "--help"]).stdout
            )
        )
    assert described <= {"--predict"}, described
