"""Classes, e-nodes and conditions in the user's words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from rewrite.egraph.ir.constructors import SIGNATURES
from rewrite.egraph.ir.dtypes import DType
from rewrite.egraph.ir.macros import MACROS
from rewrite.egraph.ir.ops import READS
from rewrite.egraph.rules.premises import Algebra, Tensor, Undefined
from rewrite.egraph.rules.ruleset import RuleSet
from rewrite.egraph.rules.sexpr import Atom, Expr, Form, variables
from rewrite.egraph.saturate.encode import ENode

from .atoms import Condition
from .watched import Asked, Binding, Firing, Watched

FORMS = 3  # of a class that are listed
DEPTH = 2  # to which a term without a name is spelled out


@dataclass(frozen=True, slots=True)
class Line:
    """One condition: it held (True), failed (False) or was not reached (None)."""

    condition: str
    held: bool | None
    detail: str


class Words:
    """Names for the classes of one piece; `place` leads from its nodes to the model's,
    `names` are the user's labels of those."""

    def __init__(
        self, found: Watched, place: Mapping[int, int], names: Mapping[int, str],
        asked: int | None = None, word: str = "",
    ) -> None:  # fmt: skip
        self.found = found
        self.called: dict[int, str] = {}
        for local in range(len(found.graph.nodes)):
            c = found.own(local)
            label = names.get(place.get(local, -1))
            if c is not None and label and found.graph.nodes[local].op != "const":
                self.called.setdefault(c, label)
        self.asked, self.word = asked, word

    # -- terms --

    def top(self, c: int) -> str:
        """A class as the left of an equation: as the user called it in the question."""
        return self.word if c == self.asked else self.name(c)

    def name(self, c: int, depth: int = DEPTH) -> str:
        if c < 0:
            return "(a term that no output needs)"
        if c in self.called:
            return self.called[c]
        node = self.found.egraph.classes[c][0]
        return self.node(node, depth - 1) if depth or not node.args else "…"

    def node(self, node: ENode, depth: int = DEPTH) -> str:
        """An e-node spelled out."""
        if node.op == "const":
            return f"{node.attrs[0]}"
        if node.op in READS:
            return f"{node.op} {_attr(node.attrs[1])}{_attr(node.attrs[2])}"
        args = [self.name(a, depth) for a in node.args]
        if node.op in ("un", "bin"):
            return f"{node.attrs[0]}({', '.join(args)})"
        attrs = list(map(_attr, node.attrs))
        if attrs and node.op in ("reduce", "argreduce", "scatter"):
            args.insert(0, attrs.pop(0))
        return f"{node.op}({', '.join([*args, *attrs])})"

    def sides(self, firing: Firing) -> tuple[str, str]:
        nodes = self.found.egraph.classes[firing.root]
        left = f"{self.top(firing.root)} = {self.node(nodes[firing.left])}"
        if firing.right is None:
            others = [n for i, n in enumerate(nodes) if i != firing.left]
            if self.name(firing.root) != self.word or not others:
                return left, self.name(firing.root)
            return left, self.node(others[0])
        return left, self.node(nodes[firing.right])

    def forgotten(self, asked: Asked) -> str:
        condition = asked.body.conditions[asked.held]
        c = self.best(asked)[condition.of]
        return f"{self.top(c)} did match {condition.shown}, in a form since forgotten"

    # -- conditions --

    def best(self, asked: Asked) -> Binding:
        """Of the bindings that got furthest, the one with the most names."""

        def unnamed(b: Binding) -> int:
            kinds = asked.body.kinds
            return sum(kinds[v] == "t" and c not in self.called for v, c in b.items())

        return min(asked.prefixes[asked.held], key=lambda b: (unnamed(b), repr(b)))

    def lines(self, asked: Asked, rules: RuleSet) -> tuple[Line, ...]:
        binding, algebra = self.best(asked), Algebra(rules)
        env = self._env(asked, binding, algebra)
        out: list[Line] = []
        for i, c in enumerate(asked.body.conditions):
            held = i < asked.held if i <= asked.held else None
            detail = "not reached"
            if held is not None:
                detail = self._detail(c, held, asked, binding, env, algebra)
            out.append(Line(c.shown, held, detail))
        return tuple(out)

    def _detail(
        self, c: Condition, held: bool, asked: Asked, binding: Binding,
        env: Mapping[str, Any], algebra: Algebra,
    ) -> str:  # fmt: skip
        if c.kind == "shape":
            if held:
                return self._matched(c, binding)
            return self._misfit(c, asked, binding)
        if c.kind == "fact" and not held:
            tensors = [
                v for v in sorted(variables(c.expr)) if isinstance(env.get(v), Tensor)
            ]
            of = ", ".join(self.name(env[v].node) for v in tensors)
            return f"nothing shows it of {of}"
        return self._values(c.expr, env, algebra) or ("holds" if held else "is false")

    def _matched(self, c: Condition, binding: Binding) -> str:
        """The term, its fields from the binding."""
        assert isinstance(c.expr, Form)
        parts: list[str] = []
        for kind, a in zip(SIGNATURES[c.expr.head], c.expr.args, strict=True):
            value: Any = binding.get(str(a), a)
            if kind == "t":
                parts.append(self.name(value))
            elif kind == "T":
                parts += [self.name(x) for x in value]
            else:
                parts.append(_attr(value).strip('"'))
        head, rest = c.expr.head.lower(), parts
        if c.expr.head in ("Un", "Bin", "Macro1", "Macro2", "Macro3"):
            head, rest = parts[0], parts[1:]
        return f"{self.top(binding[c.of])} = {head}({', '.join(rest)})"

    def _misfit(self, c: Condition, asked: Asked, binding: Binding) -> str:
        """What the class holds instead, the forms of the same kind first."""
        at: int = binding[c.of]
        if at < 0:
            return "no output needs the term that it would match"
        assert isinstance(c.expr, Form)
        nodes = self.found.egraph.classes[at]
        same = [n for n in nodes if head_of(n) == c.expr.head]
        others = [n for n in nodes if n not in same]
        shown = [self.node(n) for n in (*same, *others)][:FORMS]
        more = len(nodes) - len(shown)
        name = self.top(at)
        forms = " or ".join(s for s in shown if s != name) or name
        tail = f" or {more} other forms" if more > 0 else ""
        return f"{name} is {forms}{tail}; {_wanted(c.expr)} was needed"

    # -- values of premises --

    def _env(
        self, asked: Asked, binding: Binding, algebra: Algebra
    ) -> Mapping[str, Any]:
        env: dict[str, Any] = {}
        for v, x in binding.items():
            if asked.body.kinds[v] != "t":
                env[v] = x
            elif x >= 0:
                c = cast(int, x)
                env[v] = Tensor(c, self.found.egraph.types[c])
        return algebra.read(asked.body.rule.when, env).env

    def _values(self, e: Expr, env: Mapping[str, Any], algebra: Algebra) -> str:
        """What each operand of a premise is here."""
        assert isinstance(e, Form)
        seen: dict[str, str] = {}
        for a in e.args:
            if isinstance(a, Atom) and not a.is_symbol:
                continue
            try:
                value = algebra.value(a, env)
            except Undefined:
                seen[str(a)] = "undefined"
                continue
            if isinstance(value, Tensor):
                seen[str(a)] = self.name(value.node)
            else:
                seen[str(a)] = _attr(value)
        return ", ".join(f"{k} = {v}" for k, v in seen.items())


def head_of(node: ENode) -> str:
    """The constructor of an e-node."""
    if node.op in MACROS:
        return f"Macro{len(node.args)}"
    return node.op.capitalize()


def _wanted(e: Form) -> str:
    """A pattern as a noun."""
    first = e.args[0]
    word = first.string if isinstance(first, Atom) and first.is_string else ""
    match e.head:
        case "Const":
            value = isinstance(first, Atom) and first.is_number
            return f"the constant {first}" if value else "a constant"
        case "Un" | "Bin" if word:
            return (
                f"'{word}' of {'what is bound above' if _rebound(e) else 'something'}"
            )
        case _:
            return str(e)


def _rebound(e: Form) -> bool:
    names = [str(a) for a in e.args if isinstance(a, Atom) and a.is_symbol]
    return len(names) != len(set(names))


def _attr(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, cast(tuple[Any, ...], value)))}]"
    return value.name if isinstance(value, DType) else str(value)
