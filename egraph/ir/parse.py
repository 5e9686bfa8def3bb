"""The parser behind `text.parse`; the text form is described there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from . import dims
from .graph import Alias, Builder, Graph, GraphError
from .invariants import LABELLED
from .ops import Array, TensorType
from .tokens import Token
from .values import KINDS, Values

DEEPEST = 32


def parse(
    text: str,
    filename: str = "<text>",
    data: Mapping[str, Array] | None = None,
    calls: Mapping[str, Callable[..., Any]] | None = None,
) -> Graph:
    """The graph in `text`; a `GraphError` gives file, line and column.

    `data` holds the arrays that the text names without values, `calls` the host
    functions behind its `call` nodes.
    """
    return _Parser(text, filename, data or {}, calls or {}).whole()


class _Parser(Values):
    """Recursive descent over tokens; every node goes through the op table's checks."""

    def __init__(
        self, text: str, filename: str, data: Mapping[str, Array],
        calls: Mapping[str, Callable[..., Any]],
    ) -> None:  # fmt: skip
        super().__init__(text, filename)
        self.given, self.calls = data, dict(calls)
        self.depth = 0  # of loops and branches within others
        self._begin()

    def _begin(self) -> None:
        """With nothing known of a graph."""
        self.builder = Builder()
        self.refs: dict[str, int] = {}
        self.inputs: dict[str, int] = {}
        self.met: dict[tuple[str, str], Token] = {}  # names by what they are of

    def once(self, at: Token, what: str, name: str, says: str) -> None:
        """An error that names both places where something has the name already."""
        first = self.met.setdefault((what, name), at)
        if first is not at:
            line = self.line(first)
            raise self.error(at, f"{says} (the first is in line {line})")

    # -- statements --

    def whole(self) -> Graph:
        made = self.graph()
        if self.peek.kind != "end":
            raise self.expected("the end", self.peek)
        return made

    def graph(self) -> Graph:
        """A graph and the definitions behind it."""
        self.blank()
        self.expect("graph")
        name = self._name("the graph's name")
        self._header()
        outputs: dict[str, int] | None = None
        aliases: list[Alias] = []
        while not self.at("}"):
            if self.skip("return"):
                outputs = self._return(outputs)
            elif self.skip("alias"):
                aliases.append(self._alias(outputs or {}))
            elif self.peek.kind != "newline":
                self._node(outputs)
            self.end_line()
            self.blank()
        if outputs is None:
            raise self.error(self.peek, "expected 'return' before '}'")
        self.expect("}")
        self.blank()
        while self.at(*KINDS):
            self._definition()
            self.blank()
        b = self.builder
        return Graph(
            tuple(b.nodes), tuple(outputs.items()), name, tuple(aliases), b.data,
            dict(self.calls),
        )  # fmt: skip

    # -- host functions that are graphs --

    def _definition(self) -> None:
        kind, at = KINDS[self.take().text], self.peek
        target = self._name("the name of a call")
        self.once(at, "call", target, f"{target!r} is defined twice")
        fixed: dict[str, Any] = {}
        while self.peek.kind == "word":
            self._named_attr(dict(kind.attrs), fixed, None)
        self._require(at, target, dict(kind.attrs), fixed)
        self.expect("{")
        bodies = [self._inner() for _ in range(kind.bodies)]
        self.expect("}")
        nodes = [n for n in self.builder.nodes if n.op == "call"]
        calling = [n for n in nodes if n.attrs[0] == target]
        if not calling:
            raise self.error(at, f"{target!r} is not called by the graph before it")
        try:
            made = kind.make(*bodies, **fixed)
            for n in calling:
                made.check([self.builder.type(i) for i in n.args], n.type)
        except GraphError as e:
            raise self.error(at, str(e)) from None
        self.calls[target] = made

    def _inner(self) -> Graph:
        """A graph of its own, in the same text."""
        if self.depth == DEEPEST:
            raise self.error(self.peek, f"graphs within {DEEPEST} others")
        self.depth += 1
        state = self.calls, self.builder, self.refs, self.inputs, self.met
        self.calls = {}
        self._begin()
        made = self.graph()
        self.calls, self.builder, self.refs, self.inputs, self.met = state
        self.depth -= 1
        return made

    def _header(self) -> None:
        self.expect("(")
        while not self.at(")"):
            at = self.take()
            if at.kind != "word":
                raise self.expected("an input's name", at)
            self.expect(":")
            attrs = (at.text, *self._type())
            self.refs[at.text] = self._add(at, "input", [], attrs, at.text)
            self._defined(at)
            if not self.skip(","):
                break
        self.expect(")")
        self.expect("{")

    def _return(self, earlier: dict[str, int] | None) -> dict[str, int]:
        if earlier is not None:
            raise self.error(self.peek, "expected one 'return', found a second")
        outputs: dict[str, int] = {}
        while self.peek.kind != "newline" and not self.at("}"):
            token = self.peek
            named = self.after.text == "="
            label = self._name("an output's name") if named else token.text
            if named:
                self.expect("=")
            says = f"there are two outputs called {label!r}"
            self.once(token, "output", label, says)
            outputs[label] = self._ref()
            if not self.skip(","):
                break
        return outputs

    def _alias(self, outputs: dict[str, int]) -> Alias:
        at = self.peek
        output = self._name("an output's name")
        if output not in outputs:
            raise self.error(at, f"expected an output of this graph, found {output!r}")
        self.expect("<-")
        source_at = self.peek
        source = self._name("an input's name")
        kind_at = self.peek
        kind = self._name("'must' or 'may'")
        if kind not in ("must", "may"):
            raise self.error(kind_at, f"expected 'must' or 'may', found {kind!r}")
        if source not in self.inputs:
            raise self.error(source_at, f"expected an input's name, found {source!r}")
        have = self.builder.type(outputs[output])
        want = self.builder.type(self.inputs[source])
        if have != want:
            raise self.error(at, f"{have} cannot lie on {want}")
        self.once(at, "alias", output, f"output {output!r} has two aliases: keep one")
        if kind == "must":
            says = f"two outputs must lie on input {source!r}: keep one"
            self.once(source_at, "must", source, says)
        return Alias(output, source, kind)

    # -- nodes --

    def _defined(self, at: Token) -> None:
        self.once(at, "node", at.text, f"{at.text!r} is defined twice")

    def _node(self, outputs: dict[str, int] | None) -> None:
        at = self.take()
        if at.kind not in ("word", "label"):
            raise self.expected("a node", at)
        if outputs is not None:
            raise self.error(at, f"expected 'alias' or '}}', found {at.shown}")
        self._defined(at)
        name = at.text if at.kind == "word" else ""
        if at.kind == "label" and self.peek.kind == "string":
            name = self._unquote(self.take())
        type_ = TensorType(*self._type()) if self.skip(":") else None
        self.expect("=")
        op_at = self.peek
        i = self._op(op_at, name, type_)
        if type_ is not None and self.builder.type(i) != type_:
            have = self.builder.type(i)
            raise self.error(op_at, f"the result is {have}, not {type_} as written")
        self.refs[at.text] = i

    def _op(self, at: Token, name: str, type_: TensorType | None) -> int:
        op, fixed = self._opcode(at)
        kinds = self._leading(op, fixed, type_)
        args = self._operands()
        dtype = self.builder.type(args[0]).dtype if args else None
        while self.peek.kind == "word":
            self._named_attr(kinds, fixed, dtype)
        array = self._array(at, fixed["label"], type_) if op == "data" else None
        self._require(at, op, kinds, fixed)
        made = self._add(at, op, args, tuple(fixed[k] for k in kinds), name)
        if array is not None:
            self.builder.data[fixed["label"]] = array
        return made

    def _operands(self) -> list[int]:
        args: list[int] = []
        while self.peek.kind in ("word", "label"):
            if self.after.text == "=":
                break
            args.append(self._ref())
        return args

    def _ref(self) -> int:
        token = self.take()
        if token.kind not in ("word", "label"):
            raise self.expected("an operand", token)
        if token.text not in self.refs:
            raise self.error(token, f"{token.text!r} is not defined above")
        return self.refs[token.text]

    def _add(
        self, at: Token, op: str, args: list[int], attrs: tuple[Any, ...], name: str
    ) -> int:
        if op in LABELLED:
            says = f"there are two {LABELLED[op]} called {attrs[0]!r}"
            self.once(at, op, attrs[0], says)
        if op == "input":
            self.inputs[attrs[0]] = len(self.builder.nodes)
        try:
            return self.builder.add(op, args, attrs, name, share=False)
        except GraphError as e:
            raise self.error(at, str(e)) from None

    def _array(self, at: Token, label: str, type_: TensorType | None) -> Array:
        if type_ is None:
            raise self.error(at, "expected a type, as in 'x: f32[2] = data ..'")
        if not self.at("["):
            if label not in self.given:
                raise self.error(at, f"the array {label!r} ({type_}) is not in the "
                                  "text: hand it to parse(.., data={..})")  # fmt: skip
            array = self.given[label]
        else:
            values = self._list(lambda: self._value(type_.dtype))
            array = np.array(values, type_.dtype.numpy)
            if len(values) != dims.numel(type_.shape):
                raise self.error(at, f"{type_} expected, found {len(values)} elements")
            array = array.reshape(dims.bind_shape(type_.shape, {}))
        if array.shape != type_.shape or array.dtype != type_.dtype.numpy:
            result = f"{array.dtype}{list(array.shape)}"
            raise self.error(at, f"{type_} expected, found {result}")
        return array
