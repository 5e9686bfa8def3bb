"""Files of graphs with lines and bytes changed: an error that says where, or a graph
that reads back as it was written and runs or says what is wrong with it."""

from __future__ import annotations

import math
import re
from random import Random

import numpy as np

from rewrite.egraph.ir.dims import bind_shape
from rewrite.egraph.ir.evaluate import InputError, evaluate
from rewrite.egraph.ir.graph import Graph, GraphError, substitute
from rewrite.egraph.ir.text import parse, show

from .test_text import key, valid

ODD = b'\x00\n"%-=[\\]x\xc3'
LARGE = 1 << 16  # elements; what is larger is read and written alone


def mutated(rng: Random, text: str) -> str:
    """Lines repeated, dropped, exchanged; bytes, mostly of numbers, changed."""
    for _ in range(rng.choice((1, 1, 2))):
        lines = text.splitlines(keepends=True) or [""]
        i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
        match rng.randrange(6):
            case 0:
                lines.insert(i, lines[j])
            case 1:
                del lines[i]
            case 2:
                lines[i], lines[j] = lines[j], lines[i]
            case _:
                raw = bytearray(lines[i].encode())
                digits = [k for k, c in enumerate(raw) if chr(c).isdigit()]
                if digits and rng.random() < 0.7:
                    raw[rng.choice(digits)] = rng.choice(b"0123456789")
                else:
                    at = rng.randrange(len(raw) + 1)
                    raw[at : at + rng.randrange(3)] = bytes(rng.choices(ODD, k=1))
                lines[i] = raw.decode(errors="replace")
        text = "".join(lines)
    return text


def runs(graph: Graph) -> None:
    """The graph at size 2 of every symbol, unless that is too large for a test."""
    sizes = dict.fromkeys(graph.symbols, 2)
    fixed = substitute(graph, sizes)
    if any(math.prod(bind_shape(n.shape, {})) > LARGE for n in fixed.nodes):
        return
    inputs = {
        n.attrs[0]: np.ones(bind_shape(n.shape, sizes), n.dtype.numpy)
        for n in graph.inputs
    }
    with np.errstate(all="ignore"):
        evaluate(graph, inputs)


def test_mutated_files() -> None:
    rng = Random(11)
    refused = ran = 0
    for _ in range(2000):
        text = mutated(rng, valid(rng))
        try:
            graph = parse(text, "f")
        except GraphError as e:
            refused += 1
            assert re.match(r"f:\d+:\d+: ", str(e)), (str(e), text)
            continue
        assert key(parse(show(graph))) == key(graph)
        try:
            runs(graph)
            ran += 1
        except (GraphError, InputError):
            continue
    assert refused > 500
    assert ran > 100
