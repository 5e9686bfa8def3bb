"""What the checks of a function share: the way to a statement, and what is wrong."""

from __future__ import annotations

from dataclasses import dataclass

from ..loops import Function, Stmt
from ..text import line


@dataclass(frozen=True, slots=True)
class Fault:
    """A broken rule, and the statements around it, outermost first."""

    function: str
    path: tuple[Stmt, ...]
    message: str

    def __str__(self) -> str:
        where = "".join(f"\n  {'  ' * i}{line(s)}" for i, s in enumerate(self.path))
        return f"{self.function}: {self.message}{where and f', in{where}'}"


class Walk:
    """One check: goes through the statements, collects faults."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.path: list[Stmt] = []
        self.faults: list[Fault] = []

    def fault(self, message: str) -> None:
        self.faults.append(Fault(self.function.name, tuple(self.path), message))

    def run(self) -> list[Fault]:
        self.body(self.function.body)
        return self.faults

    def body(self, body: tuple[Stmt, ...]) -> None:
        for s in body:
            self.path.append(s)
            self.statement(s)
            self.path.pop()

    def statement(self, s: Stmt) -> None:
        raise NotImplementedError
