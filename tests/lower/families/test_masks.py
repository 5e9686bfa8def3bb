"""A mask that two indices decide is computed where it is used, not stored and read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.programs import PROGRAMS
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import saturator
from rewrite.extract.schedule.plan import plan
from rewrite.extract.schedule.steps import schedule
from rewrite.lower.model import kernel_cost
from rewrite.lower.registry import FAMILIES
from tests.replay.planned import CAPS


@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
@pytest.mark.parametrize("threads", [2, 8])
def test_a_mask_of_indices_is_never_read(vector_bytes: int, threads: int) -> None:
    """To read a boolean is also to widen it, on processors of any width."""
    graph = PROGRAMS["pair_interactions"].graph(512)
    caps = replace(CAPS, vector_bytes=vector_bytes, threads=threads)
    made = plan(graph, saturator(load_rules()), kernel_cost(caps, FAMILIES))
    s = schedule(made.graph, made.groups, {})
    assert s.once == 0 and len(s.steps) == 1, s.steps
