"""Compiling in a process of its own, and what the table of models in the wild says."""

from __future__ import annotations

import os

import pytest

from bench.wild.__main__ import summary
from bench.wild.one import apart


@pytest.mark.filterwarnings("ignore:.*os.fork:RuntimeWarning")
def test_what_is_done_apart_leaves_nothing_here() -> None:
    done: list[int] = []

    def seconds() -> float:
        done.append(os.getpid())
        return 2.5

    assert apart(seconds) == [2.5] and not done
    assert apart(lambda: 1 / 0) == []  # as it fails here, it says why


def test_the_summary_counts_what_is_right() -> None:
    row = {
        "nodes": [9, 7], "tools": {"a": 7, "b": 9}, "error": 0.0, "ratio": 2.0,
        "on": "c", "share": 0.0, "first_s": 3.0, "our_gigabytes": 1.0,
        "their_gigabytes": 1.0, "differs": [1e-6, 1e-6], "theirs": [1e-6, 1e-6],
    }  # fmt: skip
    off = row | {"differs": [3e-3, 1e-6], "theirs": [1e-3, 1e-6], "first_s": 5.0}
    text = summary([row, off, row | {"nodes": [9, 8], "ratio": 0.5, "first_s": 4.0}])
    assert "3 models: optimized 3, checked 3, run 3, right" in text
    assert "distance) 2 (2 of them at two sizes), nodes <= the best tool's 2" in text
    assert "1 below 0.7" in text and "median 4.0, most 5.0" in text
