"""One offline HTML page of sections: pictures side by side, figures, tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A rule that led to the result."""

    name: str
    uses: int
    place: str = ""  # file:line
    contract: str = ""
    text: str = ""  # its one-sentence reason


def page_html(title: str, sections: Sequence[str], data: object) -> str:
    """The whole page of sections, which are HTML; `data` is added as JSON."""
    text = json.dumps(data).replace("<", "\\u003c")  # no name closes the script element
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}: before and after</title><style>{_CSS}</style></head>"
        f"<body><h1>{escape(title)}</h1>{''.join(sections)}"
        f'<script type="application/json" id="data">{text}'
        f"</script><script>{_SCRIPT}</script></body></html>\n"
    )


def seconds_text(seconds: float) -> str:
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def bytes_text(count: float) -> str:
    for power, unit in ((3, "GB"), (2, "MB"), (1, "kB")):
        if count >= 1000**power:
            return f"{count / 1000**power:.3g} {unit}"
    return f"{count:.0f} B"


def figures(cells: Sequence[str]) -> str:
    return f'<section class="figures">{"".join(cells)}</section>'


def figure(name: str, *values: str) -> str:
    """What was and what is, or one value alone."""
    *was, now = map(escape, values)
    old = "".join(f"<span>{v}</span><i>→</i>" for v in was)
    return f'<div class="figure"><b>{escape(name)}</b>{old}<strong>{now}</strong></div>'


def pictures(before: str, after: str) -> str:
    """Two pictures, which are SVG, side by side."""
    panes = "".join(
        f'<figure><figcaption>{name}</figcaption><div class="pane" id="{name.lower()}">'
        f"{svg}</div></figure>"
        for name, svg in (("Before", before), ("After", after))
    )
    return f'<section class="pictures">{panes}</section>'


def table(head: Sequence[str], rows: Sequence[str]) -> str:
    titles = "".join(f"<th>{escape(h)}</th>" for h in head)
    return (
        f"<table><thead><tr>{titles}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def rules_section(title: str, rules: Sequence[RuleRow], note: str = "") -> str:
    if not rules:
        return ""
    rows = [
        f'<tr><td>{escape(r.name)}</td><td class="n">{r.uses}</td>'
        f"<td>{escape(r.contract)}</td><td>{escape(r.place)}</td>"
        f"<td>{escape(r.text)}</td></tr>"
        for r in rules
    ]
    head = ("rule", "times", "equal", "where", "why")
    said = f"<p>{escape(note)}</p>" if note else ""
    return f"<section><h2>{escape(title)}</h2>{said}{table(head, rows)}</section>"


_CSS = """
body { margin: 0 auto; padding: 20px 28px; max-width: 1800px; color: #16202b;
  background: #fff; font: 14px/1.45 system-ui, 'Segoe UI', Roboto, sans-serif; }
h1 { font-size: 20px; margin: 0 0 12px; } h2 { font-size: 15px; margin: 22px 0 6px; }
.figures { display: flex; flex-wrap: wrap; gap: 10px; margin-bottom: 14px; }
.figure { border: 1px solid #d5dde5; border-radius: 8px; padding: 8px 14px; }
.figure b { display: block; font-weight: 500; font-size: 12px; color: #566574; }
.figure span { color: #566574; } .figure i { margin: 0 6px; color: #9fb0c1; }
.figure strong { font-size: 17px; }
.pictures { display: grid; grid-template-columns: 1fr 1fr; gap: 16px; }
figure { margin: 0; min-width: 0; } figcaption { font-weight: 600; margin-bottom: 4px; }
.pane { border: 1px solid #d5dde5; border-radius: 8px; height: 72vh; overflow: auto;
  cursor: grab; }
.pane svg { display: block; margin: 0 auto; }
.pane p { margin: 14px; }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; font-weight: 500; font-size: 12px; color: #566574; }
th, td { padding: 4px 10px 4px 0; border-bottom: 1px solid #e6ebf0; }
.narrow table { width: auto; min-width: 420px; }
td.n { text-align: right; font-variant-numeric: tabular-nums; padding-right: 22px; }
tr[data-kernel]:hover { background: #f4f7fa; }
.chip { border-radius: 4px; padding: 1px 7px; font-size: 12px; }
@media (max-width: 900px) { .pictures { grid-template-columns: 1fr; } }
"""

# Hovering a kernel lights its nodes; dragging moves a picture; ctrl + wheel zooms it.
_SCRIPT = """
for (const row of document.querySelectorAll('tr[data-kernel]')) {
  const light = on => document.querySelectorAll('.pane .' + row.dataset.kernel)
    .forEach(n => n.classList.toggle('lit', on));
  row.onmouseenter = () => light(true);
  row.onmouseleave = () => light(false);
}
for (const pane of document.querySelectorAll('.pane')) {
  const svg = pane.querySelector('svg');
  if (!svg) continue;
  const [w, h] = [svg.width.baseVal.value, svg.height.baseVal.value];
  let zoom = 1;
  const scale = z => { zoom = Math.min(4, Math.max(0.1, z));
    svg.setAttribute('width', w * zoom); svg.setAttribute('height', h * zoom); };
  scale(Math.max(0.45, Math.min(1, (pane.clientWidth - 4) / w)));
  const first = svg.querySelector('.box');
  if (first) pane.scrollLeft = zoom * first.x.baseVal.value - pane.clientWidth / 3;
  pane.onwheel = e => { if (e.ctrlKey) { e.preventDefault();
    scale(zoom * Math.exp(-e.deltaY / 300)); } };
  pane.onpointermove = e => { if (e.buttons & 1) {
    pane.scrollLeft -= e.movementX; pane.scrollTop -= e.movementY; } };
}
"""
