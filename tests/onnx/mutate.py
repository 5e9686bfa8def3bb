"""Damaged models: what a hostile or broken exporter might hand us.

    python -m tests.onnx.mutate [COUNT] [FIRST] [--write]

Each is a captured graph with one thing wrong.  Reading it must give a graph or a
`ModelError`, in a few seconds and a bounded amount of memory; with `--write`, so must
optimizing it as a model.
"""

from __future__ import annotations

import random
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable

import onnx

import rewrite.onnx
from tests.replay.weights import fill, load

NAMES = ("mlp", "moe_layer", "lstm_cell", "convnet", "bert_layer", "unet_block",
         "training_step", "vit_block")  # fmt: skip
OPS = ("Relu", "Conv", "Gather", "Loop", "If", "Nope", "MatMul", "TopK", "Concat",
       "Reshape", "Resize", "LSTM", "Attention", "Scan", "Split", "Pad", "Einsum",
       "GatherND", "ScatterND", "Range", "Expand", "SequenceAt")  # fmt: skip
SECONDS = 10.0  # that reading one may take

type Mutation = Callable[[random.Random, onnx.ModelProto], None]


def attribute(r: random.Random, m: onnx.ModelProto) -> None:
    found = [a for n in m.graph.node for a in n.attribute]
    if not found:
        return
    a = r.choice(found)
    if a.type == onnx.AttributeProto.INT:
        a.i = r.choice([-1, 0, 7, -100, 1 << 40, -(1 << 62)])
    elif a.type == onnx.AttributeProto.INTS and a.ints:
        a.ints[r.randrange(len(a.ints))] = r.choice([-1, 0, 5, 1 << 40])
    elif a.type == onnx.AttributeProto.STRING:
        a.s = b"\xff\xfe"
    else:
        a.type = r.choice([1, 2, 3, 4, 5, 6, 7, 8])  # pyright: ignore[reportAttributeAccessIssue]


def dropped_node(r: random.Random, m: onnx.ModelProto) -> None:
    m.graph.node.remove(r.choice(m.graph.node))


def rewired(r: random.Random, m: onnx.ModelProto) -> None:
    n = r.choice(m.graph.node)
    names = [o for q in m.graph.node for o in q.output]
    if n.input:
        n.input[r.randrange(len(n.input))] = r.choice([*names, "", "nothing"])


def cycle(r: random.Random, m: onnx.ModelProto) -> None:
    n = r.choice(m.graph.node)
    if n.input:
        n.input[0] = m.graph.node[-1].output[0]


def operands(r: random.Random, m: onnx.ModelProto) -> None:
    n = r.choice(m.graph.node)
    if len(n.input) > 1 and r.random() < 0.5:
        n.input[0], n.input[1] = n.input[1], n.input[0]
    elif n.input:
        del n.input[-1]


def operator(r: random.Random, m: onnx.ModelProto) -> None:
    r.choice(m.graph.node).op_type = r.choice(OPS)


def element_type(r: random.Random, m: onnx.ModelProto) -> None:
    if m.graph.initializer:
        r.choice(m.graph.initializer).data_type = r.randrange(0, 26)


def stored_shape(r: random.Random, m: onnx.ModelProto) -> None:
    if m.graph.initializer:
        t = r.choice(m.graph.initializer)
        if t.dims:
            t.dims[0] = r.choice([0, 1, 1 << 40, -3])


def missing_initializer(r: random.Random, m: onnx.ModelProto) -> None:
    if m.graph.initializer:
        del m.graph.initializer[r.randrange(len(m.graph.initializer))]


def input_size(r: random.Random, m: onnx.ModelProto) -> None:
    shape = r.choice(m.graph.input).type.tensor_type.shape
    if shape.dim:
        r.choice(shape.dim).dim_value = r.choice([0, -1, 1, 3, 1 << 40, 1 << 62])


def version(r: random.Random, m: onnx.ModelProto) -> None:
    m.opset_import[0].version = r.choice([1, 5, 7, 9, 11, 13, 99, 0])


MUTATIONS: tuple[Mutation, ...] = (
    attribute, dropped_node, rewired, cycle, operands, operator, element_type,
    stored_shape, missing_initializer, input_size, version,
)  # fmt: skip


def damaged_bytes(r: random.Random, data: bytes) -> bytes:
    """A few bytes changed near the beginning, where the structure is; or cut off."""
    out = bytearray(data)
    for _ in range(r.randrange(1, 6)):
        out[r.randrange(min(len(out), 3000))] = r.randrange(256)
    return bytes(out[: r.randrange(len(out))] if r.random() < 0.3 else out)


def mutated(seed: int, sources: list[onnx.ModelProto]) -> bytes:
    r = random.Random(seed)
    m = onnx.ModelProto()
    m.CopyFrom(r.choice(sources))
    kind = r.randrange(len(MUTATIONS) + 1)
    if kind == len(MUTATIONS):
        return damaged_bytes(r, m.SerializeToString())
    MUTATIONS[kind](r, m)
    return m.SerializeToString()


def write(data: bytes) -> None:
    """Optimized, without the comparison that would hide what went wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        rewrite.onnx.optimize(data, check=False)


def run(
    first: int, count: int, act: Callable[[bytes], object] = rewrite.onnx.load
) -> Counter[str]:
    """How many were read and how many refused; raises where neither happens."""
    sources = [fill(load(name)) for name in NAMES]
    told: Counter[str] = Counter()
    for seed in range(first, first + count):
        data, begin = mutated(seed, sources), time.perf_counter()
        try:
            act(data)
            told["read"] += 1
        except rewrite.onnx.ModelError:
            told["refused"] += 1
        except Exception as e:
            raise AssertionError(f"seed {seed}: {type(e).__name__}: {e}") from e
        took = time.perf_counter() - begin
        assert took < SECONDS, f"seed {seed}: {took:.1f} s"
    return told


if __name__ == "__main__":
    numbers = [int(a) for a in sys.argv[1:] if a != "--write"]
    count, first = [*numbers, *(10_000, 0)[len(numbers) :]]
    print(
        dict(run(first, count, write if "--write" in sys.argv else rewrite.onnx.load))
    )
