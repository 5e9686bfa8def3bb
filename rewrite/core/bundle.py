"""Bundles: an optimized program as one file, run without the e-graph engine.

A bundle is a zip of

    manifest.json    what it is; the SHA-256 of every other file
    program.bin      the graph, its plan, its programs by size (`frozen.py`)
    data/N.bin       the elements of the N-th constant array, by its label
    held/N.bin       the elements of the N-th array that the function captured
    kernels/N.txt    the text of the N-th program's kernels, as the device compiles it

On the kind of device that it was made for, its kernels are compiled as they are; on
another, and at sizes that it has no program for, kernels are made from the plan.
Kernels are code, and read memory where the program tells them to: the hashes find
accidents, and who saved a bundle is for the user to know.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from rewrite.backends.devices import CLASSES, pick_device
from rewrite.backends.store import replacing
from rewrite.egraph.ir.files import open_plain
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.ir.scalars import Array
from rewrite.egraph.ir.table import TensorType
from rewrite.egraph.looping.flow import Flow
from rewrite.extract.schedule.assemble import concrete
from rewrite.extract.schedule.plan import Plan
from rewrite.lower.choice import Choices
from rewrite.lower.device import Caps, Device, KernelSource

from ..cache.frozen import FrozenError, can_freeze, freeze, schema, thaw
from ..cache.identity import device_key
from ..cache.shelf import Built, bare, dressed
from ..version import VERSION
from ..xp.trace import Leaf
from .compiled import Bodies, Compiled
from .options import Options

FORMAT = "rewrite bundle 4"
OURS = re.compile(r"rewrite bundle (\d{1,6})")
NAMES = re.compile(
    r"manifest\.json|program\.bin|data/[0-9]+\.bin|held/[0-9]+\.bin|kernels/[0-9]+\.txt"
)
SHOWN = 200  # characters of an error that another reader raised
# A small file that expands without end is refused: what is saved is within these.
ROOM, RATIO = 256 << 20, 200  # bytes that any may expand to, and times its own length
MANIFEST, FROZEN = "manifest.json", "program.bin"
FIELDS = {"rewrite": str, "schema": str, "device": str, "calls": list, "files": dict}

type Sizes = tuple[tuple[str, int], ...]


class BundleError(ValueError):
    """A file that is no bundle, or not the one that was saved."""


@dataclass(frozen=True)
class Saved:
    """Programs by the sizes and the device that they are for; none is added."""

    programs: Mapping[tuple[Sizes, str], Built]

    def built(
        self, sizes: Mapping[str, int], caps: Caps, choices: Choices
    ) -> Built | None:
        """As it was saved, whatever has been chosen since."""
        return self.programs.get((tuple(sorted(sizes.items())), _kind(caps)))

    def keep_built(self, sizes: Mapping[str, int], caps: Caps, made: Built) -> None:
        """A bundle stays as it was saved."""


# ---- out -----------------------------------------------------------------------------


def save(
    compiled: Compiled, path: Path, trees: tuple[Any, Any, Any] | None = None
) -> None:
    """Writes a bundle, whole or not at all.

    `trees` are a function's own arguments and results, and the arrays that it holds by
    the inputs that they are; without them, inputs are arguments in order and results a
    dict by name.
    """
    programs = _programs(compiled)
    options = compiled.options
    arguments, result, held = trees or (
        _named(n.attrs[0] for n in compiled.source.inputs),
        _named(label for label, _ in compiled.source.outputs),
        dict[str, Array](),
    )
    what = (
        replace(compiled.source, data={}, calls=_held(compiled.source)),
        bare(compiled.plan),
        [(sizes, kind, built.program, built.source.launches)
         for sizes, kind, built in programs],
        (options.precision, options.effort, dict(options.hints)),
        (arguments, result, tuple(held)),
        _inner(compiled),
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
    own = {f"held/{i}.bin": a.tobytes() for i, a in enumerate(held.values())}
    files = {FROZEN: frozen, **_arrays(compiled.source), **own, **texts}
    _write(path, {MANIFEST: _manifest(compiled, files), **files})


type Inner = tuple[tuple[str, tuple[tuple[Plan, Any], ...]], ...]


def _inner(compiled: Compiled) -> Inner:
    """The plans of what its loops and branches run, by target, with those in it."""
    return tuple(
        (k, tuple((bare(c.plan), _inner(c)) for c in made))
        for k, made in compiled.bodies.items()
    )


def _with_inner(made: Compiled, inner: Inner) -> Compiled:
    bodies: dict[str, Bodies] = {}
    for target, plans in inner:
        flow = made.source.calls[target]
        assert isinstance(flow, Flow)
        bodies[target] = tuple(
            _body(made, body, plan, flow.invariant(k), own)
            for k, (body, (plan, own)) in enumerate(
                zip(flow.bodies, plans, strict=True)
            )
        )
    return replace(made, bodies=bodies)


def _body(
    around: Compiled,
    body: Graph,
    plan: Plan,
    constant_inputs: frozenset[str],
    inner: Inner,
) -> Compiled:
    options = replace(around.options, constant_inputs=constant_inputs)
    made = Compiled(body, dressed(plan, body), around.device, options)
    return _with_inner(made, inner)


def _named(labels: Iterable[str]) -> dict[str, Leaf]:
    return {label: Leaf(label) for label in labels}


def _programs(compiled: Compiled) -> list[tuple[Sizes, str, Built]]:
    """Of each size that was run; of a graph without symbols, its one."""
    kind = _kind(compiled.device.caps())
    known = compiled.sizes or ([] if compiled.source.symbols else [()])
    return [(sizes, kind, compiled.built(dict(sizes))) for sizes in known]


def _kind(caps: Caps) -> str:
    """What a device is, whatever was measured of it."""
    return device_key(replace(caps, rates=()))


def _held(graph: Graph) -> dict[str, Callable[..., Any]]:
    """The host functions that are data, as those of ONNX models are."""
    return {k: f for k, f in graph.calls.items() if can_freeze(f)}


def _data(graph: Graph) -> dict[str, TensorType]:
    """The constant arrays by the names of their files."""
    types = {n.attrs[0]: n.type for n in graph.nodes if n.op == "data"}
    return {label: types[label] for label in sorted(types)}


def _arrays(graph: Graph) -> dict[str, bytes]:
    labels = enumerate(_data(graph))
    return {f"data/{i}.bin": graph.data[label].tobytes() for i, label in labels}


def _manifest(compiled: Compiled, files: Mapping[str, bytes]) -> bytes:
    graph = compiled.source
    about = {
        "format": FORMAT,
        "rewrite": VERSION,
        "schema": schema(),
        "device": compiled.device.name,
        "inputs": {n.attrs[0]: str(n.type) for n in graph.inputs},
        "outputs": {label: str(graph.nodes[i].type) for label, i in graph.outputs},
        "calls": sorted(graph.calls.keys() - _held(graph)),
        "files": {k: hashlib.sha256(v).hexdigest() for k, v in files.items()},
    }
    return json.dumps(about, indent=2).encode()


def _write(path: Path, files: Mapping[str, bytes]) -> None:
    with replacing(path) as part:
        for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
            with zipfile.ZipFile(part, "w") as out:
                for name, data in files.items():  # no time: equal files are equal
                    out.writestr(zipfile.ZipInfo(name), data, method)
            if _expands(out.infolist(), part.stat().st_size):
                return


def _expands(parts: Sequence[zipfile.ZipInfo], nbytes: int) -> bool:
    """Whether a file of so many bytes says of its parts what may be."""
    return sum(x.file_size for x in parts) <= ROOM + RATIO * nbytes


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
    if device is None and about["device"] not in CLASSES:
        raise BundleError(
            f"{path}: saved for the device {about['device']!r}, which this version "
            f"does not know; pass device= ({', '.join(CLASSES)})"
        )
    target = pick_device(device or about["device"])
    try:
        return _opened(files, target, calls or {})
    except Exception as e:  # of bytes that may say anything
        raise BundleError(
            f"{path}: no program in it ({_said(e)}); save it again"
        ) from e


def _opened(
    files: Mapping[str, bytes], device: Device, calls: Mapping[str, Callable[..., Any]]
) -> tuple[Compiled, Any]:
    graph, plan, programs, asked, trees, inner = thaw(files[FROZEN])
    precision, effort, hints = asked
    arguments, result, held = trees
    source = replace(graph, data=_loaded(files, graph), calls={**graph.calls, **calls})
    saved = {
        (sizes, kind): Built(program, _source(files, i, launches))
        for i, (sizes, kind, program, launches) in enumerate(programs)
    }
    options = Options(precision, (), effort, fallback=False, hints=hints)
    made = Compiled(source, dressed(plan, source), device, options, 0.0, Saved(saved))
    made = _with_inner(made, inner)
    return made, (arguments, result, _held_arrays(files, source, held))


def _held_arrays(
    files: Mapping[str, bytes], graph: Graph, labels: Iterable[str]
) -> dict[str, Array]:
    """The arrays that a function captured, by the inputs that they are."""
    types = {n.attrs[0]: n.type for n in graph.inputs}
    return {
        label: _array(files[f"held/{i}.bin"], types[label])
        for i, label in enumerate(labels)
    }


def _read(path: Path) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The files of a bundle, each of them as it was saved."""
    with open_plain(path) as file:
        try:
            files = _unzipped(file)
            about = _described(files.pop(MANIFEST))
        except Exception as e:  # readers of bytes meet every kind of error
            raise BundleError(
                f"{path}: no bundle, or a damaged one ({_said(e)}); "
                "`.save(path)` of an optimized function writes one"
            ) from e
    _check_format(path, about)
    digests = {k: hashlib.sha256(v).hexdigest() for k, v in files.items()}
    expected = about["files"]
    changed = sorted(
        k for k in {*digests, *expected}
        if digests.get(k) != expected.get(k) or not NAMES.fullmatch(k)
    )  # fmt: skip
    if changed:
        name = changed[0] if changed[0].isprintable() else ascii(changed[0])
        raise BundleError(f"{path}: {name} is not what was saved; save it again")
    if about["schema"] != schema():
        raise BundleError(
            f"{path}: saved by rewrite {about['rewrite']}, whose programs this version "
            "cannot read; save it again"
        )
    return files, about


def _unzipped(file: BinaryIO) -> dict[str, bytes]:
    """Nothing is read of what expands to more than may be."""
    nbytes = os.fstat(file.fileno()).st_size
    with zipfile.ZipFile(file) as zipped:
        parts = zipped.infolist()
        if not _expands(parts, nbytes):
            raise ValueError(
                f"{nbytes} bytes that expand to over {RATIO} times as many"
            )
        names = [x.filename for x in parts]
        twice = next((n for n, k in Counter(names).items() if k > 1), None)
        if twice is not None:
            raise ValueError(f"{twice!a} is in it twice")
        return {x.filename: _part(zipped, x) for x in parts}


def _part(zipped: zipfile.ZipFile, part: zipfile.ZipInfo) -> bytes:
    """As long as the directory says, and no longer: `ZipFile.read` expands it all."""
    with zipped.open(part) as file:
        return file.read(part.file_size)


def _said(e: Exception) -> str:
    """What an error says: some show all the bytes that they met."""
    text = str(e) or type(e).__name__
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _described(manifest: bytes) -> dict[str, Any]:
    """The manifest, with all that is looked up in it."""
    about: Any = json.loads(manifest)
    if not isinstance(about, dict) or "format" not in about:
        raise ValueError(f"{MANIFEST} names no format")
    result = cast(dict[str, Any], about)
    if result["format"] != FORMAT:
        return result
    for name, kind in FIELDS.items():
        if not isinstance(result.get(name), kind):
            raise ValueError(f"{MANIFEST} has no {name!r}")
    if not all(isinstance(call, str) for call in result["calls"]):
        raise ValueError(f"{MANIFEST} has calls without names")
    return result


def _check_format(path: Path, about: Mapping[str, Any]) -> None:
    result = about["format"]
    if result == FORMAT:
        return
    known = OURS.fullmatch(result) if isinstance(result, str) else None
    later = known and int(known[1]) > int(FORMAT.split()[-1])
    if later:
        raise BundleError(
            f"{path}: its format is {result!r}, of a later rewrite "
            f"({ascii(about.get('rewrite'))[:40]}); update rewrite to read it"
        )
    raise BundleError(
        f"{path}: its format is {ascii(result)[:80]}, {FORMAT!r} was expected; save it "
        "again"
    )


def _source(
    files: Mapping[str, bytes], i: int, launches: Mapping[str, Any]
) -> KernelSource:
    return KernelSource(files[f"kernels/{i}.txt"].decode(), launches)


def _loaded(files: Mapping[str, bytes], graph: Graph) -> dict[str, Array]:
    types = enumerate(_data(graph).items())
    return {label: _array(files[f"data/{i}.bin"], t) for i, (label, t) in types}


def _array(data: bytes, t: TensorType) -> Array:
    result = np.frombuffer(bytearray(data), t.dtype.numpy).reshape(concrete(t))
    if result.shape != concrete(t):  # a size below zero is any to NumPy
        raise ValueError(f"an array of {t}")
    return result


__all__ = ["BundleError", "load", "save"]
