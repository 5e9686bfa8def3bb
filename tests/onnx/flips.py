"""Small models with bytes changed anywhere: each is read or refused with `ModelError`.

    python -m tests.onnx.flips [COUNT] [FIRST] [--compile]

With `--compile` what can be read is also compiled, with the least effort.  A process of
its own reads them, which may take 4 GiB; each one has some seconds.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from types import FrameType

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import rewrite.onnx

SECONDS = 10  # that one may take
MEMORY = 4 << 30  # bytes that the process may

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL  # noqa: E741


def _model(
    nodes: list[onnx.NodeProto],
    inputs: dict[str, tuple[int, list[int | str]]],
    stored: dict[str, object],
    functions: list[onnx.FunctionProto] | None = None,
) -> bytes:
    infos = [helper.make_tensor_value_info(k, t, s) for k, (t, s) in inputs.items()]
    last = next(o for o in nodes[-1].output if o)
    outs = [helper.make_empty_tensor_value_info(last)]
    kept = [numpy_helper.from_array(np.asarray(v), k) for k, v in stored.items()]
    graph = helper.make_graph(nodes, "g", infos, outs, kept)
    sets = [helper.make_opsetid("", 20), helper.make_opsetid("mine", 1)]
    made = helper.make_model(graph, opset_imports=sets, functions=functions or [])
    return made.SerializeToString()


def _branch(name: str, op: str) -> onnx.GraphProto:
    out = helper.make_empty_tensor_value_info(name)
    return helper.make_graph([helper.make_node(op, ["x"], [name])], name, [], [out])


def _body() -> onnx.GraphProto:
    nodes = [
        helper.make_node("Add", ["v", "x"], ["w"]),
        helper.make_node("Identity", ["c"], ["again"]),
    ]
    ins = [
        helper.make_tensor_value_info("i", I, []),
        helper.make_tensor_value_info("c", B, []),
        helper.make_tensor_value_info("v", F, [4]),
    ]
    outs = [
        helper.make_tensor_value_info("again", B, []),
        helper.make_tensor_value_info("w", F, [4]),
    ]
    return helper.make_graph(nodes, "body", ins, outs)


def sources() -> list[bytes]:
    """Weights, sizes, subgraphs, functions, recurrences: each a few hundred bytes."""
    n, w = helper.make_node, np.linspace(-1, 1, 36, dtype=np.float32)
    call = helper.make_function(
        "mine", "Twice", ["a"], ["b"], [n("Add", ["a", "a"], ["b"])],
        [helper.make_opsetid("", 20)],
    )  # fmt: skip
    return [
        _model([n("MatMul", ["x", "w"], ["y"]), n("Softmax", ["y"], ["z"], axis=-1)],
               {"x": (F, ["n", 6])}, {"w": w.reshape(6, 6)}),
        _model([n("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1], strides=[1, 1]),
                n("MaxPool", ["y"], ["z"], kernel_shape=[2, 2])],
               {"x": (F, [1, 2, 5, 5])}, {"w": w.reshape(2, 2, 3, 3)}),
        _model([n("Reshape", ["x", "s"], ["y"]), n("Transpose", ["y"], ["t"],
                perm=[1, 0]), n("Slice", ["t", "a", "b"], ["z"])],
               {"x": (F, [4, 9])},
               {"s": np.array([6, -1]), "a": np.array([0]), "b": np.array([3])}),
        _model([n("If", ["c"], ["y"], then_branch=_branch("p", "Relu"),
                  else_branch=_branch("q", "Exp"))],
               {"x": (F, [4])}, {"c": np.array(True)}),
        _model([n("Loop", ["m", "", "x"], ["y"], body=_body())],
               {"x": (F, [4])}, {"m": np.array(3)}),
        _model([n("Twice", ["x"], ["y"], domain="mine"),
                n("Tile", ["y", "r"], ["z"])],
               {"x": (F, [2, 3])}, {"r": np.array([2, 2])}, [call]),
        _model([n("LSTM", ["x", "w", "r"], ["", "h"], hidden_size=3)],
               {"x": (F, [2, 1, 3])},
               {"w": np.resize(w, (1, 12, 3)), "r": np.resize(w, (1, 12, 3))}),
        _model([n("Range", ["a", "b", "c"], ["i"]), n("Gather", ["x", "i"], ["g"]),
                n("Einsum", ["g", "g"], ["z"], equation="ij,kj->ik")],
               {"x": (F, [8, 3])},
               {"a": np.array(0), "b": np.array(6), "c": np.array(2)}),
        _model([n("Resize", ["x", "", "", "s"], ["y"], mode="linear"),
                n("TopK", ["y", "k"], ["z", "i"])],
               {"x": (F, [1, 1, 4, 4])},
               {"s": np.array([1, 1, 8, 8]), "k": np.array([2])}),
        _model([n("ConstantOfShape", ["s"], ["y"]), n("Pad", ["y", "p"], ["q"]),
                n("Expand", ["q", "e"], ["r"]), n("Add", ["r", "x"], ["z"])],
               {"x": (F, [6])},
               {"s": np.array([4]), "p": np.array([1, 1]), "e": np.array([3, 6])}),
    ]  # fmt: skip


def flipped(seed: int, models: list[bytes]) -> bytes:
    r = random.Random(seed)
    out = bytearray(r.choice(models))
    for _ in range(r.randrange(1, 4)):
        at = r.randrange(len(out))
        match r.randrange(8):
            case 0:
                del out[at : at + r.randrange(1, 5)]
            case 1:
                out[at:at] = out[at : at + r.randrange(1, 9)]
            case 2:  # numbers are written in groups of seven bits
                out[at : at + 1] = b"\xff" * r.randrange(1, 9) + b"\x7f"
            case 3:
                out[at] ^= 1 << r.randrange(8)
            case _:
                out[at] = r.choice([0, 1, 7, 8, 11, 0x7F, 0xFF, r.randrange(256)])
    return bytes(out)


class Late(BaseException):
    """No error that a reader could take for one of the model's."""


def compiled(data: bytes) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rewrite.onnx.compile(data, "numpy", effort=0, cache=False)


def run(
    first: int, count: int, act: Callable[[bytes], object] = rewrite.onnx.load
) -> Counter[str]:
    """How many were read and how many refused; raises where neither happens."""

    def late(_: int, __: FrameType | None) -> None:
        raise Late(f"over {SECONDS} s")

    signal.signal(signal.SIGALRM, late)
    told: Counter[str] = Counter()
    models = sources()
    for data in models:
        act(data)
    for seed in range(first, first + count):
        data = flipped(seed, models)
        signal.alarm(SECONDS)
        try:
            act(data)
            told["read"] += 1
        except rewrite.onnx.ModelError as e:
            told["refused"] += 1
            assert len(str(e)) < 3000, f"seed {seed}: {len(str(e))} characters"
        except BaseException as e:
            raise AssertionError(f"seed {seed}: {type(e).__name__}: {e}") from e
        finally:
            signal.alarm(0)
    return told


def apart(count: int, first: int = 0, *more: str) -> str:
    """As the command, in a process that may die of it: what it printed."""
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "tests.onnx.flips", str(count), str(first), *more],
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    took = time.monotonic() - begin
    assert done.returncode == 0, (
        f"{took:.0f} s: {done.returncode} {done.stderr[-3000:]}"
    )
    return done.stdout


if __name__ == "__main__":
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    numbers = [int(a) for a in sys.argv[1:] if a != "--compile"]
    count, first = [*numbers, *(3000, 0)[len(numbers) :]]
    how = compiled if "--compile" in sys.argv else rewrite.onnx.load
    print(dict(run(first, count, how)))
