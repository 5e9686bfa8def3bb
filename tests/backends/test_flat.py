"""Memory stays as it is over many launches, allocations and calls: by
bench/flat.py."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rewrite.backends.c import CDevice
from tests.effort import draws

from .harness import open_device

TURNS = draws(5000, 4)
BENCH = Path(__file__).parents[2] / "bench" / "flat.py"


@pytest.fixture
def flat() -> ModuleType:
    spec = importlib.util.spec_from_file_location("flat", BENCH)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["c", "opencl", "wgpu", "cuda"])
def test_memory_is_flat(name: str) -> None:
    """In a process of its own, where nobody else takes memory."""
    open_device(name)
    command = [sys.executable, str(BENCH), name, "--count", str(TURNS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{TURNS} turns" in done.stdout


def test_a_leak_is_noticed(flat: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Any] = []
    monkeypatch.setattr(CDevice, "free", lambda _, buffer: kept.append(buffer))
    monkeypatch.setattr(flat, "BOUND", 1 << 20)
    assert not flat.growth("c", 4000)
