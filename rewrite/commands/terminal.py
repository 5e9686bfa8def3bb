"""What the commands share: options, files read, errors that a user can mend."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NoReturn

import numpy as np
import typer
from rich.console import Console

from rewrite.egraph.ir.dims import bind_shape
from rewrite.egraph.ir.evaluate import InputError
from rewrite.egraph.ir.graph import Graph, GraphError
from rewrite.egraph.ir.text import parse
from rewrite.egraph.proof.check import CheckError
from rewrite.egraph.proof.explain import ExplainError
from rewrite.egraph.rules.rulefile import RuleFileError
from rewrite.egraph.saturate.encode import EncodeError
from rewrite.egraph.saturate.engine import EngineError
from rewrite.extract.memory.remat import MemoryLimitError
from rewrite.extract.schedule.chosen import Untraceable
from rewrite.lower.device import DeviceError

from ..authoring.labels import Unknown
from ..core.costs import EXPECTED, CostName, is_named
from ..core.options import Precision, count_bytes
from ..report.account import NoExplanation, Unexplained
from ..xp.tracer import TraceError

out = Console(highlight=False)

# What a user can mend: graphs, inputs, rules, devices, sizes.
USER_ERRORS = (
    GraphError, InputError, RuleFileError, EngineError, EncodeError, ExplainError,
    CheckError, TraceError, DeviceError, Untraceable, MemoryLimitError, Unknown,
    Unexplained, NoExplanation,
)  # fmt: skip

GraphFile = Annotated[Path, typer.Argument(help="A .graph or .onnx file.")]
DeviceName = Annotated[
    str | None, typer.Option(help="cuda, c, opencl, wgpu or numpy; default: the best.")
]
RuleFiles = Annotated[
    list[Path] | None, typer.Option("--rules", help="Rule files beside the bundled.")
]
PrecisionName = Annotated[str, typer.Option(help="strict, default or fast.")]
Dims = Annotated[
    list[str] | None, typer.Option("--dim", help="A symbolic size, as in b=4.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
CostOption = Annotated[str, typer.Option("--cost", help=f"{EXPECTED}.")]
Memory = Annotated[
    str | None,
    typer.Option("--memory", help="Most bytes of temporaries at once, as in 64MiB."),
]
Effort = Annotated[int, typer.Option(help="0 (none) to 3 (most).", min=0, max=3)]


@contextmanager
def plain_errors() -> Generator[None]:
    """Errors that a user can mend are one line on stderr and exit status 2."""
    try:
        yield
    except USER_ERRORS as e:
        fail(str(e))
    except MemoryError as e:
        fail(f"not enough memory ({e}); use smaller sizes (--dim)")
    except IsADirectoryError as e:
        fail(f"{e.filename}: is a folder; name a file in it")
    except FileNotFoundError as e:
        fail(f"{e.filename}: no such file")
    except OSError as e:
        fail(f"{e.filename or 'file'}: {e.strerror or e}")


@contextmanager
def progress_bar() -> Generator[Callable[[str, int, int], None]]:
    """A bar on stderr for each kind of work, told (what, done, of); none if piped."""
    from rich.progress import Progress, TaskID

    tasks: dict[str, TaskID] = {}
    console = Console(stderr=True)
    with Progress(
        console=console, transient=True, disable=not console.is_terminal
    ) as shown:

        def progress(what: str, done: int, of: int) -> None:
            if what not in tasks:
                tasks[what] = shown.add_task(what, total=of)
            shown.update(tasks[what], completed=done, total=of)

        yield progress


def counted(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def fail(message: str) -> NoReturn:
    print(f"error: {message}", file=sys.stderr)
    raise typer.Exit(2)


def read_graph(path: Path) -> Graph:
    """A graph in text form, or an ONNX model."""
    if path.suffix.lower() == ".onnx":
        return read_model(path)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        fail(f"{path}: a text file was expected; see docs/graph.md for the format")
    return parse(text, str(path))


def read_model(path: Path) -> Graph:
    try:
        import rewrite.onnx
    except ImportError as e:
        fail(str(e))
    try:
        return rewrite.onnx.load(path)
    except rewrite.onnx.ModelError as e:
        fail(str(e))


def precision_named(text: str) -> Precision:
    if text not in ("strict", "default", "fast"):
        fail(f"--precision {text}: strict, default or fast was expected")
    return text  # type: ignore[return-value]


def cost_named(text: str) -> CostName:
    if not is_named(text):
        fail(f"--cost {text}: {EXPECTED} was expected")
    return text  # type: ignore[return-value]


def bytes_named(text: str | None) -> int | None:
    """A number of bytes, with a unit or without."""
    try:
        return count_bytes(text)
    except ValueError as e:
        fail(str(e))


def named_size(text: str) -> tuple[str, int]:
    """NAME=SIZE."""
    name, _, value = text.rpartition("=")
    if not (name and value.isascii() and value.isdecimal() and len(value) < 19):
        fail(f"--dim {text}: NAME=SIZE was expected")
    return name, int(value)


def sizes(graph: Graph, dims: list[str] | None) -> dict[str, int]:
    """The values of the graph's symbols; each must be given."""
    given: dict[str, int] = {}
    for text in dims or ():
        name, size = named_size(text)
        if name not in graph.symbols:
            known = ", ".join(graph.symbols) or "none"
            fail(f"--dim {text}: no symbol {name}; symbols here: {known}")
        given[name] = size
    missing = [s for s in graph.symbols if s not in given]
    if missing:
        fail(f"sizes are symbolic: add {' '.join(f'--dim {s}=SIZE' for s in missing)}")
    return given


def random_arrays(
    graph: Graph, bound: dict[str, int], seed: int, deviation: float = 1.0
) -> dict[str, Any]:
    """Normal floats, small integers, coin flips: by input name."""
    rng = np.random.default_rng(seed)
    arrays: dict[str, Any] = {}
    for node in graph.inputs:
        shape = bind_shape(node.shape, bound)
        if node.dtype.is_float:
            value = deviation * rng.standard_normal(shape)
        else:
            value = rng.integers(0, 2 if node.dtype.kind == "bool" else 8, shape)
        arrays[node.attrs[0]] = np.asarray(value).astype(node.dtype.numpy)
    return arrays
