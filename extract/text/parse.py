"""The parser of schedules; what it reads of a kernel is in `kernels.py`."""

from __future__ import annotations

from math import prod

from ...egraph.ir.dims import bind_shape
from ...egraph.ir.ops import TensorType
from ...egraph.ir.tokens import Token
from ..schedule.kernel import Buffer, Host, Kernel, Launch, Schedule, Step
from .kernels import Kernels, ScheduleError
from .syntax import KINDS


def parse(text: str, filename: str = "<text>") -> Schedule:
    """The schedule in `text`; a `ScheduleError` gives file, line and column."""
    return _Parser(text, filename).schedule()


def parse_kernel(text: str, filename: str = "<text>") -> Kernel:
    """The one kernel in `text`."""
    parser = _Parser(text, filename)
    kernel = parser.kernel()[1]
    parser.finish()
    return kernel


class _Parser(Kernels):
    def __init__(self, text: str, filename: str) -> None:
        super().__init__(text, filename)
        self.kernels: dict[str, Kernel] = {}
        self.buffers: list[Buffer] = []
        self.refs: dict[str, int] = {}
        self.steps: list[Step] = []

    def finish(self) -> None:
        self.blank()
        if self.peek.kind != "end":
            raise self.expected("the end of the text")

    def schedule(self) -> Schedule:
        self.blank()
        while self.at("kernel"):
            at = self.after
            name, kernel = self.kernel()
            if name in self.kernels:
                raise self.error(at, f"there are two kernels called {name!r}")
            self.kernels[name] = kernel
            self.blank()
        self.expect("schedule")
        self.expect("{")
        self.end_line()
        while self.at(*KINDS):
            self.buffer()
            self.end_line()
        once = self.once() if self.skip("once") else 0
        while not self.at("return"):
            self.step()
        outputs = self.returned()
        aliases: list[tuple[int, int, str]] = []
        while self.skip("alias"):
            aliases.append(self.alias())
            self.end_line()
        self.expect("}")
        self.finish()
        return Schedule(
            tuple(self.buffers), tuple(self.steps), outputs, tuple(aliases), once
        )

    def buffer(self) -> None:
        kind, at = self.take().text, self.take()
        if at.kind not in ("word", "label"):
            raise self.expected("a buffer's name", at)
        if at.text in self.refs:
            raise self.error(at, f"{at.text!r} is defined twice")
        label = at.text if at.kind == "word" else ""
        if self.peek.kind == "string":
            label = self._unquote(self.take())
        self.expect(":")
        self.refs[at.text] = len(self.buffers)
        self.buffers.append(Buffer(TensorType(*self._type()), kind, label))

    def ref(self) -> int:
        token = self.take()
        if token.text not in self.refs:
            raise self.expected("a buffer that is defined above", token)
        return self.refs[token.text]

    def refs_until(self, end: str) -> list[int]:
        """Buffers between commas."""
        result: list[int] = []
        while not self.at(end):
            result.append(self.ref())
            if not self.skip(","):
                break
        self.expect(end)
        return result

    # ---- steps

    def once(self) -> int:
        self.expect("{")
        self.end_line()
        while not self.at("}"):
            self.step()
        self.expect("}")
        self.end_line()
        return len(self.steps)

    def step(self) -> None:
        at = self.peek
        writes = self.refs_until("=")
        launch = self.after.text == "("
        self.steps.append(self.launch(writes) if launch else self.host(at, writes))
        self.end_line()

    def launch(self, writes: list[int]) -> Launch:
        at = self.take()
        if at.text not in self.kernels:
            raise self.expected("a kernel that is defined above", at)
        kernel = self.kernels[at.text]
        self.expect("(")
        reads = self.refs_until(")")
        args = (*reads, *writes)
        found = [self.buffers[b].type for b in args]
        have = [(t.dtype, prod(bind_shape(t.shape, {}))) for t in found]
        if len(reads) != kernel.reads or tuple(have) != kernel.slots:
            told = ", ".join(f"{t}[{n}]" for t, n in kernel.slots)
            raise self.error(at, f"expected {kernel.reads} buffers to read, and in all "
                              f"{told}")  # fmt: skip
        return Launch(kernel, args)

    def host(self, at: Token, writes: list[int]) -> Host:
        if len(writes) != 1:
            raise self.error(at, "expected one result of an op of the host")
        result, word = self.buffers[writes[0]].type, self.peek
        op, fixed = self._opcode(word)
        kinds = self._leading(op, fixed, result)
        args: list[int] = []
        while self.peek.kind in ("word", "label") and self.after.text != "=":
            args.append(self.ref())
        operand = self.buffers[args[0]].type if args else result
        while self.peek.kind == "word":
            self._named_attr(kinds, fixed, operand.dtype)
        self._require(word, op, kinds, fixed)
        return Host(op, tuple(fixed[k] for k in kinds), tuple(args), writes[0])

    # ---- results

    def returned(self) -> tuple[tuple[str, int], ...]:
        self.expect("return")
        result: list[tuple[str, int]] = []
        while self.peek.kind != "newline":
            label = self.peek.text
            if self.after.text == "=":
                label = self._name("an output's name")
                self.expect("=")
            result.append((label, self.ref()))
            if not self.skip(","):
                break
        self.end_line()
        return tuple(result)

    def alias(self) -> tuple[int, int, str]:
        result = self.ref()
        self.expect("<-")
        source, at = self.ref(), self.peek
        kind = self._name("'must' or 'may'")
        if kind not in ("must", "may"):
            raise self.error(at, f"expected 'must' or 'may', found {kind!r}")
        return result, source, kind


__all__ = ["ScheduleError", "parse", "parse_kernel"]
