"""Pages in a real browser: they open, answer and ask nobody."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from onnx import ModelProto

import rewrite
import rewrite.onnx
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.report.models import models_html
from tests.egraph.models import transformer
from tests.egraph.proof.forgeries import graphs
from tests.report.chromium import Browser, executable
from tests.report.test_report_models import AFTER, BEFORE, chain, hostile

pytestmark = pytest.mark.skipif(
    executable() is None, reason="no chromium here: apt-get install chromium"
)
SECONDS = 2.0  # that a page of 5,000 nodes may take to open, and to answer


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


def page(graph: Graph, path: Path) -> Path:
    run = rewrite.compile_graph(graph, "c", fallback=False, cache=False)
    path.write_text(run.explain(run=False).html(), encoding="utf-8")
    return path


def opened(browser: Browser, path: Path) -> None:
    browser.requests.clear()
    browser.complaints.clear()
    browser.open(path)


LIT = "[...document.querySelectorAll('{} .lit')].map(e => e.dataset.box)"


def test_steps_light_what_they_touch(browser: Browser, tmp_path: Path) -> None:
    opened(browser, page(graphs()[0], tmp_path / "page.html"))
    steps = browser.run("data.steps.length")
    assert steps > 4
    lit: list[tuple[object, object]] = []
    for number in range(3):
        browser.key("ArrowRight")
        assert browser.run("$('#count').textContent") == f"step {number + 1} of {steps}"
        assert browser.run("$('#detail h2').textContent").startswith(
            browser.run(f"data.steps[{number}].rule")
        )
        found = tuple(browser.run(LIT.format(side)) for side in ("#before", "#after"))
        for side, boxes in zip(("before", "after"), found, strict=True):
            ids = browser.run(
                f"[...new Set(data.steps[{number}].nodes_{side}.flat())]"
                f".filter(i => panes.{side}.home.has(i))"
            )
            assert sorted(boxes) == sorted(f"n{i}" for i in ids)
        lit.append((found[0], found[1]))
    browser.key("ArrowLeft")
    again = tuple(browser.run(LIT.format(side)) for side in ("#before", "#after"))
    assert again == lit[1] and lit[1] != lit[2]
    browser.click("#steps li:nth-child(1)")
    assert browser.run("$('#count').textContent") == f"step 1 of {steps}"
    browser.key("Escape")
    assert browser.run(LIT.format("main")) == []
    assert browser.complaints == []
    assert [r for r in browser.requests if r != "data:,"] == [
        (tmp_path / "page.html").as_uri()
    ]


def test_steps_that_only_move_are_one_until_they_are_opened(
    browser: Browser, tmp_path: Path
) -> None:
    opened(browser, page(graphs()[0], tmp_path / "page.html"))
    shown = "document.querySelectorAll('#steps li:not([hidden])').length"
    first, last = browser.run("[folds[0][0], folds[0].at(-1)]")
    assert browser.run(
        f"data.steps.slice({first}, {last + 1}).every(s => s.moves) &&"
        f"!data.steps[{first} - 1]?.moves"
    )
    closed = browser.run(shown)
    for _ in range(first + 1):
        browser.key("ArrowRight")
    steps = browser.run("data.steps.length")
    assert browser.run("$('#count').textContent") == (
        f"steps {first + 1}–{last + 1} of {steps}"
    )
    together = set(browser.run(LIT.format("#before")))
    browser.click('#steps [data-fold="0"]')
    assert browser.run(shown) == closed + last - first + 1
    apart = set[str]()
    for number in range(first, last + 1):
        assert browser.run("$('#count').textContent") == f"step {number + 1} of {steps}"
        apart |= set(browser.run(LIT.format("#before")))
        browser.key("ArrowRight")
    assert apart == together
    browser.run("select(data.steps.length - 1)")
    assert not browser.run("$('#steps .now').hidden")
    assert browser.complaints == []


def test_numbers_that_json_has_not_do_not_blank_the_page(
    browser: Browser, tmp_path: Path
) -> None:
    b = Builder("far")
    x = b.input("x", F32, (4,))
    y = b.bin("mul", x, b.const(3e38, F32, (4,)))
    run = rewrite.compile_graph(b.build([y]), "c", fallback=False, cache=False)
    found = run.explain()
    assert any(m.error == float("inf") for m in found.measured or ())
    path = tmp_path / "page.html"
    path.write_text(found.html(), encoding="utf-8")
    opened(browser, path)
    assert "infinite" in browser.run("$('#figures').textContent")
    assert browser.complaints == []


def test_an_error_of_no_finite_value_is_none(browser: Browser, tmp_path: Path) -> None:
    b = Builder("void")
    y = b.un("log", b.un("neg", b.un("exp", b.input("x", F32, (4,)))))
    run = rewrite.compile_graph(b.build([y]), "c", fallback=False, cache=False)
    path = tmp_path / "page.html"
    path.write_text(run.explain().html(), encoding="utf-8")
    opened(browser, path)
    assert "not measured" in browser.run("$('#figures').textContent")
    assert browser.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_dark(
    browser: Browser, tmp_path: Path, scheme: str
) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.ask("Emulation.setEmulatedMedia", features=features)
    opened(browser, page(transformer(1, 16, 16, 2), tmp_path / "page.html"))
    ink, *papers = browser.run(
        "(() => { const light = c => c.match(/\\d+/g).slice(0, 3)"
        ".reduce((s, v) => s + +v, 0) / 765;"
        "const get = (e, p) => light(getComputedStyle(e)[p]);"
        "return [get($('.rw .op'), 'fill'), get(document.body, 'backgroundColor'),"
        "...[...document.querySelectorAll('.rw .node > .box')]"
        ".map(e => get(e, 'fill'))]; })()"
    )
    assert len(papers) > 10
    assert all(abs(ink - paper) > 0.4 for paper in papers)
    assert (ink > 0.5) == (scheme == "dark")


def test_groups_open_and_close(browser: Browser, tmp_path: Path) -> None:
    opened(browser, page(transformer(1, 16, 16, 2), tmp_path / "page.html"))
    boxes = "document.querySelectorAll('#after [data-box]').length"
    before = browser.run(boxes)
    browser.click("#after .close")
    kernels = browser.run("data.kernels.length")
    closed = browser.run("document.querySelectorAll('#after .group:not(.open)').length")
    assert closed == kernels and browser.run(boxes) < before
    key = browser.run("$('#after .group').dataset.group")
    browser.click("#after .group")
    frame = f"document.querySelector('#after [data-group=\"{key}\"]')"
    assert browser.run(f"{frame}.classList.contains('open')")
    assert browser.run(f"{frame}.querySelectorAll('.node').length") > 3
    browser.click(f'#after [data-group="{key}"] > text')
    assert not browser.run(f"{frame}.classList.contains('open')")
    browser.click("#after .open")
    assert (
        browser.run("document.querySelectorAll('#after .group:not(.open)').length") == 0
    )
    assert browser.complaints == []


def test_kernels_and_nodes_say_what_became_of_them(
    browser: Browser, tmp_path: Path
) -> None:
    opened(browser, page(transformer(1, 16, 16, 2), tmp_path / "page.html"))
    browser.click("[data-tab=kernels]")
    browser.click("#kernels li:nth-child(2)")
    assert browser.run("$('#detail h2').textContent").startswith("kernel 1 ")
    inside = browser.run("data.after.filter(n => n.kernels.includes(1)).map(n => n.id)")
    drawn = browser.run(f"{inside}.filter(i => panes.after.home.has(i))")
    assert set(browser.run(LIT.format("#after"))) == {f"n{i}" for i in drawn}
    browser.run("pick(panes.before, data.before.find(n => n.text === 'l0.att.q.w').id)")
    assert browser.run("$('#detail h2').textContent") == "l0.att.q.w"
    assert browser.complaints == []


def test_five_thousand_nodes_open_and_answer_at_once(
    browser: Browser, tmp_path: Path
) -> None:
    path = page(transformer(38, 16, 16, 2), tmp_path / "page.html")
    started = time.perf_counter()
    opened(browser, path)
    seconds = [time.perf_counter() - started]
    assert browser.run("data.before.length") > 5000
    shown = browser.run("document.querySelectorAll('[data-box]').length")
    assert shown < 400
    for ask in ("move(1)", "panes.before.toggle('/l7')", "$('#after .close').click()"):
        took = browser.run(
            f"(() => {{ const t = performance.now(); {ask};"
            "document.body.getBoundingClientRect();"
            "return (performance.now() - t) / 1e3; })()"
        )
        seconds.append(took)
    assert max(seconds) < SECONDS, seconds
    assert browser.complaints == []


# ---- optimized models ----------------------------------------------------------------


def models_page(before: ModelProto, after: ModelProto, path: Path) -> Path:
    found = rewrite.onnx.optimize(BEFORE)
    path.write_text(models_html(before, after, found, "model"), encoding="utf-8")
    return path


def test_changes_of_a_model_light_what_they_touch(
    browser: Browser, tmp_path: Path
) -> None:
    opened(browser, models_page(BEFORE, AFTER, tmp_path / "page.html"))
    assert browser.run("$('#count').textContent") == "3 changes"
    states = ("gone", "changed", "new")
    fills = {
        s: browser.run(f"getComputedStyle($('.rw .{s} > .box')).fill") for s in states
    }
    assert len(set(fills.values())) == 3
    browser.key("ArrowRight")
    assert browser.run("$('#count').textContent") == "change 1 of 3"
    for side, text in (("before", "takes"), ("after", "makes")):
        want = browser.run(f"data.changes[0].{side}.map(i => 'n' + i)")
        assert set(browser.run(LIT.format(f"#{side}"))) == set(want)
        assert text in browser.run("$('#detail').textContent")
    browser.click("[data-tab=operators]")
    browser.click("#operators li:nth-child(1)")
    kind = browser.run("data.operators[0][0]")
    ids = browser.run(f"data.before.filter(n => n.kind === '{kind}').map(n => n.id)")
    assert browser.run(LIT.format("#before")) == [f"n{i}" for i in ids]
    browser.click("[data-tab=rules]")
    browser.click("#rules li:nth-child(1)")
    assert "this is no proof" in browser.run("$('#detail').textContent")
    browser.run("pick(panes.before, 1)")
    assert "only in the model before" in browser.run("$('#detail h2').textContent")
    assert browser.complaints == []
    assert [r for r in browser.requests if r != "data:,"] == [
        (tmp_path / "page.html").as_uri()
    ]


@pytest.mark.parametrize("shared", [False, True])
def test_five_thousand_operators_without_scopes_open_at_once(
    browser: Browser, tmp_path: Path, shared: bool
) -> None:
    """They are shown in runs; in a model that changed nowhere there is no change."""
    large = chain(5000, shared)
    path = models_page(large, large, tmp_path / "page.html")
    started = time.perf_counter()
    opened(browser, path)
    assert time.perf_counter() - started < SECONDS
    assert browser.run("document.querySelectorAll('#before .group').length") == 50
    assert browser.run("$('#count').textContent") == "0 changes"
    browser.click("#before .group")
    assert browser.run("document.querySelectorAll('#before .node').length") >= 99
    assert browser.complaints == []


def test_models_of_nothing_and_of_strangers_open(
    browser: Browser, tmp_path: Path
) -> None:
    empty, strange = ModelProto(), hostile()
    for model in (empty, strange):
        opened(browser, models_page(model, model, tmp_path / "page.html"))
        browser.key("ArrowRight")
        assert browser.complaints == []
        assert browser.run("document.querySelectorAll('script').length") == 2
