"""Options of the test suite."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import settings

from rewrite.backends.c import CDevice
from rewrite.backends.store import Store
from rewrite.egraph.ir.dtypes import ALL
from rewrite.extract.frames import in_one_chunk
from rewrite.lower.device import Caps
from tests.effort import LONG, left_out
from tests.once import share_in

MACHINE = Caps(
    "c", cpu_like=True, dtypes=frozenset(ALL), threads=2, max_threads=1,
    shared_bytes=1 << 18, vector_bytes=32, last_cache=32 << 20, sorts=True,
)  # fmt: skip

# A deadline by the clock measures what else the machine does.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """As pytest's own, in one chunk: tests stand deep, many in a bad place."""
    told = {"nodeid": item.nodeid, "location": item.location}
    item.ihook.pytest_runtest_logstart(**told)
    in_one_chunk(runtestprotocol)(item, nextitem=nextitem)
    item.ihook.pytest_runtest_logfinish(**told)
    return True


@pytest.fixture(scope="session", autouse=True)
def shared_by_workers(tmp_path_factory: pytest.TempPathFactory) -> None:
    share_in(tmp_path_factory)


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


@pytest.fixture(autouse=True)
def by_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where tests run side by side they have all processors: pieces of a graph wait for
    no more processes, but in the tests of these (tests/extract/pieces)."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        monkeypatch.setattr("rewrite.extract.schedule.workers.WORTH", sys.maxsize)


@pytest.fixture(scope="module", autouse=True)
def settled() -> Iterator[None]:
    """What modules hold and keep stays to the end: tests that ask for a full
    collection, and Python where it needs one, leave its millions of objects alone."""
    gc.collect()
    gc.freeze()
    yield


@pytest.fixture
def one_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The c device plans as for `MACHINE`, whatever processor runs the test: what is
    cheapest, and so what pages show, depends on it."""
    monkeypatch.setattr(CDevice, "caps", lambda _: MACHINE)


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """A test that is asked for by its name runs."""
    named = config.getoption("keyword") or any("::" in arg for arg in config.args)
    if LONG or named:
        return
    left = left_out(items)
    if left:
        config.hook.pytest_deselected(items=list(left))
        items[:] = [i for i in items if i not in left]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--bless", action="store_true", help="write golden files anew; read the diff"
    )


@pytest.fixture
def bless(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--bless"))
