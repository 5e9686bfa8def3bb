"""What the verifier of tile programs must refuse: edits of right programs."""

from __future__ import annotations

import pytest

from rewrite.lower.tiles.interpret import TileError, run
from rewrite.lower.tiles.text import ParseError, parse, show
from rewrite.lower.tiles.verify import TileVerifyError, faults, verify

from ..harness import buffers_for, kernel_of

SOFTMAX = """\
tiles softmax(b0: bf16[9600], out b1: bf16[9600]) {
  grid g < 12 over r < 4, c < 200 team 64 laid r/register 4, c/thread 64, c/lane 4 {
    x: f32[r, c] = load b0[(g * 4 + r) * 200 + c]
    m: f32[r] = reduce max x over c
    e: f32[r, c] = exp(x - m)
    s: f32[r] = reduce sum e over c
    store b1[(g * 4 + r) * 200 + c] = e / s over r, c
  }
}
"""
COLUMNS = """\
tiles columns(b0: f32[330], out b1: f32[33]) {
  grid g < 5 over k < 4, c < 8 {
    mutable a: f32[k, c] = 0.0
    loop i < 10 by 4 {
      x: f32[k, c] = load b0[(i + k) * 33 + g * 8 + c] where i + k < 10 & g * 8 + c < 33
      update a = a + x where i + k < 10
    }
    t: f32[c] = reduce sum a over k
    store b1[g * 8 + c] = t over c where g * 8 + c < 33
  }
}
"""
TURNED = """\
tiles turned(b0: f32[256], out b1: f32[256]) {
  grid over r < 16, c < 16 team 32 laid r/register 8, r/thread 2, c/thread 16 {
    y: f32[r, c] laid c/register 8, c/thread 2, r/thread 16 = load b0[c * 16 + r]
    x: f32[r, c] = copy y
    store b1[r * 16 + c] = x over r, c
  }
}
"""
MUTANTS = [
    # what is wrong, the program, what is replaced by what, what the verifier says
    ("beyond the end", SOFTMAX, "* 200 + c]\n", "* 200 + c + 1]\n", "accessed at"),
    ("before the start", SOFTMAX, "[(g * 4 + r)", "[(g * 4 + r - 1)",
     "accessed at -200"),
    ("rows overlap", SOFTMAX, "b1[(g * 4 + r) * 200", "b1[(g * 4 + r) * 100",
     "two points"),
    ("instances overlap", SOFTMAX, "b1[(g * 4 + r)", "b1[(g * 3 + r)", "two points"),
    ("instances the same", SOFTMAX, "b1[(g * 4 + r)", "b1[r", "two points along 'g'"),
    ("undefined", SOFTMAX, "exp(x - m)", "exp((y: f32) - m)", "'y' is used where"),
    ("used before", SOFTMAX, "exp(x - m)", "exp(x - (s: f32))", "'s' is used where"),
    ("wrong type", SOFTMAX, "exp(x - m)", "exp((x: f64) - (m: f64))", "used as f64"),
    ("too few axes", SOFTMAX, "e: f32[r, c]", "e: f32[r]", "varies along c too"),
    ("reduced axis kept", SOFTMAX, "s: f32[r] =", "s: f32[r, c] =", "is reduced over"),
    ("no monoid", SOFTMAX, "reduce sum", "reduce mean", "no monoid"),
    ("bound twice", SOFTMAX, "    e: f", "    x: f32[r] = m\n    e: f",
     "'x' is bound twice"),
    ("a storage type", SOFTMAX, "x: f32[r, c]", "x: bf16[r, c]", "storage type"),
    ("stored along too little", SOFTMAX, "over r, c\n", "over c\n",
     "varies along r too"),
    ("reads what it stores", SOFTMAX, "load b0", "load b1", "which it stores to"),
    ("writes an input", SOFTMAX, "store b1", "store b0", "no buffer to write"),
    ("no buffer", SOFTMAX, "load b0", "load b7", "no buffer"),
    ("points without a thread", SOFTMAX, "c/thread 64", "c/thread 32", "lays out 128"),
    ("threads of no team", SOFTMAX, "team 64", "team 128",
     "64 threads of a team of 128"),
    ("a word of the language", SOFTMAX, "    e: f", "    `load`: f32[r] = m\n    e: f",
     "word of"),
    ("overhang read", COLUMNS, " & g * 8 + c < 33\n      update", "\n      update",
     "accessed at"),
    ("rows beyond the end", COLUMNS, "where i + k < 10 & g", "where g", "accessed at"),
    ("a test too wide", COLUMNS, "where i + k < 10 & g", "where i + k < 11 & g",
     "accessed at"),
    ("overhang stored", COLUMNS, "over c where g * 8 + c < 33", "over c",
     "accessed at"),
    ("not mutable", COLUMNS, "mutable a", "a", "no mutable tile"),
    ("a test of numbers", COLUMNS, "update a = a + x where i + k < 10",
     "update a = a + x where i + k", "a test of i32"),
    ("a loop's tile outside", COLUMNS, "reduce sum a", "reduce sum (x: f32)",
     "'x' is used where"),
    ("stored in each turn", COLUMNS, "      update a = a + x where i + k < 10\n",
     "      update a = a + x where i + k < 10\n      store b1[g * 8 + c] = 0.0 over c "
     "where g * 8 + c < 33\n", "two points along 'i'"),
    ("no copy", TURNED, "copy y", "copy y + 1.0", "no copy"),
    ("another team", TURNED, "c/thread 2, r/thread 16", "c/thread 2, r/thread 8",
     "threads of a team"),
    ("too much to hold", TURNED, "c/register 8, c/thread 2, r/thread 16",
     "c/register 999, c/thread 2, r/thread 16", "hold 999"),
]  # fmt: skip


@pytest.mark.parametrize("text", [SOFTMAX, COLUMNS, TURNED])
def test_right_programs_pass_and_read_back(text: str) -> None:
    program = verify(parse(text), 48 << 10)
    assert parse(show(program)) == program


@pytest.mark.parametrize(("text", "old", "new", "says"), [m[1:] for m in MUTANTS],
                         ids=[m[0] for m in MUTANTS])  # fmt: skip
def test_mutants_are_caught(text: str, old: str, new: str, says: str) -> None:
    assert old in text
    found = faults(parse(text.replace(old, new, 1)))
    assert any(says in f for f in found), found


def test_a_group_shares_no_more_than_it_has() -> None:
    with pytest.raises(TileVerifyError, match="bytes are shared, of 64"):
        verify(parse(TURNED), 64)


def test_the_interpreter_sees_what_is_not_proved() -> None:
    """Indices that are no sums of multiples."""
    from rewrite.egraph.ir.dtypes import F32
    from rewrite.egraph.ir.graph import Builder

    b = Builder()
    kernel = kernel_of(b, [b.un("neg", b.input("x", F32, (64,)))])
    text = """tiles f(b0: f32[64], out b1: f32[64]) {
      grid over c < 64 {
        x: f32[c] = load b0[FROM]
        store b1[TO] = x over c
      }
    }"""
    for load, store, says in (
        ("c / 2 * 3", "c", r"b0\[\d+\] of 64"),
        ("c", "c / 2", "two points store"),
    ):
        program = parse(text.replace("FROM", load).replace("TO", store))
        assert not faults(program)
        with pytest.raises(TileError, match=says):
            run(program, buffers_for(kernel))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("reduce max x", "reduce max", "expected a value"),
        ("c/lane 4", "c/lanes 4", "register, thread or lane"),
        ("exp(x - m)", "expp(x - m)", "did you mean 'exp'"),
        ("over r < 4", "over r", "expected '<'"),
        ("store b1", "keep b1", "expected ':', found 'b1'"),
    ],
)
def test_errors_of_text_name_the_place(old: str, new: str, says: str) -> None:
    with pytest.raises(ParseError, match=f":[2-7]:[0-9]+: .*{says}"):
        parse(SOFTMAX.replace(old, new, 1))
