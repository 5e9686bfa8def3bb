"""`rewrite bench`: how fast a program is, and how true the prediction was."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..core.inputs import random_arrays
from .terminal import (
    AsJson,
    CostOption,
    DeviceName,
    Dims,
    Effort,
    Memory,
    PrecisionName,
    RuleFiles,
    bytes_named,
    cost_named,
    fail,
    named_size,
    plain_errors,
    precision_named,
    progress_bar,
    read_graph,
    sizes,
)

if TYPE_CHECKING:
    from rewrite.egraph.ir.graph import Graph
    from rewrite.extract.schedule.kernel import KernelCost

    from ..core.compiled import Compiled
    from ..core.options import Options, Precision
    from ..tuning.measure import Progress, Subject
    from .bench_table import Compared, Predicted, Run

SEED = 0  # of the inputs
# Sums of products of larger values make a softmax of denormals, at which processors are
# ten times slower.
DEVIATION = 0.1
Models = Annotated[list[Path], typer.Argument(help=".graph, .onnx or .pt2 files.")]


def bench(
    models: Models,
    predict: Annotated[
        bool, typer.Option("--predict", help="Each kernel, predicted and measured.")
    ] = False,
    device: DeviceName = None, precision: PrecisionName = "default",
    rules: RuleFiles = None, effort: Effort = 2, dim: Dims = None,
    rounds: Annotated[int, typer.Option(help="Rounds of timing for each.", min=1)] = 15,
    cost: CostOption = "roofline", memory: Memory = None,
    learn: Annotated[
        bool, typer.Option("--learn", help="Keep the times, for --cost measured.")
    ] = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Time optimized graphs or models, and the same without rules.

    With --predict: each kernel alone, how well predictions rank the kernels of all
    models, and the worst misses. Times are medians over turns, on random inputs and
    with warm caches.
    """
    from ..core.options import Options

    with plain_errors(), progress_bar() as tell:
        if learn and not predict:
            fail("--learn keeps the times of kernels: add --predict")
        level, price = precision_named(precision), cost_named(cost)
        options = Options(level, tuple(rules or ()), effort, False, cost=price,
                          memory=bytes_named(memory))  # fmt: skip
        entries = _entries(_given(models, dim), device, options, tell)
        result = (_predicted if predict else _compared)(entries, rounds, tell)
        if learn:
            _learn(result, level)
    if as_json:
        print(json.dumps(result.as_json(), indent=2))
    else:
        result.show()


@dataclass(frozen=True)
class Given:
    """A graph and the sizes to run it at."""

    path: Path
    graph: Graph
    sizes: dict[str, int]


@dataclass(frozen=True)
class Entry:
    """A graph as optimized, and its program, ready to be timed."""

    given: Given
    compiled: Compiled
    subject: Subject


def _given(models: list[Path], dim: list[str] | None) -> list[Given]:
    graphs = [(path, read_graph(path)) for path in models]
    known = {s for _, g in graphs for s in g.symbols}
    for text in dim or ():
        if named_size(text)[0] not in known:
            among = ", ".join(sorted(known)) or "none"
            fail(f"--dim {text}: no such symbol; symbols here: {among}")
    out: list[Given] = []
    for path, graph in graphs:
        theirs = [t for t in dim or () if named_size(t)[0] in graph.symbols]
        called = {n.attrs[0] for n in graph.nodes if n.op == "call"}
        if foreign := sorted(called - set(graph.calls)):
            fail(f"{path}: the host function {foreign[0]!r} is only known to Python")
        out.append(Given(path, graph, sizes(graph, theirs)))
    return out


def _entries(
    given: list[Given], device: str | None, options: Options, tell: Progress
) -> list[Entry]:
    from ..pipeline import optimize_graph

    out: list[Entry] = []
    for k, g in enumerate(given):
        tell("models optimized", k, len(given))
        c = optimize_graph(g.graph, device, replace(options, hints=g.sizes))
        out.append(Entry(g, c, _subject(c, g.sizes)))
    tell("models optimized", len(given), len(given))
    return out


def _subject(c: Compiled, sizes: dict[str, int]) -> Subject:
    from ..tuning.measure import Subject

    ready = c.executable(sizes)
    assert ready is not None, "without fallback there is a program or an error"
    return Subject(ready, random_arrays(c.source, sizes, SEED, DEVIATION))


def _predicted(entries: list[Entry], rounds: int, tell: Progress) -> Predicted:
    from ..tuning.measure import measure
    from .bench_table import Predicted

    times = measure([e.subject for e in entries], _price(entries), rounds, tell)
    names = [e.given.path.name for e in entries]
    return Predicted(
        entries[0].compiled.device, rounds, tuple(zip(names, times, strict=True))
    )


def _compared(entries: list[Entry], rounds: int, tell: Progress) -> Compared:
    from statistics import median

    from ..tuning.measure import turns, whole
    from .bench_table import Compared, Row

    price = _price(entries)
    pairs = [(_without_rules(e, price), e.subject) for e in entries]
    timers = [whole(s) for pair in pairs for s in pair]
    seconds = iter(map(median, turns(timers, rounds, tell)))
    rows = [
        Row(
            e.given.path.name,
            _run(plain, price, next(seconds)),
            _run(chosen, price, next(seconds)),
        )
        for e, (plain, chosen) in zip(entries, pairs, strict=True)
    ]
    return Compared(entries[0].compiled.device, rounds, tuple(rows))


def _run(subject: Subject, price: KernelCost, seconds: float) -> Run:
    from ..tuning.measure import launches, predicted
    from .bench_table import Run

    ready = subject.ready
    return Run(len(launches(ready)), predicted(ready, price), seconds)


def _without_rules(entry: Entry, price: KernelCost) -> Subject:
    from ..core.planning import without_rules

    sizes = entry.given.sizes
    return _subject(without_rules(entry.compiled, price, sizes), sizes)


def _price(entries: list[Entry]) -> KernelCost:
    from ..core.costs import cost_for

    c = entries[0].compiled
    return cost_for(c.device, c.options.precision, c.options.cost)


def _learn(found: Predicted | Compared, precision: Precision) -> None:
    from ..cache.learned import database, learn
    from .bench_table import Predicted

    assert isinstance(found, Predicted)
    path = database(found.device, precision == "strict")
    if path is None:
        fail("--learn: REWRITE_CACHE=off keeps no times; name a folder")
    learn(path, {k.digest: k.measured for k in found.kernels})
