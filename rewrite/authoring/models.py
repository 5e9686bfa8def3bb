"""The models that rules are judged on: `.graph` and `.onnx` files, alone or in folders,
and `.pt2` files of torch.export where they are named: such a file may hold pickles.

A model may come without its weights: an external tensor at the location `random` whose
external data say the `mean`, `std`, `min` and `max` of what was left out (or, of
integers, `min` and `max`).  Such a weight is drawn anew, from its name, so that the
same file always gives the same graph.  `size:NAME` among a model's metadata is the size
to expect of a dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from rewrite.egraph.ir.files import read_text
from rewrite.egraph.ir.graph import Graph, GraphError
from rewrite.egraph.ir.printable import printable
from rewrite.egraph.ir.scalars import Array
from rewrite.egraph.ir.text import parse

if TYPE_CHECKING:
    import onnx

SUFFIXES = (".graph", ".onnx")
EXPORTED = ".pt2"
LEFT_OUT = "random"  # the location of a weight that is not stored


class NoModel(ValueError):
    """A path at which no model can be read; the message says why."""


@dataclass(frozen=True)
class Model:
    """A graph, what to call it, and the sizes to expect of its symbols."""

    name: str
    graph: Graph
    hints: Mapping[str, int] = field(default_factory=dict[str, int])


def find(paths: Sequence[Path]) -> tuple[Path, ...]:
    """The model files at `paths`, folders searched, each once, in order of name."""
    result: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            below = sorted(p for p in path.rglob("*") if p.suffix.lower() in SUFFIXES)
            if not below:
                raise NoModel(f"{path}: holds no .graph and no .onnx file")
            result.update(dict.fromkeys(below))
        elif path.suffix.lower() in (*SUFFIXES, EXPORTED):
            result[path] = None
        else:
            raise NoModel(
                f"{path}: a .graph, .onnx or .pt2 file or a folder was expected"
            )
    return tuple(result)


def single(path: Path) -> Path:
    """A model's file: a folder holds any number."""
    if path.is_dir():
        name = printable(str(path))
        raise NoModel(f"{name}: is a folder; name a .graph, .onnx or .pt2 file in it")
    return find([path])[0]


def names(paths: Sequence[Path]) -> dict[Path, str]:
    """What to call each file: its stem, or all of its path where two share one."""
    stems = [p.stem for p in paths]
    return {p: p.stem if stems.count(p.stem) == 1 else str(p) for p in paths}


type Sizes = tuple[tuple[str, int], ...]  # symbols, and the size to expect of each


def load(path: Path, sizes: Sizes = ()) -> Model:
    """The model at `path`; `sizes` come before those that the file itself names."""
    model = _READERS.get(path.suffix.lower(), _text)(path)
    named = {s: n for s, n in sizes if s in model.graph.symbols}
    return replace(model, hints={**model.hints, **named}) if named else model


def check_sizes(paths: Sequence[Path], sizes: Sizes) -> None:
    """Each size is of a symbol of some model."""
    if not sizes:
        return
    known = dict.fromkeys(s for path in paths for s in load(path).graph.symbols)
    for name, size in sizes:
        if name not in known:
            raise NoModel(f"--dim {name}={size}: no symbol {name}; symbols here: "
                          f"{', '.join(known) or 'none'}")  # fmt: skip


def _text(path: Path) -> Model:
    try:
        text = read_text(path)
    except UnicodeDecodeError:
        raise NoModel(f"{path}: a text file was expected; see docs/graph.md") from None
    graph = parse(text, str(path))
    if not graph.outputs:
        raise GraphError(f"{path}: the graph returns nothing")
    return Model(path.stem, graph)


def _onnx(path: Path) -> Model:
    try:
        import rewrite.onnx as reader
    except ImportError as e:
        raise NoModel(str(e)) from None
    try:
        proto = _without_weights(path) or reader.open_model(path)
        graph = reader.load(proto)
    except reader.ModelError as e:
        raise NoModel(_placed(path, str(e))) from None
    facts = {e.key: e.value for e in proto.metadata_props}
    sizes = {k[5:]: int(v) for k, v in facts.items() if k.startswith("size:")}
    return Model(path.stem, graph, {s: sizes[s] for s in graph.symbols if s in sizes})


def _exported(path: Path) -> Model:
    if not path.is_file():
        raise NoModel(f"{path}: there is no such file")
    try:
        from rewrite.torch.exported import ExportError, read
    except ImportError as e:
        raise NoModel(f"{path}: {e}") from None
    try:
        return Model(path.stem, read(path))
    except ExportError as e:
        raise NoModel(str(e)) from None


_READERS: Mapping[str, Callable[[Path], Model]] = {".onnx": _onnx, EXPORTED: _exported}


def _placed(path: Path, why: str) -> str:
    """A reader's message, which names the file where there is none to read."""
    return why if why.startswith(f"{path}: ") else f"{path}: {why}"


# ---- weights that were left out ------------------------------------------------------


def _without_weights(path: Path) -> onnx.ModelProto | None:
    """The model with every weight that was left out drawn; None where none was."""
    import onnx
    from google.protobuf.message import DecodeError

    try:
        model = onnx.load(str(path), load_external_data=False)  # pyright: ignore[reportUnknownMemberType]
    except (DecodeError, OSError, ValueError):
        return None  # the reader proper says what is wrong with it
    missing = [t for t in model.graph.initializer if _facts(t).get("location")]
    if not any(_facts(t)["location"] == LEFT_OUT for t in missing):
        return None
    for tensor in missing:
        tensor.CopyFrom(onnx.numpy_helper.from_array(_drawn(tensor, path), tensor.name))
    return model


def _facts(tensor: onnx.TensorProto) -> dict[str, str]:
    return {e.key: e.value for e in tensor.external_data}


def _drawn(tensor: onnx.TensorProto, path: Path) -> Array:
    import onnx

    facts = _facts(tensor)
    if facts["location"] != LEFT_OUT:
        raise NoModel(f"{path}: weight {tensor.name} is in {facts['location']}, beside "
                      "weights that were left out; store all or none")  # fmt: skip
    rng = np.random.default_rng((0, crc32(tensor.name.encode())))
    dtype: Any = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
    shape = tuple(tensor.dims)
    low, high = float(facts["min"]), float(facts["max"])
    if "mean" not in facts:
        return rng.integers(int(low), int(high), shape, endpoint=True).astype(dtype)
    drawn = rng.normal(float(facts["mean"]), float(facts["std"]), shape)
    return drawn.clip(low, high).astype(dtype)
