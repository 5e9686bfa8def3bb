"""Products with weights of 8 or 4 bits and their scales, for `nvidia.py`: array code,
planned as by `rewrite.optimize`, of which all must be one kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
from rows.memory import Row, Tensors, random, torch

from rewrite import xp
from rewrite.backends.cuda import CudaDevice
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import saturator
from rewrite.extract.schedule.kernel import Kernel, Launch
from rewrite.extract.schedule.plan import plan
from rewrite.extract.schedule.steps import schedule
from rewrite.lower.axes import normalise
from rewrite.lower.model import kernel_cost
from rewrite.lower.registry import FAMILIES
from rewrite.xp.trace import trace


@dataclass(frozen=True)
class Weights:
    """[n, k], or [k, n], of so many bits; a scale for each column of the result, or
    (`block`) for so many values of what is summed as well."""

    n: int
    k: int
    bits: int
    block: int = 0
    along: bool = True  # what is summed lies side by side

    @property
    def shape(self) -> tuple[int, int]:
        k = self.k * self.bits // 8
        return (self.n, k) if self.along else (k, self.n)

    @property
    def scales(self) -> tuple[int, int]:
        blocks = self.k // self.block if self.block else 1
        return (self.n, blocks) if self.along else (blocks, self.n)

    def values(self, lib: Any, w: Any) -> Any:
        """As small integers: neighbours share a byte, the first its lower half."""
        if self.bits == 8:
            return w
        axis = int(self.along)
        low, high = (w & 15).astype(lib.int8) - 8, (w >> 4).astype(lib.int8) - 8
        n, k = self.n, self.k
        pairs = lib.stack([low, high], axis=axis + 1)
        return pairs.reshape((n, k) if self.along else (k, n))

    def wide(self, lib: Any, w: Any, s: Any, dtype: Any) -> Any:
        """What the weights stand for, [k, n]."""
        w, s = self.values(lib, w).astype(dtype), s.astype(dtype)
        n, k, block = self.n, self.k, self.block
        if block:
            shape = (n, k // block, block) if self.along else (k // block, block, n)
            w = w.reshape(shape) * lib.expand_dims(s, 2 if self.along else 1)
            w = w.reshape((n, k) if self.along else (k, n))
        else:
            w = w * s
        return w.T if self.along else w


def of_torch(weights: Weights, w: Any, s: Any, dtype: Any) -> Any:
    """The same as PyTorch's."""
    n, k, block, along = weights.n, weights.k, weights.block, weights.along
    if weights.bits == 4:
        low, high = (w & 15).to(torch.int8) - 8, (w >> 4).to(torch.int8) - 8
        w = torch.stack([low, high], 1 + along).reshape((n, k) if along else (k, n))
    w, s = w.to(dtype), s.to(dtype)
    if block:
        shape = (n, k // block, block) if along else (k // block, block, n)
        w = (w.reshape(shape) * s.unsqueeze(1 + along)).reshape(
            (n, k) if along else (k, n)
        )
    else:
        w = w * s
    return w.T if along else w


def planned(
    f: Callable[..., Any], examples: tuple[Any, ...]
) -> tuple[Kernel, list[int]]:
    """The one kernel, and which argument each of its buffers is."""
    graph = trace(f, *examples)
    price = kernel_cost(CudaDevice().caps(), FAMILIES)
    found = plan(graph, saturator(load_rules()), price)
    made = schedule(found.graph, found.groups)
    if len(made.steps) > 1:
        raise NotImplementedError(f"{len(made.steps)} kernels")
    (step,) = made.steps
    assert isinstance(step, Launch), step
    labels = [made.buffers[b].label for b in step.args[: step.kernel.reads]]
    names = [node.name for node in graph.inputs]
    return normalise(step.kernel), [names.index(label) for label in labels]


def quantized(m: int, weights: Weights) -> Row:
    def ours(x: Any, w: Any, s: Any) -> Any:
        return x @ weights.wide(xp, w, s, x.dtype)

    bf16 = np.dtype(ml_dtypes.bfloat16)
    kind = np.int8 if weights.bits == 8 else np.uint8
    examples = (np.zeros((m, weights.k), bf16), np.zeros(weights.shape, kind),
                np.zeros(weights.scales, bf16))  # fmt: skip
    kernel, order = planned(ours, examples)
    back = [order.index(i) for i in range(3)]

    def make() -> list[Any]:
        whole = (-128, 128, torch.int8) if weights.bits == 8 else (0, 256, torch.uint8)
        w = torch.randint(*whole[:2], weights.shape, device="cuda", dtype=whole[2])
        s = (random(*weights.scales).abs() + 0.5) / weights.k**0.5 / 8
        made = [random(m, weights.k, dtype=torch.bfloat16), w, s.to(torch.bfloat16)]
        return [made[i] for i in order]

    def given(a: Tensors) -> list[Any]:
        return [a[i] for i in back]

    def peer(a: Tensors) -> Any:
        x, w, s = given(a)
        return x @ of_torch(weights, w, s, x.dtype)

    def exact(a: Tensors) -> Any:
        return peer(a)

    also = {"packed": partial(_packed, weights, given, {})}
    scale = f"by {weights.block}" if weights.block else "a column"
    lies = "" if weights.along else ", turned"
    name = f"product int{weights.bits} {scale} {m}x{weights.n}x{weights.k}{lies}"
    return Row(name, kernel, make, peer, exact, 1e-2, rows=False,
               flops=2.0 * m * weights.n * weights.k, also=also)  # fmt: skip


def _packed(
    weights: Weights, given: Callable[[Tensors], list[Any]], kept: dict[int, Any],
    a: Tensors,
) -> Any:  # fmt: skip
    """PyTorch's own operator of weights in its own layout, made once for each set."""
    x, w, s = given(a)
    key = w.data_ptr()
    if weights.bits == 8:
        if weights.block:
            raise NotImplementedError("it has no blocks")
        if key not in kept:
            kept[key] = w if weights.along else w.T.contiguous(), s.reshape(-1)
        return torch._weight_int8pack_mm(x, *kept[key])
    if key not in kept:
        wide = w if weights.along else w.T.contiguous()
        # Its first value of a byte is the upper half, and its zero is 8 already.
        swapped = (wide << 4) | (wide >> 4)
        ops = torch.ops.aten
        scales = s if not weights.along else s.T
        pair = torch.stack([scales, torch.zeros_like(scales)], 2).contiguous()
        kept[key] = ops._convert_weight_to_int4pack(swapped, 8), pair
    return torch.ops.aten._weight_int4pack_mm(
        x, kept[key][0], weights.block, kept[key][1]
    )


BOTH = Weights(8192, 8192, 8), Weights(8192, 8192, 4, 128)
WIDE = Weights(28672, 8192, 8), Weights(28672, 8192, 4, 128)

QUANTIZED: dict[str, Callable[[], Row]] = {
    "int8": lambda: quantized(1, BOTH[0]),
    "int8wide": lambda: quantized(1, WIDE[0]),
    "int8turned": lambda: quantized(1, Weights(8192, 8192, 8, along=False)),
    "int8by64": lambda: quantized(1, Weights(8192, 8192, 8, 64)),
    "int8by64turned": lambda: quantized(1, Weights(8192, 8192, 8, 64, False)),
    "int4": lambda: quantized(1, BOTH[1]),
    "int4wide": lambda: quantized(1, WIDE[1]),
    "int4turned": lambda: quantized(1, Weights(8192, 8192, 4, 128, False)),
    "int4small": lambda: quantized(1, Weights(4096, 4096, 4, 128)),
    "int8few": lambda: quantized(4, BOTH[0]),
    "int8some": lambda: quantized(16, BOTH[0]),
    "int8someturned": lambda: quantized(16, Weights(8192, 8192, 8, along=False)),
    "int4few": lambda: quantized(4, BOTH[1]),
    "int4some": lambda: quantized(16, BOTH[1]),
    "int8many": lambda: quantized(2048, BOTH[0]),
    "int4many": lambda: quantized(2048, BOTH[1]),
}
