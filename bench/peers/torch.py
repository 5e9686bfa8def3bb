"""PyTorch: eager, with its fused functions where it has them, and torch.compile."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from rewrite.backends.native.pool import thread_count

from .task import (
    Absent,
    Code,
    Contestant,
    Entries,
    Inexpressible,
    Network,
    Step,
    Task,
)

INFERENCE = {"freezing": True}  # weights are constants that the compiler may pack

torch.set_num_threads(thread_count())


class Language:
    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)

    def sum(self, x: Tensor, axes: tuple[int, ...], out: Any = None) -> Tensor:
        return torch.sum(x, axes, out=out)

    def gelu(self, x: Tensor) -> Tensor:
        return functional.gelu(x, approximate="tanh")

    def softmax(self, x: Tensor, out: Any = None) -> Tensor:
        return torch.softmax(x, -1, out=out)

    def log_softmax(self, x: Tensor) -> Tensor:
        return torch.log_softmax(x, -1)

    def layer_norm(
        self, x: Tensor, gain: Tensor, bias: Tensor, out: Any = None
    ) -> Tensor:
        refuse(out, "layer_norm")
        return functional.layer_norm(x, gain.shape, gain, bias, 1e-5)

    def transposed(self, x: Tensor, out: Any = None) -> Tensor:
        return x.t().contiguous() if out is None else out.copy_(x.t())

    def attention(self, q: Tensor, k: Tensor, v: Tensor, out: Any = None) -> Tensor:
        """Of four axes: the fused kernel takes no three."""
        refuse(out, "scaled_dot_product_attention")
        four = (x.unsqueeze(0) for x in (q, k, v))
        return functional.scaled_dot_product_attention(*four).squeeze(0)

    def conv(self, x: Tensor, w: Tensor, pad: int, out: Any = None) -> Tensor:
        refuse(out, "conv2d")
        return functional.conv2d(x, w, padding=pad)

    def max_pool(self, x: Tensor) -> Tensor:
        return functional.max_pool2d(x, 2)

    def lstm_cell(
        self, x: Tensor, h: Tensor, c: Tensor, w: Tensor, u: Tensor, b: Tensor,
        d: Tensor, out: Any = None,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        refuse(out, "lstm_cell")
        return torch.lstm_cell(x, (h, c), w, u, b, d)


def refuse(out: object, what: str) -> None:
    if out is not None:
        raise Inexpressible(f"{what} has no `out`")


LANGUAGE = Language()


class Held(nn.Module):
    """Array code whose weights are the module's."""

    def __init__(self, task: Code) -> None:
        super().__init__()
        self.f = task.f
        self.held = [f"w{i}" for i in range(len(task.weights))]
        for name, array in zip(self.held, task.weights, strict=True):
            self.register_buffer(name, torch.from_numpy(array))

    def forward(self, *inputs: Tensor, out: Any = None) -> Any:
        weights = (getattr(self, name) for name in self.held)
        return self.f(LANGUAGE, *inputs, *weights, out=out)


def module_of(task: Code | Network) -> tuple[nn.Module, tuple[Tensor, ...]]:
    if isinstance(task, Code):
        return Held(task).eval(), tuple(map(torch.from_numpy, task.inputs))
    network, given = task.made
    return network, (given,)


def listed(result: Any) -> list[Any]:
    several = isinstance(result, tuple | list)
    return [x.detach().numpy() for x in (result if several else (result,))]


def without_gradients(f: Callable[[], Any]) -> Contestant:
    return Contestant(torch.inference_mode()(f), listed)


# ---- eager ----


def prepare_eager(task: Task) -> Entries:
    if isinstance(task, Step):
        return eager_step(task)
    module, inputs = module_of(task)
    fresh = without_gradients(lambda: module(*inputs))
    if isinstance(task, Network):
        return {"pooled": fresh, "preallocated": Absent("a module takes no `out`")}
    out = blank(fresh.run())
    fixed = without_gradients(lambda: module(*inputs, out=out))
    try:
        fixed.run()
    except Inexpressible as e:
        return {"pooled": fresh, "preallocated": Absent(str(e))}
    return {"pooled": fresh, "preallocated": fixed}


def blank(result: Any) -> Any:
    """Memory for another such result."""
    if isinstance(result, Tensor):
        return torch.empty_like(result)
    return tuple(map(torch.empty_like, result))


def tensors(task: Step) -> tuple[list[Tensor], list[Tensor]]:
    """Parameters and batch."""
    parameters = [torch.from_numpy(x).requires_grad_() for x in task.parameters]
    return parameters, [torch.from_numpy(x) for x in task.batch]


def eager_step(task: Step) -> Entries:
    parameters, batch = tensors(task)

    def step(out: Sequence[Tensor | None]) -> list[Tensor]:
        value = task.loss(LANGUAGE, parameters, *batch)
        slopes = torch.autograd.grad(value, parameters)
        with torch.no_grad():
            triples = zip(parameters, slopes, out, strict=True)
            new = [torch.sub(p, s, alpha=task.rate, out=o) for p, s, o in triples]
        return [value, *new]

    out = [torch.empty_like(p, requires_grad=False) for p in parameters]
    fresh = [None] * len(out)
    return {
        "pooled": Contestant(lambda: step(fresh), listed),
        "preallocated": Contestant(lambda: step(out), listed),
    }


# ---- torch.compile ----


# Where a part cannot be compiled that is an error, and no part is left to eager torch.
compiled = functools.partial(torch.compile, fullgraph=True)


def prepare_compiled(task: Task) -> Entries:
    torch._dynamo.reset()  # so many compilations of one function and it gives up
    if isinstance(task, Step):
        return compiled_step(task)
    module, inputs = module_of(task)
    fresh = compiled(module, options=INFERENCE)
    into = compiled(Into(module), options=INFERENCE)
    with torch.inference_mode():
        out = blank(module(*inputs))
    return {
        "pooled": without_gradients(lambda: fresh(*inputs)),
        "preallocated": without_gradients(lambda: into(out, *inputs)),
    }


class Into(nn.Module):
    """A module that writes where it is told: the compiler leaves the copy out."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, out: Any, *inputs: Tensor) -> Any:
        return written(out, self.module(*inputs))


def written(out: Any, result: Any) -> Any:
    if isinstance(result, Tensor):
        return out.copy_(result)
    return tuple(o.copy_(r) for o, r in zip(out, result, strict=True))


def compiled_step(task: Step) -> Entries:
    given, batch = tensors(task)
    parameters = tuple(p.detach() for p in given)

    def value_of(p: Any, *batch: Tensor) -> Tensor:
        return task.loss(LANGUAGE, p, *batch)

    def step(p: Any, *batch: Tensor) -> tuple[Tensor, ...]:
        slopes, value = torch.func.grad_and_value(value_of)(p, *batch)
        new = (old - task.rate * slope for old, slope in zip(p, slopes, strict=True))
        return value, *new

    fresh = compiled(step)
    into = compiled(lambda out, *args: written(out, step(*args)))
    out = blank(step(parameters, *batch))
    return {
        "pooled": Contestant(lambda: fresh(parameters, *batch), listed),
        "preallocated": Contestant(lambda: into(out, parameters, *batch), listed),
    }
