"""What an installed package holds: every folder of code, under its name."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("egraph", "extract", "lower", "backends", "rewrite", "rules")


def test_every_folder_of_code_is_a_listed_package() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {
        str(p.parent.relative_to(ROOT))
        for name in FOLDERS
        for p in (ROOT / name).rglob("*.py")
    }
    assert set(tools["package-dir"].values()) == folders
    assert set(tools["packages"]) == set(tools["package-dir"])
    for name, folder in tools["package-dir"].items():
        assert (ROOT / folder / "__init__.py").exists(), f"{name} has no __init__.py"
        path = folder.replace("/", ".")
        assert name == (path if folder.startswith("rewrite") else f"rewrite.{path}")


def test_the_licence_is_named_and_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text()
