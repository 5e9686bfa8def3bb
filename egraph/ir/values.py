"""Values, types and attributes in the text of graphs and schedules, and the kinds of
host functions that are graphs, which text defines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, ClassVar, Protocol, runtime_checkable

from . import dims, dtypes
from .dims import Dim, Shape
from .dtypes import DType
from .graph import Const, Graph, GraphError, attr_kinds, exact, known_op
from .macros import MACROS
from .ops import TABLE, Array, TensorType
from .scalars import BY_NAME
from .tokens import Cursor, Token

OPERATORS = ("+", "-", "*", "//")  # of dimensions
FROM_TYPE = frozenset(("dtype", "shape"))  # attributes read off the node's type


@runtime_checkable
class Bodied(Protocol):
    """A host function that is graphs."""

    kind: ClassVar[str]

    @property
    def bodies(self) -> tuple[Graph, ...]: ...

    @property
    def attrs(self) -> Mapping[str, Any]: ...

    @property
    def shown(self) -> str:
        """What is done with the bodies' inputs and outputs, in words."""
        ...

    def check(self, operands: Sequence[TensorType], result: TensorType) -> None:
        """GraphError where a call cannot have such operands or such a result."""
        ...

    def __call__(self, *args: Array) -> Array: ...


@dataclass(frozen=True, slots=True)
class Kind:
    """`attrs` are the kinds of attributes by name, `int` or `ints`; `make` raises
    GraphError where they do not fit the bodies."""

    attrs: Mapping[str, str]
    bodies: int
    make: Callable[..., Bodied]  # of the bodies, and the attributes by name


KINDS: dict[str, Kind] = {}  # by the word for them; `egraph/looping` has them


class Values(Cursor):
    """What a line of either text is made of."""

    # -- ops --

    def _opcode(self, at: Token) -> tuple[str, dict[str, Any]]:
        """An op, and what its word says: elementwise opcodes stand for themselves."""
        word = self._name("an op")
        if word in BY_NAME:
            return ("un" if BY_NAME[word].arity == 1 else "bin"), {"op": word}
        if not known_op(word) or word in ("un", "bin"):
            near = get_close_matches(word, (*TABLE, *MACROS, *BY_NAME))
            hint = f"; near it: {', '.join(near)}" if near else ""
            raise self.error(at, f"expected an op or opcode, found {word!r}{hint}")
        return word, {}

    def _leading(
        self, op: str, fixed: dict[str, Any], type_: TensorType | None
    ) -> dict[str, str]:
        """The kinds of the attributes; those of the type, and one that stands before
        the operands, are `fixed` here."""
        kinds = dict(attr_kinds(op))
        if type_ is not None:
            fixed |= {"dtype": type_.dtype, "shape": type_.shape}
        lead = next(iter(kinds.items()), ("", ""))
        if lead[1] in ("str", "value") and lead[0] not in fixed:
            fixed[lead[0]] = self._attr(lead[1], type_.dtype if type_ else None)
        return kinds

    def _named_attr(
        self, kinds: dict[str, str], fixed: dict[str, Any], dtype: DType | None
    ) -> None:
        token = self.take()
        if token.text not in kinds or token.text in FROM_TYPE:
            free = (k for k in kinds if k not in FROM_TYPE and k not in fixed)
            known = ", ".join(free) or "none"
            raise self.error(token, f"unknown attribute {token.text!r}; known: {known}")
        if token.text in fixed:
            raise self.error(token, f"attribute {token.text!r} is given twice")
        self.expect("=")
        fixed[token.text] = self._attr(kinds[token.text], dtype)

    def _require(
        self, at: Token, op: str, kinds: dict[str, str], fixed: dict[str, Any]
    ) -> None:
        missing = [k for k in kinds if k not in fixed]
        if any(k in FROM_TYPE for k in missing):
            raise self.error(at, f"expected a type, as in 'x: f32[2] = {op} ..'")
        if missing:
            raise self.error(at, f"{op} lacks the attributes {', '.join(missing)}")

    # -- values --

    def _type(self) -> tuple[DType, Shape]:
        dtype = self._dtype()
        return dtype, tuple(self._list(self._dim))

    def _dtype(self) -> DType:
        token = self.take()
        try:
            return dtypes.of(token.text)
        except ValueError as e:
            raise self.error(token, f"expected a dtype: {e}") from None

    def _list[T](self, item: Callable[[], T]) -> list[T]:
        self.expect("[")
        items: list[T] = []
        while not self.at("]"):
            items.append(item())
            if not self.skip(","):
                break
        self.expect("]")
        return items

    def _attr(self, kind: str, dtype: DType | None) -> Any:
        match kind:
            case "str":
                return self._name("a word")
            case "int":
                return self._int()
            case "float":
                return self._value(dtypes.F64)
            case "dtype":
                return self._dtype()
            case "ints" | "mask":
                return tuple(self._list(self._int))
            case "dim":
                return self._dim()
            case "shape":
                return tuple(self._list(self._dim))
            case _:
                if dtype is None:
                    raise self.error(
                        self.peek, "expected a type or operand before this"
                    )
                return self._value(dtype)

    def _int(self) -> int:
        at, sign = self.peek, -1 if self.skip("-") else 1
        token = self.take()
        if token.kind != "number" or not token.text.isdigit() or len(token.text) > 40:
            raise self.error(at, f"expected an integer, found {token.shown}")
        return sign * int(token.text)

    def _value(self, dtype: DType) -> Const:
        if dtype.kind == "bool":
            token = self.take()
            if token.text not in ("true", "false"):
                raise self.expected("true or false", token)
            return token.text == "true"
        at = self.peek
        value = self._int() if dtype.is_int else self._float()
        try:
            return exact(value, dtype)
        except GraphError as e:
            raise self.error(at, str(e)) from None

    def _float(self) -> float:
        sign = -1.0 if self.skip("-") else 1.0
        token = self.take()
        if token.kind != "number" and token.text not in ("inf", "nan"):
            raise self.expected("a number", token)
        return sign * float(token.text)

    def _dim(self) -> Dim:
        at, parts, depth = self.peek, list[str](), 0
        while True:
            text = self.take().text
            parts.append(text)
            depth += (text == "(") - (text == ")")
            inside = text == "(" or text in OPERATORS
            if not inside and not self.at(*OPERATORS, *(")" if depth else "")):
                break
        try:
            return dims.parse("".join(parts))
        except ValueError:
            result = "".join(parts)[:40] or self.peek.shown
            raise self.error(at, f"expected a dimension, found {result!r}") from None
