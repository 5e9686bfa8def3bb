"""`rewrite extract`: the cheapest choice of nodes of an e-graph in JSON."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from .terminal import AsJson, fail, out, plain_errors

if TYPE_CHECKING:
    from rewrite.extract.dag.methods import Answer, Method, Progress
    from rewrite.extract.dag.serialized import Serialized

QUIET = 2.0  # seconds without a word


def extract(
    file: Annotated[
        Path, typer.Argument(help="An e-graph as JSON (egraph-serialize).")
    ],
    method: Annotated[
        str, typer.Option(help="auto, tree, greedy-dag, local or exact.")
    ] = "auto",
    moves: Annotated[
        int | None,
        typer.Option(min=0, help="Effort of auto and local in steps (20000): the same "
                     "file gives the same answer."),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(min=0.0, help="Effort of auto and exact in seconds; answers may "
                     "differ from run to run."),
    ] = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    r"""Extract the cheapest acyclic choice of nodes from any e-graph.

    Prints cost, bound (no choice costs less), gap and time. An answer is called optimal
    only where that is proved. The proof is HiGHS's: pip install 'rewrite\[exact]'.
    """
    from rewrite.extract.dag.exact import NoSolver
    from rewrite.extract.dag.methods import MOVES, Effort, extracted
    from rewrite.extract.dag.serialized import EGraphError, load
    from rewrite.extract.dag.terms import Infeasible

    with plain_errors(), _progress() as tell:
        how = _checked(method, moves, seconds)
        start = perf_counter()
        try:
            given = load(file)
        except EGraphError as e:
            fail(str(e))
        if seconds is not None:
            seconds = max(0.0, seconds - (perf_counter() - start))
        effort = Effort(MOVES if moves is None else moves, seconds)
        try:
            answer = extracted(given.problem, how, effort, tell)
        except NoSolver as e:
            fail(str(e))
        except Infeasible as e:
            fail(f"{file}: root {json.dumps(given.classes[e.root])}: {e.reason}")
    taken = perf_counter() - start
    if as_json:
        print(json.dumps(_as_json(answer, given, taken), indent=2))
    else:
        _show(answer, taken)


def _checked(method: str, moves: int | None, seconds: float | None) -> Method:
    from rewrite.extract.dag.methods import METHODS

    for known in METHODS:
        if method == known:
            break
    else:
        fail(f"--method {method}: {', '.join(METHODS[:-1])} or {METHODS[-1]} was "
             "expected")  # fmt: skip
    if moves is not None and seconds is not None:
        fail("--moves and --seconds are two ways to say how long: give one of them")
    if moves is not None and known not in ("auto", "local"):
        fail(f"--moves is for auto and local; --method is {method}")
    if seconds is not None and known not in ("auto", "exact"):
        fail(f"--seconds is for auto and exact; --method is {method}")
    if seconds == float("inf"):
        fail(f"--seconds {seconds}: a number of seconds was expected")
    return known


@contextmanager
def _progress() -> Generator[Progress]:
    """Lines on stderr once it takes long: what was found, and a sign of life."""
    start = perf_counter()
    console = Console(stderr=True, highlight=False)
    last = start
    best = float("inf")

    def tell(what: str, cost: float | None) -> None:
        nonlocal last, best
        now = perf_counter()
        better = cost is not None and cost < best
        best = best if cost is None else min(best, cost)
        if now - start > QUIET and (better or now - last > QUIET):
            last = now
            console.print(f"{now - start:.1f} s  {what}: {_number(best)} so far")

    yield tell


def _gap(cost: float, bound: float | None) -> float | None:
    if bound is None:
        return None
    return 0.0 if cost == 0 else (cost - bound) / cost


def _as_json(answer: Answer, given: Serialized, seconds: float) -> dict[str, object]:
    return {
        "method": answer.method,
        "cost": answer.cost,
        "bound": answer.bound,
        "gap": _gap(answer.cost, answer.bound),
        "optimal": answer.optimal,
        "starts": dict(answer.starts),
        "seconds": round(seconds, 3),
        "note": answer.note,
        "choices": {
            given.classes[c]: given.nodes[c][i] for c, i in answer.picked.items()
        },
    }


def _number(x: float) -> str:
    return f"{x:.10g}"


def _show(answer: Answer, seconds: float) -> None:
    table = Table("method", box=None, pad_edge=False)
    for name in ("cost", "bound", "gap", "seconds", "nodes chosen"):
        table.add_column(name, justify="right")
    table.add_column("")
    for name, cost in answer.starts.items():
        table.add_row(name, _number(cost))
    gap = _gap(answer.cost, answer.bound)
    table.add_row(
        answer.method,
        _number(answer.cost),
        "" if answer.bound is None else _number(answer.bound),
        "" if gap is None else f"{gap:.2%}",
        f"{seconds:.2f}",
        str(len(answer.picked)),
        "optimal" if answer.optimal else "",
    )
    out.print(table)
    if answer.note:
        out.print(answer.note, soft_wrap=True, markup=False)
