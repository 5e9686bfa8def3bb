"""What `nvidia.py` measures: kernels, their inputs, and what torch does instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from kernels import kernel_of

from rewrite.egraph.ir.dtypes import BF16, F32, I64
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import normalise

torch: Any = import_module("torch")

type Tensors = Sequence[Any]
type Call = Callable[[Tensors], Any]


@dataclass(frozen=True)
class Row:
    """`make`: the inputs.  `peer` takes them and gives the output; `exact` is given
    inputs in float64.  `rows`: whether both may be held to a part of the rows."""

    name: str
    kernel: Kernel
    make: Callable[[], list[Any]]
    peer: Call
    exact: Call
    tolerance: float
    rows: bool = True  # the first axis of inputs with as many rows, and of the output
    turned: bool = False  # the output's second axis is the inputs' first one
    along: tuple[int, ...] = ()  # inputs of those rows, where others have as many
    flops: float = 0.0  # of products
    # Other operators of torch, of what they want made before; one may not run.
    also: Mapping[str, Call] = field(default_factory=dict[str, Call])


def random(*shape: int, dtype: Any = torch.float32) -> Any:
    return torch.randn(*shape, device="cuda", dtype=torch.float32).to(dtype)


# ---- the rows


def copy(n: int) -> Row:
    b = Builder()
    x = b.input("x", F32, (n,))
    y = b.bin("mul", x, b.broadcast(b.const(1.0000001, F32), x)[0])
    return Row(
        f"copy f32 {n >> 20}M", normalise(kernel_of(b, y)), lambda: [random(n)],
        lambda a: a[0] * 1.0000001, lambda a: a[0] * float(torch.tensor(1.0000001)),
        1e-6,
    )  # fmt: skip


def odd_copy(n: int) -> Row:
    """Of all but the first element: no access of several elements is aligned."""
    b = Builder()
    x = b.input("x", BF16, (n + 1,))
    y = b.slice(x, [1], [n], [1])
    return Row(
        f"copy of bf16 {n >> 20}M, from the second on", normalise(kernel_of(b, y)),
        lambda: [random(n + 1, dtype=torch.bfloat16)], lambda a: a[0][1:].clone(),
        lambda a: a[0][1:], 0.0, rows=False,
    )  # fmt: skip


def gelu(n: int) -> Row:
    b = Builder()
    x = b.input("x", F32, (n,))
    s, t, u = (b.broadcast(b.const(v, F32), x)[0] for v in (1.5, 0.1, 0.7))
    y = b.bin("mul", b.un("gelu_tanh", b.bin("add", b.bin("mul", x, s), t)), u)

    def peer(a: Tensors) -> Any:
        return torch.nn.functional.gelu(a[0] * 1.5 + 0.1, approximate="tanh") * 0.7

    return Row(f"gelu(x*a+b)*c f32 {n >> 20}M", normalise(kernel_of(b, y)),
               lambda: [random(n)], peer, peer, 1e-5)  # fmt: skip


def gated(n: int) -> Row:
    b = Builder()
    x, y = (b.input(s, BF16, (n,)) for s in "xy")
    out = b.bin("mul", b.un("silu", x), y)

    def peer(a: Tensors) -> Any:
        return torch.nn.functional.silu(a[0]) * a[1]

    return Row(f"silu(a)*b bf16 {n >> 20}M", normalise(kernel_of(b, out)),
               lambda: [random(n, dtype=torch.bfloat16) for _ in "ab"], peer, peer,
               1e-2)  # fmt: skip


def softmax(m: int, n: int) -> Row:
    b = Builder()
    y = b.macro("softmax", [b.input("x", BF16, (m, n))], (0, 1))
    return Row(f"softmax bf16 {m}x{n}", normalise(kernel_of(b, y)),
               lambda: [random(m, n, dtype=torch.bfloat16)],
               lambda a: torch.softmax(a[0], -1), lambda a: torch.softmax(a[0], -1),
               1e-2)  # fmt: skip


def layer_norm(m: int, n: int) -> Row:
    b = Builder()
    x, g, c = (b.input(s, BF16, (d, n)) for s, d in (("x", m), ("g", 1), ("c", 1)))
    y = b.macro("layer_norm", [x, g, c], (0, 1), 1e-5)

    def peer(a: Tensors) -> Any:
        return torch.nn.functional.layer_norm(a[0], (n,), a[1][0], a[2][0], 1e-5)

    def make() -> list[Any]:
        return [random(d, n, dtype=torch.bfloat16) for d in (m, 1, 1)]

    return Row(f"layer norm bf16 {m}x{n}", normalise(kernel_of(b, y)), make, peer,
               peer, 1e-2)  # fmt: skip


def rms_norm(m: int, n: int) -> Row:
    b = Builder()
    x, g = (b.input(s, BF16, (d, n)) for s, d in (("x", m), ("g", 1)))
    y = b.macro("rms_norm", [x, g], (0, 1), 1e-5)

    def peer(a: Tensors) -> Any:
        return torch.nn.functional.rms_norm(a[0], (n,), a[1][0], 1e-5)

    return Row(f"RMS norm bf16 {m}x{n}", normalise(kernel_of(b, y)),
               lambda: [random(d, n, dtype=torch.bfloat16) for d in (m, 1)], peer,
               peer, 1e-2)  # fmt: skip


def cross_entropy(m: int, n: int) -> Row:
    b = Builder()
    x, t = b.input("x", BF16, (m, n)), b.input("t", I64, (m, 1))
    wide = b.cast(x, F32)
    total = b.reshape(b.macro("logsumexp", [wide], (0, 1)), (m, 1))
    y = b.bin("sub", total, b.cast(b.gather(x, t, 1), F32))

    def make() -> list[Any]:
        target = torch.randint(0, n, (m, 1), device="cuda")
        return [random(m, n, dtype=torch.bfloat16), target]

    def exact(a: Tensors) -> Any:
        loss = torch.nn.functional.cross_entropy
        return loss(a[0], a[1][:, 0], reduction="none")[:, None]

    return Row(f"cross-entropy bf16 {m}x{n}", normalise(kernel_of(b, y)), make,
               lambda a: exact(a).float(), exact, 1e-4)  # fmt: skip


def total(n: int) -> Row:
    b = Builder()
    y = b.reduce("sum", b.input("x", F32, (n,)), [0])
    # A mean apart from 0, so that the sum's own size says what an error is.
    return Row(f"sum f32 {n >> 20}M", normalise(kernel_of(b, y)),
               lambda: [random(n) + 1], lambda a: a[0].sum().reshape(1),
               lambda a: a[0].sum().reshape(1), 1e-5, rows=False)  # fmt: skip


def columns(n: int) -> Row:
    b = Builder()
    y = b.reduce("sum", b.input("x", F32, (n, n)), [0])
    return Row(f"column sum f32 {n}^2", normalise(kernel_of(b, y)),
               lambda: [random(n, n)], lambda a: a[0].sum(0, keepdim=True),
               lambda a: a[0].sum(0, keepdim=True), 1e-5, rows=False)  # fmt: skip


def transpose(n: int) -> Row:
    b = Builder()
    y = b.permute(b.input("x", F32, (n, n)), (1, 0))
    return Row(f"transpose f32 {n}^2", normalise(kernel_of(b, y)),
               lambda: [random(n, n)], lambda a: a[0].T.contiguous(),
               lambda a: a[0].T, 0.0, turned=True)  # fmt: skip


def running(shape: tuple[int, ...], axis: int) -> Row:
    b = Builder()
    y = b.scan("sum", b.input("x", F32, shape), axis)
    name = "x".join(map(str, shape)) if len(shape) > 1 else f"{shape[0] >> 20}M"
    return Row(f"running sum f32 {name} along {axis}", normalise(kernel_of(b, y)),
               lambda: [random(*shape) + 1], lambda a: a[0].cumsum(axis),
               lambda a: a[0].cumsum(axis), 1e-5, rows=False)  # fmt: skip


ROWS: dict[str, Callable[[], Row]] = {
    "copy": lambda: copy(1 << 26),
    "oddcopy": lambda: odd_copy(1 << 27),
    "gelu": lambda: gelu(1 << 26),
    "silu": lambda: gated(1 << 26),
    "softmax": lambda: softmax(16384, 8192),
    "layernorm": lambda: layer_norm(16384, 8192),
    "rmsnorm": lambda: rms_norm(16384, 8192),
    "transpose": lambda: transpose(16384),
    "columns": lambda: columns(16384),
    "sum": lambda: total(1 << 28),
    "crossentropy": lambda: cross_entropy(8192, 128256),
    "softmax32k": lambda: softmax(4096, 32768),
    "running": lambda: running((16384, 8192), 1),
    "runningdown": lambda: running((16384, 8192), 0),
    "runningall": lambda: running((1 << 26,), 0),
    "oddsoftmax": lambda: softmax(16384, 8191),
}
