"""A wrong value of an option is an error that names the right ones: `jit` only warned
of it at the first call, and ran the function as written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.backends.devices import CLASSES
from rewrite.egraph.rules.sexpr import RuleFileError
from rewrite.lower.device import DeviceError

X = np.ones((4, 6), np.float32)


def twice(x: Any) -> Any:
    return x * 2


@pytest.mark.parametrize("name", ["gpu", ""])
def test_a_device_that_there_is_not_is_told_before_a_call(name: str) -> None:
    with pytest.raises(DeviceError, match="known: " + ", ".join(CLASSES)):
        rw.jit(twice, device=name)


@pytest.mark.parametrize("made", [3, object(), type("Own", (), {"name": "own"})])
def test_what_is_no_device_is_told_as_such(made: Any) -> None:
    with pytest.raises(DeviceError, match="or a device was expected"):
        rw.jit(twice, device=made)
    with pytest.raises(DeviceError, match="or a device was expected"):
        rw.optimize(twice, X, device=made)


@pytest.mark.parametrize("option", ["precision", "cost"])
def test_a_misspelled_value_is_told_before_a_call(option: str) -> None:
    asked: Any = {option: "fsat"}
    with pytest.raises(ValueError, match=f"{option}='fsat'"):
        rw.jit(twice, **asked)


def test_a_rule_file_that_there_is_not_is_told_before_a_call(tmp_path: Path) -> None:
    with pytest.raises(RuleFileError, match=r"none\.egg: no such file"):
        rw.jit(twice, rules=tmp_path / "none.egg")


def test_nor_does_a_function_run_as_written_for_a_wrong_one(tmp_path: Path) -> None:
    path = tmp_path / "wrong.egg"
    path.write_text("(rewrite")
    with pytest.raises(RuleFileError, match=r"wrong\.egg:1"):
        rw.jit(twice, device="c", rules=path)(X)


def test_a_hint_names_a_symbol() -> None:
    rows = xp.TensorType(xp.float32, (xp.symbol("b"), 4))
    assert rw.optimize(twice, rows, hints={"b": 64}, device="numpy") is not None
    with pytest.raises(ValueError, match="no symbol batch; symbols: b"):
        rw.optimize(twice, rows, hints={"batch": 64})
    with pytest.raises(ValueError, match="no symbol b; symbols: none"):
        rw.optimize(twice, X, hints={"b": 64})
    with pytest.raises(TypeError, match=r"hints= is for rewrite\.optimize"):
        rw.jit(twice, hints={"b": 64})


@pytest.mark.parametrize("hints", [3, "b", {"b": "many"}])
def test_hints_are_whole_numbers_by_name(hints: Any) -> None:
    with pytest.raises(TypeError, match="a whole number for each symbol"):
        rw.optimize(twice, X, hints=hints)


@pytest.mark.parametrize("name", ["a b", "", "3", "b*2", "b//2", 3])
def test_a_symbol_is_a_name_that_graphs_can_spell(name: Any) -> None:
    with pytest.raises(ValueError, match="a name was expected, as in 'b'"):
        xp.symbol(name)


def test_messages_spell_a_dtype_in_one_way() -> None:
    """As the text of graphs does: f32, not float32 in one half of a sentence."""
    fast = rw.optimize(twice, X, device="numpy")
    with pytest.raises(ValueError, match=r"f32\[4, 6\] expected, found f64\[4, 6\]"):
        fast(X.astype(np.float64))
    with pytest.raises(ValueError, match=r"f32\[4, 6\] expected, found f32\[3\]"):
        fast(X, out=np.empty(3, np.float32))
    rows = xp.TensorType(xp.float32, (xp.symbol("b"), 4))
    fast = rw.optimize(twice, rows, device="numpy")
    with pytest.raises(ValueError, match=r"f32\[b, 4\] expected, found f32\[4, 6\]"):
        fast(X)


def test_a_dtype_that_there_is_not_is_told_with_those_there_are() -> None:
    with pytest.raises(xp.TraceError, match="unknown dtype 'f33'; known: f64, f32"):
        xp.zeros(3, dtype="f33")
