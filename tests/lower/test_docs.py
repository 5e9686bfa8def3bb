"""What docs/loops.md shows is what the tool prints; `--bless` writes it anew."""

from __future__ import annotations

import re
from pathlib import Path

import rewrite.egraph.ir.text as graphs
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import saturator
from rewrite.extract.schedule.plan import plan
from rewrite.extract.schedule.steps import schedule
from rewrite.lower.model import kernel_cost
from rewrite.lower.program import build
from rewrite.lower.registry import FAMILIES
from rewrite.lower.text import parse_all, show_all
from rewrite.lower.verify import faults
from tests.replay.planned import CAPS

PAGE = Path(__file__).parents[2] / "docs" / "loops.md"
LOOPS = re.compile(r"(?<=```loops\n).*?(?=```)", re.DOTALL)


def example(page: str) -> str:
    found = re.search(r"```graph\n(.*?)```", page, re.DOTALL)
    assert found is not None
    graph = graphs.parse(found[1])
    best = plan(graph, saturator(load_rules()), kernel_cost(CAPS, FAMILIES))
    made = build(schedule(best.graph, best.groups, {}), CAPS)
    return show_all(made.functions)


def test_the_page_is_what_the_tool_prints(bless: bool) -> None:
    page = PAGE.read_text("utf-8")
    loops = example(page)
    if bless:
        page = LOOPS.sub(lambda _: loops, page)
        PAGE.write_text(page, "utf-8")
    assert LOOPS.findall(page) == [loops]
    assert all(not faults(f) for f in parse_all(loops))
