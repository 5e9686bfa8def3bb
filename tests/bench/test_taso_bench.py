"""bench/programs/taso.py: the file of substitutions is read, sized and asked."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench.programs import taso
from bench.programs.taso import (
    NONE,
    OPS,
    PARAMETERS,
    RELU,
    graphs,
    kind,
    read,
    solved,
    text,
)
from rewrite.authoring.derive import derive
from rewrite.egraph.rules.rulefile import load_rules

type Op = tuple[str, list[tuple[int, int]], dict[str, int]]
CONV = {"kernel_h": 3, "kernel_w": 3, "stride_h": 1, "stride_w": 1, "pad": 0}


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def numbers(**fields: int) -> bytes:
    """A message of numbers; fields are called f1, f2, ..."""
    return b"".join(varint(int(k[1:]) << 3) + varint(v) for k, v in fields.items())


def nested(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def operator(op: Op) -> bytes:
    name, inputs, said = op
    args = (nested(2, numbers(f1=i, f2=output)) for i, output in inputs)
    words = (nested(3, numbers(f1=PARAMETERS.index(k), f2=v)) for k, v in said.items())
    return numbers(f1=OPS.index(name)) + b"".join([*args, *words])


def rule(
    left: list[Op], right: list[Op], outputs: list[tuple[int, int, int, int]]
) -> bytes:
    """`outputs`: operator and output on the left, on the right."""
    sides = ((1, left), (2, right))
    parts = [nested(side, operator(op)) for side, ops in sides for op in ops]
    for a, b, at, bt in outputs:
        parts.append(nested(3, numbers(f1=a, f2=b, f3=at, f4=bt)))
    return nested(1, b"".join(parts))


def conv(x: int, w: int, activation: int = NONE) -> Op:
    return "conv2d", [(x, 0), (w, 0)], {**CONV, "activation": activation}


def concat(a: int, b: int, axis: int, rank: int = 2) -> Op:
    return "concat", [(a, 0), (b, 0)], {"inputs": 2, "axis": axis, "rank": rank}


def relu(x: int) -> Op:
    return "relu", [(x, 0)], {}


PARTS = rule(
    [relu(-1), relu(-2)],
    [concat(-1, -2, 1), relu(0), ("split", [(1, 0)], {"outputs": 2, "axis": 1})],
    [(0, 2, 0, 0), (1, 2, 0, 1)],
)
ACTIVATION = rule([conv(-7, -10), relu(0)], [conv(-7, -10, RELU)], [(1, 0, 0, 0)])
GROUPS = rule(
    [conv(-7, -10), conv(-8, -11), concat(0, 1, 1, 4)],
    [concat(-7, -8, 1, 4), concat(-10, -11, 0, 4), conv(0, 1)],
    [(2, 2, 0, 0)],
)


def test_terms_are_read_with_what_is_said_of_them() -> None:
    parts, activation = read(PARTS + ACTIVATION)
    assert text(parts) == (
        "(relu x1) = (split0 axis=1 (relu (concat axis=1 x1 x2))); "
        "(relu x2) = (split1 axis=1 (relu (concat axis=1 x1 x2)))"
    )
    assert text(activation) == "(relu (conv2d x7 x10)) = (conv2d activation=2 x7 x10)"
    assert kind(activation) == "conv2d relu"


def test_sizes_tell_axes_apart_and_are_equal_where_operators_ask() -> None:
    (parts,) = read(PARTS)
    left, right = graphs(parts)
    (a, b), (c, d) = (n.type.shape for n in left.inputs)
    assert a == c and len({a, b, d}) == 3
    assert [n.type for n in left.inputs] == [n.type for n in right.inputs]


def test_a_filter_that_sees_a_part_of_the_image_makes_groups() -> None:
    (groups,) = read(GROUPS)
    s = solved(groups)
    x, y, w, v = (tuple(map(s.size, s.inputs[k])) for k in (7, 8, 10, 11))
    assert x == y and w == v
    assert w[1:] == (x[1], 3, 3) and w[0] != w[1]


@pytest.mark.parametrize("data", [PARTS, ACTIVATION, GROUPS])
def test_no_substitution_is_different(data: bytes) -> None:
    (s,) = read(data)
    answer = derive(*graphs(s), load_rules(), shorten=False)
    assert answer.verdict != "different"


def test_the_table_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "subst.pb"
    product = ("matmul", [(-1, 0), (-2, 0)], {"activation": NONE})
    wrong = rule([product], [("ewadd", [(-1, 0), (-2, 0)], {})], [(0, 0, 0, 0)])
    file.write_bytes(PARTS + wrong)
    monkeypatch.setattr(sys, "argv", ["taso.py", str(file), "--missing"])
    assert taso.main() == 1
    out = capsys.readouterr().out
    assert "   1 not shown: ewadd matmul\n  (matmul x1 x2) = (ewadd x1 x2)" in out
    assert "different" in out
    assert out.endswith("1 of 2 substitutions are shown\n")


def test_a_file_of_something_else_is_an_error() -> None:
    with pytest.raises(ValueError, match="a number or a message was expected"):
        list(read(b"\x0d\x00\x00\x00\x00"))
