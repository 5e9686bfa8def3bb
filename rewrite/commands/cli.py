"""The command line: `rewrite demo`, `run`, `optimize`, `explain`, `bench`, ..."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from rewrite.egraph.ir.dtypes import described
from rewrite.egraph.ir.evaluate import evaluate, expand_macros
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.ir.printable import printable
from rewrite.egraph.ir.text import show
from rewrite.extract.memory.place import plan_memory
from rewrite.extract.schedule.steps import own_groups, schedule
from rewrite.extract.text import show as show_schedule

from ..api import compile_graph, show_kernels
from ..core.compiled import Compiled
from ..core.costs import name_of
from ..core.fitting import device_reuse
from ..core.inputs import random_arrays
from ..core.options import Precision
from ..fuzz.oracle import compare
from ..report.accuracy import compared, largest_error
from ..version import VERSION
from . import register
from .bench import bench
from .cache import cache
from .calibrate import calibrate
from .check import check
from .explain import diff, explain
from .extract import extract
from .terminal import (
    AsJson,
    CostOption,
    DeviceName,
    Dims,
    Effort,
    GraphFile,
    Memory,
    PrecisionName,
    RuleFiles,
    bytes_named,
    check_writable,
    cost_named,
    fail,
    harmless_streams,
    named_sizes,
    out,
    plain_errors,
    precision_named,
    read_arrays,
    read_graph,
    sizes,
)
from .tune import tune

FAST_ERROR = 1e-2  # of the largest value: several laws of 1e-3 in a row

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        print(f"rewrite {VERSION}")
        raise typer.Exit


@app.callback()
def whole(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True,
                           help="The version, and nothing else.")
    ] = False,
) -> None:  # fmt: skip
    """A declarative tensor-graph optimizer on e-graphs."""


UNCOMPARED = 3  # the exit status where a model was written and not compared


def optimize_model(
    file: Path, output: Path, level: Precision, rules: list[Path] | None, effort: int,
    dim: list[str] | None, opset: int | None, target: str, check: bool,
    explain: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """A model in, a model out; one line of result."""
    if file.suffix.lower() != ".onnx":
        fail(f"{output}: a model is written from a model; {file} is none (.onnx)")
    if explain is not None and explain.resolve() in (file.resolve(), output.resolve()):
        fail(f"--explain {explain}: a file of its own was expected, not the model")
    check_writable("--explain", explain)
    try:
        from .onnx import run_command
    except ImportError as e:
        fail(str(e))
    try:
        result = run_command(
            file, output, explain, rules=list(rules or ()), precision=level,
            effort=effort, opset=opset, dims=named_sizes(dim),
            target=target, check=check,
        )  # fmt: skip
    except ValueError as e:  # ModelError among them
        fail(str(e))
    if as_json:
        print(json.dumps(result.summary(), indent=2))
    else:
        out.print(f"{output}: {result}", soft_wrap=True)
        for note in result.notes:
            out.print(f"note: {note}", soft_wrap=True)
    if check and result.error is None:
        raise typer.Exit(UNCOMPARED)


def compiled(
    path: Path, device: str | None, precision: str, rules: list[Path] | None,
    effort: int, hints: dict[str, int] | None = None, cost: str = "roofline",
    memory: str | None = None,
) -> Compiled:  # fmt: skip
    level, price = precision_named(precision), cost_named(cost)
    return compile_graph(
        read_graph(path), device, precision=level, rules=list(rules or ()),
        effort=effort, fallback=False, hints=hints, cost=price,
        memory=bytes_named(memory),
    )  # fmt: skip


def summary(c: Compiled, bound: dict[str, int] | None = None) -> dict[str, Any]:
    live = c.source.live
    return {
        "nodes": {"before": len(live), "after": len(c.plan.graph.live)},
        "kernels": {"before": c.plan.own_kernels, "after": len(c.plan.groups)},
        "predicted_us": {
            "before": c.plan.own_seconds * 1e6,
            "after": c.plan.seconds * 1e6,
        },
        "memory": memory_of(c, bound),
        "optimize_s": c.optimize_seconds,
        "device": c.device.name,
        "cost": name_of(c.options.cost),
        "rules": c.plan.fired,
        "notes": list(c.plan.notes),
    }


def memory_of(c: Compiled, bound: dict[str, int] | None) -> dict[str, int] | None:
    """Bytes of the arena for the input's own schedule and for the plan, and the most
    that is alive at one step; None where sizes are not known."""
    if c.source.symbols and not bound:
        return None
    graph = expand_macros(c.source)
    steps = schedule(graph, own_groups(graph), bound)
    before = plan_memory(steps, device_reuse(c.device, c.strict))
    after = c.memory(bound)
    return {
        "before": before.arena,
        "after": after.arena,
        "bound": after.lower_bound,
        "in_place": len(after.reused) + len(after.in_place),
    }


def print_summary(c: Compiled, bound: dict[str, int] | None = None) -> None:
    s = summary(c, bound)
    for key in ("nodes", "kernels"):
        out.print(f"{key:10} {s[key]['before']:>8} -> {s[key]['after']}")
    p = s["predicted_us"]
    where = f"on {s['device']}"
    if s["cost"] != "roofline":
        where += f" by {s['cost']}"
    out.print(f"{'predicted':10} {p['before']:>8.1f} -> {p['after']:.1f} us {where}")
    if m := s["memory"]:
        out.print(
            f"{'memory':10} {m['before']:>8} -> {m['after']} bytes, "
            f"bound {m['bound']}, {m['in_place']} values in place",
            soft_wrap=True,
        )
    how = "found" if c.was_kept else "optimized"
    out.print(f"{how:10} in {s['optimize_s']:.2f} s")
    for note in s["notes"]:
        out.print(f"note: {note}")


@app.command()
def optimize(
    file: GraphFile,
    output: Annotated[
        Path | None, typer.Argument(help="A .graph file, or a model from a model.")
    ] = None,
    device: DeviceName = None, precision: PrecisionName = "default",
    rules: RuleFiles = None, effort: Effort = 2, dim: Dims = None,
    cost: CostOption = "roofline",
    code: Annotated[bool, typer.Option(help="Print the kernels' source.")] = False,
    loops: Annotated[bool, typer.Option(help="Print the kernels' loops.")] = False,
    tiles: Annotated[bool, typer.Option(help="Print their tile programs.")] = False,
    steps: Annotated[
        bool, typer.Option("--schedule", help="Print the kernels and their order.")
    ] = False,
    opset: Annotated[int | None, typer.Option(help="Opset of the result.")] = None,
    target: Annotated[
        str, typer.Option("--for", help="predicted cost, or onnxruntime: by the clock.")
    ] = "predicted",
    check: Annotated[bool, typer.Option(help="Run both models, compare.")] = True,
    explain: Annotated[
        Path | None, typer.Option(help="Write a page on a model (HTML).")
    ] = None,
    memory: Memory = None, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Optimize a graph for a device, or an ONNX model as a model (IN.onnx OUT.onnx)."""
    with plain_errors():
        if output is not None and output.suffix.lower() == ".onnx":
            kernels = device is not None or code or loops or tiles or steps or memory
            if kernels or name_of(cost_named(cost)) != "roofline":
                fail("--device, --cost, --memory, --code, --loops, --tiles and "
                     "--schedule are for kernels; a model is written here")  # fmt: skip
            optimize_model(file, output, precision_named(precision), rules, effort, dim,
                           opset, target, check, explain, as_json)  # fmt: skip
            return
        if output is not None and output.suffix.lower() != ".graph":
            fail(f"{output}: a .graph file was expected, or .onnx from a model")
        if explain is not None or opset is not None or target != "predicted":
            fail("--explain, --opset and --for are for models: name OUT.onnx as well")
        graph = read_graph(file)
        texts = code or loops or tiles or steps
        bound = sizes(graph, dim) if dim or (texts and graph.symbols) else {}
        c = compiled(file, device, precision, rules, effort, bound, cost, memory)
        if output is not None:
            output.write_text(show(c.plan.graph), encoding="utf-8")
        if as_json:
            print(
                json.dumps({**summary(c, bound), "graph": show(c.plan.graph)}, indent=2)
            )
            return
        print_summary(c, bound)
        if not c.source.symbols or bound:
            out.print(show_kernels(c.kernels(bound)), soft_wrap=True)
        else:
            some = " ".join(f"--dim {s}=SIZE" for s in graph.symbols)
            out.print(f"kernels: sizes are symbolic; add {some} to see them")
        if tiles:
            print(c.tiles(bound))
        if steps:
            print(show_schedule(c.schedule(bound)))
        if loops:
            print(c.loops(bound))
        if code:
            print(c.code(bound))
        if output is None and not texts:
            print(show(c.plan.graph))


@app.command()
def run(
    file: GraphFile, device: DeviceName = None, precision: PrecisionName = "default",
    rules: RuleFiles = None, effort: Effort = 2, dim: Dims = None,
    cost: CostOption = "roofline",
    seed: Annotated[int, typer.Option(help="Seed of the random inputs.", min=0)] = 0,
    inputs: Annotated[
        Path | None, typer.Option(help="An .npz with the inputs by name.")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Write outputs to an .npz.")] = None,
) -> None:  # fmt: skip
    """Run a graph, optimized, and compare it with the reference evaluator."""
    check_writable("--save", save)
    with plain_errors():
        graph = read_graph(file)
        if not graph.outputs:
            fail(f"{file}: the graph returns nothing: there is nothing to run")
        if inputs is None:
            arrays = random_arrays(graph, sizes(graph, dim), seed)
        elif dim:
            fail(f"--dim {dim[0]}: the arrays of --inputs say the sizes; leave it out")
        else:
            arrays = read_arrays(inputs)
        calls = {n.attrs[0] for n in graph.nodes if n.op == "call"}
        foreign = sorted(calls - set(graph.calls))
        if foreign:
            fail(f"{file}: the host function {foreign[0]!r} is only known to Python")
        c = compiled(file, device, precision, rules, effort, cost=cost)
        want = evaluate(graph, arrays, "f64")
        got = c({k: a.copy() for k, a in arrays.items()})  # an alias overwrites it
        for label, value in got.items():
            error = "error not known, no value is finite"
            if compared(want[label], value):
                error = f"error {largest_error(value, want[label]):.2e}"
            head = np.array2string(value.ravel()[:6], precision=5, separator=", ")
            kind = described(value)
            name = printable(label)
            out.print(f"{name}: {kind} {head} {error}", soft_wrap=True)
        for note in c.plan.notes:
            out.print(f"note: {note}", soft_wrap=True)
        if save is not None:
            with save.open("wb") as target:  # np.savez itself adds .npz to a name
                np.savez(target, allow_pickle=False, **got)
        wrong = first_wrong(graph, arrays, got, precision)
        if wrong is not None:
            theirs = "".join(f" --rules {r}" for r in rules or ())
            print(
                f"wrong: {wrong}\n`rewrite reduce {file}{theirs}` cuts it down, "
                "and says which rules it takes, if any",
                file=sys.stderr,
            )
            raise typer.Exit(1)


def first_wrong(
    graph: Graph, arrays: dict[str, Any], got: dict[str, Any], precision: str
) -> str | None:
    """The worst element that is further off than rounding explains."""
    if precision in ("strict", "default"):
        return compare(graph, arrays, got, "smooth")
    want = evaluate(graph, arrays, "f64")
    error, label = max((largest_error(v, want[k]), k) for k, v in got.items())
    return None if error <= FAST_ERROR else f"{label} has an error of {error:.2e}"


@app.command()
def devices(
    dtypes: Annotated[
        bool, typer.Option("--dtypes", help="Which element types each one has.")
    ] = False,
) -> None:
    """List the devices, and say why one cannot be used here."""
    from rewrite.backends.devices import describe, matrix

    if dtypes:
        for row in matrix():
            print("".join(f"{cell:<9}" for cell in row).rstrip())
        return
    table = Table("device", "", "detail", box=None)
    for name, probe in describe():
        table.add_row(name, "yes" if probe.ok else "no", probe.detail)
    out.print(table)


@app.command()
def demo(
    device: DeviceName = None,
    report: Annotated[
        Path, typer.Option(help="Where to write the picture (HTML).")
    ] = Path("rewrite-demo.html"),
    batch: Annotated[int, typer.Option(help="Sequence length.", min=1)] = 256,
    width: Annotated[int, typer.Option(help="Model width.", min=1)] = 256,
) -> None:
    """Optimize a transformer block in plain array code; draw it before and after."""
    from .demo import run_demo

    check_writable("--report", report)
    with plain_errors():
        run_demo(device, report, batch, width, out)


@app.command()
def fuzz(
    count: Annotated[int, typer.Option(help="How many graphs.", min=1)] = 1000,
    first: Annotated[int, typer.Option(help="The first seed.", min=0)] = 0,
    device: DeviceName = None,
    mode: Annotated[str, typer.Option(help="exact, smooth or both.")] = "both",
    rules: RuleFiles = None,
) -> None:
    """Random graphs, optimized and run, against the reference evaluator."""
    from rewrite.backends.devices import pick_device

    from ..fuzz.draw import Mode
    from ..fuzz.pipeline import fuzz as run_fuzz

    if mode not in ("exact", "smooth", "both"):
        fail(f"--mode {mode}: exact, smooth or both was expected")
    modes: list[Mode] = ["exact", "smooth"] if mode == "both" else [mode]  # type: ignore[list-item]
    with plain_errors(), Progress(console=Console(stderr=True)) as bar:
        target = pick_device(device)
        failed = 0
        for m in modes:
            n = count // len(modes) + (m == "exact" and count % len(modes))
            task = bar.add_task(f"{m} on {target.name}", total=n)
            for f in run_fuzz(
                [target], first, n, m, progress=lambda k, t=task: bar.advance(t, k),
                files=tuple(rules or ()),
            ):  # fmt: skip
                failed += 1
                print(f)
    print(f"{count} graphs on {target.name}, {failed} wrong")
    raise typer.Exit(1 if failed else 0)


app.add_typer(cache, name="cache")
app.command()(calibrate)
app.command()(explain)
app.command()(diff)
app.command()(extract)
app.command()(bench)
app.command()(check)
app.command()(tune)
register(app)


def main() -> None:
    with harmless_streams():
        app()
