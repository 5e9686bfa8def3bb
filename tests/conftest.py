"""Options of the test suite."""

from __future__ import annotations

import pytest
from hypothesis import settings

from rewrite.backends.store import Store

# A deadline by the clock measures what else the machine does.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


@pytest.fixture(autouse=True)
def nothing_kept(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every test optimizes for itself, and for no particular machine, but those that
    are about what is kept."""
    if "plans" not in request.keywords:
        monkeypatch.setattr("rewrite.core.planning.plans", lambda: Store(None))
        monkeypatch.setattr("rewrite.backends.rates._store", lambda: Store(None))
        monkeypatch.setattr("rewrite.cache.kept.folder", lambda: None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--bless", action="store_true", help="write golden files anew; read the diff"
    )


@pytest.fixture
def bless(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--bless"))
