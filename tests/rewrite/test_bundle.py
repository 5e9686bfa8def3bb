"""Bundles: what was saved runs elsewhere, without the engine, or says why not."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import rewrite
from rewrite import xp
from rewrite.backends.devices import device as device_named
from rewrite.core.bundle import BundleError
from rewrite.egraph.ir.dims import symbol
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.ops import TensorType


def layer(x: Any, p: dict[str, Any]) -> dict[str, Any]:
    y = xp.nn.softmax(x @ p["w"] + p["b"])
    return {"y": y, "parts": (xp.sum(y, axis=-1), "as it was")}


def arguments(rows: int = 5, seed: int = 0) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    w, b = rng.standard_normal((16, 8)), rng.standard_normal(8)
    x = rng.standard_normal((rows, 16)).astype(np.float32)
    return x, {"w": w.astype(np.float32), "b": b.astype(np.float32)}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    path = tmp_path_factory.mktemp("bundle") / "layer.rw"
    made = rewrite.optimize(
        layer, *arguments(), device="c", fallback=False, cache=False
    )
    made.save(path)
    return path, made(*arguments())


def test_a_bundle_returns_what_the_function_returned(saved: tuple[Path, Any]) -> None:
    path, want = saved
    got = rewrite.load(path)(*arguments())
    assert np.array_equal(got["y"], want["y"])
    assert np.array_equal(got["parts"][0], want["parts"][0])
    assert got["parts"][1] == "as it was"


ALONE = """\
import sys, importlib.abc
class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "egglog": raise ImportError("no engine here")
sys.meta_path.insert(0, Refuse())
import numpy as np, rewrite
import rewrite.egraph.saturate.engine as engine
engine.shared = None
f = rewrite.load(sys.argv[1])
x, w, b = (np.ones(n, np.float32) for n in ((5, 16), (16, 8), 8))
print(float(f(x, {"w": w, "b": b})["y"].sum()))
"""


def test_a_bundle_needs_no_engine(saved: tuple[Path, Any]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALONE, str(saved[0])], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == pytest.approx(5.0)


def test_a_bundle_still_says_why_it_is_equal(saved: tuple[Path, Any]) -> None:
    made = rewrite.optimize(layer, *arguments(), device="c", cache=False)
    assert rewrite.load(saved[0]).explain() == made.explain()


def test_its_own_kernels_run_where_the_device_is_the_same(
    saved: tuple[Path, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rewrite.core.compiled.build", None)
    rewrite.load(saved[0])(*arguments())


@pytest.mark.parametrize("device", ["numpy", "opencl"])
def test_another_device_runs_it_too(saved: tuple[Path, Any], device: str) -> None:
    probe = device_named(device).probe()
    if not probe.ok:
        pytest.skip(f"{device} does not work on this machine: {probe.detail}")
    got = rewrite.load(saved[0], device)(*arguments())
    np.testing.assert_allclose(got["y"], saved[1]["y"], rtol=1e-4, atol=1e-6)


def test_symbolic_sizes_are_run_and_made(tmp_path: Path) -> None:
    x = TensorType(F32, (symbol("n"), 16))
    made = rewrite.optimize(
        lambda x: xp.nn.softmax(x), x, device="c", fallback=False, cache=False
    )
    known = np.ones((3, 16), np.float32)
    made(known)
    made.save(tmp_path / "s.rw")
    with zipfile.ZipFile(tmp_path / "s.rw") as z:
        assert [n for n in z.namelist() if "kernels" in n] == ["kernels/0.txt"]
    loaded = rewrite.load(tmp_path / "s.rw")
    for rows in (3, 7):
        given = np.ones((rows, 16), np.float32)
        np.testing.assert_allclose(loaded(given), 1 / 16, rtol=1e-6)


def test_arrays_of_every_dtype_come_back(tmp_path: Path) -> None:
    import ml_dtypes

    w = np.arange(-4, 4).astype(ml_dtypes.bfloat16)
    made = rewrite.optimize(
        lambda x: x * w, np.ones(8, ml_dtypes.bfloat16), fallback=False, cache=False
    )
    made.save(tmp_path / "w.rw")
    got = rewrite.load(tmp_path / "w.rw")(np.ones(8, ml_dtypes.bfloat16))
    assert got.dtype == w.dtype
    assert np.array_equal(got, w)


@dataclass
class Mine:
    n: int


class Pair(NamedTuple):
    a: Any
    b: Any


def test_what_no_bundle_holds_is_said(tmp_path: Path) -> None:
    made = rewrite.optimize(
        lambda x: Pair(x + 1, x), np.ones(4, np.float32), fallback=False, cache=False
    )
    with pytest.raises(BundleError, match=r"Pair does not belong in a program"):
        made.save(tmp_path / "p.rw")
    assert not (tmp_path / "p.rw").exists()


def test_a_graph_is_a_function_of_its_inputs(tmp_path: Path) -> None:
    made = rewrite.optimize(
        lambda x, y: Pair(x + y, x * y), *[np.ones(4, np.float32)] * 2, cache=False
    )
    made.compiled.save(tmp_path / "g.rw")
    x, y = (np.full(4, v, np.float32) for v in (2, 3))
    got = rewrite.load(tmp_path / "g.rw")(x, y)
    assert {k: float(v[0]) for k, v in got.items()} == {"a": 5.0, "b": 6.0}


def edited(path: Path, to: Path, edit: Callable[[dict[str, bytes]], Any]) -> Path:
    with zipfile.ZipFile(path) as z:
        files = {n: z.read(n) for n in z.namelist()}
    edit(files)
    with zipfile.ZipFile(to, "w") as out:
        for name, data in files.items():
            out.writestr(name, data)
    return to


def manifest(**changes: Any) -> Callable[[dict[str, bytes]], None]:
    def edit(files: dict[str, bytes]) -> None:
        about = json.loads(files["manifest.json"]) | changes
        files["manifest.json"] = json.dumps(about).encode()

    return edit


EDITS: dict[str, tuple[Callable[[dict[str, bytes]], Any], str]] = {
    "a kernel": (
        lambda f: f.update({"kernels/0.txt": f["kernels/0.txt"] + b" "}),
        "kernels/0.txt is not what was saved",
    ),
    "a file gone": (
        lambda f: f.pop("program.bin"), "program.bin is not what was saved"
    ),
    "a file more": (lambda f: f.update(more=b""), "more is not what was saved"),
    "no manifest": (lambda f: f.pop("manifest.json"), "no bundle"),
    "a manifest of another kind": (
        lambda f: f.update({"manifest.json": b"[]"}), "no bundle"
    ),
    "another format": (manifest(format="bundle 9"), "'rewrite bundle 4' was exp"),
    "another version": (manifest(schema="", rewrite="9.9"), "saved by rewrite 9.9"),
}  # fmt: skip


@pytest.mark.parametrize("what", EDITS)
def test_a_changed_bundle_is_refused(
    saved: tuple[Path, Any], tmp_path: Path, what: str
) -> None:
    edit, message = EDITS[what]
    with pytest.raises(BundleError, match=message):
        rewrite.load(edited(saved[0], tmp_path / "e.rw", edit))


@pytest.mark.parametrize("data", [b"", b"PK", b"garbage" * 99])
def test_garbage_is_no_bundle(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "g.rw").write_bytes(data)
    with pytest.raises(BundleError, match="no bundle"):
        rewrite.load(tmp_path / "g.rw")


def test_a_bundle_cut_short_is_refused(saved: tuple[Path, Any], tmp_path: Path) -> None:
    data = saved[0].read_bytes()
    for n in range(0, len(data), 97):
        (tmp_path / "c.rw").write_bytes(data[:n])
        with pytest.raises(BundleError):
            rewrite.load(tmp_path / "c.rw")
