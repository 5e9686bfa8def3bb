"""Every device keeps the protocol, the interpreter too: programs are made from its
caps, emitted, built, saved and read again, with no word about which one it is."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import rewrite
from rewrite.api import compile_graph
from rewrite.backends.devices import CLASSES
from rewrite.backends.executable import Executable
from rewrite.egraph.ir.dtypes import BF16, F32
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.extract.schedule.steps import own_groups, schedule
from rewrite.lower.device import DeviceError
from rewrite.lower.program import build

from .harness import elementwise, open_device

ROOT = Path(rewrite.__file__).parents[1]
X = np.arange(12, dtype=np.float32).reshape(3, 4)


def graph() -> Graph:
    b = Builder()
    x = b.input("x", F32, (3, 4))
    return b.build({"y": b.reduce("sum", b.un("exp", b.bin("mul", x, x)), (1,))})


@pytest.mark.parametrize("name", CLASSES)
def test_the_protocol(name: str) -> None:
    dev, whole = open_device(name), graph()
    program = build(schedule(whole, own_groups(whole)), dev.caps())
    source = dev.emit(program.functions)
    assert source.text.startswith(dev.source(program.functions)[:20])
    module = dev.build(source, program.functions, True)
    x = X / 8
    want = np.exp(x * x).sum(1, keepdims=True)
    for given in (module, None):
        got = Executable(program, whole, dev, given)({"x": x})
        np.testing.assert_allclose(got["y"], want, rtol=1e-5)


@pytest.mark.parametrize("name", CLASSES)
def test_a_bundle_holds_the_program(name: str, tmp_path: Path) -> None:
    open_device(name)
    made = compile_graph(graph(), name, fallback=False)
    made.save(tmp_path / "b.rw")
    found = rewrite.load(tmp_path / "b.rw")
    assert found.compiled.shelf.programs
    np.testing.assert_array_equal(found(X / 8)["y"], made({"x": X / 8})["y"])


def test_strictly_the_interpreter_rounds_every_result() -> None:
    b = Builder()
    x = b.input("x", BF16, (64,))
    y = b.bin("sub", b.bin("mul", x, x), b.bin("mul", x, x))
    z = b.bin("add", b.bin("mul", x, x), x)
    whole = b.build({"y": y, "z": z})
    given = {"x": (1 + np.arange(64) / 32).astype(BF16.numpy)}
    strict = compile_graph(whole, "numpy", precision="strict", fallback=False)(given)
    x16 = given["x"]
    np.testing.assert_array_equal(strict["z"], x16 * x16 + x16)


def test_a_function_of_another_device_is_refused() -> None:
    f = elementwise("f", 4, [F32], F32, lambda a: a)
    with pytest.raises(DeviceError, match="'f' was lowered for another device"):
        open_device("numpy").compile([f])


def test_no_code_asks_which_device_it_is() -> None:
    folders = ("rewrite", "lower", "extract", "egraph")
    asked = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if re.search(r"""\.name\s*(==|!=|in)\s*[("']+numpy""", line)
    ]
    assert asked == []
