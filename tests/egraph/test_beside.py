"""The engine works beside what needs no answer yet; nobody waits for it in vain."""

from __future__ import annotations

import threading
import time

import pytest

from rewrite.egraph.saturate.beside import beside
from rewrite.egraph.saturate.engine import EngineError, shared

COUNTS = """
(relation number (i64))
(number 0)
(rule ((number x)) ((number (+ x 1))))
"""


def forever() -> None:
    with shared().session([("counts", COUNTS)]) as session:
        session.run("(run 1000000000)")


def test_the_answer_comes_when_it_is_asked_for() -> None:
    here = threading.get_ident()
    with beside(threading.get_ident) as answer:
        assert answer() != here


def test_what_it_raises_is_raised_here_and_the_engine_goes_on() -> None:
    def fails() -> None:
        raise EngineError("no")

    with shared().session([]):
        before = shared().pid
    with pytest.raises(EngineError, match="no"), beside(fails) as answer:
        answer()
    assert shared().pid == before


def test_an_interrupt_ends_what_nobody_waits_for() -> None:
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt), beside(forever):
        time.sleep(0.5)
        raise KeyboardInterrupt
    assert time.monotonic() - started < 10  # a minute and more, if left alone
    with shared().session([]) as session:  # another worker
        assert session.sizes() is not None


def test_so_it_does_while_the_answer_is_waited_for() -> None:
    with pytest.raises(EngineError), beside(forever) as answer:
        threading.Timer(0.5, shared().stop).start()
        answer()
