"""The primary context in threads of others, by a driver that only counts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rewrite.backends.cuda import CudaDevice


class Counted:
    """Of pycuda, what makes a context current in a thread, and asks which one is."""

    def __init__(self, current: Any) -> None:
        self.stack = [] if current is None else [current]
        self.Context = SimpleNamespace(get_current=self.top)

    def top(self) -> Any:
        return self.stack[-1] if self.stack else None

    def Device(self, _: int) -> Any:
        push, pop = lambda: self.stack.append("own"), self.stack.pop
        made = SimpleNamespace(push=push, pop=pop)
        return SimpleNamespace(retain_primary_context=lambda: made)


def device(driver: Counted) -> CudaDevice:
    made = CudaDevice()
    made.__dict__["driver"] = driver
    return made


def test_a_thread_without_a_context_has_one_meanwhile() -> None:
    driver = Counted(None)
    with device(driver).current():
        assert driver.top() == "own"
    assert driver.top() is None
    with pytest.raises(ZeroDivisionError), device(driver).current():
        raise ZeroDivisionError
    assert driver.top() is None


def test_a_context_that_is_current_stays() -> None:
    driver = Counted("first")
    with device(driver).current():
        assert driver.stack == ["first"]
    assert driver.stack == ["first"]
