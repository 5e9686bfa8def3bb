"""Products of odd sizes by groups of threads, in tiles of all kinds."""

from __future__ import annotations

import random
from typing import NamedTuple

from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import normalise
from rewrite.lower.choice import Holes
from rewrite.lower.families.contract import CONTRACT
from rewrite.lower.model import DeviceModel

from .harness import kernel_of


class Tiled(NamedTuple):
    kernel: Kernel
    holes: Holes


def product(rng: random.Random, most: int) -> Kernel:
    """Perhaps a batch of them, of turned or computed sides, with something after."""
    b = Builder()
    batch = rng.choice(((), (), (2,)))
    m, k, n = (rng.randint(1, most) for _ in range(3))

    def side(name: str, rows: int, columns: int) -> int:
        turned = rng.random() < 0.5
        shape = (columns, rows) if turned else (rows, columns)
        x = b.input(name, F32, (*batch, *shape))
        if turned:
            axes = (*range(len(batch)), len(batch) + 1, len(batch))
            x = b.permute(x, axes)
        return b.un("tanh", x) if rng.random() < 0.3 else x

    y = b.matmul(side("x", m, k), side("w", k, n))
    if rng.random() < 0.5:
        y = b.un("relu", b.bin("add", *b.broadcast(y, b.input("c", F32, (n,)))))
    return normalise(kernel_of(b, [y]))


def tiled(seed: int, model: DeviceModel, most: int) -> Tiled:
    """A product and tiles that the device has room for."""
    rng = random.Random(seed)
    while True:
        kernel = product(rng, most)
        if CONTRACT.accepts(kernel) is not None:
            continue
        domains = CONTRACT.domains(kernel, model)
        holes = {name: rng.choice(values) for name, values in domains.items()}
        if rng.random() < 0.5:  # more threads than a slice has elements
            holes |= {"rows": 16, "depth": 8, "height": 2, "width": 2}
        holes = tuple(holes.items())
        if CONTRACT.cost(kernel, model, holes) is not None:
            return Tiled(kernel, holes)
