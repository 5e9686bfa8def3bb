"""Options of the test suite."""

from __future__ import annotations

import pytest
from hypothesis import settings

# A deadline by the clock measures what else the machine does.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--bless", action="store_true", help="write golden files anew; read the diff"
    )


@pytest.fixture
def bless(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--bless"))
