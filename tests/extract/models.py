"""Graphs to extract from: transformers in primitive ops, as a front end hands them."""

from __future__ import annotations

from rewrite.egraph.dims import Dim
from rewrite.egraph.dtypes import F32
from rewrite.egraph.evaluate import expand_macros
from rewrite.egraph.graph import Builder, Graph


def linear(b: Builder, x: int, label: str, n: int) -> int:
    d = b.shape(x)[-1]
    w, bias = b.input(f"w{label}", F32, (d, n)), b.input(f"b{label}", F32, (n,))
    return b.bin("add", *b.broadcast(b.matmul(x, w), bias))


def norm(b: Builder, x: int, label: str) -> int:
    d = b.shape(x)[-1]
    gain, bias = b.input(f"g{label}", F32, (1, d)), b.input(f"h{label}", F32, (1, d))
    return b.macro("layer_norm", [x, gain, bias], (0, 1), 1e-5)


def layer(b: Builder, x: int, k: str, heads: int) -> int:
    s, d = b.shape(x)
    assert isinstance(d, int)
    h = norm(b, x, f"n{k}")
    q, key, v = (
        b.permute(
            b.reshape(linear(b, h, f"{c}{k}", d), (s, heads, d // heads)), (1, 0, 2)
        )
        for c in "qkv"
    )
    a = b.macro("attention", [q, key, v], (d // heads) ** -0.5)
    a = b.reshape(b.permute(a, (1, 0, 2)), (s, d))
    x = b.bin("add", x, linear(b, a, f"o{k}", d))
    h = b.un("gelu", linear(b, norm(b, x, f"m{k}"), f"u{k}", 4 * d))
    return b.bin("add", x, linear(b, h, f"d{k}", d))


def transformer(layers: int, s: Dim = 64, d: int = 32, heads: int = 4) -> Graph:
    b = Builder("transformer")
    x = b.input("x", F32, (s, d))
    for k in range(layers):
        x = layer(b, x, str(k), heads)
    return expand_macros(b.build([x]))
