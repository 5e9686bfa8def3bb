"""Pictures: well-formed, complete, without overlaps; pages: offline and safe."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any
from xml.etree import ElementTree

import pytest

from rewrite import xp
from rewrite.egraph.dtypes import F32
from rewrite.egraph.graph import Builder, Graph
from rewrite.fuzz import random_graph, variants
from rewrite.report import (
    KernelRow,
    RuleRow,
    Side,
    before_after_html,
    bytes_text,
    graph_svg,
    seconds_text,
)
from rewrite.report.compiled import kernel_members
from rewrite.report.layout import layout
from rewrite.report.svg import folded_constants, merged_views

SVG = "{http://www.w3.org/2000/svg}"


def boxes(svg: str) -> list[tuple[ElementTree.Element, dict[str, float]]]:
    root = ElementTree.fromstring(svg)
    found: list[tuple[ElementTree.Element, dict[str, float]]] = []
    for g in root.iter(f"{SVG}g"):
        rect = g.find(f"{SVG}rect")
        assert rect is not None
        keys = ("x", "y", "width", "height")
        found.append((g, {k: float(rect.get(k, "nan")) for k in keys}))
    return found


def apart(a: dict[str, float], b: dict[str, float]) -> bool:
    beside = a["x"] + a["width"] <= b["x"] or b["x"] + b["width"] <= a["x"]
    return beside or a["y"] + a["height"] <= b["y"] or b["y"] + b["height"] <= a["y"]


GRAPHS = [random_graph(s, "exact", 20) for s in range(12)] + [
    variants(k, 1) for k in ("softmax", "layer_norm", "linear_gelu", "elementwise")
]


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda g: g.name)
def test_pictures_are_complete_and_do_not_overlap(graph: Graph) -> None:
    svg = graph_svg(graph)
    drawn = boxes(svg)
    titles = [(g.findtext(f"{SVG}title") or "") for g, _ in drawn]
    lines = [line for t in titles for line in t.splitlines()]
    hidden = folded_constants(graph).keys() - {i for _, i in graph.outputs}
    assert len(set(lines)) >= len(graph.live - hidden)
    merged = merged_views(graph, {})
    assert len(drawn) >= len(graph.live - hidden - merged.keys())
    for i, (_, a) in enumerate(drawn):
        assert all(apart(a, b) for _, b in drawn[:i])
    assert svg == graph_svg(graph)


def test_edges_lead_down_and_end_at_their_boxes() -> None:
    rng = Random(2)
    for _ in range(20):
        n = rng.randint(2, 30)
        edges = sorted({
            (rng.randrange(v), v) for v in range(1, n) for _ in range(rng.randint(0, 3))
        })  # fmt: skip
        sizes = [(rng.uniform(20, 120), rng.uniform(20, 50)) for _ in range(n)]
        made = layout(sizes, edges)
        for (u, v), route in zip(edges, made.routes, strict=True):
            ys = [y for _, y in route]
            assert ys == sorted(ys) and len(set(ys)) == len(ys)
            assert route[0][0] == made.centres[u][0]
            assert route[-1][0] == made.centres[v][0]
        for (x, y), (w, h) in zip(made.centres, sizes, strict=True):
            assert x - w / 2 >= -1e-6 and x + w / 2 <= made.width + 1e-6
            assert y - h / 2 >= -1e-6 and y + h / 2 <= made.height + 1e-6


def test_constants_are_written_where_they_are_used() -> None:
    graph = xp.trace(lambda x: x * 0.5 + 3.0, xp.TensorType(F32, (2, 3)))
    texts = [
        e.text for e in ElementTree.fromstring(graph_svg(graph)).iter(f"{SVG}text")
    ]
    assert {"mul 0.5", "add 3"} <= set(texts)
    assert len(boxes(graph_svg(graph))) == 3


def test_groups_colour_and_name_their_nodes() -> None:
    graph = variants("softmax", 0)
    live = sorted(graph.live)
    half = len(live) // 2
    svg = graph_svg(graph, [set(live[:half]), set(live[half:])])
    for kernel in ("k0", "k1"):
        marked = [g for g, _ in boxes(svg) if kernel in g.get("class", "").split()]
        assert marked
        rects = [g.find(f"{SVG}rect") for g in marked]
        assert len({r.get("style") for r in rects if r is not None}) == 1


def hostile() -> Graph:
    b = Builder("<script>alert(1)</script>")
    x = b.input('x" onload="alert(2)', F32, (2,))
    y = b.add("un", (x,), ("exp",), "</script><b>&amp;")
    return b.build({"</title>": y})


def test_names_from_models_are_only_text() -> None:
    graph = hostile()
    ElementTree.fromstring(graph_svg(graph))
    row = KernelRow("</td><script>", 1e-6, 10, "map")
    rules = [RuleRow("</script>", 1)]
    page = before_after_html(Side(graph), Side(graph, [{1}], [row]), rules)
    assert "<script>alert" not in page and "</script><b>" not in page
    assert page.count("<script") == 2 and page.count("</script>") == 2
    assert 'onload="alert' not in page


def page_of(graph: Graph) -> str:
    live = sorted(graph.live)
    kernels = [
        KernelRow("row", 2.5e-5, 3.2e6, "row"),
        KernelRow("map", 5e-6, 100, "map"),
    ]
    after = Side(graph, [set(live[:4]), set(live[4:])], kernels)
    before = Side(graph, [{i} for i in live], [KernelRow("one", 1e-5, 1e6, "map")] * 9)
    rules = [RuleRow("max-scale", 2, "algebra.egg:41", "real", "A scale moves out.")]
    return before_after_html(before, after, rules, "softmax <demo>")


def test_the_page_is_whole_and_offline() -> None:
    page = page_of(variants("softmax", 1))
    links = set(re.findall(r"https?://[^\"' )<]+", page))
    assert links == {"http://www.w3.org/2000/svg"}  # a name, not a fetch
    assert not re.search(r"<(link|img|iframe)|src=|@import|url\(", page)
    wanted = ("softmax &lt;demo&gt;", "90 µs", "30 µs", "max-scale", "algebra.egg:41")
    for text in (*wanted, "3.2 MB", "83 %"):
        assert text in page
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert found
    data: Any = json.loads(found[1])
    assert len(data["before"]["kernels"]) == 9 and len(data["after"]["kernels"]) == 2
    assert data["rules"][0]["name"] == "max-scale"


def test_kernels_hold_what_they_compute() -> None:
    """From the stored values up to other stored ones; shared parts are in both."""
    b = Builder()
    x = b.input("x", F32, (2,))
    e = b.un("exp", x)
    y, z = b.un("neg", e), b.un("sqrt", e)
    w = b.bin("add", y, z)
    graph = b.build({"w": w})
    assert kernel_members(graph, [[w]]) == ({e, y, z, w},)
    assert kernel_members(graph, [[y], [w]]) == ({e, y}, {e, z, w})
    assert kernel_members(graph, [[e], [y, w]]) == ({e}, {y, z, w})


def test_an_empty_graph_has_a_picture() -> None:
    assert boxes(graph_svg(Builder().build({}))) == []


def test_units() -> None:
    assert [seconds_text(s) for s in (2.0, 1.5e-3, 2.25e-5, 3e-9)] == [
        "2 s", "1.5 ms", "22.5 µs", "3 ns",
    ]  # fmt: skip
    assert [bytes_text(b) for b in (12, 1500, 2e6, 3.25e9)] == [
        "12 B", "1.5 kB", "2 MB", "3.25 GB",
    ]  # fmt: skip
