"""What the tables tell the rules: facts, what is forgotten, and composite opcodes.

`rules/ir.egg` declares the relations; the rows come from the tables, so that a new
opcode is one entry there and none in a rule file.
"""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy as np

from ..ir import dtypes
from ..ir.constructors import EXACT_INT, SIGNATURES, number
from ..ir.dtypes import DType, compute
from ..ir.macros import MACROS
from ..ir.scalars import BY_NAME, COMMUTATIVE, MONOIDS, SExpr
from .sexpr import Form, parse


@functools.cache
def fact_forms() -> tuple[Form, ...]:
    """`facts`, as forms."""
    return tuple(e for e in parse(facts(), "tables") if isinstance(e, Form))


@functools.cache
def facts() -> str:
    """The rows of the relations that `rules/ir.egg` declares."""
    out = [
        f'({"tests" if s.gives_bool else "keeps"} "{s.name}")' for s in BY_NAME.values()
    ]
    out += [f'(commutes "{name}")' for name in sorted(COMMUTATIVE)]
    for m in MONOIDS.values():
        out.append(f'(set (folds "{m.name}") "{m.op}")')
        if m.name not in ("sum", "prod"):
            out.append(f'(idempotent "{m.name}")')
    for d in dtypes.ALL:
        out += _dtype_facts(d)
    for m in MACROS.values():
        if m.name in ("logsumexp", "mean"):
            out.append(f'(like-reduced "{m.name}")')
        elif m.name not in ("attention", "conv"):
            out.append(f'(like-first "{m.name}")')
    return "\n".join([*out, *map(_constant, SIGNATURES)])


def _constant(constructor: str) -> str:
    """What is constant needs no other form (Willsey et al., egg, 2021, §4): rules match
    no other term of its class, or the forms of zero, which are products of zeros, would
    feed the laws of common factors without end."""
    kinds = SIGNATURES[constructor]
    if "t" not in kinds:
        return ""
    term = f"({constructor} {' '.join(f'x{i}' for i in range(len(kinds)))})"
    return (
        f"(rule ((= e (Const v t s)) (= e {term})) ((subsume {term}))"
        f' :ruleset facts :name "constant-{constructor.lower()}")'
    )


# A sum of tensors of ordinary size stays below this.
AMPLE = 1e30


def _dtype_facts(d: DType) -> list[str]:
    out = [f'(set (wide "{d}") "{compute(d)}")']
    out += [f'(widens "{d}" "{e}")' for e in dtypes.ALL if widens(d, e)]
    if d.kind == "bool":
        return out
    low, high, tiny, splitter = _range(d)
    out.append(f'({"floating" if d.is_float else "integral"} "{d}")')
    if d.is_float and compute(d) is d:
        out.append(f'(unwidened "{d}")')
    if d.is_int or high > AMPLE:  # integers wrap, which sums and products respect
        out.append(f'(ample "{d}")')
    values = {"smallest": low, "largest": high, "tiny": tiny, "splitter": splitter}
    out += [f'(set ({name} "{d}") {number(v)})' for name, v in values.items()]
    return out


def _range(d: DType) -> tuple[float, float, float, float]:
    """Least and greatest value, least normal one, Veltkamp splitter."""
    if d.is_int:
        info = np.iinfo(d.numpy)
        low, high = max(info.min, -EXACT_INT + 1), min(info.max, EXACT_INT - 1)
        return float(low), float(high), 0.0, 2.0
    limits = _finfo(d)
    digits = int(limits.nmant) + 1
    high = float(limits.max)
    return -high, high, float(limits.smallest_normal), float(2 ** (53 - digits) + 1)


def _finfo(d: DType) -> Any:
    finfo: Any = ml_dtypes.finfo
    return finfo(d.numpy)


def widens(a: DType, b: DType) -> bool:
    """Whether every value of `a` is a value of `b`."""
    if a is b or "bool" in (a.kind, b.kind):
        return a is b
    if a.is_float:
        return b.is_float and a.bits < b.bits and (a.bits > 8 or b.bits > 8)
    if b.is_float:
        return a.bits - (a.kind == "int") <= int(_finfo(b).nmant) + 1  # the first one
    (la, ha, *_), (lb, hb, *_) = _range(a), _range(b)
    return a.bits < b.bits and lb <= la and ha <= hb


def composite_rules() -> str:
    """A rule for each composite opcode, both ways, from its expansion."""
    return "\n".join(
        _composite(s.name, s.expansion)
        for s in BY_NAME.values()
        if s.expansion is not None
    )


def _composite(name: str, tree: SExpr) -> str:
    values: list[float] = []
    right = _term(tree, values)
    facts = ["(= t (dtype x))", "(floating t)"]
    if values:
        facts += ["(= s (shape x))", "(= k (splitter t))"]
    facts += [f"(= c{i} (hold k {number(v)}))" for i, v in enumerate(values)]
    when, example = " ".join(facts), right
    for i, v in enumerate(values):
        shown = number(float(np.float32(v)))
        example = example.replace(f"(Const c{i} t s)", f'(Const {shown} "f32" [2,3])')
    return f"""
;; {name}, and what it is made of.
;;@ equal   real
;;@ fires   (Un "{name}" x) => {example}
;;@ skips   (Un "neg" x)
(birewrite (Un "{name}" x)
           {right}
           :when ({when}) :ruleset fusion :name "expand-{name.replace("_", "-")}")"""


def _term(tree: SExpr, values: list[float]) -> str:
    """The tree as a term; each constant is appended to `values` and stands right."""
    match tree:
        case str():
            return "x"
        case float() | int():
            values.append(float(tree))
            return f"(Const c{len(values) - 1} t s)"
        case (str() as head, *rest):
            if head in COMMUTATIVE and isinstance(rest[0], float):
                rest.reverse()
            kind = "Un" if len(rest) == 1 else "Bin"
            return f'({kind} "{head}" {" ".join(_term(r, values) for r in rest)})'
        case _:
            raise ValueError(f"{tree!r} is not an expansion")
