"""Compiled files of these tests stay out of the user's cache."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REWRITE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
