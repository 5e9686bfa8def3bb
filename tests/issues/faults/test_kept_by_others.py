"""A cache and bundles that other processes, versions and users had a hand in.

Each of these went wrong once: an entry under another's key was read as this one's, a
cache that belongs to another user was of no use, a full disk left parts of files
behind, bytes changed classes of this process, sizes from NumPy could not be written.
"""

from __future__ import annotations

import collections
import ctypes
import json
import logging
import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import rewrite
from rewrite import xp
from rewrite.backends import store
from rewrite.backends.devices import device
from rewrite.backends.native.toolchain import find_toolchain
from rewrite.backends.store import Store, replacing, root
from rewrite.cache import identity, learned
from rewrite.cache.frozen import FrozenError, freeze, thaw
from rewrite.commands.cli import app
from rewrite.core import planning as pipeline
from rewrite.core.bundle import BundleError
from rewrite.egraph.ir import dtypes, graph
from rewrite.egraph.ir.dims import symbol
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.ir.table import TensorType
from rewrite.egraph.rules.rulefile import RuleFileError
from rewrite.lower.device import DeviceError
from tests.imports import closure, modules

KEY, OTHER = "a" * 64, "b" * 64
X = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REWRITE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def python(code: str, cache: Path, *args: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *args], text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env={**os.environ, "REWRITE_CACHE": str(cache)},
    )  # fmt: skip


# ---- the store -----------------------------------------------------------------------


def test_an_entry_under_another_key_is_none(tmp_path: Path) -> None:
    kept = Store(tmp_path)
    kept.write(KEY, b"one")
    kept.write(OTHER, b"two")
    (tmp_path / KEY).write_bytes((tmp_path / OTHER).read_bytes())
    assert kept.read(KEY) is None
    assert kept.read(OTHER) == b"two"


def test_a_cache_of_another_user_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Store(tmp_path)
    kept.write(KEY, b"one")

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "utime", refuse)  # as for a file that is not one's own
    assert kept.read(KEY) == b"one"


FULL = """\
import resource, sys
from pathlib import Path
from rewrite.backends.store import Store
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
kept = Store(Path(sys.argv[1]))
assert kept.write("a" * 64, b"x" * 5000) is None
assert kept.write("b" * 64, b"x" * 5000) is None
assert kept.write("c" * 64, b"x" * 500) is not None
"""


def test_a_full_disk_leaves_nothing_and_is_said_once(tmp_path: Path) -> None:
    done = python(FULL, tmp_path, str(tmp_path / "plans"))
    _, err = done.communicate()
    assert done.returncode == 0, err
    assert [p.name for p in (tmp_path / "plans").iterdir()] == ["c" * 64]
    assert err.count("cannot be written") == 1


def test_files_of_others_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plans.txt").write_text("mine" * 100)
    (tmp_path / "c").mkdir()
    os.utime(tmp_path / "plans.txt", (1, 1))
    monkeypatch.setattr(store, "LIMIT", 10)
    kept = Store(tmp_path)
    kept.write(KEY, b"x" * 100)
    kept.write("0" * 64, b"x" * 100)
    assert kept.clear() == [tmp_path / ("0" * 64)]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c", "plans.txt"]


def test_two_may_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "layer.rw"
    with replacing(path) as first, replacing(path) as second:
        first.write_bytes(b"1")
        second.write_bytes(b"2")
    assert path.read_bytes() == b"1"  # the last to be done
    for place in (path / "in", tmp_path / "no" / "layer.rw"):
        with pytest.raises(OSError) as e, replacing(place) as part:
            part.write_bytes(b"")
        assert e.value.filename == str(place)
    assert list(tmp_path.iterdir()) == [path]


KILLED = """\
import os, signal, sys
from pathlib import Path
from rewrite.backends.store import Store
Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
Store(Path(sys.argv[1])).write("a" * 64, b"one")
"""


def test_what_was_killed_at_writing_is_no_entry_and_is_cleared(cache: Path) -> None:
    assert python(KILLED, cache, str(cache / "plans")).wait() == -9
    assert len(list((cache / "plans").iterdir())) == 1
    assert Store(cache / "plans").read(KEY) is None
    done = CliRunner().invoke(app, ["cache", "clear"])
    assert (done.exit_code, done.stdout.strip()) == (0, "1 file deleted")
    assert not list((cache / "plans").iterdir())


@pytest.mark.parametrize("wish, found", [
    ("off", None), (" Off ", None), ("0", None), ("false", None), ("none", None),
    ("~/kept", Path.home() / "kept"), ("kept", Path.cwd() / "kept"),
])  # fmt: skip
def test_what_the_environment_says(
    wish: str, found: Path | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REWRITE_CACHE", wish)
    assert root() == found
    monkeypatch.setenv("REWRITE_CACHE", " ")
    assert root() is not None and root() != Path.cwd()


def test_a_cache_may_lie_where_programs_may_not(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = ctypes.CDLL

    def refuse(path: str) -> Any:
        if path.startswith(str(cache)):
            raise OSError(f"{path}: failed to map segment from shared object")
        return load(path)

    toolchain = find_toolchain()
    monkeypatch.setattr(ctypes, "CDLL", refuse)
    found = toolchain.library("int rw_kept(void) { return 7; }\n", contract=False)
    assert found.rw_kept() == 7
    monkeypatch.setattr(ctypes, "CDLL", lambda path: refuse(f"{cache}{path}"))
    with pytest.raises(DeviceError, match="REWRITE_CACHE or TMPDIR"):
        toolchain.library("int rw_kept(void) { return 8; }\n", contract=False)


def test_a_cache_may_be_cleared_before_a_library_is_loaded(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = ctypes.CDLL

    def late(path: str) -> ctypes.CDLL:
        for entry in (cache / "c").iterdir():
            entry.unlink()
        return load(path)

    toolchain = find_toolchain()
    monkeypatch.setattr(ctypes, "CDLL", late)
    found = toolchain.library("int rw_kept(void) { return 9; }\n", contract=False)
    assert found.rw_kept() == 9


# ---- plans ---------------------------------------------------------------------------

JIT = """\
import numpy as np, rewrite
from rewrite import xp
x = np.linspace(-1, 1, 256, dtype=np.float32).reshape(16, 16)
f = rewrite.jit(lambda x: xp.nn.softmax(x @ x.T), device="c", fallback=False)
assert np.allclose(f(x).sum(-1), 1)
"""


@pytest.mark.plans
def test_processes_start_on_one_empty_cache(cache: Path) -> None:
    running = [python(JIT, cache) for _ in range(3)]
    said = [p.communicate() for p in running]
    assert [p.returncode for p in running] == [0] * 3, said
    assert not any(err for _, err in said)
    assert len(list((cache / "plans").iterdir())) == 2  # the plan, its program
    assert not list(cache.rglob("*.part"))


@pytest.mark.plans
def test_a_plan_under_another_key_is_not_run(cache: Path) -> None:
    functions = (lambda x: xp.exp(x) + 1, lambda x: xp.exp(x) - 1)
    paths: list[set[Path]] = []
    for f in functions:
        rewrite.optimize(f, X, device="c", fallback=False)(X)
        paths.append(set((cache / "plans").iterdir()))
    new = paths[1] - paths[0]
    for old in paths[0]:  # of each kind there is one of the same size or nearly
        twin = min(new, key=lambda p: abs(p.stat().st_size - old.stat().st_size))
        old.write_bytes(twin.read_bytes())
    again = rewrite.optimize(functions[0], X, device="c", fallback=False)
    np.testing.assert_allclose(again(X), np.exp(X) + 1, rtol=1e-6)


@pytest.mark.plans
def test_a_plan_that_the_clock_cut_short_is_not_kept(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole_plans = pipeline.plan_all

    def hurried(*args: Any) -> Any:
        return [replace(made, truncated=True) for made in whole_plans(*args)]

    monkeypatch.setattr(pipeline, "plan_all", hurried)
    rewrite.optimize(lambda x: x + 1, X, device="c", fallback=False)(X)
    assert not (cache / "plans").exists()


def test_a_version_is_the_text_of_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not their times and sizes, which an image may give to all of them."""
    assert {
        "backends/opencl.py",
        "cache/frozen.py",
        "rules/ir.egg",
    } <= identity._files().keys()
    path = tmp_path / "rows.py"
    monkeypatch.setattr(identity, "_files", lambda: {"lower/rows.py": path})
    found: list[str] = []
    for text in ("TILE = 4", "TILE = 8"):
        path.write_text(text)
        os.utime(path, (1, 1))
        found.append(identity.code_version.__wrapped__())
    assert found[0] != found[1]


def test_what_the_pipeline_imports_is_part_of_the_version() -> None:
    """`fitting.py` orders kernels, `costs.py` picks the families: both were missing."""
    known = {identity.__file__, *map(str, identity._files().values())}
    known = {str(Path(p).resolve()) for p in known}
    deciding = closure("rewrite.core.planning")
    assert "rewrite.core.fitting" in deciding
    # How code is traced has no part in what becomes of its graph.
    apart = ("rewrite.xp", "rewrite.version")
    for module in deciding:
        if module != "rewrite" and not module.startswith(apart):
            assert str(modules()[module]) in known, module


NUMPY: dict[str, Callable[[Any], Any]] = {
    "shape": lambda x: xp.exp(xp.reshape(x, tuple(np.array([2, 8])))),
    "axis": lambda x: xp.sum(x, axis=np.int64(1)),
    "roll": lambda x: xp.exp(xp.roll(x, np.int64(1), axis=np.int64(0))),
    "tensordot": lambda x: xp.tensordot(x, x, axes=np.int64(1)),
    "slice": lambda x: x[np.int64(1) : np.int64(3)] * np.float32(2),
}  # fmt: skip


@pytest.mark.plans
@pytest.mark.parametrize("what", NUMPY)
def test_numbers_may_be_those_of_numpy(cache: Path, what: str) -> None:
    """They were kept in the attributes of nodes, and no plan with them could be."""
    for kept in (False, True):
        made = rewrite.optimize(NUMPY[what], X, device="numpy", fallback=False)
        assert made.compiled.was_kept is kept
        np.testing.assert_allclose(made(X), rewrite.jit(NUMPY[what])(X), rtol=1e-6)


def test_attributes_are_numbers_of_python() -> None:
    b = Builder()
    x = b.input("x", F32, (np.int64(4), 4))  # type: ignore[list-item]
    c = b.const(np.float32(2.5), F32, (4, 4))  # type: ignore[arg-type]
    found = b.build({"y": b.bin("mul", x, c)})
    assert thaw(freeze(found)) == found
    assert type(found.nodes[0].shape[0]) is int


@pytest.mark.plans
def test_rules_that_are_no_text_are_said_so(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.egg").write_bytes(b";; caf\xe9\n")
    with pytest.raises(RuleFileError, match=r"bad\.egg: byte 6 is not UTF-8"):
        rewrite.optimize(lambda x: x + 1, X, rules=[tmp_path / "bad.egg"])


def test_a_mapping_of_another_kind_is_a_mapping() -> None:
    given = collections.OrderedDict(a=X)
    assert np.array_equal(rewrite.jit(lambda d: d["a"] + 1)(given), X + 1)


def test_what_is_named_may_come_in_any_order() -> None:
    made = rewrite.optimize(lambda d: d["a"] - d["b"], {"a": X, "b": X})
    assert np.array_equal(made({"b": 2 * X, "a": X}), -X)


# ---- frozen data ---------------------------------------------------------------------


def changed(what: bytes, state: Any) -> bytes:
    """Pickled bytes that put a state into what others make."""
    return b"\x80\x05" + what + pickle.dumps(state, protocol=2)[2:-1] + b"b."


def test_bytes_change_nothing_of_this_process() -> None:
    before = graph.Graph.inputs
    with pytest.raises(FrozenError):
        thaw(changed(b"crewrite.egraph.ir.graph\nGraph\n", (None, {"inputs": 42})))
    assert graph.Graph.inputs is before
    f32 = b"crewrite.egraph.ir.dtypes\nof\n(X\x03\x00\x00\x00f32tR"
    assert thaw(b"\x80\x05" + f32 + b".") is F32
    with pytest.raises(FrozenError, match="a dtype is one object"):
        thaw(changed(f32, ["f64", "float", 64, None]))
    assert dtypes.F32.name == "f32"


# ---- bundles -------------------------------------------------------------------------


def saved(path: Path) -> dict[str, bytes]:
    rewrite.optimize(lambda x: xp.exp(x), X, device="c", cache=False).save(path)
    with zipfile.ZipFile(path) as z:
        return {n: z.read(n) for n in z.namelist()}


def write(
    path: Path, files: dict[str, bytes], about: Mapping[str, Any] = MappingProxyType({})
) -> Path:
    """A bundle over any contents, with hashes that are right."""
    manifest = json.loads(files.pop("manifest.json"))
    manifest["files"] = {k: sha256(v).hexdigest() for k, v in files.items()}
    manifest |= about
    manifest = {k: v for k, v in manifest.items() if v is not None}
    with zipfile.ZipFile(path, "w") as out:
        for name, data in {**files, "manifest.json": json.dumps(manifest)}.items():
            out.writestr(name, data)
    return path


HOSTILE: dict[str, Callable[[dict[str, bytes]], dict[str, Any]]] = {
    "no kernels": lambda f: f.pop("kernels/0.txt") and {},
    "no program": lambda f: f.update({"program.bin": freeze((1, 2))}) or {},
    "another's program": lambda f: f.update({"program.bin": pickle.dumps(Path)}) or {},
    "no calls": lambda _: {"calls": None},
    "no schema": lambda _: {"schema": None},
    "files are a list": lambda _: {"files": []},
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_a_bundle_over_anything_is_refused(tmp_path: Path, what: str) -> None:
    files = saved(tmp_path / "a.rw")
    about = HOSTILE[what](files)
    with pytest.raises(BundleError, match=r"b\.rw: no (bundle|program in it)"):
        rewrite.load(write(tmp_path / "b.rw", files, about))


def test_names_in_a_bundle_lead_nowhere(tmp_path: Path) -> None:
    files = saved(tmp_path / "a.rw") | {"../../outside.txt": b"x"}
    with pytest.raises(BundleError, match="not what was saved"):
        rewrite.load(write(tmp_path / "b.rw", files))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.rw", "b.rw"]
    assert not (tmp_path.parent.parent / "outside.txt").exists()


def test_a_manifest_nested_deeply_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.rw", "w") as out:
        out.writestr("manifest.json", b"[" * 100_000)
    with pytest.raises(BundleError, match="no bundle"):
        rewrite.load(tmp_path / "a.rw")


SAVE = """\
import sys, time, numpy as np, rewrite
from rewrite import xp
time.localtime = lambda *_: time.gmtime(int(sys.argv[2]))
x = np.ones((4, 4), np.float32)
rewrite.optimize(lambda x: xp.nn.softmax(x @ x.T), x, device="c").save(sys.argv[1])
"""


def test_equal_bundles_are_equal_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seed, at in (("a.rw", "1", "1500000000"), ("b.rw", "2", "1600000000")):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        running = python(SAVE, Path("off"), str(tmp_path / name), at)
        assert running.wait() == 0, running.communicate()
    assert (tmp_path / "a.rw").read_bytes() == (tmp_path / "b.rw").read_bytes()


@pytest.mark.parametrize("label", ["file", "allow_pickle", "../w", "w"])
def test_arrays_may_have_any_name(tmp_path: Path, label: str) -> None:
    b = Builder()
    x = b.input("x", F32, (4, 4))
    w, none = b.array(X, label), b.array(np.zeros((0, 4), np.float32), "none")
    y = b.concat([b.bin("mul", x, w), none], 0)
    rewrite.compile_graph(b.build({"y": y}), "c", cache=False).save(tmp_path / "a.rw")
    found = rewrite.load(tmp_path / "a.rw")(X)["y"]
    np.testing.assert_allclose(found, X * X, rtol=1e-6)


def test_likely_sizes_may_be_those_of_numpy(tmp_path: Path) -> None:
    x = TensorType(F32, (symbol("n"), 4))
    hints: Any = {"n": np.int64(7)}
    made = rewrite.optimize(lambda x: xp.exp(x), x, hints=hints, cache=False)
    made.save(tmp_path / "a.rw")
    np.testing.assert_allclose(rewrite.load(tmp_path / "a.rw")(X), np.exp(X), rtol=1e-6)


# ---- measurements --------------------------------------------------------------------


def test_learning_after_one_who_was_stopped_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    learned.learn(path, {"a": 1.0})
    with path.open("a") as file:
        file.write('{"digest": "b", "sec')
    learned.learn(path, {"c": 3.0})
    with path.open("a") as file:
        file.write("[" * 100_000 + "\n")
    learned.learn(path, {"d": 4.0})
    assert learned.recall(path) == {"a": 1.0, "c": 3.0, "d": 4.0}


def test_no_times_are_found_where_there_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert learned.recall(tmp_path / "file" / "measured" / "c.jsonl") == {}


@pytest.mark.plans
def test_calibrate_does_not_claim_to_have_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("REWRITE_CACHE", str(tmp_path / "file"))
    assert device("c").probe().ok
    done = CliRunner().invoke(app, ["calibrate", "--device", "c", "--forget"])
    assert done.exit_code == 2
    assert "cannot be written" in done.stderr


# ---- the command ---------------------------------------------------------------------


def test_what_was_measured_is_cleared_by_name_alone(cache: Path) -> None:
    for kind in ("plans", "rates"):
        Store(cache / kind).write(KEY, b"one")
    learned.learn(cache / "measured" / f"c-{KEY[:16]}.jsonl", {"a": 1.0})
    run = CliRunner().invoke
    shown = run(app, ["cache"]).stdout
    assert str(cache) in shown.replace("\n", "")
    assert run(app, ["cache", "clear"]).stdout == "1 file deleted\n"
    left = {p.parent.name for p in cache.rglob("*") if p.is_file()}
    assert left == {"rates", "measured"}
    assert (
        run(app, ["cache", "clear", "rates", "measured"]).stdout == "2 files deleted\n"
    )
    refused = run(app, ["cache", "clear", "rats"])
    assert refused.exit_code == 2 and "rats: c, cuda, opencl, plans" in refused.stderr


def test_no_cache_is_shown_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWRITE_CACHE", "off")
    run = CliRunner().invoke
    assert "nothing is kept" in run(app, ["cache"]).stdout
    assert run(app, ["cache", "clear"]).stdout == "0 files deleted\n"


def test_warnings_go_to_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    kept = Store(tmp_path / "file" / "plans")
    with caplog.at_level(logging.WARNING, "rewrite"):
        assert kept.write(KEY, b"one") is None
        assert kept.write(OTHER, b"two") is None
    (record,) = caplog.records
    assert "REWRITE_CACHE names another folder" in record.getMessage()
