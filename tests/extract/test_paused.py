"""The collector of cycles rests while a plan is made, and only then."""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest

from rewrite.extract.paused import collector_paused


@pytest.fixture(autouse=True)
def as_it_was() -> Generator[None]:
    was = gc.isenabled()
    yield
    (gc.enable if was else gc.disable)()


@pytest.mark.parametrize("before", [True, False])
def test_it_is_as_before(before: bool) -> None:
    (gc.enable if before else gc.disable)()
    with collector_paused():
        assert not gc.isenabled()
    assert gc.isenabled() == before


def test_also_after_an_error() -> None:
    gc.enable()
    with pytest.raises(ValueError, match="no"), collector_paused():
        raise ValueError("no")
    assert gc.isenabled()
