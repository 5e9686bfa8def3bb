"""Transformers in primitive ops, as front ends hand them: for tests, benchmarks."""

from __future__ import annotations

from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.evaluate import expand_macros
from rewrite.egraph.ir.graph import Builder, Graph


def transformer(
    layers: int, seq: Dim = 64, width: int = 32, heads: int = 4, alike: bool = True
) -> Graph:
    """Pre-norm layers; unless `alike`, each has a hidden width of its own."""
    b = Builder("transformer")
    x = b.input("x", F32, (seq, width))
    for k in range(layers):
        hidden = 4 * width + (0 if alike else 16 * (k + 1))
        x = layer(b, x, str(k), heads, hidden)
    return expand_macros(b.build([x]))


def _linear(b: Builder, x: int, label: str, n: int) -> int:
    d = b.shape(x)[-1]
    w, bias = b.input(f"w{label}", F32, (d, n)), b.input(f"b{label}", F32, (n,))
    return b.bin("add", *b.broadcast(b.matmul(x, w), bias))


def _norm(b: Builder, x: int, label: str) -> int:
    d = b.shape(x)[-1]
    gain, bias = b.input(f"g{label}", F32, (1, d)), b.input(f"h{label}", F32, (1, d))
    return b.macro("layer_norm", [x, gain, bias], (0, 1), 1e-5)


def layer(b: Builder, x: int, k: str, heads: int, hidden: int) -> int:
    seq, d = b.shape(x)
    assert isinstance(d, int)
    h = _norm(b, x, f"n{k}")
    split = (seq, heads, d // heads)
    q, key, v = (
        b.permute(b.reshape(_linear(b, h, f"{c}{k}", d), split), (1, 0, 2))
        for c in "qkv"
    )
    a = b.macro("attention", [q, key, v], (d // heads) ** -0.5)
    a = b.reshape(b.permute(a, (1, 0, 2)), (seq, d))
    x = b.bin("add", x, _linear(b, a, f"o{k}", d))
    h = b.un("gelu", _linear(b, _norm(b, x, f"m{k}"), f"u{k}", hidden))
    return b.bin("add", x, _linear(b, h, f"d{k}", d))
