"""The form that a piece has after each step of its proof, and what that form costs.

Terms that the proof shows to be equal are one class, and in a form each class is one of
its terms: at first what the input says, then what the steps make.  The cost is that of
every op as a kernel of its own, which reads its operands through the views on them; so
it says what a step does to the work, and not what fusing makes of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.ir.ops import TensorType
from rewrite.egraph.proof.check import Terms
from rewrite.egraph.proof.explain import Explanation, Step
from rewrite.egraph.proof.naming import classes
from rewrite.egraph.proof.proof import Proof
from rewrite.egraph.saturate.encode import ENode, Names
from rewrite.extract.schedule.chosen import LEAVES, VIEWS
from rewrite.extract.schedule.kernel import KernelCost

from .decisions import Pricing

type Shape = tuple[Any, ...]  # an op over the views, numbers and values that it reads


class Forms:
    """The forms of one piece, one after the other."""

    def __init__(self, proof: Proof, price: KernelCost, known: dict[Shape, float]):
        """`known` are costs of ops, which pieces share."""
        labels = {label: i for i, label in enumerate(proof.labels)}
        self.proof, self.price, self.known = proof, price, known
        self.terms = Terms(proof.terms, Names(labels))
        self.root = classes(proof)
        self.goals = [self.root[g.left] for g in proof.goals]
        self.term: dict[int, int] = {}  # by class
        for t in proof.before:
            if t is not None:
                self.term.setdefault(self.root[t], t)
        for t in (*proof.before, *(g.left for g in proof.goals)):
            if t is not None:
                self._adopt(t)

    def step(self, step: Step) -> None:
        """The class takes the form that the step makes."""
        use = self.proof.uses[step.use]
        end = use.right if step.forward == use.forward else use.left
        self.term[self.root[end]] = end
        self._adopt(end)

    def _adopt(self, t: int) -> None:
        """Classes that a term reads and that have no form yet take the term's."""
        self.term.setdefault(self.root[t], t)
        todo = list(self.terms.node(t).args)
        while todo:
            t = todo.pop()
            if self.root[t] not in self.term:
                self.term[self.root[t]] = t
                todo += self.terms.node(t).args

    def seconds(self) -> float | None:
        """None where a class is, for the moment, written in terms of itself."""
        total, done, open_ = 0.0, set[int](), set[int]()
        todo = [(c, False) for c in self.goals]
        while todo:
            c, leaving = todo.pop()
            if leaving:
                open_.discard(c)
                done.add(c)
                if self._node(c).op not in VIEWS | LEAVES:
                    total += self._op(c)
            elif c in open_:
                return None
            elif c not in done:
                open_.add(c)
                todo.append((c, True))
                todo += [(a, False) for a in self._args(c) if a not in done]
        return total

    def _node(self, c: int) -> ENode:
        return self.terms.node(self.term[c])

    def _args(self, c: int) -> Iterator[int]:
        return (self.root[a] for a in self._node(c).args)

    def _type(self, c: int) -> TensorType:
        return self.terms.type(self.term[c])

    def _op(self, c: int) -> float:
        shape = self._shape(c, top=True)
        if shape not in self.known:
            b = Builder()
            root = self._built(b, shape)
            result = Pricing(b.build([root]), {}, self.price)((root,), ())
            self.known[shape] = 0.0 if isinstance(result, str) else result.seconds
        return self.known[shape]

    def _shape(self, c: int, *, top: bool = False) -> Shape:
        node = self._node(c)
        if not top and node.op not in VIEWS | {"const", "iota"}:
            return ("in", self._type(c))
        inner = tuple(self._shape(a) for a in self._args(c))
        return (node.op, repr(node.attrs), _Attrs(node.attrs), *inner)

    def _built(self, b: Builder, shape: Shape) -> int:
        if shape[0] == "in":
            kind: TensorType = shape[1]
            return b.input(f"x{len(b.nodes)}", kind.dtype, kind.shape)
        args = [self._built(b, s) for s in shape[3:]]
        return b.add(shape[0], args, shape[2].values)


class _Attrs:
    """Attributes beside their text, which alone counts where shapes are compared: NaN
    is no key, and 0.0 the same as -0.0."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.values = values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Attrs)

    def __hash__(self) -> int:
        return 0


def costs(
    why: Explanation, price: KernelCost, known: dict[Shape, float]
) -> list[tuple[float, float] | None]:
    """Predicted seconds before and after each step, in reading order."""
    forms = Forms(why.proof, price, known)
    out: list[tuple[float, float] | None] = []
    now = forms.seconds()
    for step in why.steps:
        forms.step(step)
        before, now = now, forms.seconds()
        out.append(None if before is None or now is None else (before, now))
    return out


__all__ = ["costs"]
