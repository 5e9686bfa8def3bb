"""The page of an optimized ONNX model: its operators before and after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import onnx

from rewrite.egraph.rulefile import load_rules
from rewrite.egraph.ruleset import RuleSet

from .network import Network, State, network, plain, states
from .operators import COLOURS, operators_svg
from .page import (
    RuleRow,
    bytes_text,
    figure,
    figures,
    page_html,
    pictures,
    rules_section,
    seconds_text,
    table,
)

if TYPE_CHECKING:
    from rewrite.compile import Precision
    from rewrite.onnx.write.optimize import Optimized

_MATCHED = (
    "These rules matched while equal forms were searched for. That one is listed does "
    "not say that the result uses it: this is no proof."
)
_WORDS: Mapping[State, str] = {
    "gone": "only in the model before",
    "changed": "other inputs or attributes",
    "new": "only in the model after",
}


def models_html(
    before: onnx.ModelProto,
    after: onnx.ModelProto,
    found: Optimized,
    title: str,
    precision: Precision = "default",
    rules: Sequence[Path] = (),
) -> str:
    """A page that needs nothing but a browser; its figures are also in it as JSON."""
    nets = network(before), network(after)
    fates = states(*nets)
    kinds = _kinds(*nets)
    marks = {kind: f"k{i}" for i, kind in enumerate(kinds)}
    drawn = [_picture(n, s, marks) for n, s in zip(nets, fates, strict=True)]
    matched = fired_rows(
        found.fired, load_rules(rules or None, precision, goal="operators")
    )
    sections = [
        _figures(found),
        _notes(found, precision),
        _legend(*fates),
        pictures(*drawn),
        _operators(kinds, marks),
        rules_section("Rules that matched", matched, _MATCHED),
    ]
    return page_html(plain(title), sections, found.summary())


def fired_rows(fired: Mapping[str, int], rules: RuleSet) -> list[RuleRow]:
    known = {r.name: r for r in rules.rules}
    rows: list[RuleRow] = []
    for name, times in sorted(fired.items(), key=lambda x: (-x[1], x[0])):
        if name in known and times:
            rule = known[name]
            rows.append(RuleRow(name, times, str(rule.place), rule.contract, rule.doc))
    return rows


def _kinds(before: Network, after: Network) -> dict[str, tuple[int, int]]:
    """How often each operator occurs, those with the largest difference first."""
    a, b = (Counter(n.op_type for n in net.nodes) for net in (before, after))
    pairs = {kind: (a[kind], b[kind]) for kind in a | b}
    order = sorted(
        pairs.items(), key=lambda p: (-abs(p[1][1] - p[1][0]), -max(p[1]), p[0])
    )
    return dict(order)


def _figures(found: Optimized) -> str:
    b, a = found.before, found.after
    cells = [
        figure("nodes", f"{b.nodes:,}", f"{a.nodes:,}"),
        figure("parameters", bytes_text(b.parameters), bytes_text(a.parameters)),
    ]
    if found.predicted is not None:
        cells.append(figure("predicted time", *map(seconds_text, found.predicted)))
    if found.measured:
        cells.append(figure("measured time", *map(seconds_text, found.measured)))
    error = "not compared" if found.error is None else f"{found.error:.1e}"
    cells.append(figure("outputs differ by", "0" if found.error == 0 else error))
    return figures(cells)


def _notes(found: Optimized, precision: Precision) -> str:
    lines = [f"Optimized in {seconds_text(found.seconds)} at precision {precision}."]
    if found.error is not None:
        lines.append(
            "The difference of outputs is that on random inputs, relative to the "
            "largest value of an output."
        )
    notes = "".join(f"<li>{escape(plain(n, 1000))}</li>" for n in found.notes)
    return f"<p>{' '.join(lines)}</p>" + (f"<ul>{notes}</ul>" if notes else "")


def _legend(before: Sequence[State], after: Sequence[State]) -> str:
    count = Counter(before)
    count["new"] = after.count("new")
    chips = (
        f'<span class="chip" style="background:{colour}">{count[state]:,} {state}'
        f"</span> {_WORDS[state]}"
        for state, colour in COLOURS.items()
    )
    return f"<p>{' &ensp; '.join(chips)} &ensp; {count['kept']:,} kept as they were</p>"


def _picture(net: Network, state: Sequence[State], marks: Mapping[str, str]) -> str:
    drawn = operators_svg(net, state, marks)
    return drawn or (
        f"<p>Not drawn: {len(net.nodes):,} operators, with the lines between them, are"
        " more than a picture can show.</p>"
    )


def _operators(kinds: Mapping[str, tuple[int, int]], marks: Mapping[str, str]) -> str:
    rows = [
        f'<tr data-kernel="{marks[kind]}"><td>{escape(plain(kind))}</td>'
        f'<td class="n">{a}</td><td class="n">{b}</td>'
        f'<td class="n">{_signed(b - a)}</td></tr>'
        for kind, (a, b) in kinds.items()
    ]
    head = ("operator", "before", "after", "difference")
    return f'<section class="narrow"><h2>Operators</h2>{table(head, rows)}</section>'


def _signed(n: int) -> str:
    return f"{n:+d}".replace("-", "−") if n else "0"
