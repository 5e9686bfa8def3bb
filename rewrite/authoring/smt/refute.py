"""Counterexamples: tensors on which the sides of a rule differ, found and confirmed.

Where a proof fails, the path tells sizes, masks and permutations at which it did; the
solver gives small ones.  Dtypes, opcodes, constants and entries that it leaves open are
drawn.  Only what the reference evaluator computes on both sides counts: a rule is
refuted if they differ there, or if the right side cannot be built.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Any, cast

import numpy as np

from rewrite.egraph.ir.constructors import SIGNATURES
from rewrite.egraph.ir.dtypes import BOOL, F16, F32, I8, I32, U8
from rewrite.egraph.ir.dtypes import BY_NAME as DTYPES
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.graph import Builder, Graph, GraphError
from rewrite.egraph.ir.ops import Array, OpError, TensorType
from rewrite.egraph.ir.scalars import BY_NAME, MONOIDS
from rewrite.egraph.judge.instances import Pair
from rewrite.egraph.judge.judge import Judge
from rewrite.egraph.judge.sample import Sampler
from rewrite.egraph.judge.sound import agree, promise
from rewrite.egraph.judge.terms import Undrawn
from rewrite.egraph.rules.ruleset import Rule
from rewrite.egraph.rules.sexpr import Atom as Word
from rewrite.egraph.rules.sexpr import Expr, Form

from .concrete import Concrete, Undefined, Unmet, accumulator
from .meaning.conditions import value
from .meaning.elements import Apply, Number, Sym, Variable, Whole
from .meaning.language import Library
from .prover import Case

USUAL = (F32, F32, I32, BOOL, U8, I8, F16)
SIZE = 3  # the solver is asked for sizes up to here first
CASES, MODELS, WISHES = 9, 6, 8
DRAWS = 60  # of what a failing path leaves open
SAMPLES = 150  # instances drawn without a path
ENTRIES = 4  # draws of entries for each instance
CONSTANTS = (
    0.0, 1.0, 2.0, -1.0, 0.5, -0.5, 3.0, -2.0, 4.0, 1 / 3, 100.0, 60000.0, 2.0**127,
)  # fmt: skip
ZEROS = 0.2  # of the entries of reals
TELLING = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0)


@dataclass(frozen=True)
class Counterexample:
    """Values of a rule's variables on which its sides differ."""

    tensors: Mapping[str, str]  # variable -> type and entries
    attributes: Mapping[str, str]
    left: str
    right: str
    backward: bool = False  # from the right side of a birewrite to its left

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def lines(self) -> list[str]:
        out = [f"{k}: {v}" for k, v in self.tensors.items()]
        if self.attributes:
            out.append("  ".join(f"{k} = {v}" for k, v in self.attributes.items()))
        names = ("right", "left") if self.backward else ("left", "right")
        return [*out, f"{names[0]:5} {self.left}", f"{names[1]:5} {self.right}"]


def refute(
    rule: Rule, library: Library, failed: Sequence[Case], *, thorough: bool = True
) -> Counterexample | None:
    """A confirmed counterexample, or None.  Without `thorough`, only what is quick."""
    rng = Random(rule.name)
    draws = DRAWS if thorough else DRAWS // 3
    for instance in _at_failures(failed, rng, library, draws):
        result = _confirmed(rule, library, rng, *instance)
        if result is not None:
            return result
    if not thorough:
        return None
    for backward in (False, True) if rule.both else (False,):
        for instance in _sampled(rule, rng, backward):
            result = _confirmed(rule, library, rng, *instance)
            if result is not None:
                return result
    return None


type Drawn = tuple[bool, Builder, int, dict[str, Any]]


def _sampled(rule: Rule, rng: Random, backward: bool) -> Iterator[Drawn]:
    """Instances of a side, drawn from its root."""
    pattern = rule.right if backward else rule.left
    if _padding(pattern):
        return  # the sampler keeps the value, and not the node of it
    for _ in range(SAMPLES):
        sampler = Sampler(Random(rng.random()))
        try:
            node = sampler.instance(pattern, tries=40)
        except Undrawn:
            return
        if node is not None:
            yield backward, sampler.builder, node, dict(sampler.bound)


def _at_failures(
    failed: Sequence[Case], rng: Random, library: Library, draws: int
) -> Iterator[Drawn]:
    for case in failed[:CASES]:
        for model in _models(case, rng):
            for _ in range(draws // MODELS):
                drawn = _instance(case, model, rng, library)
                if drawn is not None:
                    yield drawn


def _models(case: Case, rng: Random) -> Iterator[Mapping[str, int]]:
    """Integers on the path: small ones, and what else they may be, drawn."""
    p, inst = case.path, case.instance
    sizes = [p.normal(n) for t in inst.leaves.values() for n in t.shape]
    vectors = [cast("tuple[Any, ...]", x) for x in inst.bound.values() if _is_vector(x)]
    open_ = [p.normal(d) for v in vectors for d in v]
    for _ in range(MODELS):
        wishes = [(d, rng.randrange(SIZE + 1)) for d in (*sizes, *open_)]
        rng.shuffle(wishes)
        model = p.model(sizes, SIZE, wishes[:WISHES])
        if model is not None:
            yield model


def _is_vector(x: Any) -> bool:
    return isinstance(x, tuple)


def _instance(
    case: Case, model: Mapping[str, int], rng: Random, library: Library
) -> Drawn | None:
    """The left side at the sizes of a model; what it leaves open is drawn."""
    pattern = case.rule.right if case.backward else case.rule.left
    strings = _Strings(case, rng)
    builder, bound = Builder(), dict[str, Any]()
    try:
        for name, x in case.instance.bound.items():
            if name in case.instance.leaves:
                bound[name] = _leaf(case, name, model, strings, rng, builder)
            elif _stands_in(name, pattern):
                bound[name] = _attribute(case, name, x, model, strings, rng)
        made = Concrete(library, builder, bound)
        node = made.build(pattern)
    except (GraphError, OpError, Unmet, KeyError):
        return None
    return (case.backward, builder, node, bound) if made.held else None


def _leaf(
    case: Case, name: str, model: Mapping[str, int], strings: _Strings, rng: Random,
    builder: Builder,
) -> int:  # fmt: skip
    t = case.instance.leaves[name]
    shape = tuple(_integer(case, n, model) for n in t.shape)
    dtype = DTYPES[strings.dtype(t.dtype)]
    if name in _padding(case.rule.right if case.backward else case.rule.left):
        return builder.const(float(rng.randrange(2)), dtype, shape)
    return builder.input(name, dtype, shape)


def _integer(case: Case, d: Any, model: Mapping[str, int]) -> int:
    return value(case.path.normal(d), model)


def _attribute(
    case: Case, name: str, x: Any, model: Mapping[str, int], strings: _Strings,
    rng: Random,
) -> Any:  # fmt: skip
    if _is_vector(x):
        return tuple(_integer(case, d, model) for d in x)
    if isinstance(x, str | Sym):
        return strings.of(name, x)
    if isinstance(x, Variable | Apply | Number | Whole | float):
        return x if isinstance(x, float) else rng.choice(CONSTANTS)
    return _integer(case, x, model)


def _stands_in(name: str, e: Expr) -> bool:
    if isinstance(e, Word):
        return e.text == name
    return any(_stands_in(name, a) for a in e.args)


def _padding(e: Expr) -> frozenset[str]:
    """Variables that are the value of a pad: constants in every graph."""
    if isinstance(e, Word):
        return frozenset()
    own = frozenset([str(e.args[-1])]) if e.head == "Pad" else frozenset[str]()
    return own.union(*(_padding(a) for a in e.args))


class _Strings:
    """Draws for the strings that a path leaves open, each the same where it recurs."""

    def __init__(self, case: Case, rng: Random) -> None:
        self.case, self.rng = case, rng
        self.drawn: dict[str, str] = {}
        pattern = case.rule.right if case.backward else case.rule.left
        self.roles = dict(_roles(pattern))

    def dtype(self, s: str | Sym) -> str:
        s = self.case.instance.world.string(s)
        if isinstance(s, str):
            return s
        if s.name.startswith("wide("):
            inner = self.case.instance.world.string(_inner(s.name))
            if inner != s:
                return accumulator(self.dtype(inner))
        return self.drawn.setdefault(s.name, self.rng.choice(USUAL).name)

    def of(self, name: str, s: str | Sym) -> str:
        s = self.case.instance.world.string(s)
        if isinstance(s, str):
            return s
        role = self.roles.get(name, "dtype")
        if role in ("dtype", "acc"):
            draw = self.dtype(s)
            return (
                accumulator(draw) if role == "acc" and self.rng.random() < 0.5 else draw
            )
        options = {
            "un": [o.name for o in BY_NAME.values() if o.arity == 1],
            "bin": [o.name for o in BY_NAME.values() if o.arity == 2],
            "monoid": list(MONOIDS),
        }.get(role, ["inf", "nan", "-inf"])
        return self.drawn.setdefault(s.name, self.rng.choice(options))


def _inner(name: str) -> str | Sym:
    inner = name[5:-1]
    return inner if inner in DTYPES else Sym(inner)


def _roles(e: Expr) -> Iterator[tuple[str, str]]:
    """What the string variables of a pattern name."""
    if isinstance(e, Form):
        for i, (a, kind) in enumerate(
            zip(e.args, SIGNATURES.get(e.head, ""), strict=False)
        ):
            if kind == "s" and isinstance(a, Word):
                yield a.text, _role(e.head, i)
            yield from _roles(a)


def _role(head: str, i: int) -> str:
    match head, i:
        case (("Un" | "Bin"), _):
            return head.lower()
        case "Reduce", 0:
            return "monoid"
        case (("Reduce" | "Contract"), _):
            return "acc"
        case (("Odd" | "Argreduce"), 0):
            return head.lower()
        case _:
            return "dtype"


# ---- confirmation --------------------------------------------------------------------


def _confirmed(
    rule: Rule, library: Library, rng: Random, backward: bool, builder: Builder,
    left: int, bound: dict[str, Any],
) -> Counterexample | None:  # fmt: skip
    """Whether the instance meets the premises and its sides differ."""
    made = Concrete(library, builder, bound)
    try:
        made.check(rule.when)
    except Unmet:
        return None
    kind = builder.type(left)
    words = _Shown(rule.left if not backward else rule.right, builder, bound, backward)
    try:
        right = made.build(rule.left if backward else rule.right)
    except Undefined as e:
        return words.example({}, str(kind), str(e))
    except Unmet:
        return None
    except (GraphError, OpError) as e:
        return words.example({}, str(kind), f"not well typed: {e}")
    if builder.type(right) != kind:
        return words.example({}, str(kind), str(builder.type(right)))
    graph = builder.build({"left": left, "right": right})
    for _ in range(ENTRIES):
        inputs = {
            n.attrs[0]: _entries(n.type, rule.contract, rng) for n in graph.inputs
        }
        exact = rule.contract in ("bitwise", "ieee")
        try:
            with np.errstate(all="ignore"):
                values = evaluate(graph, inputs, "own" if exact else "f64")
        except GraphError:
            return None  # a macro that has no expansion at these sizes
        a, b = values["left"], values["right"]
        if agree(a, b, kind, promise(rule)):
            continue
        if exact or _differ_exactly(rule, graph, inputs, backward):
            return words.example(inputs, shown(a), shown(b))
    return None


def _differ_exactly(
    rule: Rule, graph: Graph, inputs: dict[str, Array], backward: bool
) -> bool:
    """Whether it is the law that fails, and not the digits of f64."""
    left, right = (node for _, node in graph.outputs)
    judge = Judge(graph, [Pair(left, left, right, not backward)], promise(rule))
    values = judge.oracle.values(inputs, "exact")
    a, b = values[left], values[right]
    if a is None or b is None or not judge.open:
        return True
    return bool(judge.differ(0, inputs, (a, b), "exact")[2].any())


def _entries(t: TensorType, contract: str, rng: Random) -> Array:
    shape = tuple(int(n) for n in t.shape)  # type: ignore[arg-type]
    r = np.random.default_rng(rng.randrange(1 << 32))
    if t.dtype.kind == "bool":
        return np.asarray(r.random(shape) < 0.5)
    if t.dtype.is_int:
        info = np.iinfo(t.dtype.numpy)
        small = r.integers(0 if info.min == 0 else -3, 4, shape)
        wide = r.integers(info.min, info.max, shape, t.dtype.numpy, endpoint=True)
        return np.where(r.random(shape) < 0.5, small, wide).astype(t.dtype.numpy)
    out = r.integers(1, 9, shape) / 4 * r.choice((-1.0, 1.0), shape)
    if contract in ("bitwise", "ieee"):
        out = np.where(r.random(shape) < 0.4, r.standard_normal(shape) * 3, out)
        out = np.where(r.random(shape) < 0.5, r.choice(TELLING, shape), out)
    else:
        out = np.where(r.random(shape) < ZEROS, 0.0, out)  # poles stay where they are
    return np.asarray(out).astype(t.dtype.numpy)


def shown(a: Array) -> str:
    if a.ndim == 0:
        return np.array2string(a, floatmode="unique")
    flat = np.array2string(
        np.asarray(a).ravel()[:8], separator=", ", floatmode="unique"
    )
    return f"{list(a.shape)} {flat}" if a.ndim != 1 else flat


@dataclass(frozen=True)
class _Shown:
    """An instance in words."""

    pattern: Expr
    builder: Builder
    bound: Mapping[str, Any]
    backward: bool

    def example(
        self, inputs: Mapping[str, Array], left: str, right: str
    ) -> Counterexample:
        tensors: dict[str, str] = {}
        attributes: dict[str, str] = {}
        kinds = dict(_kinds(self.pattern))
        for name, x in self.bound.items():
            kind = kinds.get(name)
            if kind == "t":
                node = self.builder.nodes[int(x)]
                value = inputs.get(node.attrs[0]) if node.op == "input" else None
                if node.op == "const":
                    value = np.asarray(node.attrs[0])
                entries = "" if value is None else f" = {shown(value)}"
                tensors[name] = f"{node.type}{entries}"
            elif kind is not None:
                attributes[name] = str(list(x) if _is_vector(x) else x)
        return Counterexample(tensors, attributes, left, right, self.backward)


def _kinds(e: Expr) -> Iterator[tuple[str, str]]:
    """Variables of a pattern and what they stand for."""
    if isinstance(e, Form):
        for a, kind in zip(e.args, SIGNATURES[e.head], strict=True):
            if isinstance(a, Word):
                yield a.text, kind
            else:
                yield from _kinds(a) if kind == "t" else ()
