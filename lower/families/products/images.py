"""Columns of several images: places that grow evenly within an image alone.

The columns of a product of weights with a batch of images are all their pixels.  Where
channels lie between one image and the next, the place of a column follows from a
quotient, for each element that is read or stored.  With the images as a batch it does
not; but then each image has a tile of its own that may reach beyond its edge.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from ....extract.schedule.kernel import Affine, Kernel, bits
from ...axes import coefficient
from ..nests.plan import each, facts, reach
from .products import Contraction, fixed, steps_along


@lru_cache(maxsize=4096)
def by_image(kernel: Kernel, c: Contraction) -> Contraction | None:
    """`c` with the outer axes of its columns in the batch, so that what is read and
    stored along the others lies evenly; None where it does anyway, or never."""
    inner = len(c.n)
    for offset in _places(kernel, c):
        while inner and steps_along(kernel, offset, c.n[-inner:]) is None:
            inner -= 1
    if inner in (0, len(c.n)):
        return None
    return c._replace(batch=(*c.batch, *c.n[:-inner]), n=c.n[-inner:])


@lru_cache(maxsize=4096)
def quotients(kernel: Kernel, c: Contraction, side: tuple[int, ...]) -> bool:
    """Whether the places of a right side follow from quotients along its columns."""
    return any(uneven(kernel, c, p) for p in _read(kernel, c, side))


def uneven(kernel: Kernel, c: Contraction, offset: Affine) -> bool:
    return len(c.n) > 1 and steps_along(kernel, offset, c.n) is None


def _places(kernel: Kernel, c: Contraction) -> Iterator[Affine]:
    """Of what varies along the columns and is not laid out for them."""
    for side in c.sides[1]:
        if not fixed(kernel, c, side):
            yield from _read(kernel, c, side)
    for k in c.outputs:
        yield kernel.outputs[k].offset


def _read(kernel: Kernel, c: Contraction, side: tuple[int, ...]) -> Iterator[Affine]:
    for e in each(reach(facts(kernel), bits(side), 0)):
        x = kernel.exprs[e]
        if x.op == "load" and any(coefficient(x.attr[1], a) for a in c.n):
            yield x.attr[1]
