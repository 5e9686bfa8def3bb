"""Terms of a proof as text, by the names that the user gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..ir.constructors import SIGNATURES
from ..ir.dtypes import DType
from ..ir.graph import Graph, Node
from ..ir.ops import READS
from ..rules.sexpr import Expr, Form
from ..saturate.encode import ENode
from .check import Terms
from .proof import Proof


def classes(proof: Proof) -> list[int]:
    """For each term one that stands for all that the proof shows to be equal to it."""
    up = list(range(len(proof.terms)))

    def root(t: int) -> int:
        while up[t] != t:
            up[t] = up[up[t]]
            t = up[t]
        return t

    for x in proof.lemmas:
        uses = [proof.uses[m.use] for m in x.moves if m.use is not None]
        for t in (x.right, *(t for u in uses for t in (u.left, u.right))):
            up[root(t)] = root(x.left)
    return [root(t) for t in range(len(up))]


def user_names(before: Graph, proof: Proof, *, numbered: bool) -> dict[int, str]:
    """The user's names of terms; nodes without one go by their number, if by any."""
    names: dict[int, str] = {}
    for i, (node, t) in enumerate(zip(before.nodes, proof.before, strict=True)):
        if t is not None and node.op != "const" and (node.name or numbered):
            names.setdefault(t, node.name or f"%{i}")
    return names


class Namer:
    """Terms as text: what equals a named one goes by its name, the others are spelled
    out to a small depth."""

    def __init__(
        self,
        terms: Terms,
        names: Mapping[int, str],
        root: Sequence[int],
        depth: int = 3,
    ) -> None:
        self.terms, self.names, self.root, self.depth = terms, names, root, depth
        self.called: dict[int, str] = {}  # by class
        for t, name in names.items():
            self.called.setdefault(root[t], name)

    def term(self, t: int) -> str:
        """The op spelled out even if the term has a name, which then stands before."""
        return self._headed(t, self._spelled(t, self.depth, self.root[t]))

    def side(self, pattern: Expr, t: int) -> str:
        """A side of a rule: spelled out as far as the rule says what it is."""
        return self._headed(t, self._matched(pattern, t, self.root[t]))

    def operand(self, t: int, depth: int = 1, within: int | None = None) -> str:
        """By name, but not by that of the class `within` which it stands."""
        known = self.root[t] if self.root[t] != within else None
        if t in self.names or known in self.called:
            return self.names.get(t) or self.called[self.root[t]]
        return self._spelled(t, depth, within) if depth else "…"

    def _headed(self, t: int, shown: str) -> str:
        name = self.names.get(t)
        return shown if name is None or shown == name else f"{name} = {shown}"

    def _matched(self, pattern: Expr, t: int, within: int) -> str:
        if not isinstance(pattern, Form):
            return self._spelled(t, self.depth, within)
        row = self.terms.rows[t]
        fields = zip(SIGNATURES[row[0]], pattern.args, row[1:], strict=True)
        args = [
            self._matched(e, x, within)
            if isinstance(e, Form)
            else self.operand(x, self.depth - 1, within)
            for kind, e, x in fields
            if kind == "t"
        ]
        return self._written(t, args or self._operands(t, self.depth, within))

    def _spelled(self, t: int, depth: int, within: int | None) -> str:
        return self._written(t, self._operands(t, depth, within))

    def _operands(self, t: int, depth: int, within: int | None) -> list[str]:
        return [self.operand(a, depth - 1, within) for a in self.terms.node(t).args]

    def _written(self, t: int, args: Sequence[str]) -> str:
        return written(self.terms.node(t), args)


def written(node: Node | ENode, args: Sequence[str]) -> str:
    """An op on operands that are text."""
    if node.op == "const":
        return f"{node.attrs[0]}"
    if node.op in READS:
        return str(node.attrs[0])
    if node.op in ("un", "bin"):
        return f"{node.attrs[0]}({', '.join(args)})"
    attrs = [attr_text(a) for a in node.attrs]
    shown = [*args[: len(node.args)], *attrs]  # a Pad's value is among its fields
    return f"{node.op}({', '.join(shown)})"


def attr_text(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return value.name if isinstance(value, DType) else str(value)


__all__ = ["Namer", "attr_text", "classes", "user_names", "written"]
