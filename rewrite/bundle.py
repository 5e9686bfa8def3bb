"""Bundles: an optimized program as one file, run without the e-graph engine.

A bundle is a zip of

    manifest.json    what it is; the SHA-256 of every other file
    program.bin      the graph, its plan, its programs by size (`frozen.py`)
    data.npz         the constant arrays, by label
    kernels/N.txt    the text of the N-th program's kernels, as the device compiles it

On the kind of device that it was made for, its kernels are compiled as they are; on
another, and at sizes that it has no program for, kernels are made from the plan.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rewrite.egraph.graph import Graph
from rewrite.egraph.scalars import Array
from rewrite.lower.device import Caps, Device, KernelSource

from .compile import Compiled, Options, pick_device
from .frozen import FrozenError, freeze, schema, thaw
from .shelf import Built, bare, dressed
from .xp.trace import Leaf

FORMAT = "rewrite bundle 1"
MANIFEST, FROZEN, DATA = "manifest.json", "program.bin", "data.npz"

type Sizes = tuple[tuple[str, int], ...]


class BundleError(ValueError):
    """A file that is no bundle, or not the one that was saved."""


@dataclass(frozen=True)
class Saved:
    """Programs by the sizes and the device that they are for; none is added."""

    programs: Mapping[tuple[Sizes, Caps], Built]

    def built(self, sizes: Mapping[str, int], caps: Caps) -> Built | None:
        return self.programs.get((tuple(sorted(sizes.items())), _kind(caps)))

    def keep_built(self, sizes: Mapping[str, int], caps: Caps, made: Built) -> None:
        """A bundle stays as it was saved."""


# ---- out -----------------------------------------------------------------------------


def save(compiled: Compiled, path: Path, trees: tuple[Any, Any] | None = None) -> None:
    """Writes a bundle, whole or not at all.

    `trees` are a function's own arguments and results; without them, inputs are
    arguments in order and results a dict by name.
    """
    programs = _programs(compiled)
    options = compiled.options
    what = (
        replace(compiled.source, data={}, calls={}),
        bare(compiled.plan),
        [(sizes, caps, built.program, built.source.launches)
         for sizes, caps, built in programs],
        (options.precision, options.effort, dict(options.hints)),
        trees or (_named(n.attrs[0] for n in compiled.source.inputs),
                  _named(label for label, _ in compiled.source.outputs)),
    )  # fmt: skip
    try:
        frozen = freeze(what)
    except (FrozenError, TypeError, AttributeError) as e:
        raise BundleError(
            f"{path}: a bundle holds arrays, numbers, text and structures of them "
            f"({e}); `.compiled.save` writes the graph, whose results are a dict"
        ) from None
    texts = {
        f"kernels/{i}.txt": built.source.text.encode()
        for i, (_, _, built) in enumerate(programs)
    }
    files = {FROZEN: frozen, DATA: _arrays(compiled.source), **texts}
    _write(path, {MANIFEST: _manifest(compiled, files), **files})


def _named(labels: Iterable[str]) -> dict[str, Leaf]:
    return {label: Leaf(label) for label in labels}


def _programs(compiled: Compiled) -> list[tuple[Sizes, Caps, Built]]:
    """Of each size that was run; of a graph without symbols, its one."""
    if compiled.device.name == "numpy":
        return []
    caps = _kind(compiled.device.caps())
    known = compiled.sizes or ([] if compiled.source.symbols else [()])
    return [(sizes, caps, compiled.built(dict(sizes))) for sizes in known]


def _kind(caps: Caps) -> Caps:
    """What a device is, whatever was measured of it."""
    return replace(caps, rates=())


def _arrays(graph: Graph) -> bytes:
    out = io.BytesIO()
    raw = {k: np.frombuffer(a.tobytes(), np.uint8) for k, a in graph.data.items()}
    np.savez(out, allow_pickle=False, **raw)
    return out.getvalue()


def _manifest(compiled: Compiled, files: Mapping[str, bytes]) -> bytes:
    from . import __version__

    graph = compiled.source
    about = {
        "format": FORMAT,
        "rewrite": __version__,
        "schema": schema(),
        "device": compiled.device.name,
        "inputs": {n.attrs[0]: str(n.type) for n in graph.inputs},
        "outputs": {label: str(graph.nodes[i].type) for label, i in graph.outputs},
        "calls": sorted(graph.calls),
        "files": {k: hashlib.sha256(v).hexdigest() for k, v in files.items()},
    }
    return json.dumps(about, indent=2).encode()


def _write(path: Path, files: Mapping[str, bytes]) -> None:
    part = path.with_name(path.name + ".part")
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as out:
            for name, data in files.items():
                out.writestr(name, data)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


# ---- in ------------------------------------------------------------------------------


def load(
    path: Path,
    device: str | Device | None = None,
    calls: Mapping[str, Callable[..., Any]] | None = None,
) -> tuple[Compiled, Any]:
    """What `save` was given; `calls` are the host functions of its graph, by name."""
    files, about = _read(path)
    missing = sorted(set(about["calls"]) - set(calls or {}))
    if missing:
        raise BundleError(f"{path}: pass calls={{{missing[0]!r}: the function}}")
    graph, plan, programs, (precision, effort, hints), trees = thaw(files[FROZEN])
    source = replace(graph, data=_loaded(files[DATA], graph), calls=dict(calls or {}))
    saved = {
        (sizes, caps): Built(program, _source(files, i, launches))
        for i, (sizes, caps, program, launches) in enumerate(programs)
    }
    target = pick_device(device or about["device"])
    options = Options(precision, (), effort, fallback=False, hints=hints)
    made = Compiled(source, dressed(plan, source), target, options, 0.0, Saved(saved))
    return made, trees


def _read(path: Path) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The files of a bundle, each of them as it was saved."""
    try:
        with zipfile.ZipFile(path) as zipped:
            files = {name: zipped.read(name) for name in zipped.namelist()}
        about = json.loads(files.pop(MANIFEST))
        digests = {k: hashlib.sha256(v).hexdigest() for k, v in files.items()}
        known, expected = about["format"] == FORMAT, about["files"]
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, zlib.error) as e:
        raise BundleError(f"{path}: no bundle ({e}); `opt.save()` writes one") from None
    if not known:
        raise BundleError(f"{path}: a {about['format']!r}; {FORMAT!r} was expected")
    changed = sorted(k for k in {*digests, *expected}
                     if digests.get(k) != expected.get(k))  # fmt: skip
    if changed:
        raise BundleError(f"{path}: {changed[0]} is not what was saved; save it again")
    if about["schema"] != schema():
        raise BundleError(
            f"{path}: saved by rewrite {about['rewrite']}, whose programs this version "
            "cannot read; save it again"
        )
    return files, about


def _source(
    files: Mapping[str, bytes], i: int, launches: Mapping[str, Any]
) -> KernelSource:
    return KernelSource(files[f"kernels/{i}.txt"].decode(), launches)


def _loaded(data: bytes, graph: Graph) -> dict[str, Array]:
    types = {n.attrs[0]: n.type for n in graph.nodes if n.op == "data"}
    with np.load(io.BytesIO(data)) as found:
        return {k: found[k].view(t.dtype.numpy).reshape(t.shape)
                for k, t in types.items()}  # fmt: skip


__all__ = ["BundleError", "load", "save"]
