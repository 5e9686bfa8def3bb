"""Models in: from a path, bytes or a proto to a graph, and to a compiled program."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from os import PathLike
from pathlib import Path

try:
    import onnx
    from google.protobuf import json_format, text_format
    from google.protobuf.message import DecodeError
except ImportError:
    raise ImportError("ONNX models need `pip install 'rewrite[onnx]'`") from None

from rewrite.egraph.ir.dims import symbol
from rewrite.egraph.ir.files import open_plain
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.ir.scalars import Array

from .loader import Loader
from .order import in_order
from .value import ModelError

ROUNDS = 4  # of finding multiples for sizes
COARSEST = 1 << 12  # of these


class NeedsInputs(ModelError):
    """Shapes depend on the values of the inputs `names`."""

    def __init__(self, message: str, names: AbstractSet[str]) -> None:
        super().__init__(f"{message}; it may depend on {', '.join(sorted(names))}")
        self.names = frozenset(names)


type Model = str | Path | bytes | onnx.ModelProto


def open_model(model: Model) -> onnx.ModelProto:
    """The proto of a model, its nodes in order; data outside of its file are read from
    beside it."""
    if isinstance(model, onnx.ModelProto):
        return in_order(model)
    if not isinstance(model, str | PathLike | bytes):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            "a model was expected: a path, the bytes of a file or a ModelProto, found "
            f"a {type(model).__name__}"
        )
    result = _decoded(model)
    if not result.HasField("graph") or not result.opset_import:
        where = "the model" if isinstance(model, bytes) else str(model)
        raise ModelError(f"{where}: no ONNX model (it has no graph or no opset)")
    return in_order(result)


def _decoded(model: str | Path | bytes) -> onnx.ModelProto:
    try:
        if isinstance(model, bytes):
            return onnx.load_model_from_string(model)
        open_plain(model, given=True).close()
        return onnx.load_model(str(model))  # pyright: ignore[reportUnknownMemberType]
    except FileNotFoundError as e:
        raise ModelError(f"{e.filename or model}: no such file") from None
    except OSError as e:
        raise ModelError(f"{e.filename or model}: {e.strerror or e}") from None
    except (
        DecodeError, ValueError, onnx.checker.ValidationError, onnx.parser.ParseError,
        json_format.Error, text_format.Error,
    ) as e:  # fmt: skip
        where = "the model" if isinstance(model, bytes) else str(model)
        why = " ".join(str(e).split()) or "it cannot be decoded"
        raise ModelError(f"{where}: no ONNX model ({why})") from None


def load(
    model: Model,
    dims: Mapping[str, int] | None = None,
    given: Mapping[str, Array] | None = None,
) -> Graph:
    """The model as a graph; `dims` gives sizes to named dimensions.

    `given` gives values to inputs that shapes depend on; the graph then holds for these
    values.  `NeedsInputs` names the inputs that a model must be given.

    Sizes without a number are symbols, which stand for 1 or more.  A model that halves
    a size and doubles it again can be read only for even ones: then the input's size is
    written as `2*h_by_2`, for the least number that will do.
    """
    proto, first = open_model(model), ModelError("")
    steps: dict[str, int] = {}  # what sizes are multiples of
    for k in range(ROUNDS):
        made = {s: n * symbol(f"{s}_by_{n}") for s, n in steps.items()}
        loader = Loader(proto, {**(dims or {}), **made}, given)
        try:
            return loader.graph()
        except ModelError as e:
            names = loader.wanted - set(given or {})
            if names:
                raise NeedsInputs(str(e), names) from None
            first = first if k else e
            more = _coarser(steps, loader.divisors())
            if not more or max(more.values()) > COARSEST:
                break
            steps |= more
    raise first


def _coarser(steps: Mapping[str, int], divisors: Mapping[str, int]) -> dict[str, int]:
    """Multiples that `divisors` divide; those of sizes in `steps` are of a part."""
    whole = {f"{s}_by_{n}": s for s, n in steps.items()}
    base = ((whole.get(s, s), n) for s, n in divisors.items())
    return {s: steps.get(s, 1) * n for s, n in base}


__all__ = ["Model", "ModelError", "NeedsInputs", "load", "open_model"]
