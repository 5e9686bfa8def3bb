"""What an op still lacks, place by place: run it while you add one.

pytest tests/egraph/test_known_everywhere.py
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from rewrite import xp
from rewrite.authoring.smt.instance import MEANINGS
from rewrite.authoring.smt.lengths import Lengths
from rewrite.authoring.smt.meaning.language import Library
from rewrite.authoring.smt.meaning.paths import Unsupported
from rewrite.egraph.ir import ranges
from rewrite.egraph.ir.constructors import SIGNATURES
from rewrite.egraph.ir.dtypes import F32, F64, DType
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.ir.ops import TABLE
from rewrite.egraph.ir.scalars import BY_NAME, Scalar
from rewrite.egraph.judge.decimals import OPERATIONS
from rewrite.egraph.judge.sample import Sampler
from rewrite.egraph.proof.pointwise import Points
from rewrite.egraph.rules.sexpr import parse_one
from rewrite.egraph.saturate.encode import EncodeError, encode
from rewrite.lower.emit import dialects, wgsl_values
from rewrite.lower.emit.library import define

ROOT = Path(__file__).parents[2]


def texts(folder: str) -> str:
    files = sorted((ROOT / "rewrite" / folder).glob("*.py"))
    return "\n".join(p.read_text("utf-8") for p in files)


FUZZ = texts("fuzz")
INDEXED = texts("../extract/schedule")
READ, WRITTEN = texts("onnx/ops"), texts("onnx/write")
OPERATORS = {s.name.lower(): s.name for s in onnx.defs.get_all_schemas()}


def listed(name: str, wanted: list[str]) -> str:
    return "\n    ".join((f"{name} lacks", *wanted))


# ---- tensor ops ----------------------------------------------------------------------

UNRULED = ("data", "call")  # no rule is about them
UNREAD = ("call",)  # its elements do not stand by themselves
NO_OP = "no-such-op"  # added to a table to see what is asked of it


def places(op: str) -> list[str]:
    """Where a tensor op must be known: before an e-graph can hold it, before its rules
    can be sampled, proved and used in a proof, and before kernels contain it."""
    head = op.capitalize()
    said = (ROOT / "rules" / "ir.egg").read_text("utf-8")
    facts = re.search(rf"\(= e \({head}\b", said)
    wanted = {
        f"a constructor {head} in SIGNATURES (egraph/ir/constructors.py)": (
            head in SIGNATURES
        ),
        f"(constructor {head} …) in rules/ir.egg": f"(constructor {head} " in said,
        f"its shape and dtype in rules/ir.egg: (rule ((= e ({head} …)) …)": facts,
        f"a method _{op} in egraph/judge/sample.py, so that rules of it are tested": (
            hasattr(Sampler, f"_{op}") or op in UNRULED
        ),
        f"a method _{op} in egraph/proof/pointwise.py, so that proofs are checked": (
            hasattr(Points, f"_{op}") or op in UNREAD
        ),
        "a meaning in rewrite/authoring/smt/meaning/, so that rules of it are proved": (
            op in MEANINGS or op in UNRULED
        ),
        f"{head} to ALIKE in rewrite/authoring/smt/lengths.py, or its rank there": (
            ranked(head)
        ),
        "its index rule in extract/schedule/movement.py or sources.py, being a view": (
            not TABLE[op].view or op == "reshape" or f'"{op}"' in INDEXED
        ),
    }
    return [place for place, there in wanted.items() if not there]


def ranked(head: str) -> bool:
    """Whether the prover knows the rank of such a term."""
    fields = SIGNATURES.get(head)
    if fields is None:
        return False
    names = " ".join(f"x{i}" for i in range(len(fields)))
    try:
        Lengths(Library({}, {})).term(parse_one(f"({head} {names})", "", 1))
    except Unsupported:
        return False
    return True


@pytest.mark.parametrize("op", TABLE)
def test_a_tensor_op_is_known_everywhere(op: str) -> None:
    assert not places(op), listed(op, places(op))


def test_what_a_tensor_op_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TABLE, NO_OP, TABLE["reduce"])
    assert len(places(NO_OP)) == 7
    monkeypatch.setitem(
        TABLE, NO_OP, replace(TABLE["reduce"], traits=frozenset(("view",)))
    )
    assert len(places(NO_OP)) == 8
    b = Builder()
    x = b.input("x", F32, (2, 3))
    y = b.add(NO_OP, (x,), ("sum", (0, 1), F32))
    with pytest.raises(EncodeError, match=r"constructors\.py"):
        encode(b.build({"y": y})).text  # noqa: B018  # what the engine is sent


# ---- elementwise opcodes -------------------------------------------------------------

LANGUAGES = {
    "C": dialects.C.native, "OpenCL C": dialects.OPENCL.native,
    "CUDA C++": dialects.CUDA.native,
}  # fmt: skip
# Not drawn: shifts by what no width bounds, what leaves the range or wraps.
UNDRAWN = ("shl", "shr", "pow", "intpow", "threefry")
UNWRITTEN = ("mod",)  # ONNX's Mod of floats has the sign of the dividend, ours does not


@dataclass
class Said:
    """The names and the texts in what a module binds to a name."""

    names: set[str] = field(default_factory=set[str])
    texts: set[str] = field(default_factory=set[str])


def bound(node: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    """What a statement binds at the top of a module, name by name."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name, node
    for target in node.targets if isinstance(node, ast.Assign) else ():
        match target, node.value:
            case ast.Tuple(elts=names), ast.Tuple(elts=values):
                yield from (
                    (n.id, v)
                    for n, v in zip(names, values, strict=True)
                    if isinstance(n, ast.Name)
                )
            case ast.Name(id=name), value if name != "__all__":
                yield name, value
            case _:
                pass


def said(sources: Iterable[str]) -> dict[str, Said]:
    result: dict[str, Said] = {}
    for source in sources:
        for name, tree in (b for node in ast.parse(source).body for b in bound(node)):
            mine = result.setdefault(name, Said())
            for part in ast.walk(tree):
                match part:
                    case ast.Name(id=word) | ast.Attribute(attr=word):
                        mine.names.add(word)
                    case ast.Constant(value=str(text)):
                        mine.texts.add(text)
                    case _:
                        pass
    return result


def reached(listed: Iterable[str], known: dict[str, Said]) -> set[str]:
    """What the listed names are made of, themselves included."""
    todo, seen = [*listed], set[str]()
    while todo:
        name = todo.pop()
        if name in known and name not in seen:
            seen.add(name)
            todo += known[name].names
    return seen


PARTS = xp.nn, xp.linalg, xp.fft, xp.random
LISTED = [*xp.__all__, *(name for part in PARTS for name in part.__all__)]
FUNCTIONS = said(
    p.read_text("utf-8")
    for folder in ("xp", "xp/functions")
    for p in sorted((ROOT / "rewrite" / folder).glob("*.py"))
)


def unlisted(op: str, known: dict[str, Said]) -> str:
    """What is lacking until a function that users reach has the opcode."""
    holders = [name for name, s in known.items() if op in s.texts]
    if not holders:
        return "a function of rewrite/xp/functions/ that uses it"
    if not reached(LISTED, known).isdisjoint(holders):
        return ""
    return (
        f"{', '.join(holders)} in __all__ of rewrite/xp/__init__.py (or of nn, linalg, "
        "fft or random), and imported there"
    )


def lacking(s: Scalar) -> list[str]:
    """Where an opcode must be known, and is not."""
    floats = "float" in s.takes
    plain = s.expansion is None
    operator = OPERATORS.get(s.name, "Add")  # the standard may have none of that name
    wanted = {
        "what it gives of a range of operands, in egraph/ir/ranges.py": (
            not (floats and plain) or bounded(s)
        ),
        "its value to many digits, in egraph/judge/decimals.py": (
            not (floats and plain) or s.name in OPERATIONS
        ),
        unlisted(s.name, FUNCTIONS): not unlisted(s.name, FUNCTIONS),
        "a table to draw it from, in rewrite/fuzz/graphs.py": (
            f'"{s.name}"' in FUZZ or s.name in UNDRAWN
        ),
        f"ONNX's {operator} in rewrite/onnx/ops/, to read it": f'"{operator}"' in READ,
        f"ONNX's {operator} in rewrite/onnx/write/tiles.py, to write it": (
            f'"{operator}"' in WRITTEN or s.name in UNWRITTEN
        ),
    }
    result = [place for place, there in wanted.items() if not there]
    return result + (undefined(s) if floats and plain else [])


def bounded(s: Scalar) -> bool:
    """Whether analysis knows that finite operands give finite results: as no op it has
    not heard of does."""
    x = ranges.between(1.25, 1.75)
    args = [x] * s.arity
    of = ranges.unary if s.arity == 1 else ranges.binary
    return of(s.name, *args, F32).finite or s.name == "pow"


def undefined(s: Scalar) -> list[str]:
    """In which languages no call of it can be printed."""
    result: list[str] = []
    if s.code.startswith("("):
        return result
    for dtype in (F32, F64):
        if define(s.name, (dtype,) * s.arity) is not None:
            continue
        names = [
            n for n, native in LANGUAGES.items() if (s.name, dtype.name) not in native
        ]
        if dtype is F32 and (s.name, "f32") not in wgsl_values.NATIVE:
            names.append("WGSL")
        if names:
            result.append(f"{where(dtype)} ({dtype} in {', '.join(names)})")
    return result


def where(dtype: DType) -> str:
    if dtype is F32:
        return "its definition in simpler ops, in lower/emit/elementary.py or exact.py"
    return (
        "its definition for all floats in lower/emit/exact.py, or the math library's "
        "name of it in lower/emit/dialects.py"
    )


@pytest.mark.parametrize("s", BY_NAME.values(), ids=lambda s: s.name)
def test_an_opcode_is_known_everywhere(s: Scalar) -> None:
    assert not lacking(s), listed(s.name, lacking(s))


def test_a_function_that_is_not_listed_is_named() -> None:
    more = 'def _un(op): pass\nnosuch, other = _un("no-such-op"), _un("neg")\n'
    known = FUNCTIONS | said([more])
    assert unlisted(NO_OP, known).startswith("nosuch in __all__ of rewrite/xp")
    assert unlisted("neg", known) == ""
    within = said([more, "def exp(x):\n    return nosuch(x)\n"])
    assert unlisted(NO_OP, known | within) == ""


def test_what_an_opcode_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    call = f"rw_{NO_OP}_{{t}}({{a}})"
    made = Scalar(NO_OP, 1, frozenset(("float",)), np.cbrt, call)
    monkeypatch.setitem(BY_NAME, NO_OP, made)
    told = listed(NO_OP, lacking(made))
    for place in ("ranges.py", "decimals.py", "xp/functions", "fuzz/graphs.py",
                  "elementary.py", "dialects.py"):  # fmt: skip
        assert place in told
    assert "f32 in C, OpenCL C, CUDA C++, WGSL" in told.replace("(", "")
    made = replace(made, name="gelu")
    monkeypatch.setitem(OPERATORS, "gelu", "NoSuchOperator")
    assert sum("ONNX's NoSuchOperator" in place for place in lacking(made)) == 2
