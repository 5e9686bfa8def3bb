"""Mutated rule files are refused or clean; `mutated_files.py` does it at length."""

from __future__ import annotations

from pathlib import Path

import pytest

from .mutated_files import SEEDS, cases, survey


def test_a_mutated_file_is_refused_or_clean_and_makes_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = survey(400, seed=1, every=12)
    assert found["refused"] + found["clean"] == 400
    assert min(found["refused"], found["clean"]) > 40  # both ways are tried
    assert found["loaded"] > 3


def test_the_mutants_are_the_same_each_time() -> None:
    few = list(cases(50))
    assert few == list(cases(50)) and len(set(few)) > 45
    assert all(seed not in few for seed in SEEDS[:2])
