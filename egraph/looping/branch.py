"""A branch: two graphs, of which a truth value chooses the one that runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..ir.dims import Dim, Shape
from ..ir.dtypes import BOOL, DType
from ..ir.graph import Graph, GraphError
from ..ir.ops import Array, TensorType
from ..ir.values import KINDS, Kind
from .flow import Flow, Run, check_body, flat


@dataclass(frozen=True, eq=False)
class Branch(Flow):
    """The first operand of the call is the truth value.  `places` says which operands
    the inputs of a body are; its outputs are the results."""

    if_true: Graph
    if_false: Graph
    places: tuple[tuple[int, ...], tuple[int, ...]]

    kind: ClassVar[str] = "cond"

    def __post_init__(self) -> None:
        for body, places in zip(self.bodies, self.places, strict=True):
            if len(body.inputs) != len(places) or min(places, default=1) < 1:
                raise GraphError("a branch with operands that there are not")
        for body in self.bodies:
            check_body(body, "a branch")
        one, other = map(_types, self.bodies)
        if one != other:
            shown = " and ".join(", ".join(map(str, t)) for t in (one, other))
            raise GraphError(f"the results of a branch are of the types {shown}")
        if len({t.dtype for t in one}) != 1:
            raise GraphError("results of one dtype were expected of a branch")

    @property
    def attrs(self) -> Mapping[str, Any]:
        return dict(zip(KIND.attrs, self.places, strict=True))

    @property
    def bodies(self) -> tuple[Graph, ...]:
        return self.if_true, self.if_false

    @property
    def words(self) -> tuple[str, ...]:
        return "if true", "if false"

    @property
    def kept(self) -> tuple[TensorType, ...]:
        return _types(self.if_true)

    @property
    def shown(self) -> str:
        return "a branch that runs one of two graphs, as its first operand says"

    def given(self, body: int) -> Sequence[int]:
        return self.places[body]

    def invariant(self, body: int) -> frozenset[str]:
        return frozenset()

    def runs(self, shapes: Sequence[Shape]) -> Dim | None:
        return 1

    def entered(self, operand: int) -> bool:
        return False

    def check(self, operands: Sequence[TensorType], result: TensorType) -> None:
        if not operands or operands[0] != TensorType(BOOL, ()):
            raise GraphError("the first operand of a branch is a truth value, bool[]")
        super().check(operands, result)

    def folded(self, args: Sequence[Array], runs: Sequence[Run], dtype: DType) -> Array:
        arm = self.arm(bool(args[0]))
        given = {
            n.attrs[0]: args[k]
            for n, k in zip(self.inputs_of(arm), self.places[arm], strict=True)
        }
        return flat(runs[arm](given), dtype)

    @staticmethod
    def arm(value: bool) -> int:
        """The body that runs."""
        return 0 if value else 1


def _types(body: Graph) -> tuple[TensorType, ...]:
    return tuple(body.nodes[i].type for _, i in body.outputs)


def _made(
    one: Graph, other: Graph, *, if_true: tuple[int, ...], if_false: tuple[int, ...]
) -> Branch:
    return Branch(one, other, (if_true, if_false))


KIND = Kind({"if_true": "ints", "if_false": "ints"}, 2, _made)
KINDS[Branch.kind] = KIND

__all__ = ["Branch"]
