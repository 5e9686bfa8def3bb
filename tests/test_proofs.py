"""A sample of `python -m tests.proofs`: random graphs prove.

Captured models do in `tests/replay/test_goldens.py`.
"""

import pytest

from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.proof.journal import record
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.fuzz import random_graph

from .proofs import run


@pytest.mark.parametrize("seed", range(8))
def test_random_graphs_prove(seed: int) -> None:
    found = run(("fuzz", f"{('exact', 'smooth')[seed % 2]} {seed}", "default"))
    assert found is not None and not found.failed
    assert found.proved == found.pieces == 1


def test_the_journal_ends_where_the_outputs_are_equal() -> None:
    """All forms of this graph take half a million uses of rules."""
    before = random_graph(151, "smooth")
    b = Builder()
    for n in before.nodes:
        b.add(n.op, n.args, n.attrs, n.name)
    outputs: dict[str, int] = {}
    for label, i in before.outputs:
        twice = "not" if b.type(i).dtype.kind == "bool" else "neg"
        outputs[label] = b.un(twice, b.un(twice, i))
    journal = record(before, b.build(outputs), load_rules())
    assert 0 < len(journal.uses) < 5000
