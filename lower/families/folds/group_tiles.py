"""Sizes and price of a fold on a GPU: a group of threads keeps the rows of a unit.

A block of scores stands in shared memory, a row for each place of the pass.  A left
side of a wide state takes the room of scores that nobody reads after it was made.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from ....extract.schedule.cascade import State
from ....extract.schedule.kernel import Kernel, bits
from ...axes import ceil_div
from ...choice import Domains, Holes
from ...model import DeviceModel, Parts
from ..nests.plan import facts, reach
from .corrections import kept_parts
from .price import end, middle, traffic
from .recognize import Fold, extents, row_factors
from .shared_tiles import PAD, REGISTERS, SPEEDS


class Group(NamedTuple):
    """A unit of work is `rows` rows; the pass takes `block` places at a time, products
    `depth` terms.  A thread has `height` rows and `width` columns of the scores."""

    rows: int
    block: int
    depth: int
    height: int
    width: int

    @property
    def across(self) -> int:
        """Threads side by side."""
        return self.block // self.width

    @property
    def threads(self) -> int:
        return self.rows // self.height * self.across

    @property
    def team(self) -> int:
        """Threads that share a row of the scores."""
        return self.threads // self.rows

    @property
    def step(self) -> int:
        """Elements between the scores of two places: other banks."""
        return self.rows + PAD

    def columns(self, e: int) -> int:
        """Of a wide state that a thread has, of `e`."""
        return ceil_div(e, self.across)

    @property
    def regular(self) -> bool:
        even = self.rows % self.height == 0 and self.block % self.width == 0
        shared = even and self.threads % self.rows == 0
        return shared and self.block % self.team == 0 and self.block % self.depth == 0


GROUPS = (
    Group(64, 128, 32, 4, 8), Group(64, 128, 16, 4, 8), Group(64, 64, 32, 4, 4),
    Group(64, 64, 16, 4, 4), Group(32, 128, 32, 4, 4), Group(16, 128, 32, 2, 4),
    Group(32, 64, 16, 4, 4), Group(32, 64, 16, 2, 4), Group(16, 64, 16, 1, 4),
    Group(16, 32, 16, 2, 4), Group(8, 64, 16, 1, 2), Group(8, 16, 16, 1, 2),
    Group(4, 64, 16, 1, 1),
)  # fmt: skip

# Fitted to what `python bench/tiles.py cuda 4096` prints on an H100.
GROUPS_AT_ONCE = 2  # of a processor, that `DeviceModel.units` count
ENOUGH = 512  # threads of a processor that make products at the device's rate
HIDING = 300  # threads' time that a processor loses with any number of them
MOST = 700  # threads of a processor, beyond which more help little
LOAD = 20.0  # flops worth of a load along a row, which all threads wait for
ROOMS = 3  # groups whose shared memory a processor has
MEETING = 4  # places' worth of time that the meetings of a block take


def domains(kernel: Kernel, fold: Fold, model: DeviceModel) -> Domains:
    """What a search may set."""
    if not (fold.inner or fold.wide):
        return {}
    sizes, small = (4, 8, 16, 32, 64, 128), (1, 2, 4, 8)
    return {"rows": sizes, "block": (16, 32, 64, 128), "depth": (8, 16, 32, 64),
            "height": small, "width": small}  # fmt: skip


def group_for(
    kernel: Kernel, fold: Fold, model: DeviceModel, holes: Holes = ()
) -> Group | None:
    """Of the groups that fit the device the quickest; None where none fits, or the one
    with these holes does not, or where each row is work for a group by itself."""
    if not (fold.inner or fold.wide):
        return None
    fits = [g for g in GROUPS if _fits(kernel, fold, g, model)]
    best = min(fits, key=lambda g: _busy(kernel, fold, g, model), default=None)
    if best is None or not holes:
        return best
    named = best._replace(**{k: v for k, v in holes if k in Group._fields})
    return named if named.regular and _fits(kernel, fold, named, model) else None


def _fits(kernel: Kernel, fold: Fold, g: Group, model: DeviceModel) -> bool:
    room = max(model.on_chip, model.shared // ROOMS)
    held = sum(g.height * g.columns(c.sizes(kernel)[2]) for _, c in fold.wide)
    return (
        g.threads <= model.largest
        and held + g.height * g.width * bool(fold.inner) <= REGISTERS
        and _elements(kernel, fold, g) * fold.dtype.itemsize <= room
    )


def _elements(kernel: Kernel, fold: Fold, g: Group) -> int:
    """Of shared memory."""
    rights = [g.columns(c.sizes(kernel)[2]) * g.across for _, c in fold.wide]
    rights += [g.block] * bool(fold.inner)
    tiles = g.depth * (max(rights) + PAD + g.step * bool(fold.inner))
    scores = len(fold.inner) + sum(r is None for r in rooms(kernel, fold).values())
    states = sum(len(kept_parts(s)) for s in fold.rows)
    rows = g.rows * (2 * states + len(fold.rows) + len(fold.wide)) + g.threads * states
    return tiles + scores * g.block * g.step + rows


def rooms(kernel: Kernel, fold: Fold) -> dict[int, int | None]:
    """By wide state the product whose scores its left side is stored over."""
    f = facts(kernel)
    free = {c.products[0].root for c in fold.inner}
    made = bits(tuple(free))
    states = (*fold.rows, *(s for s, _ in fold.wide))

    def reads(s: State, root: int) -> bool:
        below = reach(f, bits(row_factors(fold, s)), made & ~(1 << root))
        return bool(below >> root & 1)

    out: dict[int, int | None] = {}
    for w, _ in fold.wide:
        level = fold.level[w.root]
        later = [s for s in states if fold.level[s.root] > level]
        over = [r for r in sorted(free) if not any(reads(s, r) for s in later)]
        out[w.root] = over[0] if over else None
        free -= set(over[:1])
    return out


def _busy(kernel: Kernel, fold: Fold, g: Group, model: DeviceModel) -> float:
    """Seconds of the threads: products, and what each level computes anew."""
    batch, m, j, _ = extents(kernel, fold)
    down, blocks = ceil_div(m, g.rows), ceil_div(j, g.block)
    height, places = down * g.rows, blocks * g.block
    macs = 0.0
    for c in fold.inner:
        macs += places * c.sizes(kernel)[3] / speed(g.height * g.width)
    for _, c in fold.wide:
        wide = g.columns(c.sizes(kernel)[2])
        macs += places * wide * g.across / speed(g.height * wide)
    each_row = places * middle(kernel, fold, LOAD) + end(kernel, fold)
    for s, c in fold.wide if blocks > 1 else ():  # sums are corrected once a block
        each_row += 2 * c.sizes(kernel)[2] * blocks * bool(s.needs)
    one = macs * (1 + MEETING / g.block) / model.product_rate(fold.dtype)
    one += each_row / model.scalar_rate(fold.dtype)
    return batch * height * one * _share(batch * down, g.threads, model)


def _share(groups: int, threads: int, model: DeviceModel) -> float:
    """By what the time grows that the whole device would take: the busiest processor
    has more groups than others, and too few threads to hide what each waits for."""
    processors = max(model.units // GROUPS_AT_ONCE, 1)
    most = ceil_div(groups, processors)
    together = min(most * threads, MOST)
    waits = (1 + HIDING / together) / (1 + HIDING / ENOUGH)
    return most * processors / groups * waits


def speed(elements: int) -> float:
    """Of a thread's tile of so many elements."""
    sizes = sorted(SPEEDS)
    at = bisect_right(sizes, elements)
    return SPEEDS[sizes[at - 1]] if at else SPEEDS[sizes[0]] * elements / sizes[0]


def parts(
    kernel: Kernel, fold: Fold, model: DeviceModel, holes: Holes = ()
) -> Parts | None:
    """What threads do they do in turn, so all of it counts as products."""
    g = group_for(kernel, fold, model, holes)
    if g is None:
        return None
    down = ceil_div(extents(kernel, fold)[1], g.rows)
    moved = traffic(kernel, fold, down, model)
    return Parts(moved, 0.0, _busy(kernel, fold, g, model))
