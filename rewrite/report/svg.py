"""A graph as a picture: self-contained SVG, kernels as colours, constants folded in."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from rewrite.egraph.dims import numel
from rewrite.egraph.graph import Graph, Node
from rewrite.egraph.ops import TABLE, axes
from rewrite.egraph.text import node_lines

from .layout import Edge, Point, layout, ranks

_CHAR, _LINE, _PAD = 6.7, 15.0, 9.0  # of the 11 px monospaced face
_MARGIN = 12.0
_FAR = 9  # ranks between users of an input after which it is drawn again
_LONGEST = 34  # characters of a label

type Groups = Sequence[Collection[int]]

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
    """One drawn node: a node of the graph, or an input drawn again by its user."""

    lines: tuple[tuple[str, str], ...]  # (class, text)
    kind: str  # classes; "leaf" is round
    tooltip: str
    fill: str = ""  # a colour
    marks: tuple[str, ...] = ()  # classes that are also written beside it

    @property
    def size(self) -> tuple[float, float]:
        longest = max(len(text) for _, text in self.lines)
        return longest * _CHAR + 2 * _PAD, len(self.lines) * _LINE + 8


def graph_svg(graph: Graph, groups: Groups | None = None) -> str:
    """A layered picture; `groups` are the node numbers of each kernel."""
    picture = _Picture(graph, groups or ())
    return boxes_svg(picture.boxes, picture.edges)


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


def group_colour(index: int) -> str:
    """Pastels whose hues are a golden angle apart: neighbours differ."""
    return f"hsl({(205 + index * 137.508) % 360:.0f} 70% 87%)"


class _Picture:
    """What is drawn: live nodes without folded constants, and the edges between."""

    def __init__(self, graph: Graph, groups: Groups) -> None:
        self.graph = graph
        self.group_of = _group_of(groups)
        self.folded = folded_constants(graph)
        self.merged = merged_views(graph, self.group_of)
        self.text = node_lines(graph, inline=8)
        self.labels = dict[int, list[str]]()
        for label, i in graph.outputs:
            self.labels.setdefault(i, []).append(label)
        self.boxes: list[Box] = []
        self.edges: list[Edge] = []
        self._draw()

    def _draw(self) -> None:
        returned = {i for _, i in self.graph.outputs}
        shown = self.graph.live - self.folded.keys() | returned
        order = sorted(shown - self.merged.keys())
        number = {i: k for k, i in enumerate(order)}
        args = {i: self._operands(i, number) for i in order}
        rank = ranks(
            len(order), [(number[a], number[i]) for i in order for a in args[i]]
        )
        place: dict[int, int] = {}  # box by node
        first: dict[int, int] = {}  # rank of the first user of a leaf's latest box
        for i in order:
            if not args[i]:
                continue
            sources: list[int] = []
            for a in args[i]:
                if not args[a] and rank[number[i]] - first.get(a, -_FAR - 1) > _FAR:
                    place[a], first[a] = self._add(self._box(a)), rank[number[i]]
                sources.append(place[a])
            place[i] = self._add(self._box(i))
            self.edges += [(s, place[i]) for s in sources]
        for i in order:
            if i not in place:  # an output that nothing uses and that uses nothing
                self._add(self._box(i))

    def _operands(self, i: int, number: Mapping[int, int]) -> list[int]:
        first = self.graph.nodes[self.chain(i)[0]]
        return [a for a in dict.fromkeys(first.args) if a in number]

    def chain(self, i: int) -> list[int]:
        """Node `i` and the views drawn in its box, the first one first."""
        found = [i]
        nodes = self.graph.nodes
        while (a := nodes[found[0]].args[:1]) and self.merged.get(a[0]) == found[0]:
            found.insert(0, a[0])
        return found

    def _add(self, box: Box) -> int:
        self.boxes.append(box)
        return len(self.boxes) - 1

    def _box(self, i: int) -> Box:
        node = self.graph.nodes[i]
        if node.is_leaf:
            return _leaf(node, self.tooltip(i))
        constants = [self.folded[a] for a in node.args if a in self.folded]
        words = " · ".join(describe(self.graph.nodes[j]) for j in self.chain(i))
        title = " ".join([words, *constants])
        lines = [("op", short(title))]
        if node.name:
            lines.append(("name", short(node.name)))
        lines.append(("type", short(str(node.type))))
        if i in self.labels:
            lines.append(("tag", short("→ " + ", ".join(self.labels[i]))))
        kind = "view" if _is_view(node) else ""
        groups = self.group_of.get(i, [])
        return Box(
            tuple(lines),
            f"{kind} output" if i in self.labels else kind,
            self.tooltip(i),
            group_colour(groups[0]) if groups else "",
            tuple(f"k{g}" for g in groups),
        )

    def tooltip(self, i: int) -> str:
        lines = [self.text[j] for j in self.chain(i)]
        return "\n".join([*lines, f"{numel(self.graph.nodes[i].shape)} elements"])


def _leaf(node: Node, tooltip: str) -> Box:
    name = str(node.attrs[0]) if node.op in ("input", "data") else describe(node)
    lines = (("op", short(name)), ("type", short(str(node.type))))
    return Box(lines, "leaf", tooltip)


def _group_of(groups: Groups) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for number, members in enumerate(groups):
        for i in members:
            found.setdefault(i, []).append(number)
    return found


def merged_views(graph: Graph, group_of: Mapping[int, list[int]]) -> dict[int, int]:
    """Unnamed views drawn in the box of their only user, a view of the same kernel."""
    users: dict[int, list[int]] = {}
    for i in graph.live:
        for a in graph.nodes[i].args:
            users.setdefault(a, []).append(i)
    returned = {i for _, i in graph.outputs}
    found: dict[int, int] = {}
    for i, who in users.items():
        plain = _is_view(graph.nodes[i]) and not graph.nodes[i].name
        if plain and len(who) == 1 and i not in returned:
            same = group_of.get(i) == group_of.get(who[0])
            if same and _is_view(graph.nodes[who[0]]):
                found[i] = who[0]
    return found


def _is_view(node: Node) -> bool:
    return node.op in TABLE and TABLE[node.op].view and len(node.args) == 1


def folded_constants(graph: Graph) -> dict[int, str]:
    """Nodes that are one number whatever their shape, and how their user shows it."""
    found: dict[int, str] = {}
    for i, node in enumerate(graph.nodes):
        if node.op == "const":
            value = node.attrs[0]
            found[i] = f"{value:.6g}" if isinstance(value, float) else str(value)
        elif node.op in ("reshape", "expand", "permute") and node.args[0] in found:
            found[i] = found[node.args[0]]
    return found


def describe(node: Node) -> str:
    """The op in a word or two."""
    match node.op:
        case "un" | "bin" | "random":
            return str(node.attrs[0])
        case "reduce":
            return f"{node.attrs[0]} over {','.join(map(str, axes(node.attrs[1])))}"
        case "argreduce":
            return f"{node.attrs[0]} over {node.attrs[1]}"
        case "contract":
            return f"contract over {','.join(map(str, axes(node.attrs[1]))) or 'none'}"
        case "const":
            return f"{node.attrs[0]}"
        case "iota" | "concat" | "gather":
            return f"{node.op} axis {node.attrs[0]}"
        case "permute":
            return f"permute {','.join(map(str, node.attrs[0]))}"
        case "scatter" | "call":
            return f"{node.op} {node.attrs[0]}"
        case _:
            return node.op


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
