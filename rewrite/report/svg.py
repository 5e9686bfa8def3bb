"""Boxes and lines between them as a picture: self-contained SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from .layout import Edge, Point, layout

_CHAR, _LINE, _PAD = 6.7, 15.0, 9.0  # of the 11 px monospaced face
_MARGIN = 12.0
_LONGEST = 34  # characters of a label

STYLE = """
.rw { font: 11px ui-monospace, 'SF Mono', Menlo, Consolas, monospace; }
.rw .op { font-weight: 600; fill: #16202b; }
.rw .type { fill: #566574; }
.rw .name { fill: #8a4b08; }
.rw .tag { font-size: 9px; fill: #3d4a57; }
.rw .box { stroke: #74869a; stroke-width: 1; fill: #fff; }
.rw .leaf .box { fill: #eef2f6; stroke: #9fb0c1; }
.rw .view .box { stroke-dasharray: 3 2; }
.rw .output .box { stroke: #16202b; stroke-width: 2; }
.rw .edge { fill: none; stroke: #8796a6; stroke-width: 1.1; }
.rw .lit .box { stroke: #d6410f; stroke-width: 2.5; stroke-dasharray: none; }
"""


@dataclass(frozen=True, slots=True)
class Box:
    """One drawn node, or an input drawn again by its user."""

    lines: tuple[tuple[str, str], ...]  # (class, text)
    kind: str  # classes; "leaf" is round
    tooltip: str
    fill: str = ""  # a colour
    marks: tuple[str, ...] = ()  # classes that are also written beside it

    @property
    def size(self) -> tuple[float, float]:
        longest = max(len(text) for _, text in self.lines)
        return longest * _CHAR + 2 * _PAD, len(self.lines) * _LINE + 8


def boxes_svg(boxes: Sequence[Box], edges: Sequence[Edge]) -> str:
    """Boxes, numbered in topological order, and lines between them."""
    made = layout([b.size for b in boxes], edges)
    width, height = made.width + 2 * _MARGIN, made.height + 2 * _MARGIN
    drawn = map(_drawn, boxes, made.centres)
    body = [*map(_edge, made.routes), *drawn]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="rw" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="{-_MARGIN:.0f} {-_MARGIN:.0f} '
        f'{width:.0f} {height:.0f}"><style>{STYLE}</style>'
        f'<rect x="{-_MARGIN:.0f}" y="{-_MARGIN:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" fill="#fff"/>{"".join(body)}</svg>'
    )


def short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _edge(route: Sequence[Point]) -> str:
    """A smooth line that leaves and enters vertically at each point."""
    (x, y), *rest = route
    path = [f"M{x:.1f} {y:.1f}"]
    for x2, y2 in rest:
        bend = (y2 - y) / 2
        path.append(
            f"C{x:.1f} {y + bend:.1f} {x2:.1f} {y2 - bend:.1f} {x2:.1f} {y2:.1f}"
        )
        x, y = x2, y2
    return f'<path class="edge" d="{"".join(path)}"/>'


def _drawn(box: Box, centre: Point) -> str:
    (x, y), (w, h) = centre, box.size
    fill = f' style="fill:{box.fill}"' if box.fill else ""
    radius = h / 2 if "leaf" in box.kind.split() else 5
    classes = " ".join(["node", box.kind, *box.marks])
    lines = "".join(
        f'<text class="{kind}" x="{x:.1f}" y="{y - h / 2 + _LINE * (k + 1):.1f}" '
        f'text-anchor="middle">{escape(text)}</text>'
        for k, (kind, text) in enumerate(box.lines)
    )
    tag = ",".join(box.marks)
    right, top = x + w / 2 + 2, y - h / 2 + 7
    tagged = (
        f'<text class="tag" x="{right:.1f}" y="{top:.1f}">{tag}</text>' if tag else ""
    )
    return (
        f'<g class="{classes}"><title>{escape(box.tooltip)}</title>'
        f'<rect class="box" x="{x - w / 2:.1f}" y="{y - h / 2:.1f}" width="{w:.1f}" '
        f'height="{h:.1f}" rx="{radius:.1f}"{fill}/>{lines}{tagged}</g>'
    )
