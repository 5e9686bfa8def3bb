"""Names that obey nobody's intent but their author's: none moves a terminal, forges a
line, or is more than text in a page or in the source of a kernel."""

from __future__ import annotations

import json
import re
import unicodedata
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from rewrite.api import compile_graph
from rewrite.commands.cli import main
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.egraph.ir.printable import printable
from rewrite.egraph.ir.text import show
from rewrite.lower.emit.layout import comment
from rewrite.lower.loops import Function, Param

EVIL = (
    "\x1b[31mred\x1b]0;title\x07 \r\b\x00\x9b2J\nFORGED line\n"
    "[bold]b[/bold] [link=http://x.example]l[/link] :smile: \u202egnp.exe\u2066 "
    "</script><script>alert(1)</script><!-- <img src=x onerror=alert(1)> "
    "\"'`${alert(1)} */ FORGED /* ??/ \\"
)


def hostile() -> Graph:
    b = Builder(EVIL)
    x, w = (b.input(EVIL + k, F32, (4, 4)) for k in "xw")
    y = b.add("un", (b.matmul(x, w),), ("exp",), EVIL + "y")
    b.array(np.ones((4, 4), np.float32), EVIL + "data")
    z = b.add("bin", (y, len(b.nodes) - 1), ("mul",), EVIL + "z")
    s = b.add("reduce", (z,), ("sum", (0, 1), F32), EVIL + "s")
    return b.build({EVIL + "z": z, EVIL + "s": s, EVIL + "again": b.un("neg", y)})


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "evil.graph"
    path.write_text(show(hostile()), encoding="utf-8")
    return path


def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
         *words: object) -> str:  # fmt: skip
    """All that a command prints."""
    monkeypatch.setattr("sys.argv", ["rewrite", *map(str, words)])
    with pytest.raises(SystemExit):
        main()
    printed = capsys.readouterr()
    return printed.out + printed.err


def assert_harmless(text: str) -> None:
    seen = {c for c in text if unicodedata.category(c)[0] in "CZ"} - {" ", "\n", "\t"}
    assert not seen, sorted(map(ascii, seen))
    assert not re.search(r"(?m)^\s*FORGED", text), text


COMMANDS: dict[str, tuple[str, ...]] = {
    "run": ("run", "FILE"),
    "optimize": ("optimize", "FILE", "--loops", "--code", "--schedule"),
    "optimize-graph": ("optimize", "FILE"),
    "optimize-json": ("optimize", "FILE", "--json"),
    "explain": ("explain", "FILE"),
    "explain-full": ("explain", "FILE", "--full"),
    "explain-json": ("explain", "FILE", "--json", "--no-run"),
    "diff": ("diff", "FILE", "--device", "c", "--device", "numpy"),
    "why-not": ("why-not", "FILE", "add-comm"),
    "bench": ("bench", "FILE", "--rounds", "1"),
    "no-node": ("explain", "FILE", "--node", EVIL),
    "no-file": ("run", EVIL.replace("\x00", "")),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command(
    name: str, file: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    words = [file if w == "FILE" else w for w in COMMANDS[name]]
    text = said(monkeypatch, capsys, *words)
    assert len(text) > 40
    assert_harmless(text)
    if "json" in name:
        json.loads(text)


class Elements(HTMLParser):
    """What a page is made of, and the text of its scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, frozenset[str]]] = []
        self.comments: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, frozenset(k for k, _ in attrs)))

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)


def elements(page: str) -> Elements:
    found = Elements()
    found.feed(page)
    found.close()
    return found


def test_a_page() -> None:
    """The same elements as of a graph whose names are plain."""
    graph = hostile()
    text = show(graph).replace(json.dumps(EVIL)[1:-1], "plain")
    from rewrite.egraph.ir.text import parse

    pages = [
        compile_graph(g, "c", fallback=False).explain(run=False).html()
        for g in (graph, parse(text))
    ]
    evil, plain = map(elements, pages)
    assert evil.tags == plain.tags
    assert evil.comments == plain.comments == []
    assert_harmless(pages[0])


def test_sources_name_no_names() -> None:
    for device in ("c", "opencl", "wgpu", "cuda"):
        from rewrite.backends.devices import device as named

        if named(device).probe().ok:
            c = compile_graph(hostile(), device, fallback=False)
            assert "FORGED" not in c.code() + c.loops()


def test_a_note_ends_no_comment() -> None:
    f = Function("f", (Param("b0", F32, 4, False),), (), note=EVIL)
    text = comment(f)
    assert text.count("*/") == 1 and text.endswith("*/\n")
    assert "??/" not in text and "\\" not in text
    assert_harmless(text.replace("FORGED", ""))


def test_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    from rewrite.core.notices import warn

    with pytest.warns(RuntimeWarning) as found:
        warn(EVIL)
    assert_harmless(str(found[0].message).replace("\n", " "))


def test_printable() -> None:
    assert printable("plain é ∀ text") == "plain é ∀ text"
    assert printable("a\x1b[1m\u202eb\ud800\n") == "a\ufffd[1m\ufffdb\ufffd\ufffd"
    assert printable("a\nb\r", keep="\n") == "a\nb\ufffd"
