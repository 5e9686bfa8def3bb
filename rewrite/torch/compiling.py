"""`torch.compile(model, backend="rewrite")`.

Dynamo's graph is made functional and taken apart into core ATen by AOTAutograd; what
is read goes to the optimizer, the rest runs in eager PyTorch.  An error of the
optimizer never reaches the user: the graph runs as it was, with a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from functools import cache
from itertools import count
from typing import Any, cast

from rewrite.backends.devices import pick_device
from rewrite.backends.executable import Executable
from rewrite.core.compiled import Compiled
from rewrite.core.notices import warn
from rewrite.lower.model import model_of
from rewrite.optimized_graph import OptimizedGraph
from rewrite.pipeline import optimize_graph

from .again import partition
from .library import (
    GraphModule,
    Tensor,
    aot_autograd,
    aot_common,
    decompositions,
    guards,
    torch,
)
from .options import Settings
from .program import Program
from .reading import Part
from .site import READERS

_numbers = count()
# Programs as they are made, for who wants to look at them.
listening: ContextVar[list[Program] | None] = ContextVar("listening", default=None)


# Operators that PyTorch knows how to take apart, but that its table of core ATen leaves
# whole.
APART = (
    "adaptive_max_pool2d.default", "adaptive_max_pool3d.default",
    "batch_norm_backward.default", "grid_sampler_2d.default",
    "upsample_bicubic2d.vec", "upsample_bicubic2d.default",
    "upsample_bilinear2d.vec", "upsample_bilinear2d.default",
    "upsample_linear1d.vec", "upsample_linear1d.default",
    "upsample_trilinear3d.vec", "upsample_trilinear3d.default",
)  # fmt: skip


@cache
def decomposition_table() -> dict[Any, Callable[..., Any]]:
    """Core ATen's, and what more is taken apart, less what has a reader."""
    table = {**decompositions.core_aten_decompositions()}
    for name in APART:
        packet, overload = name.split(".")
        found = getattr(getattr(torch.ops.aten, packet), overload)
        if found in decompositions.decomposition_table:
            table[found] = decompositions.decomposition_table[found]
    table = {k: f for k, f in table.items() if str(k) not in READERS}
    return {**table, torch.ops.aten._embedding_bag.default: _bags_of_bfloat16}


def _bags_of_bfloat16(
    table: Tensor, index: Tensor, offsets: Tensor, often: bool = False, mode: int = 0,
    sparse: bool = False, weights: Tensor | None = None, *rest: Any,
) -> Any:  # fmt: skip
    """Sums of bfloat16 by way of float32, where PyTorch's trace has the second result
    that its kernel gives; of bfloat16 it has another."""
    plain = table.stride(1) == 1 and (weights is None or weights.stride(0) == 1)
    if table.dtype is not torch.bfloat16 or mode or not plain:
        return NotImplemented
    weights = None if weights is None else weights.float()
    found = torch.ops.aten._embedding_bag(
        table.float(), index, offsets, often, mode, sparse, weights, *rest
    )
    return found[0].to(table.dtype), *found[1:]


def backend(gm: GraphModule, inputs: Sequence[Any], **asked: Any) -> Callable[..., Any]:
    """The backend that `torch.compile` calls, with `mode` and `options`."""
    choice = Settings.of(**asked)
    try:
        return _compiled(gm, inputs, choice)
    except Exception as e:
        # The contract of a drop-in: the user's graph runs, and says why.
        if choice.strict:
            raise
        warn(f"a graph runs as it was, in eager PyTorch: {type(e).__name__}: {e}")
        return gm.forward


def _compiled(
    gm: GraphModule, inputs: Sequence[Any], choice: Settings
) -> Callable[..., Any]:
    tell = _Once()

    def make(traced: GraphModule, _: Sequence[Any]) -> Callable[..., Any]:
        return _program(traced, choice, False, tell)

    def infer(traced: GraphModule, _: Sequence[Any]) -> Callable[..., Any]:
        return _program(traced, choice, True, tell)

    run = aot_common.aot_autograd(
        fw_compiler=make,
        bw_compiler=make,
        inference_compiler=infer,
        decompositions=decomposition_table(),
        keep_inference_input_mutations=True,
        **_parted(choice),
    )
    return run(gm, inputs)


def _parted(choice: Settings) -> dict[str, Any]:
    """How the joint graph is parted, where other than PyTorch does by itself: a device
    that multiplies what it computes from products computes scores again."""
    if not model_of(pick_device(choice.device).caps()).grouped:
        return {}
    return {"partition_fn": partition}


class _Once:
    """One warning for all graphs of a model, however many of them fail."""

    said = False

    def __call__(self, message: str) -> None:
        if not self.said:
            self.said = True
            warn(message)


def _program(
    traced: GraphModule, choice: Settings, inference: bool, tell: Callable[[str], None]
) -> Callable[..., Any]:
    """What runs one graph of ATen, forward or backward."""
    try:
        static = _static_places() if inference else ()
        name = f"torch{next(_numbers)}"
        made = Program(traced, lambda part, hints: _optimized(part, choice, hints),
                       name, choice.strict, static, tell, choice.freeze)  # fmt: skip
    except Exception as e:
        # The contract of a drop-in: the user's graph runs, and says why.
        if choice.strict:
            raise
        tell(f"a graph runs in eager PyTorch: {type(e).__name__}: {e}")
        return aot_autograd.make_boxed_func(traced.forward)
    heard = listening.get()
    if heard is not None:
        heard.append(made)

    def run(args: list[Any]) -> list[Any]:
        return made(args)

    cast(Any, run)._boxed_call = True  # it is called with a list, which it may empty
    return run


def _static_places() -> Sequence[int]:
    """The inputs that are parameters and buffers."""
    context = guards.TracingContext.try_get()
    known = getattr(context, "fw_metadata", None)
    return tuple(known.static_input_indices) if known is not None else ()


def _optimized(part: Part, choice: Settings, hints: Mapping[str, int]) -> Compiled:
    options = replace(choice.options, hints=hints, constant_inputs=part.constant_inputs)
    made = OptimizedGraph.of(optimize_graph(part.graph, choice.device, options))
    if not part.graph.symbols:
        ready = made.executable()  # what a compiler refuses is told now
        if part.constant_inputs and ready and _is_over(ready, options.memory):
            return _optimized(replace(part, constant_inputs=frozenset()), choice, hints)
    return made


def _is_over(ready: Executable, limit: int | None) -> bool:
    """Whether what is kept of parameters leaves temporaries too little memory."""
    arena = ready.program.memory.arena
    return limit is not None and ready.kept_bytes + arena > limit


__all__ = ["backend", "decomposition_table", "listening"]
