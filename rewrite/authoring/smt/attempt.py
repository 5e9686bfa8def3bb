"""One path of one rule at given ranks: both sides built, their elements compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rewrite.egraph.ir import dtypes
from rewrite.egraph.ir.dims import symbol
from rewrite.egraph.ir.scalars import BY_NAME, MONOIDS
from rewrite.egraph.rules.ruleset import Rule
from rewrite.egraph.rules.sexpr import Expr

from .equal import Judge
from .held import Held
from .instance import Instance, kinds_of
from .meaning.conditions import all_same, inside
from .meaning.elements import (
    NUMBER,
    Access,
    Apply,
    Elem,
    Fold,
    Literal,
    Str,
    Sym,
    Variable,
    kids,
    mapped,
    walk,
)
from .meaning.language import Library, NoValue
from .meaning.paths import Infeasible, Path, Unsupported
from .meaning.world import Failed, Tensor, World
from .missing import shown
from .theory.normal import Field
from .wants import Wants

KINDS = ("float", "int", "bool")


@dataclass(frozen=True, slots=True)
class Mode:
    """How a rule is read: with unknown dtypes and opcodes, or with those there are."""

    theory: bool
    eager: bool


@dataclass(frozen=True)
class Outcome:
    """What came of one path; a reason where it was not shown."""

    reason: str = ""
    instance: Instance | None = None  # where a counterexample may be found
    met: bool = False
    accesses: Mapping[str, int] = field(default_factory=dict[str, int])
    used: frozenset[str] = frozenset()
    notes: frozenset[str] = frozenset()
    needs: str = ""  # what would have shown it


@dataclass
class Attempt:
    """One path of one rule at one rank."""

    library: Library
    rule: Rule
    mode: Mode
    backward: bool
    path: Path
    lengths: Mapping[str, int]
    ranks: Mapping[str, int]
    given: Mapping[str, Any]
    shown: set[object] = field(default_factory=set[object])  # of dtypes, on other paths
    kinds: dict[str, str] = field(default_factory=dict[str, str])

    def run(self) -> Outcome:
        rule = self.rule
        world = World(self.path, eager=self.mode.eager)
        inst = Instance(self.library, world, self.lengths, self.ranks)
        inst.bound.update(self.given)
        sides = (rule.right, rule.left) if self.backward else (rule.left, rule.right)
        judge = Judge(
            world, rule.contract, self.field_of(world), inst.facts, both=rule.both
        )
        met = False
        try:
            left = inst.term(sides[0])
            inst.assume(rule.when)
            if not self.path.feasible():
                raise Infeasible
            world.right = True
            right = self._right(inst, sides[1])
            world.fits(left.shape, right.shape, "the shapes differ")
            world.agree(left.dtype, right.dtype, "the dtypes differ")
            Wants(self.library, world, self.shown).check()
            index = self._index(inst, left.shape)
            if index is None:
                return Outcome()
            met = True
            elements = resolved(inst, left.at(index)), resolved(inst, right.at(index))
            judge.facts = [
                (h, resolved(inst, a), resolved(inst, b)) for h, a, b in inst.facts
            ]
            self._choose_kinds(world, elements)
            self._check_constants(inst, judge)
            if not judge.equal(*elements):
                raise Failed(
                    "the elements could not be shown equal", judge.missing(*elements)
                )
            pole = judge.moved_pole(*elements)
            if pole is not None:
                raise Failed(
                    "one side alone has a divisor that may be 0",
                    f"that {shown(pole)} is not 0",
                )
            return Outcome(
                "", None, met, accesses(self.path, elements), frozenset(judge.used),
                frozenset(judge.notes),
            )  # fmt: skip
        except Failed as e:
            return Outcome(str(e), inst, needs=e.needs or f"that it is not so: {e}")
        except Unsupported as e:
            return Outcome(
                f"{e} is beyond the encoding", inst, needs=f"an encoding of {e}"
            )

    def _right(self, inst: Instance, side: Expr) -> Tensor:
        try:
            return inst.term(side)
        except NoValue:
            raise Failed("something on the right side has no value") from None

    def _check_constants(self, inst: Instance, judge: Judge) -> None:
        """What the right side makes of numbers must be numbers of its dtypes."""
        given, made = (
            [(resolved(inst, n), d) for n, d in side] for side in inst.constants
        )
        held = Held(inst.world, judge.field_of, judge.facts)
        result = held.missing(given, made)
        if result is not None:
            n, dtype = result
            raise Failed(
                "a constant may be beyond its dtype",
                f"a premise that keeps {shown(n)} in the range of {dtype}, as "
                "(<= v (largest t))",
            )

    def _index(self, inst: Instance, shape: Sequence[Any]) -> Any:
        """Any position of the result; None where it holds nothing."""
        trail = len(self.path.taken)
        try:
            index = inst.index(shape)
        except Infeasible:
            return None
        assert trail == len(self.path.taken)
        return index if self.path.feasible() else None

    # -- dtypes --

    def field_of(self, world: World) -> Any:
        exact = self.rule.contract in ("bitwise", "ieee")

        def of(dtype: Str) -> Field:
            s = world.string(dtype)
            if s == NUMBER:
                return "real"
            if s == "bool":
                return "bool"
            kind = self.kinds.get(str(s), "free")
            if isinstance(s, str) and self.mode.theory:
                kind = kinds_of(s)
            if kind == "float":
                return "float" if exact else "real"
            return kind  # type: ignore[return-value]

        return of

    def _choose_kinds(self, world: World, elements: tuple[Elem, Elem]) -> None:
        """A kind for each unknown dtype that an opcode reads."""
        if not self.mode.theory:
            return
        wants = Wants(self.library, world)
        for name in read_dtypes(world, elements):
            kinds = [k for k in KINDS if wants.allows(name, k)]
            self.kinds[name] = kinds[self.path.choose(len(kinds))]


def resolved(inst: Instance, e: Elem) -> Elem:
    """The element with what is known of dtypes, opcodes and numbers filled in."""
    world = inst.world
    if isinstance(e, Variable):
        if e.name in inst.values:
            return resolved(inst, inst.values[e.name])
        return _limit(world, e)
    e = mapped(e, lambda x: resolved(inst, x))
    e = replace(e, dtype=world.string(e.dtype))
    if isinstance(e, Apply):
        return replace(e, op=world.string(e.op))
    if isinstance(e, Fold):
        return replace(e, monoid=world.string(e.monoid), acc=world.string(e.acc))
    return e


def _limit(world: World, e: Variable) -> Variable:
    """A limit of a dtype, as `largest(t)`, under the dtype's final name."""
    table, _, inner = e.name.removesuffix(")").partition("(")
    if not inner:
        return e
    dtype = world.string(inner if inner in dtypes.BY_NAME else Sym(inner))
    return Variable(f"{table}({dtype})")


def read_dtypes(world: World, elements: tuple[Elem, Elem]) -> list[str]:
    result: set[str] = set()
    for e in (x for side in elements for x in walk(side)):
        dtypes_: list[Str] = []
        if isinstance(e, Apply) and e.op in BY_NAME:
            dtypes_ = [a.dtype for a in e.args]
        elif isinstance(e, Apply) and e.op == "cast":
            of = [world.string(d) for d in (e.dtype, e.args[0].dtype)]
            dtypes_ = of if "bool" in of else []
        elif (isinstance(e, Fold) and e.monoid in MONOIDS) or isinstance(e, Literal):
            dtypes_ = [e.dtype]
        resolved = [world.string(d) for d in dtypes_]
        result |= {s.name for s in resolved if isinstance(s, Sym)}
    return sorted(result)


def accesses(path: Path, elements: Sequence[Elem]) -> dict[str, int]:
    """How many different elements of each input are read."""
    seen: dict[str, list[Access]] = {}

    def new(e: Access, known: Sequence[Access]) -> bool:
        return not any(
            e.flat == k.flat and path.implies(all_same(e.index, k.index)) for k in known
        )

    def walked(e: Elem) -> None:
        if isinstance(e, Access):
            known = seen.setdefault(e.tensor, [])
            if new(e, known):
                known.append(e)
        binders = e.binders if isinstance(e, Fold) else ()
        with path.scope(*(inside(symbol(s), n) for s, n in binders)):
            for k in kids(e):
                walked(k)

    for e in elements:
        walked(e)
    return {name: len(result) for name, result in seen.items()}
