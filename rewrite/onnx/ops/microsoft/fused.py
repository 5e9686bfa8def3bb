"""Activations, and products that are fused with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...site import MICROSOFT, Site, Unread, first, op
from ..conv import conv
from ..elementwise import clipped, scaled
from ..linear import gemm, product

# Activations by name, with what their parameters are called in the standard.
PARAMETERS = {
    "Relu": (), "Tanh": (), "Sigmoid": (), "Softplus": (), "Softsign": (),
    "LeakyRelu": ("alpha",), "Elu": ("alpha",), "ThresholdedRelu": ("alpha",),
    "HardSigmoid": ("alpha", "beta"), "Selu": ("alpha", "gamma"),
}  # fmt: skip


@op("Gelu", "FastGelu", "BiasGelu", "QuickGelu", domain=MICROSOFT)
def gelu(s: Site) -> int:
    x = s.bin("add", s.x(0), s.x(1)) if s.has(1) else s.x(0)
    if s.kind == "QuickGelu":
        return s.b.bin(
            "mul", x, s.b.un("sigmoid", scaled(s, x, s.attr("alpha", 1.702)))
        )
    return s.b.un("gelu_tanh" if s.kind == "FastGelu" else "gelu", x)


@op("FusedMatMul", "TransposeMatMul", domain=MICROSOFT)
def matmul(s: Site) -> int:
    a, b = (_turned(s, s.x(i), side) for i, side in enumerate("AB"))
    alpha = s.attr("alpha", 1.0)
    y = product(s, a, b)
    return y if alpha == 1 else scaled(s, y, alpha)


def _turned(s: Site, x: int, side: str) -> int:
    """The first axis behind the batch's, then the last two the other way round."""
    order = list(range(len(s.b.shape(x))))
    if len(order) < 2:
        return x
    if s.attr(f"transBatch{side}", 0):
        order.insert(len(order) - 2, order.pop(0))
    if s.attr(f"trans{side}", 0):
        order[-2:] = order[:-3:-1]
    return s.b.permute(x, order)


@op("FusedGemm", domain=MICROSOFT)
def fused_gemm(s: Site) -> int:
    names = ("alpha", "beta", "gamma")
    given = {n: s.attr(f"activation_{n}") for n in names}
    name = s.attr("activation", "")
    kept = {n: given[n] for n in PARAMETERS.get(name, ())}
    return activated(s, first(s, gemm(s)), name, kept)


@op("FusedConv", domain=MICROSOFT)
def fused_conv(s: Site) -> int:
    """`Z` is added before the activation."""
    y = first(s, conv(s.like("Conv", [s.maybe(i) for i in range(3)])))
    if s.has(3):
        y = s.bin("add", y, s.x(3))
    name = s.attr("activation", "")
    parameters: list[float] = s.attr("activation_params") or []
    if name == "Clip":
        return clipped(s, y, *parameters)
    named = dict(zip(PARAMETERS.get(name, ()), parameters))  # noqa: B905  # the rest: defaults
    return activated(s, y, name, named)


def activated(s: Site, x: int, name: str, parameters: Mapping[str, Any]) -> int:
    """By an activation of the standard; without a name, as it is."""
    if name and name not in PARAMETERS:
        raise Unread(f"the activation {name!r}")
    return s.made(name, x, **parameters) if name else x
