"""Seconds were not kept where classes stand on top of each other by thousands.

After a switch all that stood above was lifted, level by level and many times over:
60,000 nodes in layers took minutes of the seconds they were given.
"""

from __future__ import annotations

from time import process_time

from rewrite.extract.dag.methods import Effort, extracted
from tests.extract.choices import check
from tests.extract.instances import instance


def test_layers_are_improved_within_the_time() -> None:
    p, start = instance("joined", 60_000), process_time()
    effort = Effort(seconds=2.5, clock=process_time)
    answer = extracted(p, "auto", effort, lambda what, cost: None)
    assert process_time() - start < 2.7
    check(p, answer)
