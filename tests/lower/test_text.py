"""What is printed parses back to the very same function; errors name the place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from typer.testing import CliRunner

from rewrite.commands.cli import app
from rewrite.egraph.ir.dtypes import F32, I32
from rewrite.lower.loops import Function, Let, Lit, Op, Var
from rewrite.lower.text import ParseError, parse, parse_all, show, show_all
from tests.backends.functions import CASES as BY_HAND
from tests.backends.functions import Case
from tests.effort import draws

from .anything import FUNCTIONS
from .replay import ALL_CAPS, functions

COPY = """\
function copy(x: f32[8], out y: f32[8]) {
  grid i < 8 {
    let v = x[i]
    y[i] = v
  }
}
"""


def exact(f: Function) -> None:
    """By `repr`, which tells -0.0 from 0.0 and 1 from True, and is one for all NaNs."""
    text = show(f)
    again = parse(text)
    assert repr(again) == repr(f), text
    assert show(again) == text


@pytest.mark.parametrize("case", BY_HAND, ids=lambda c: c.function.name)
def test_by_hand(case: Case) -> None:
    exact(case.function)


@pytest.mark.sweep(4)
@pytest.mark.parametrize("caps", ALL_CAPS)
def test_what_families_make(caps: str) -> None:
    found = tuple(functions(caps).values())
    assert len(found) > 100
    for f in found:
        exact(f)
    assert repr(parse_all(show_all(found))) == repr(found)


def test_a_variable_of_another_type_than_its_value() -> None:
    """The number is of one type, what is added to it of another: the variable's type
    is told, since a sum has that of its first operand."""
    i = Var("i", I32)
    value = Op("add", (Lit(0, F32), i), F32)
    exact(Function("a", (), (Let(i, value, False),), (), 1))


@settings(max_examples=draws(500, 10))
@given(FUNCTIONS)
def test_anything(f: Function) -> None:
    exact(f)


def test_the_text_is_what_one_would_write() -> None:
    softmax = BY_HAND[0].function
    assert show(softmax).splitlines()[:8] == [
        "function softmax_rows(x: f32[1850], out y: f32[1850]) {",
        "  grid r < 37 {",
        "    local row: f32[50]",
        "    var m: f32 = -inf",
        "    serial i < 50 {",
        "      m = max(m, x[r * 50 + i])",
        "    }",
        "    var s: f32 = 0.0",
    ]


@pytest.mark.parametrize(
    ("old", "new", "where", "message"),
    [
        ("x[i]", "x[j]", "3:15", "a variable in scope, found 'j'; (j: f32)"),
        ("x[i]", "z[i]", "3:13", "an array in scope, found 'z'"),
        ("x[i]", "x[i", "4:5", "expected ']', found 'y'"),
        ("x[i]", "maxx(v, 1)", "3:13", "an opcode, found 'maxx'; did you mean 'max'"),
        ("x[i]", "max(i)", "3:13", "expected 2 operands of 'max'"),
        ("x[i]", "x[i] % 2.0", "3:18", "expected integers"),
        ("x[i]", "$", "3:13", "unexpected character '$'"),
        ("y[i] = v", "y[i] v", "4:10", "expected '=', found 'v'"),
        ("y[i] = v", "y[i] = v w", "4:14", "expected the end of the line, found 'w'"),
        ("grid i < 8", "grid i", "2:10", "expected '<', found '{'"),
        ("grid i < 8", "grid i < n", "2:12", "expected the loop's extent, found 'n'"),
        ("grid i", "4", "2:3", "expected a statement, found '4'"),
        ("y: f32", "y: f3", "1:33", "expected a type (f64, f32, f16"),
        ("  }\n}", "  }\n", "7:1", "expected a statement, found the end of the text"),
        ("  }\n}\n", "  }\n}\nx", "7:1", "expected the end of the text, found 'x'"),
    ],
)  # fmt: skip
def test_errors(old: str, new: str, where: str, message: str) -> None:
    assert old in COPY
    with pytest.raises(ParseError) as e:
        parse(COPY.replace(old, new, 1), "f.loops")
    assert str(e.value).startswith(f"f.loops:{where}: "), e.value
    assert message in str(e.value)


def test_the_command_line_shows_loops(tmp_path: Path) -> None:
    file = tmp_path / "g.graph"
    file.write_text(
        "graph g(x: f32[b, 8]) {\n  y: f32[b, 8] = exp x\n  return y\n}\n", "utf-8"
    )
    shown = CliRunner().invoke(app, ["optimize", str(file), "--loops", "--dim", "b=3"])
    assert shown.exit_code == 0, shown.output
    text = shown.output[shown.output.index("function ") :]
    (f,) = parse_all(text)
    assert [p.size for p in f.params] == [24, 24]
    assert re.search(r"= exp\(", text)
