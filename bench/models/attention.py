"""Attention's backward pass on an NVIDIA GPU beside torch, in one process.

    PYTHONPATH=bench python bench/models/attention.py [--rows plain,causal]
                                             [--sweep N | --training | --once]
                                             [--json FILE]
    PYTHONPATH=bench compute-sanitizer python bench/models/attention.py --once

Ours is array code: D, the row sums of dO * O; dK and dV in a pass over queries; dQ in
one over keys.  Forward results are given, rows' log-sum-exps among them.  Torch's is
that of `scaled_dot_product_attention`, by cuDNN and by its flash attention, as autograd
calls it.  The table shows medians, and the largest errors against float64 over the
largest values; `--sweep` tries N settings of each pass.  `--training` times attention
by hand, both passes through `torch.compile`, by this project's backend and by inductor,
beside `scaled_dot_product_attention`; `--once` launches ours a single time, and nothing
of torch's.  Exits with 1 where a result is wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from kernels import kernel_of
from nvidia import Ours, ours, race
from rows.memory import Tensors, torch

from rewrite.backends.cuda import CudaDevice
from rewrite.egraph.ir.dtypes import BF16, F32, I32
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import normalise
from rewrite.lower.choice import Holes
from rewrite.lower.model import DeviceModel, cheapest, model_of
from rewrite.lower.registry import FAMILIES
from rewrite.lower.tiles.attention import ONLINE

TOLERANCE = 1e-2
SAMPLE = 2  # heads that are held against float64


@dataclass(frozen=True)
class Shape:
    heads: int
    length: int
    size: int
    causal: bool = False

    @property
    def name(self) -> str:
        shape = f"{self.heads} x {self.length} x {self.size}"
        return f"backward bf16 {shape}{', causal' * self.causal}"

    @property
    def flops(self) -> float:
        whole = 10.0 * self.heads * self.length**2 * self.size
        return whole / 2 if self.causal else whole


ROWS = {
    "plain": Shape(64, 4096, 128),
    "plain16k": Shape(16, 16384, 128),
    "plain64": Shape(64, 4096, 64),
    "causal": Shape(64, 4096, 128, True),
    "causal16k": Shape(16, 16384, 128, True),
    "causal64": Shape(64, 4096, 64, True),
}

# ---- array code


class Code:
    """Gradients as array code says them: scores lie (query, key), or `turned`."""

    def __init__(self, s: Shape, turned: bool) -> None:
        self.b, self.s, self.turned = Builder(), s, turned
        shape = (s.heads, s.length, s.size)
        names = ("q", "k", "v", "do")
        self.q, self.k, self.v, self.do = (self.b.input(n, BF16, shape) for n in names)
        self.l, self.d = (self.b.input(n, F32, shape[:2]) for n in "ld")

    def scores(self, of_query: int, of_key: int) -> int:
        b = self.b
        x, y = (of_key, of_query) if self.turned else (of_query, of_key)
        y = b.permute(b.cast(y, F32), (0, 2, 1))
        return b.matmul(b.cast(x, F32), y)

    def vector(self, x: int) -> int:
        h, n = self.s.heads, self.s.length
        shape = (h, 1, n) if self.turned else (h, n, 1)
        return self.b.expand(self.b.reshape(x, shape), (h, n, n))

    def const(self, value: float, like: int) -> int:
        return self.b.const(value, F32, self.b.type(like).shape)

    def weights(self) -> int:
        b = self.b
        x = self.scores(self.q, self.k)
        x = b.bin("mul", x, self.const(self.s.size**-0.5, x))
        if self.s.causal:
            shape = b.type(x).shape
            query, key = (
                b.iota(a, I32, shape) for a in ((2, 1), (1, 2))[not self.turned]
            )
            x = b.select(b.bin("le", key, query), x, self.const(-float("inf"), x))
        return b.un("exp", b.bin("sub", x, self.vector(self.l)))

    def of_scores(self, weights: int) -> int:
        b = self.b
        x = b.bin("sub", self.scores(self.do, self.v), self.vector(self.d))
        return b.bin("mul", weights, x)

    def along(self, left: int, right: int, scale: float = 1.0) -> int:
        b = self.b
        left = b.cast(b.cast(left, BF16), F32)
        x = b.matmul(left, b.cast(right, F32))
        x = b.bin("mul", x, self.const(scale, x)) if scale != 1 else x
        return b.cast(x, BF16)


def of_keys(s: Shape) -> Kernel:
    c = Code(s, True)
    p = c.weights()
    out = c.along(p, c.do), c.along(c.of_scores(p), c.q, s.size**-0.5)
    return normalise(kernel_of(c.b, *out))


def of_queries(s: Shape) -> Kernel:
    c = Code(s, False)
    out = c.along(c.of_scores(c.weights()), c.k, s.size**-0.5)
    return normalise(kernel_of(c.b, out))


def of_rows(s: Shape) -> Kernel:
    b = Builder()
    o, do = (b.input(n, BF16, (s.heads, s.length, s.size)) for n in ("o", "do"))
    x = b.bin("mul", b.cast(o, F32), b.cast(do, F32))
    return normalise(kernel_of(b, b.reduce("sum", x, [2])))


# Tensors of a set, by name, in the order of each kernel's slots.
NAMES = ("q", "k", "v", "do", "o", "l", "d", "dq", "dk", "dv")
SLOTS = {
    "keys": (of_keys, ("k", "q", "l", "do", "v", "d", "dv", "dk")),
    "queries": (of_queries, ("q", "k", "l", "do", "v", "d", "dq")),
    "rows": (of_rows, ("o", "do", "d")),
}
ORDER = ("rows", "keys", "queries")


def picked(tensors: Tensors, names: tuple[str, ...]) -> list[Any]:
    by_name = dict(zip(NAMES, tensors, strict=True))
    return [by_name[n] for n in names]


# ---- contestants


def best(device: CudaDevice, kernel: Kernel, model: DeviceModel, part: str) -> Ours:
    chosen = cheapest(kernel, FAMILIES, model)
    assert chosen is not None
    made = ours(device, kernel, chosen[0], model, part)
    assert made is not None
    return made


def variants(
    device: CudaDevice, kernel: Kernel, model: DeviceModel, count: int
) -> list[Ours]:
    domains = ONLINE.domains(kernel, model)
    options: list[tuple[float, Holes]] = []
    for values in product(*domains.values()):
        holes = tuple(sorted(zip(domains, values, strict=True)))
        cost = ONLINE.cost(kernel, model, holes)
        if cost is not None:
            options.append((cost.seconds, holes))
    out: list[Ours] = []
    for _, holes in sorted(options)[:count]:
        label = " ".join(f"{n}={v}" for n, v in holes)
        made = ours(device, kernel, ONLINE, model, label, holes)
        out += [made] if made else []
    return out


def by_torch(s: Shape, backend: Any, tensors: Tensors) -> Any:
    """Calls the backward pass of one forward one."""
    q, k, v, do = (x[None].detach() for x in picked(tensors, ("q", "k", "v", "do")))
    sides = [x.requires_grad_() for x in (q, k, v)]
    with torch.nn.attention.sdpa_kernel(backend):
        out = torch.nn.functional.scaled_dot_product_attention(
            *sides, is_causal=s.causal
        )
    return lambda: torch.autograd.grad(out, sides, do, retain_graph=True)


def exact(s: Shape, tensors: Tensors) -> dict[str, Any]:
    """Of a few heads, in float64."""
    q, k, v, do = (x[:SAMPLE].double() for x in picked(tensors, ("q", "k", "v", "do")))
    sides = [x.requires_grad_() for x in (q, k, v)]
    x = q @ k.transpose(1, 2) * s.size**-0.5
    if s.causal:
        keep = torch.ones_like(x[0], dtype=torch.bool).tril()
        x = x.masked_fill(~keep, -float("inf"))
    out = torch.softmax(x, -1) @ v
    found = torch.autograd.grad(out, sides, do)
    return dict(zip(("dq", "dk", "dv"), found, strict=True))


def errors(want: dict[str, Any], got: dict[str, Any]) -> float:
    worst = 0.0
    for name, x in want.items():
        off = (got[name][:SAMPLE].double() - x).abs().max() / x.abs().max()
        worst = max(worst, float(off)) if off == off else float("inf")
    return worst


def inputs(s: Shape) -> list[Any]:
    shape = (s.heads, s.length, s.size)
    q, k, v, do = (torch.randn(shape, device="cuda").bfloat16() for _ in range(4))
    out, rows = torch.empty_like(q), torch.empty(shape[:2], device="cuda")
    for h in range(s.heads):
        x = q[h].float() @ k[h].float().T * s.size**-0.5
        if s.causal:
            keep = torch.ones_like(x, dtype=torch.bool).tril()
            x = x.masked_fill(~keep, -float("inf"))
        rows[h] = torch.logsumexp(x, -1)
        out[h] = torch.softmax(x, -1).bfloat16() @ v[h]
    made = [torch.full_like(x, float("nan")) for x in (rows, q, k, v)]
    return [q, k, v, do, out, rows, *made]


def by_hand(s: Shape) -> Any:
    """As models write it; what is masked, by an array."""
    hidden = torch.ones(s.length, s.length, dtype=torch.bool, device="cuda").triu(1)

    def attention(q: Any, k: Any, v: Any) -> Any:
        x = (q @ k.transpose(-1, -2)) * s.size**-0.5
        if s.causal:
            x = x.masked_fill(hidden, -float("inf"))
        return torch.softmax(x.float(), -1).to(q.dtype) @ v

    return attention


def trained(call: Any, tensors: Tensors) -> Any:
    """Calls a forward and a backward pass."""
    q, k, v, do = (x[None].detach() for x in picked(tensors, ("q", "k", "v", "do")))
    sides = [x.requires_grad_() for x in (q, k, v)]
    return lambda: torch.autograd.grad(call(*sides), sides, do)


def training(s: Shape) -> dict[str, Any]:
    tensors = inputs(s)
    want = exact(s, tensors)
    kinds = torch.nn.attention.SDPBackend

    def fused(q: Any, k: Any, v: Any) -> Any:
        with torch.nn.attention.sdpa_kernel(kinds.CUDNN_ATTENTION):
            return torch.nn.functional.scaled_dot_product_attention(
                q, k, v, is_causal=s.causal
            )

    hand = by_hand(s)
    made = {
        "ours": torch.compile(hand, backend="rewrite", dynamic=False),
        "cudnn": fused,
        "inductor": torch.compile(hand, dynamic=False),
        "by hand": hand,
    }
    calls: dict[str, Any] = {}
    found: dict[str, float] = {}
    for name, f in made.items():
        call = trained(f, tensors)
        torch.cuda.reset_peak_memory_stats()
        try:
            got = [x[0] for x in call()]
        except torch.OutOfMemoryError:
            print(f"  {name}: no memory for it")
            continue
        peak = torch.cuda.max_memory_allocated() / 1e9
        print(f"  {name}: {peak:.1f} GB of memory at most", flush=True)
        found[name] = errors(want, dict(zip(("dq", "dk", "dv"), got, strict=True)))
        calls[name] = lambda _, call=call: call()
    seconds = race(calls, [tensors])
    return {
        "row": f"training, {s.name}", "flops": 1.4 * s.flops, "seconds": seconds,
        "errors": found, "families": {}, "predicted": {},
    }  # fmt: skip


def passes(s: Shape, device: CudaDevice) -> dict[str, Ours]:
    model = model_of(device.caps())
    return {n: best(device, f(s), model, n) for n, (f, _) in SLOTS.items()}


def launched(parts: dict[str, Ours], sets: Tensors) -> None:
    for n in ORDER:
        parts[n](picked(sets, SLOTS[n][1]))


def once(s: Shape, device: CudaDevice) -> None:
    shape = (s.heads, s.length, s.size)
    heads = [torch.zeros(shape, device="cuda").bfloat16() for _ in range(8)]
    rows = [torch.zeros(shape[:2], device="cuda") for _ in range(2)]
    launched(passes(s, device), [*heads[:5], *rows, *heads[5:]])
    torch.cuda.synchronize()
    print(f"{s.name}: launched once")


def bench(s: Shape, device: CudaDevice, sweep: int) -> dict[str, Any]:
    model = model_of(device.caps())
    parts = passes(s, device)
    tensors = inputs(s)
    whole = partial(launched, parts)
    whole(tensors)
    torch.cuda.synchronize()
    want = exact(s, tensors)
    found = {"ours": errors(want, dict(zip(NAMES, tensors, strict=True)))}
    calls: dict[str, Any] = {"ours": whole}
    kinds = torch.nn.attention.SDPBackend
    for name, kind in (
        ("cudnn", kinds.CUDNN_ATTENTION),
        ("flash", kinds.FLASH_ATTENTION),
    ):
        call = by_torch(s, kind, tensors)
        got = (x[0] for x in call())
        found[name] = errors(want, dict(zip(("dq", "dk", "dv"), got, strict=True)))
        calls[name] = lambda _, call=call: call()
    for n, made in parts.items():
        calls[n] = lambda sets, n=n, made=made: made(picked(sets, SLOTS[n][1]))
    if sweep:
        for n in ("keys", "queries"):
            for made in variants(device, SLOTS[n][0](s), model, sweep):
                calls[f"{n} {made.label}"] = lambda sets, n=n, made=made: made(
                    picked(sets, SLOTS[n][1])
                )
    seconds = race(calls, [tensors])
    return {
        "row": s.name, "flops": s.flops, "seconds": seconds, "errors": found,
        "families": {n: m.family for n, m in parts.items()},
        "predicted": {n: m.predicted for n, m in parts.items()},
    }  # fmt: skip


def show(result: dict[str, Any]) -> None:
    seconds = result["seconds"]
    least = min(seconds[n] for n in ("cudnn", "flash") if n in seconds)
    print(f"\n{result['row']}")
    for name, t in seconds.items():
        line = f"  {name:44} {t * 1e6:9.1f} us"
        if name in result["errors"]:
            line += (
                f" {result['flops'] / t / 1e12:6.1f} TFLOP/s {least / t:6.2f} of torch"
            )
            line += f"  error {result['errors'][name]:.1e}"
        if name in result["predicted"]:
            said = result["predicted"][name]
            line += f"  predicted {said * 1e6:.1f} us  {result['families'][name]}"
        print(line, flush=True)


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--rows", default=",".join(ROWS))
    p.add_argument("--sweep", type=int, default=0)
    p.add_argument("--training", action="store_true")
    p.add_argument("--once", action="store_true")
    p.add_argument("--json", type=Path)
    args = p.parse_args()
    torch.cuda.init()
    torch.empty(1, device="cuda")
    torch.manual_seed(0)
    device = CudaDevice()
    print(device.probe().detail, "torch", torch.__version__)
    results: list[dict[str, Any]] = []
    for name in args.rows.split(","):
        s = ROWS[name]
        if args.once:
            once(s, device)
            continue
        results.append(training(s) if args.training else bench(s, device, args.sweep))
        show(results[-1])
        torch.cuda.empty_cache()
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))
    return int(any(r["errors"]["ours"] > TOLERANCE for r in results))


if __name__ == "__main__":
    sys.exit(main())
