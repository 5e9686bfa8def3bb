"""`rewrite cache`: where what is kept lies and how large it is; and to be rid of it."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.table import Table

from .terminal import AsJson, counted, fail, out, plain_errors

WHAT = {
    "c": "compiled kernels of the c device",
    "cuda": "cubins of the cuda device",
    "opencl": "binaries of the opencl device",
    "plans": "plans and programs",
    "proofs": "verdicts of `rewrite prove`",
    "toolchains": "what compilers can do",
    "measured": "times of `rewrite bench --learn`",
    "rates": "rates of `rewrite calibrate`",
    "tuned": "what `rewrite tune` has chosen",
}
Kinds = Annotated[
    list[str] | None, typer.Argument(help="Of what; default: all but measurements.")
]

cache = typer.Typer(help="Show where cached files are, and their size; `clear`.")


@cache.callback(invoke_without_command=True)
def show(context: typer.Context, as_json: AsJson = False) -> None:
    """What is kept on disk, by kind."""
    from rewrite.backends.store import root, store

    if context.invoked_subcommand is not None:
        return
    with plain_errors():
        folder = root()
        result = {k: [s.st_size for _, s in store(k).files()] for k in WHAT}
    if as_json:
        kinds = {k: {"files": len(v), "bytes": sum(v)} for k, v in result.items()}
        print(json.dumps({"folder": folder and str(folder), "kinds": kinds}, indent=2))
        return
    if folder is None:
        out.print("REWRITE_CACHE=off: nothing is kept")
        return
    table = Table("kind", "files", "MiB", "", box=None)
    for kind, sizes in result.items():
        table.add_row(kind, str(len(sizes)), f"{sum(sizes) / 2**20:.2f}", WHAT[kind])
    out.print(str(folder), soft_wrap=True)
    out.print(table)


@cache.command()
def clear(kinds: Kinds = None) -> None:
    """Delete what can be made again, or these kinds: `rewrite cache clear rates`."""
    from rewrite.backends.store import MADE, store

    with plain_errors():
        for kind in kinds or ():
            if kind not in WHAT:
                fail(f"{kind}: {', '.join(WHAT)} expected")
        gone = [path for k in kinds or MADE for path in store(k).clear()]
    out.print(f"{counted(len(gone), 'file')} deleted")


__all__ = ["cache"]
