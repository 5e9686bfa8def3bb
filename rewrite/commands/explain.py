"""`rewrite explain` and `rewrite diff`: why a result is as it is, and what changed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rewrite.commands.terminal import (
    AsJson,
    CostOption,
    DeviceName,
    Dims,
    Effort,
    Memory,
    PrecisionName,
    RuleFiles,
    bytes_named,
    check_writable,
    cost_named,
    fail,
    named_sizes,
    painted,
    plain_errors,
    precision_named,
    progress_bar,
)

if TYPE_CHECKING:
    from rewrite.egraph.ir.graph import Graph

    from ..core.compiled import Compiled
    from ..core.options import Options
    from ..report.diff import Json
    from ..report.prose import Paint

Model = Annotated[Path, typer.Argument(help="A .graph, .onnx or .rw file.")]
Run = Annotated[bool, typer.Option("--run/--no-run", help="Measure errors.")]


def explain(
    model: Model,
    node: Annotated[
        str, typer.Option("--node", help="What became of this node, and why.")
    ] = "",
    kernel: Annotated[
        str, typer.Option("--kernel", help="Only this kernel, as in k3.")
    ] = "",
    ablate: Annotated[
        bool, typer.Option("--ablate", help="Do all again without each rule used.")
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Also steps that only move elements.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="All steps, bindings, nothing cut short.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write a page (offline, one file).")
    ] = None,
    device: DeviceName = None, precision: PrecisionName = "default",
    rules: RuleFiles = None, effort: Effort = 2, dim: Dims = None,
    cost: CostOption = "roofline", memory: Memory = None, run: Run = True,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Explain why the result looks as it does, and prove that it equals the input.

    The kernels, what each stores and what else was possible; then the rules used, each
    step checked (docs/explain.md).
    """
    from ..report.prose import prose

    with plain_errors():
        check_writable("--html", html)
        options = _options(precision, rules, effort, cost, memory)
        c, bound = _compiled(model, device, options, dim)
        with progress_bar() as told:
            from ..report.explain import account

            result = account(c, bound, node=node, kernel=kernel, ablate=ablate, run=run,
                            told=told)  # fmt: skip
        if model.suffix.lower() == ".onnx":  # exporters call all graphs alike
            result = replace(result, model=model.stem)
        if html is not None:
            html.write_text(result.html(), encoding="utf-8")
            print(f"{html}: written", file=sys.stderr)
        if as_json:
            print(json.dumps(result.json(), indent=1, allow_nan=False))
        elif html is None:
            print(prose(result, _paint(), folded=not every, full=full), file=painted())


def diff(
    models: Annotated[
        list[Path],
        typer.Argument(help="One model; or two of .graph, .onnx, .rw, .json."),
    ],
    rules: Annotated[
        list[str] | None,
        typer.Option("--rules", help="Rule files (a,b); twice. - : the bundled alone."),
    ] = None,
    device: Annotated[
        list[str] | None, typer.Option("--device", help="One for both, or twice.")
    ] = None,
    precision: PrecisionName = "default", effort: Effort = 2, dim: Dims = None,
    cost: CostOption = "roofline", as_json: AsJson = False,
) -> None:  # fmt: skip
    """Which kernels changed between two rule sets, devices or versions, and by which
    rule.

    `rewrite diff MODEL --rules A --rules B`, `rewrite diff MODEL --device X --device
    Y`, or `rewrite diff A B`, where each is a model, a bundle, or what `rewrite explain
    --json` has printed.
    """
    from ..report.diff import diff as compare
    from ..report.diff import shown

    with plain_errors():
        pair = _pair(models, rules, device)
        sides = [
            _Explained(path, d, _options(precision, r, effort, cost, None), dim, name)
            for path, r, d, name in pair
        ]
        with progress_bar() as told:
            result = compare(
                sides[0].json(), sides[1].json(), (sides[0].name, sides[1].name),
                lambda side, rule: sides[side].without(rule, told),
            )  # fmt: skip
    print(
        json.dumps(result.json(), indent=1, allow_nan=False)
        if as_json
        else shown(result, _paint()),
        file=painted(),
    )


type _Asked = tuple[Path, list[Path] | None, str | None, str]


def _pair(
    models: Sequence[Path], rules: Sequence[str] | None, device: Sequence[str] | None
) -> list[_Asked]:
    """What the two sides are."""
    sets, places = list(rules or []), list(device or [])
    if len(models) > 2 or len(sets) > 2 or len(places) > 2:
        fail("two sides are compared: name at most two of each")
    if len(models) == 1 and max(len(sets), len(places)) < 2:
        fail(
            f"{models[0]}: with what? Name a second model, or --rules or --device twice"
        )
    out: list[_Asked] = []
    for k in (0, 1):
        path = models[min(k, len(models) - 1)]
        chosen = sets[min(k, len(sets) - 1)] if sets else "-"
        where = places[min(k, len(places) - 1)] if places else None
        files = None if chosen == "-" else [Path(f) for f in chosen.split(",")]
        said = [str(path), *([f"rules {chosen}"] if len(sets) > 1 else []),
                *([f"on {where}"] if len(places) > 1 else [])]  # fmt: skip
        out.append((path, files, where, ", ".join(said)))
    return out


class _Explained:
    """One side of a comparison: read, or explained when it is asked for."""

    def __init__(
        self, path: Path, device: str | None, options: Options,
        dim: list[str] | None, name: str,
    ) -> None:  # fmt: skip
        self.path, self.device, self.options = path, device, options
        self.dim, self.name = dim, name
        self.again: dict[str, tuple[str, ...]] = {}
        self.compiled: Compiled | None = None

    def json(self) -> Json:
        if self.path.suffix.lower() == ".json":
            return _read_json(self.path)
        from ..report.explain import account

        self.compiled, bound = _compiled(self.path, self.device, self.options, self.dim)
        return account(self.compiled, bound, run=False).json()

    def without(
        self, rule: str, told: Callable[[str, int, int], None]
    ) -> tuple[str, ...] | None:
        """Kernels that are lost without a rule; None for what was only read."""
        if self.compiled is None:
            return None
        from ..report.explain import lost_without

        if rule not in self.again:
            self.again[rule] = lost_without(self.compiled, rule)
            told("rules left out", len(self.again), len(self.again))
        return self.again[rule]


def _read_json(path: Path) -> Json:
    from rewrite.egraph.ir.files import read_text

    try:
        result: Any = json.loads(read_text(path))
    except ValueError as e:
        fail(f"{path}: JSON was expected, as `rewrite explain --json` prints it ({e})")
    if not isinstance(result, dict):
        fail(
            f"{path}: an explanation was expected; `rewrite explain --json` prints one"
        )
    return result  # pyright: ignore[reportUnknownVariableType]


# ---- models --------------------------------------------------------------------------


def _options(
    precision: str, rules: list[Path] | None, effort: int, cost: str,
    memory: str | None,
) -> Options:  # fmt: skip
    from ..core.options import Options

    return Options(
        precision_named(precision), tuple(rules or ()), effort, False,
        cost=cost_named(cost), cache=True, memory=bytes_named(memory),
    )  # fmt: skip


def _compiled(
    path: Path, device: str | None, options: Options, dim: list[str] | None
) -> tuple[Compiled, dict[str, int]]:
    """The optimized model, and the sizes that were named."""
    from ..authoring.models import NoModel, load
    from ..pipeline import optimize_graph

    kind = path.suffix.lower()
    if kind == ".rw":
        c = _bundle(path, device, options)
        return c, _sizes(c.source, dim)
    if kind == ".py":
        fail(f"{path}: code is not run from here; in it, call `.explain()` of what "
             "`rewrite.optimize` returns")  # fmt: skip
    if kind == ".json":
        fail(
            f"{path}: an explanation explains itself; name the model, or `rewrite diff`"
        )
    try:
        model = load(path)
    except NoModel as e:
        fail(str(e))
    bound = {**model.hints, **_sizes(model.graph, dim)}
    return optimize_graph(model.graph, device, replace(options, hints=bound)), bound


def _sizes(graph: Graph, dim: list[str] | None) -> dict[str, int]:
    """Sizes of some of the symbols: an explanation needs none."""
    bound = named_sizes(dim)
    for name in bound:
        if name not in graph.symbols:
            known = ", ".join(graph.symbols) or "none"
            fail(f"--dim {name}={bound[name]}: no symbol {name}; symbols here: {known}")
    return bound


def _bundle(path: Path, device: str | None, options: Options) -> Compiled:
    """A bundle holds its plan; the rule files that it was made with are named anew."""
    from ..core.bundle import BundleError, load

    try:
        c, _ = load(path, device)
    except BundleError as e:
        fail(f"{e}, or explain the model that it was made from")
    return replace(c, options=replace(c.options, rules=options.rules))


# ---- the terminal --------------------------------------------------------------------


def _paint() -> Paint:
    """Colour where a person reads along."""
    from ..report.prose import coloured, plain

    return coloured if sys.stdout.isatty() else plain
