"""Bundles that were damaged, or made to take all memory, are refused in one way."""

from __future__ import annotations

import json
import os
import pickle
import struct
import sys
import time
import tracemalloc
import zipfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rewrite
from rewrite.cache.frozen import FrozenError, freeze, thaw
from rewrite.core import bundle
from rewrite.core.bundle import BundleError
from rewrite.egraph.ir.dtypes import F32
from tests.mutants import run, saved

MIB = 1 << 20


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    path = tmp_path_factory.mktemp("bundle") / "a.rw"
    saved(path)
    with zipfile.ZipFile(path) as z:
        return {n: z.read(n) for n in z.namelist()}


def test_changed_bytes_are_refused() -> None:
    told = run(0, 300)
    assert told["flipped: refused"] > 120 and told["sealed: refused"] > 60
    assert told["flipped: read"] < 20  # of bytes that no reader looks at


def zipped(path: Path, parts: dict[str, bytes], **about: Any) -> Path:
    """A bundle of these files, whose hashes are right."""
    manifest = json.loads(parts["manifest.json"])
    rest = {k: v for k, v in parts.items() if k != "manifest.json"}
    manifest["files"] = {k: sha256(v).hexdigest() for k, v in rest.items()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in rest.items():
            z.writestr(name, data)
        z.writestr("manifest.json", json.dumps(manifest | about))
    return path


def refused(path: Path, match: str, most: int = 64 * MIB) -> None:
    """In a second or two, without much memory."""
    begin = time.perf_counter()
    tracemalloc.start()
    try:
        with pytest.raises(BundleError, match=match) as e:
            rewrite.load(path)
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert str(path) in str(e.value)
    assert taken < most, taken
    assert time.perf_counter() - begin < 10


def test_a_small_file_does_not_expand_without_end(
    tmp_path: Path, files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle, "ROOM", MIB)
    path = tmp_path / "bomb.rw"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("manifest.json", files["manifest.json"])
        with z.open("data/0.bin", "w", force_zip64=True) as out:
            for _ in range(40):
                out.write(bytes(MIB))
    assert path.stat().st_size < MIB
    refused(path, "expand to over 200 times")


def test_a_size_that_is_not_true_is_refused(
    tmp_path: Path, files: dict[str, bytes]
) -> None:
    """What the directory says of a part bounds what is read of it."""
    path = zipped(tmp_path / "a.rw", {**files, "data/0.bin": bytes(40 * MIB)})
    data = path.read_bytes()
    size = struct.pack("<I", 40 * MIB)
    assert data.count(size) == 2
    path.write_bytes(data.replace(size, struct.pack("<I", 64)))
    refused(path, "no bundle", 16 * MIB)


def test_what_compresses_well_is_saved_and_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle, "ROOM", MIB)
    w = np.zeros((1024, 1024), np.float32)
    made = rewrite.optimize(
        lambda x: x + w, w, device="numpy", effort=0, cache=False, fallback=False
    )
    made.save(tmp_path / "zeros.rw")
    assert np.array_equal(rewrite.load(tmp_path / "zeros.rw")(w + 1), w + 1)


@pytest.mark.parametrize("name", [
    "../../x", "/etc/x", "a\\b", "kernels/../x", "data/1.bin/x", "kernels/0.txt\n",
    "\x1b[31mred", "data/\N{ARABIC-INDIC DIGIT ONE}.bin",
])  # fmt: skip
def test_no_other_file_is_in_a_bundle(
    tmp_path: Path, files: dict[str, bytes], name: str
) -> None:
    path = zipped(tmp_path / "a.rw", {**files, name: b"x"})
    refused(path, "is not what was saved")
    with pytest.raises(BundleError) as e:
        rewrite.load(path)
    assert str(e.value).isprintable()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_no_file_is_in_a_bundle_twice(tmp_path: Path, files: dict[str, bytes]) -> None:
    path = zipped(tmp_path / "a.rw", files)
    with zipfile.ZipFile(path, "a") as z:
        z.writestr("program.bin", files["program.bin"])
    refused(path, r"'program\.bin' is in it twice")


@pytest.mark.skipif(sys.platform == "win32", reason="of POSIX")
def test_a_link_in_a_bundle_leads_nowhere(
    tmp_path: Path, files: dict[str, bytes]
) -> None:
    path = zipped(tmp_path / "a.rw", files)
    with zipfile.ZipFile(path, "a") as z:
        link = zipfile.ZipInfo("data/9.bin")
        link.external_attr = 0o120777 << 16
        z.writestr(link, "/etc/passwd")
    refused(path, r"data/9\.bin is not what was saved")


MANIFESTS: dict[str, tuple[bytes, str]] = {
    "deep": (b'{"format": ' + b"[" * 200_000, "no bundle"),
    "a number": (b'{"format": ' + b"9" * 100_000 + b"}", "no bundle"),
    "no text": (b"\xff\xfe", "no bundle"),
    "no format": (b"{}", "names no format"),
    "later": (b'{"format": "rewrite bundle 7", "rewrite": "9.1"}',
              r"of a later rewrite \('9\.1'\); update rewrite"),
    "earlier": (b'{"format": "rewrite bundle 1"}', "save it again"),
    "of others": (b'{"format": ["x"]}', "save it again"),
    "long": (b'{"format": "' + b"x" * 100_000 + b'"}', "save it again"),
}  # fmt: skip


@pytest.mark.parametrize("what", MANIFESTS)
def test_any_manifest_is_answered(
    tmp_path: Path, files: dict[str, bytes], what: str
) -> None:
    data, match = MANIFESTS[what]
    with zipfile.ZipFile(tmp_path / "a.rw", "w") as z:
        z.writestr("manifest.json", data)
    refused(tmp_path / "a.rw", match)
    with pytest.raises(BundleError) as e:
        rewrite.load(tmp_path / "a.rw")
    assert len(str(e.value)) < 1000


@pytest.mark.parametrize("about", [
    {"calls": [["f"]]}, {"calls": [1]}, {"device": "abacus"}, {"files": {"a": {}}},
    {"device": ""}, {"files": {"program.bin": None}},
])  # fmt: skip
def test_any_entry_is_answered(
    tmp_path: Path, files: dict[str, bytes], about: dict[str, Any]
) -> None:
    refused(zipped(tmp_path / "a.rw", files, **about), "a.rw")


@pytest.mark.parametrize("shape", [(1 << 60,), (1 << 40, 1 << 40), (-4,), (7,)])
def test_arrays_are_as_large_as_they_say(
    tmp_path: Path, files: dict[str, bytes], shape: tuple[int, ...]
) -> None:
    from dataclasses import replace

    graph, *rest = thaw(files["program.bin"])
    nodes = [
        replace(n, type=replace(n.type, shape=shape)) if n.op == "data" else n
        for n in graph.nodes
    ]
    program = freeze((replace(graph, nodes=tuple(nodes)), *rest))
    refused(zipped(tmp_path / "a.rw", {**files, "program.bin": program}), "no program")


# ---- frozen data ---------------------------------------------------------------------


def nested(deep: int, opens: bytes = b")", closes: bytes = b"\x85") -> bytes:
    return b"\x80\x05" + opens + closes * deep


def doubled(times: int) -> bytes:
    """A tuple of twice the one before, and so on: small, and endless to walk."""
    step = b"".join(b"h" + bytes([i]) + b"h" + bytes([i]) + b"\x86\x94"
                    for i in range(times))  # fmt: skip
    return b"\x80\x05)\x94" + step


def bignum(nbytes: int) -> bytes:
    return b"\x8b" + struct.pack("<I", nbytes)


BOMBS: dict[str, bytes] = {
    "laughs": doubled(200) + b".",
    "laughs as a key": b"\x80\x05}" + doubled(60)[2:] + b"Ns.",
    "a deep tuple": nested(1_000_000) + b".",
    "a deep tuple as a key": b"\x80\x05}" + nested(1_000_000)[2:] + b"Ns.",
    "a deep list": b"\x80\x05" + b"]" * 100_000 + b"a" * 99_999 + b".",
    "a place far off": b"\x80\x05Nr\xff\xff\xff\x7f.",
    "a long string": b"\x80\x05\x8d" + struct.pack("<Q", 1 << 50) + b"x.",
    "long bytes": b"\x80\x05\x8e" + struct.pack("<Q", 1 << 40) + b"x.",
    "a long number": b"\x80\x05" + bignum((1 << 31) - 1) + b".",
    "a number of digits": b"\x80\x05I" + b"9" * 1_000_000 + b"\n.",
    "a long frame": b"\x80\x05\x95" + struct.pack("<Q", 1 << 62) + b"N.",
    "a buffer": b"\x80\x05\x97.",
    "of a class": pickle.dumps(os.system),
    "of a module": b"\x80\x05\x8c\x02os\x8c\x06system\x93.",
    "by a number": b"\x80\x05\x82\x01.",
    "an instance": b"\x80\x05(cposix\nsystem\no.",
    "new": pickle.dumps(Path("x")),
    "persistent": b"\x80\x05NQ.",
    "nothing on the stack": b"\x80\x05R.",
    "no mark": b"\x80\x05e.",
    "nothing kept": b"\x80\x05h\x05.",
    "empty": b"",
    "without an end": b"\x80\x05N",
    "called with what is none": b"\x80\x05NNR.",
}


@pytest.mark.parametrize("what", BOMBS)
def test_no_bytes_take_more_than_their_length(what: str) -> None:
    begin = time.perf_counter()
    tracemalloc.start()
    try:
        with pytest.raises(FrozenError):
            thaw(BOMBS[what])
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert taken < 64 * MIB + 200 * len(BOMBS[what])
    assert time.perf_counter() - begin < 10


def test_what_is_frozen_passes(files: dict[str, bytes]) -> None:
    program = thaw(files["program.bin"])
    assert freeze(program) == files["program.bin"]
    values: list[Any] = [
        (), [], {}, set(), frozenset({1}), 1 << 900, -(1 << 40), 1.5, None, True,
        "x" * 70_000, b"x" * 70_000, {1: {2: [3, (4, 5, 6, 7)]}}, [[]] * 2000, F32,
        list(range(3000)),
    ]  # fmt: skip
    assert thaw(freeze(values)) == values


def test_what_refers_to_itself_has_an_end() -> None:
    loop: list[Any] = [1]
    loop.append((loop, loop))
    found = thaw(freeze(loop))
    assert found[1][0] is found
