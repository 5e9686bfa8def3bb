"""One node of a model, as the code that reads its operator sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import onnx

from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.dtypes import DType
from rewrite.egraph.ir.graph import Builder, Const
from rewrite.egraph.ir.scalars import Array
from rewrite.egraph.ir.table import TensorType

from .value import ModelError, Value, materialise

MICROSOFT = "com.microsoft"  # the domain of ONNX Runtime's own operators
CLASSICAL = "ai.onnx.ml"  # the domain of classical models
LATEST = 21  # the opset of operators that readers write
TABLE = 1 << 26  # indices, computed while a model is read: 512 MiB
type Result = int | Sequence[int] | Value | Sequence[Value]
type Reader = Callable[["Site"], Result]

READERS: dict[str, Reader] = {}  # by `key`


def key(domain: str, name: str) -> str:
    """What an operator is called among all domains; "" is the standard's own."""
    return f"{domain}:{name}" if domain else name


def op(*names: str, domain: str = "") -> Callable[[Reader], Reader]:
    """Registers the reader of an operator."""

    def register(reader: Reader) -> Reader:
        for name in names:
            READERS[key(domain, name)] = reader
        return reader

    return register


class Unread(Exception):
    """A form of an operator that has no reader: its definition or a call takes over."""


class Unknown(Unread):
    """A number that is computed while the model runs, by node `source` of the graph."""

    def __init__(self, what: str, source: int) -> None:
        super().__init__(f"{what} is computed while the model runs")
        self.source = source


@dataclass(slots=True)
class Site:
    """A node with its operands.  `x(i)` are nodes of the graph, `dims(i)` shapes that
    are operands."""

    b: Builder
    node: onnx.NodeProto
    values: Sequence[Value | None]
    opset: int
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])
    asked: set[str] = field(default_factory=set[str])  # attributes the reader looked at
    taken: set[int] = field(default_factory=set[int])  # operands that it used
    loops: bool = False  # whether the graph may hold loops

    def __post_init__(self) -> None:
        for a in self.node.attribute:
            self.attributes[a.name] = onnx.helper.get_attribute_value(a)

    @property
    def kind(self) -> str:
        return self.node.op_type

    @property
    def domain(self) -> str:
        return "" if self.node.domain == "ai.onnx" else self.node.domain

    @property
    def key(self) -> str:
        return key(self.domain, self.kind)

    @property
    def place(self) -> str:
        name = self.node.name or ", ".join(o for o in self.node.output if o)
        return f"{self.kind} ({name})"

    def fail(self, message: str) -> NoReturn:
        raise ModelError(f"{self.place}: {message}")

    def table(self, entries: int, most: int = TABLE) -> None:
        """Refuses a table that a reader would fill with more than `most` entries."""
        if entries > most:
            self.fail(f"at most {most} indices were expected, found {entries}")

    # ---- attributes ----

    def attr(self, name: str, default: Any = None) -> Any:
        self.asked.add(name)
        result = self.attributes.get(name, default)
        return result.decode() if isinstance(result, bytes) else result

    def ints(self, name: str, at: int | None = None) -> list[int] | None:
        """A list of numbers: an attribute in old opsets, operand `at` in newer ones."""
        self.asked.add(name)
        if name in self.attributes:
            return list(self.attributes[name])
        if at is None or not self.has(at):
            return None
        result = self.dims(at, name)
        if not all(isinstance(d, int) for d in result):
            raise Unread(f"{name} of symbolic size")
        return [int(d) for d in result]  # pyright: ignore[reportArgumentType]

    def passed(self, *names: str) -> dict[str, Any]:
        """Those attributes of the node, as another operator takes them."""
        self.asked.update(names)
        return {n: self.attributes[n] for n in names if n in self.attributes}

    def idle(self, *found: str | int) -> None:
        """Attributes and operands that say nothing about the results."""
        self.asked.update(f for f in found if isinstance(f, str))
        self.taken.update(f for f in found if isinstance(f, int))

    def whole(self, results: Sequence[Value]) -> None:
        """Refuses a reading that has passed over a part of the node."""
        for name in self.attributes:
            if name not in self.asked:
                raise Unread(f"the attribute {name!r} is not read")
        for i in range(self.count):
            if self.has(i) and i not in self.taken:
                raise Unread(f"operand {i} is not read")
        for i, name in enumerate(self.node.output):
            if name and (i >= len(results) or results[i].absent):
                raise Unread(f"result {i} is not computed")

    # ---- operands ----

    def has(self, i: int) -> bool:
        return i < len(self.values) and self.values[i] is not None

    @property
    def count(self) -> int:
        return len(self.values)

    def value(self, i: int) -> Value:
        self.taken.add(i)
        return self._operand(i)

    def maybe(self, i: int) -> Value | None:
        """An operand that may be left out."""
        return self.value(i) if self.has(i) else None

    def _operand(self, i: int) -> Value:
        result = self.values[i] if i < len(self.values) else None
        if result is None:
            self.fail(f"operand {i} is missing")
        return result

    def x(self, i: int) -> int:
        return materialise(self.b, self.value(i))

    def xs(self) -> list[int]:
        return [self.x(i) for i in range(len(self.values))]

    def known(self, i: int) -> Array | None:
        return self.value(i).known

    def type(self, i: int) -> TensorType:
        """The type of operand `i`, without making a node of what is known."""
        value = self._operand(i)
        if value.node is None and value.known is not None and value.dtype is not None:
            return TensorType(value.dtype, value.known.shape)
        return self.b.type(materialise(self.b, value))

    def shape(self, i: int) -> tuple[Dim, ...]:
        return self.type(i).shape

    def rank(self, i: int) -> int:
        return len(self.type(i).shape)

    def sizes(self, i: int) -> tuple[int, ...]:
        """A shape that must be numbers."""
        shape = self.shape(i)
        if not all(isinstance(d, int) for d in shape):
            raise Unread(f"operand {i} has the symbolic shape {self.type(i)}")
        return tuple(int(d) for d in shape)  # pyright: ignore[reportArgumentType]

    def dims(self, i: int, what: str) -> list[Dim]:
        result = self.known(i)
        if result is None or (self.type(i).dtype.is_float and result.dtype == object):
            raise Unknown(what, self.x(i))
        return [d if result.dtype == object else int(d) for d in result.reshape(-1)]

    def number(self, i: int, what: str) -> Any:
        """A scalar operand that must be known."""
        result = self.known(i)
        if result is None or result.dtype == object or result.size != 1:
            raise Unknown(what, self.x(i))
        return result.reshape(-1)[0].item()

    # ---- building ----

    def axis(
        self, name: str = "axis", default: int = 0, rank: int | None = None
    ) -> int:
        rank = self.rank(0) if rank is None else rank
        axis = self.attr(name, default)
        if not -rank <= axis < rank:
            self.fail(f"{name} {axis} is outside of {rank} axes")
        return axis % rank

    def axes(self, found: Sequence[int], rank: int) -> list[int]:
        for a in found:
            if not -rank <= a < rank:
                self.fail(f"axis {a} is outside of {rank} axes")
        return [a % rank for a in found]

    def full(self, value: Const, like: int) -> int:
        """`value` in the dtype and shape of node `like`."""
        t = self.b.type(like)
        scalar = self.b.const(value, t.dtype)
        return self.b.broadcast(scalar, like)[0] if t.rank else scalar

    def const(self, value: Const, dtype: DType) -> int:
        return self.b.const(value, dtype)

    def like(self, kind: str, values: Sequence[Value | None]) -> Site:
        """The node as one of another operator, which reads some of its attributes."""
        node = onnx.NodeProto()
        node.CopyFrom(self.node)
        node.op_type = kind
        return Site(self.b, node, values, self.opset, asked=self.asked)

    def made(self, kind: str, *operands: int | Value | None, **attributes: Any) -> int:
        """The first result of an operator of the standard."""
        names = ["" if x is None else f"x{i}" for i, x in enumerate(operands)]
        given = {k: v for k, v in attributes.items() if v is not None}
        node = onnx.helper.make_node(kind, names, ["y"], self.place, **given)
        values = [Value(x) if isinstance(x, int) else x for x in operands]
        return first(self, READERS[kind](Site(self.b, node, values, LATEST)))

    def bin(self, name: str, a: int, b: int) -> int:
        return self.b.bin(name, *self.b.broadcast(a, b))


def first(s: Site, result: Result) -> int:
    """The node of the first of a reader's results."""
    return materialise(s.b, results_of(result)[0])


def results_of(result: Result) -> Sequence[Value]:
    if isinstance(result, int):
        return [Value(result)]
    if isinstance(result, Value):
        return [result]
    return [Value(r) if isinstance(r, int) else r for r in result]
