"""Bundles with bytes changed: each is refused in words, or is still the same function.

    python -m tests.mutants [COUNT] [FIRST]

`sealed` mutants change what is in the files of a bundle, and the hashes with it:
reading these ends in a `BundleError`, or in a program that is not run.
"""

from __future__ import annotations

import io
import json
import random
import sys
import tempfile
import time
import zipfile
from collections import Counter
from hashlib import sha256
from pathlib import Path

import numpy as np

import rewrite
from rewrite.core.bundle import BundleError

SECONDS = 5.0  # that reading one may take


def saved(path: Path) -> bytes:
    """A small bundle, whole."""
    w = np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4)
    b = rewrite.constant(np.linspace(0, 1, 4, dtype=np.float32))
    made = rewrite.optimize(
        lambda x, p: {"y": rewrite.xp.nn.softmax(x @ p["w"] + b)},
        np.ones((3, 8), np.float32), {"w": w}, device="c", effort=0, cache=False,
    )  # fmt: skip
    made.save(path)
    return path.read_bytes()


def flipped(r: random.Random, data: bytes) -> bytes:
    """Some bytes changed, cut out, doubled or cut off."""
    out = bytearray(data)
    for _ in range(r.randrange(1, 5)):
        if not out:
            break
        at = r.randrange(len(out))
        if r.random() < 0.3:  # numbers and names lie at the end
            at = r.randrange(max(len(out) - 400, 0), len(out))
        match r.randrange(6):
            case 0:
                del out[at:]
            case 1:
                del out[at : at + r.randrange(1, 9)]
            case 2:
                out[at:at] = out[at : at + r.randrange(1, 9)]
            case 3:
                out[at] ^= 1 << r.randrange(8)
            case _:
                out[at] = r.choice([0, 1, 0x7F, 0x80, 0xFF, r.randrange(256)])
    return bytes(out)


def sealed(r: random.Random, data: bytes) -> bytes:
    """A file in the bundle changed, the manifest in agreement with it."""
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        files = {n: z.read(n) for n in z.namelist()}
    name = r.choice(["program.bin"] * 4 + sorted(files))
    files[name] = flipped(r, files[name])
    if name != "manifest.json":
        about = json.loads(files["manifest.json"])
        about["files"][name] = sha256(files[name]).hexdigest()
        files["manifest.json"] = json.dumps(about).encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for n, part in files.items():
            z.writestr(n, part)
    return out.getvalue()


def run(first: int, count: int) -> Counter[str]:
    """How many were read and how many refused; raises where neither happens."""
    told: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        whole, path = saved(Path(folder) / "a.rw"), Path(folder) / "b.rw"
        want = rewrite.load(Path(folder) / "a.rw").graph.nodes
        for seed in range(first, first + count):
            r = random.Random(seed)
            kind = sealed if r.random() < 0.4 else flipped
            path.write_bytes(kind(r, whole))
            begin = time.perf_counter()
            try:
                found = rewrite.load(path, "c").graph.nodes
                told[f"{kind.__name__}: read"] += 1
                assert kind is sealed or found == want, f"seed {seed}: another function"
            except BundleError as e:
                told[f"{kind.__name__}: refused"] += 1
                assert str(path) in str(e) and len(str(e)) < 2000, f"seed {seed}: {e}"
            except Exception as e:
                raise AssertionError(f"seed {seed}: {type(e).__name__}: {e}") from e
            took = time.perf_counter() - begin
            assert took < SECONDS, f"seed {seed}: {took:.1f} s"
    return told


if __name__ == "__main__":
    numbers = [int(a) for a in sys.argv[1:]]
    count, first = [*numbers, *(10_000, 0)[len(numbers) :]]
    print(dict(run(first, count)))
