"""`rewrite why-not`: the first condition of a rule that fails at a node."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rewrite.commands.terminal import (
    AsJson,
    DeviceName,
    Effort,
    PrecisionName,
    RuleFiles,
    fail,
    out,
    plain_errors,
    precision_named,
)

if TYPE_CHECKING:
    from ..authoring.why_not import Answer
    from ..authoring.why_not.price import Prices


def why_not(
    rule: Annotated[str, typer.Argument(help="The name of a rule.")],
    node: Annotated[str, typer.Argument(help="Its name, or %12 as text prints it.")],
    model: Annotated[Path, typer.Argument(help="A .graph or .onnx file.")],
    rules: RuleFiles = None, precision: PrecisionName = "default",
    device: DeviceName = None, effort: Effort = 2, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Why a rule did not fire at a node, or why what it made is not in the result.

    All forms of the node are asked, those that other rules made of it as well.
    """
    from rewrite.authoring.cover import Setting
    from rewrite.authoring.models import NoModel, find, load
    from rewrite.authoring.why_not import why_not as asked
    from rewrite.core.labels import Unknown

    with plain_errors():
        setting = Setting(
            tuple(rules or ()), precision_named(precision), device, effort
        )
        try:
            (path,) = find([model])
            answer = asked(rule, node, load(path), setting)
        except (NoModel, Unknown) as e:
            fail(str(e))
        if as_json:
            print(json.dumps(as_data(answer), indent=2))
        else:
            out.print(text(answer), soft_wrap=True, markup=False)


UNREACHED = 4  # conditions after the one that fails that are shown
MARK = {True: "✓", False: "✗", None: "·"}


def text(a: Answer) -> str:
    verb = "fired" if a.fired else "did not fire"
    back = "" if a.forward else ", read from right to left,"
    lines = [f"{a.rule}{back} {verb} on {a.node}    {a.place}"]
    open_ = [x for x in a.lines if x.held is None][UNREACHED:]
    shown = [x for x in a.lines if x not in open_]
    width = max((len(x.condition) for x in shown), default=0)
    lines += [f"  {MARK[x.held]} {x.condition:{width}}  {x.detail}" for x in shown]
    if len(shown) < len(a.lines):
        lines.append(f"  · and {len(a.lines) - len(shown)} more")
    lines.append(f"{a.reason}: {a.because}")
    if a.costs is not None:
        lines.append(f"predicted for its part of the model: {_costs(a.costs)}")
    lines += [f"note: {n}" for n in a.notes]
    return "\n".join([*lines, _nearest(a)])


SAME = 1e-6  # relative: rounding of the same kernels


def _costs(c: Prices) -> str:
    """What the rule's form would change; a form that is used is part of the plan."""
    chosen = f"{c.chosen * 1e6:.2f} us"
    if not c.needed:
        return f"{chosen}, with or without it"
    if c.used:
        return f"{chosen}, with what the rule made in it"
    if not math.isfinite(c.forced):
        return f"{chosen}; no plan has what the rule made: a macro, or it holds itself"
    if math.isclose(c.forced, c.chosen, rel_tol=SAME):
        return f"{chosen}, and the same with what the rule made: it changes nothing"
    return f"{chosen} as chosen, {c.forced * 1e6:.2f} us with what the rule made"


def _nearest(a: Answer) -> str:
    if not a.nearest:
        return "it fires at no other node of this model" if a.fired else (
            "it fires at no node of this model")  # fmt: skip
    first, *others = a.nearest
    also = f" (and {len(others)} more: {', '.join(others[:3])}" if others else ""
    also += (" …)" if len(others) > 3 else ")") if others else ""
    return f"nearest: {first}, where it fires{also}"


def as_data(a: Answer) -> dict[str, Any]:
    costs = a.costs and {"chosen_s": a.costs.chosen, "forced_s": a.costs.forced}
    return {
        "rule": a.rule, "place": a.place, "node": a.node, "fired": a.fired,
        "reason": a.reason, "because": a.because, "forward": a.forward,
        "conditions": [
            {"condition": x.condition, "held": x.held, "detail": x.detail}
            for x in a.lines
        ],
        "costs": costs, "nearest": a.nearest, "notes": a.notes,
    }  # fmt: skip
