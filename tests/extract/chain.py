"""A chain of layers with its backward pass, which reads what each layer saved."""

from __future__ import annotations

from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.evaluate import expand_macros
from rewrite.egraph.ir.graph import Builder, Graph


def backward_chain(
    layers: int, rows: Dim = 512, width: int = 32, update: bool = False
) -> Graph:
    """y = tanh(y @ w) a layer; the gradients of all weights and of the input.  With
    `update` the weights less their gradients, in place."""
    b = Builder()
    x, g = b.input("x", F32, (rows, width)), b.input("g", F32, (rows, width))
    w = [b.input(f"w{k}", F32, (width, width)) for k in range(layers)]
    saved = [x]
    for k in range(layers):
        saved.append(b.un("tanh", b.matmul(saved[-1], w[k])))
    one = b.expand(b.const(1, F32, (1, 1)), (rows, width))
    outs: dict[str, int] = {}
    for k in reversed(range(layers)):
        y = saved[k + 1]
        d = b.bin("mul", g, b.bin("sub", one, b.bin("mul", y, y)))
        g = b.matmul(d, b.permute(w[k], (1, 0)))
        dw = b.matmul(b.permute(saved[k], (1, 0)), d)
        outs[f"dw{k}"] = b.bin("sub", w[k], dw) if update else dw
        if update:
            b.alias(f"dw{k}", f"w{k}", "must")
    outs["dx"] = g
    return expand_macros(b.build(outs))
