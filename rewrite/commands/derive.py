"""`rewrite derive`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from rewrite.egraph.ir.dtypes import described

from .terminal import (
    AsJson,
    PrecisionName,
    RuleFiles,
    counted,
    fail,
    plain_errors,
    precision_named,
    read_graph,
)

if TYPE_CHECKING:
    from ..authoring.derive import Answer, Witness
    from ..authoring.derive.cases import Case
    from ..authoring.derive.gaps import Gap

SHOWN = 12  # elements of an input that are printed


def derive(
    left: Annotated[
        str,
        typer.Argument(help="A .graph, .onnx or .pt2 file, a term, or a .derive case."),
    ],
    right: Annotated[
        str | None, typer.Argument(help="Another of the same kind.")
    ] = None,
    rules: RuleFiles = None,
    precision: PrecisionName = "default",
    goal: Annotated[
        str, typer.Option("--for", help="Rules for kernels, or operators as well.")
    ] = "kernels",
    as_json: AsJson = False,
) -> None:
    """Derive from the rules that two terms are equal, or say what is missing."""
    from ..authoring.derive import ask

    with plain_errors():
        if goal not in ("kernels", "operators"):
            fail(f"--for {goal}: kernels or operators was expected")
        case = _case(left, right, precision, goal)
        sides = case.left, case.right
        answer = ask(*sides, list(rules or ()), case.precision, case.goal)
    print(json.dumps(_data(answer), indent=2) if as_json else _text(answer))
    raise typer.Exit(0 if answer.verdict == "equal" else 1)


def _case(left: str, right: str | None, precision: str, goal: str) -> Case:
    from ..authoring.derive import aligned
    from ..authoring.derive.cases import Case, is_term, of_terms, read_case

    level = precision_named(precision)
    if right is None:
        if Path(left).suffix != ".derive":
            fail(f"{left}: a second term or graph was expected beside it")
        return read_case(Path(left))
    if is_term(left) != is_term(right):
        fail("two terms or two graphs were expected, found one of each")
    if is_term(left):
        sides = of_terms(left, right)
    else:
        sides = aligned(read_graph(Path(left)), read_graph(Path(right)))
    return Case("", "", *sides, True, level, goal)  # type: ignore[arg-type]


# ---- text ----------------------------------------------------------------------------


def _text(answer: Answer) -> str:
    lines = [*_verdict(answer)]
    if answer.sizes:
        shown = ", ".join(f"{k} = {v}" for k, v in answer.sizes.items())
        lines.append(f"tried at {shown}, by the rules that read no size as a number")
    if answer.stopped and answer.verdict != "equal":
        lines.append(
            f"the search stopped at its budget of {answer.stopped}: more may be shown"
        )
    return "\n".join(lines)


def _verdict(answer: Answer) -> list[str]:
    if answer.proof is not None:
        steps, used = len(answer.proof.steps), len(answer.proof.rules)
        if not steps:
            return ["equal: both are one term"]
        counts = f"{counted(steps, 'step')} by {counted(used, 'rule')}"
        return [f"equal: {counts}, each checked", "", str(answer.proof)]
    if answer.verdict == "different":
        assert answer.witness is not None
        return ["different: no rule may join these", *_witness(answer.witness)]
    lines = ["not shown: no rule joins these"]
    if answer.witness is not None:
        lines.append("one side is not finite where the other is:")
        lines += _witness(answer.witness)
    elif answer.gap is not None:
        lines.append("on random inputs both are equal")
    return lines + (_gap(answer.gap) if answer.gap else [])


def _gap(gap: Gap) -> list[str]:
    level = counted(gap.depth, "level")
    all_around = f"all around matches, {level} down; " if gap.depth else ""
    lines = [f"{all_around}what is missing is"]
    for m in gap.missing:
        lines += [f"  {m.left}", f"= {m.right}"]
        lines += [f"  where {name} = {term}" for name, term in m.where]
    return lines


def _witness(w: Witness) -> list[str]:
    lines = [f"  {name} = {_array(a)}" for name, a in w.inputs.items()]
    where = f"[{', '.join(map(str, w.at))}]" if w.at else ""
    return [*lines, f"  {w.output}{where}: left {w.left}, right {w.right}"]


def _array(a: Any) -> str:
    if a.size > SHOWN:
        return described(a)
    return np.array2string(a, precision=6, separator=", ").replace("\n", "")


# ---- JSON ----------------------------------------------------------------------------


def _data(answer: Answer) -> dict[str, Any]:
    proof, gap, w = answer.proof, answer.gap, answer.witness
    return {
        "verdict": answer.verdict,
        "stopped": answer.stopped,
        "sizes": dict(answer.sizes or {}),
        "proof": None if proof is None else {
            "steps": [
                {"rule": s.rule, "place": s.place, "equal": s.contract,
                 "left": s.left, "right": s.right, "forward": s.forward,
                 "type": str(s.type)}
                for s in proof.steps
            ],
            "lemmas": [
                {"left": x.left, "right": x.right, "moves": [
                    {"result": m.result, "step": m.step, "parts": list(m.parts)}
                    for m in x.moves
                ]}
                for x in proof.lemmas
            ],
            "outputs": dict(proof.outputs),
        },
        "missing": None if gap is None else [
            {"left": m.left, "right": m.right, "where": dict(m.where)}
            for m in gap.missing
        ],
        "witness": None if w is None else {
            "inputs": {k: v.astype(object).tolist() for k, v in w.inputs.items()},
            "output": w.output, "at": list(w.at),
            "left": _number(w.left), "right": _number(w.right),
        },
    }  # fmt: skip


def _number(value: object) -> object:
    """JSON has no infinities."""
    plain = not isinstance(value, float) or np.isfinite(value)
    return value if plain else str(value)
