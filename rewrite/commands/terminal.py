"""What the commands share: options, files read, errors that a user can mend."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NoReturn, TextIO, cast
from zipfile import BadZipFile, is_zipfile

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from rewrite.egraph.ir.evaluate import InputError
from rewrite.egraph.ir.files import open_plain, read_text
from rewrite.egraph.ir.graph import Graph, GraphError
from rewrite.egraph.ir.printable import printable
from rewrite.egraph.ir.text import parse
from rewrite.egraph.proof.check import CheckError
from rewrite.egraph.proof.explain import ExplainError
from rewrite.egraph.rules.rulefile import RuleFileError
from rewrite.egraph.rules.ruleset import PRECISIONS
from rewrite.egraph.saturate.encode import EncodeError
from rewrite.egraph.saturate.engine import EngineError
from rewrite.extract.memory.remat import MemoryLimitError
from rewrite.extract.schedule.chosen import Untraceable
from rewrite.lower.device import DeviceError

from ..core.costs import EXPECTED, CostName, is_named
from ..core.labels import Unknown
from ..core.options import Precision, count_bytes
from ..report.account import NoExplanation, Unexplained
from ..xp.functions.lapack import with_lapack
from ..xp.tracer import TraceError


class Screen(Console):
    """Text is shown as it is: no markup, no emoji, and nothing that a terminal obeys
    but what rich itself makes of styles."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)

    def render_str(self, text: str, **how: Any) -> Text:  # pyright: ignore[reportIncompatibleMethodOverride]
        return super().render_str(printable(text, keep="\n"), **how)


class Harmless:
    """A stream on which text is `printable`.  `rich_proxied_file`, as rich calls it, is
    the stream itself, for text that is so already and holds colours."""

    def __init__(self, stream: TextIO) -> None:
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        return self.rich_proxied_file.write(printable(text, keep="\n\t"))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


@contextmanager
def harmless_streams() -> Generator[None]:
    """Whatever is printed, names in it are only text."""
    kept = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, Harmless(s)) for s in kept)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = kept


def painted() -> TextIO:
    """Where text goes that was made printable before it was coloured."""
    return getattr(sys.stdout, "rich_proxied_file", sys.stdout)


out = Screen()

# What a user can mend: graphs, inputs, rules, devices, sizes.
USER_ERRORS = (
    GraphError, InputError, RuleFileError, EngineError, EncodeError, ExplainError,
    CheckError, TraceError, DeviceError, Untraceable, MemoryLimitError, Unknown,
    Unexplained, NoExplanation,
)  # fmt: skip

GraphFile = Annotated[Path, typer.Argument(help="A .graph, .onnx or .pt2 file.")]
DeviceName = Annotated[
    str | None, typer.Option(help="cuda, c, opencl, wgpu or numpy; default: the best.")
]
RuleFiles = Annotated[
    list[Path] | None,
    typer.Option("--rules", help="Rule files, added to the bundled ones."),
]
PrecisionName = Annotated[str, typer.Option(help="strict, default, fast or unstable.")]
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
        fail(f"{printable(str(e.filename))}: is a folder; name a file in it")
    except FileNotFoundError as e:
        name, folder = printable(str(e.filename)), Path(str(e.filename)).parent
        said = f"there is no folder {printable(str(folder))}"
        fail(f"{name}: {'no such file' if folder.is_dir() else said}")
    except BrokenPipeError:  # who reads has seen enough, as `head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        raise typer.Exit(128 + signal.SIGPIPE) from None
    except OSError as e:
        fail(f"{printable(str(e.filename or 'file'))}: {e.strerror or e}")


@contextmanager
def progress_bar() -> Generator[Callable[[str, int, int], None]]:
    """A bar on stderr for each kind of work, told (what, done, of); none if piped."""
    from rich.progress import Progress, TaskID

    tasks: dict[str, TaskID] = {}
    console = Screen(stderr=True)
    with Progress(
        console=console, transient=True, disable=not console.is_terminal
    ) as shown:

        def progress(what: str, done: int, of: int) -> None:
            if what not in tasks:
                tasks[what] = shown.add_task(escape(printable(what)), total=of)
            shown.update(tasks[what], completed=done, total=of)

        yield progress


def counted(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def fail(message: str) -> NoReturn:
    print(f"error: {message}", file=sys.stderr)
    raise typer.Exit(2)


def told_unread(errors: Sequence[str]) -> int:
    """Says which files could not be read, where the others were; the exit status, which
    is then that of an error: 0 where there is none."""
    for e in errors:
        print(f"error: {e}", file=sys.stderr)
    return 2 if errors else 0


def check_writable(option: str, path: Path | None) -> None:
    """Before the work that is to be written there."""
    if path is not None and not path.parent.is_dir():
        name, folder = printable(str(path)), printable(str(path.parent))
        fail(f"{option} {name}: there is no folder {folder}; make it first")


def read_graph(path: Path) -> Graph:
    """A graph in text form, an ONNX model, or an exported program of PyTorch."""
    if path.suffix.lower() == ".onnx":
        return read_model(path)
    if path.suffix.lower() == ".pt2":
        return read_exported(path)
    try:
        text = read_text(path)
    except UnicodeDecodeError:
        if is_zipfile(path):
            fail(
                f"{path}: a graph (.graph) or a model (.onnx, .pt2) was expected; a "
                "bundle is run from Python, as in rewrite.load(path)(x), and shown by "
                "`rewrite explain`"
            )
        fail(f"{path}: a text file was expected; see docs/graph.md for the format")
    return with_lapack(parse(text, str(path)))


def read_model(path: Path) -> Graph:
    try:
        import rewrite.onnx
    except ImportError as e:
        fail(str(e))
    try:
        return rewrite.onnx.load(path)
    except rewrite.onnx.ModelError as e:
        fail(str(e))


def read_exported(path: Path) -> Graph:
    from ..authoring.models import NoModel, load

    try:
        return load(path).graph
    except NoModel as e:
        fail(str(e))


def read_arrays(path: Path) -> dict[str, Any]:
    """The arrays of an .npz by name."""
    try:
        with open_plain(path) as file, np.load(file) as result:
            return {k: np.asarray(result[k]) for k in result.files}
    except (ValueError, EOFError, AttributeError, TypeError, BadZipFile):
        fail(
            f"{path}: an .npz of plain arrays by name was expected, as "
            "np.savez(path, x=x) writes it"
        )


def precision_named(text: str) -> Precision:
    if text not in PRECISIONS:
        fail(
            f"--precision {text}: {', '.join(PRECISIONS[:-1])} or {PRECISIONS[-1]} "
            "was expected"
        )
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
        fail(f"--dim {text}: NAME=SIZE was expected, a size of 0 or more, as in b=4")
    return name, int(value)


def named_sizes(texts: Sequence[str] | None) -> dict[str, int]:
    """What several NAME=SIZE say, each name once."""
    given: dict[str, int] = {}
    for name, size in map(named_size, texts or ()):
        if given.setdefault(name, size) != size:
            fail(f"--dim {name}={size}: {name} is {given[name]} already; name it once")
    return given


def sizes(graph: Graph, dims: list[str] | None) -> dict[str, int]:
    """The values of the graph's symbols; each must be given."""
    given = named_sizes(dims)
    for name, size in given.items():
        if name not in graph.symbols:
            known = ", ".join(graph.symbols) or "none"
            fail(f"--dim {name}={size}: no symbol {name}; symbols here: {known}")
    missing = [s for s in graph.symbols if s not in given]
    if missing:
        fail(f"sizes are symbolic: add {' '.join(f'--dim {s}=SIZE' for s in missing)}")
    return given
