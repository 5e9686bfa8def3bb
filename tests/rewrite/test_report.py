"""Pictures: well-formed, without overlaps; nothing in a name is markup."""

from __future__ import annotations

from random import Random
from xml.etree import ElementTree

from rewrite.report.layout import layout
from rewrite.report.page import bytes_text, page_html, seconds_text
from rewrite.report.svg import Box, boxes_svg

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


def test_boxes_do_not_overlap() -> None:
    rng = Random(3)
    for _ in range(20):
        n = rng.randint(1, 30)
        edges = sorted({(rng.randrange(v), v) for v in range(1, n) for _ in range(2)})
        made = [
            Box((("op", "x" * rng.randint(1, 20)), ("type", "f32")), "", f"node {i}")
            for i in range(n)
        ]
        drawn = boxes(boxes_svg(made, edges))
        assert len(drawn) == n
        for i, (_, a) in enumerate(drawn):
            assert all(apart(a, b) for _, b in drawn[:i])


def test_names_in_boxes_are_only_text() -> None:
    box = Box((("op", "</text><script>"),), "leaf", "</title><b>&amp;")
    assert ElementTree.fromstring(boxes_svg([box], [])) is not None
    page = page_html("</title><script>", [], {"a": "</script>"})
    assert page.count("<script") == 2 and page.count("</script>") == 2


def test_nothing_has_a_picture() -> None:
    assert boxes(boxes_svg([], [])) == []


def test_units() -> None:
    assert [seconds_text(s) for s in (2.0, 1.5e-3, 2.25e-5, 3e-9)] == [
        "2 s", "1.5 ms", "22.5 µs", "3 ns",
    ]  # fmt: skip
    assert [bytes_text(b) for b in (12, 1500, 2e6, 3.25e9)] == [
        "12 B", "1.5 kB", "2 MB", "3.25 GB",
    ]  # fmt: skip
