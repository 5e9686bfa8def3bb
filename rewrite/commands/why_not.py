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
    Dims,
    Effort,
    PrecisionName,
    RuleFiles,
    fail,
    named_sizes,
    out,
    plain_errors,
    precision_named,
)

if TYPE_CHECKING:
    from ..authoring.why_not import Answer, Widened
    from ..authoring.why_not.price import Prices


def why_not(
    asked: Annotated[
        list[str],
        typer.Argument(
            metavar="[RULE NODE] MODEL",
            help="A rule's name, a node's (or %12 as text prints it), and a .graph or "
            ".onnx file; of a file alone, which rules the precision keeps out.",
        ),
    ],
    rules: RuleFiles = None, precision: PrecisionName = "default",
    device: DeviceName = None, effort: Effort = 2, dim: Dims = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Why a rule did not fire at a node, or why what it made is not in the result.

    All forms of the node are asked, those that other rules made of it as well.  Of a
    model alone: which rules would help it that the precision does not allow, and the
    option that does.
    """
    from rewrite.authoring.cover import Setting
    from rewrite.authoring.models import NoModel, check_sizes, load, single
    from rewrite.authoring.why_not import why_not as answered
    from rewrite.authoring.why_not import widened
    from rewrite.core.labels import Unknown

    with plain_errors():
        if len(asked) not in (1, 3):
            fail("why-not RULE NODE MODEL, or why-not MODEL, was expected")
        *question, file = asked
        level, bound = precision_named(precision), tuple(named_sizes(dim).items())
        setting = Setting(tuple(rules or ()), level, device, effort, sizes=bound)
        try:
            path = single(Path(file))
            check_sizes([path], bound)
            model = load(path, bound)
            if question:
                answer = answered(question[0], question[1], model, setting)
                shown, data = text(answer), as_data(answer)
            else:
                found = widened(model, setting)
                shown, data = widened_text(found), widened_data(found)
        except (NoModel, Unknown) as e:
            fail(str(e))
        if as_json:
            print(json.dumps(data, indent=2))
        else:
            out.print(shown, soft_wrap=True, markup=False)


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


# ---- of a model alone ----------------------------------------------------------------

LOSES = {
    "ieee": "may change the sign of a zero",
    "real": "round differently, and take numbers to be finite",
    "approx": "are less exact, by as much as they say",
    "unstable": "lose digits where terms cancel, or overflow sooner",
}  # what the rules of a contract do that narrower ones do not


def widened_text(w: Widened) -> str:
    lines = [
        f"{w.model}: {w.seconds * 1e6:.2f} us predicted at --precision {w.precision}"
    ]
    for x in w.wider:
        lines.append(f"{x.seconds * 1e6:.2f} us at --precision {x.precision}, by")
        width = max(len(r.name) for r in x.rules)
        for r in x.rules:
            at = f"{r.place.file}:{r.place.line}"
            lines.append(f"  {r.name:{width}}  {r.contract:8}  {at}  {r.doc}")
        contracts = dict.fromkeys(r.contract for r in x.rules)
        lines += [f"  {c} rules {LOSES[c]}" for c in contracts]
    if not w.wider:
        lines.append("no rule that it keeps out would make this model faster")
    return "\n".join(lines)


def widened_data(w: Widened) -> dict[str, Any]:
    return {
        "model": w.model, "precision": w.precision, "predicted_s": w.seconds,
        "wider": [
            {
                "precision": x.precision, "predicted_s": x.seconds,
                "rules": [
                    {"rule": r.name, "contract": r.contract,
                     "place": f"{r.place.file}:{r.place.line}", "says": r.doc}
                    for r in x.rules
                ],
            }
            for x in w.wider
        ],
    }  # fmt: skip
