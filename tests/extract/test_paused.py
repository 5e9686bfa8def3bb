"""While a plan is made, the collector of cycles rests, and calls map no memory for
their frames, however deep they begin."""

from __future__ import annotations

import gc
import resource
from collections.abc import Callable, Generator

import pytest

from rewrite.extract.frames import in_one_chunk
from rewrite.extract.paused import collector_paused

CALLS = 2_000
DEPTHS = 300  # frames of more than a chunk of 16 KiB


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


# ---- frames


def leaf(x: int) -> int:
    return x


def loop() -> int:
    return sum(leaf(i) for i in range(CALLS))


def faults(f: Callable[[], int]) -> int:
    """Pages that the system gave meanwhile."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    assert f() == CALLS * (CALLS - 1) // 2
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def at(depth: int, f: Callable[[], int]) -> int:
    return at(depth - 1, f) if depth else faults(f)


def test_no_depth_is_slow() -> None:
    assert max(at(d, in_one_chunk(loop)) for d in range(DEPTHS)) < CALLS / 2


def test_it_is_the_function() -> None:
    @in_one_chunk
    def named(x: int, *, y: int = 1) -> int:
        """Said."""
        return x + y

    assert (named(1), named(1, y=2)) == (2, 3)
    assert (named.__name__, named.__doc__) == ("named", "Said.")
    with pytest.raises(TypeError):
        named()  # type: ignore[call-arg]
