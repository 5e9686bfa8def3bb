"""The window family: products with a side that slides (convolutions and their kin),
without a matrix of all windows, stored or packed."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import prod

from ...extract.schedule.kernel import Kernel
from ..axes import ceil_div, coefficient
from ..choice import Domains, Holes
from ..device import Caps
from ..loops import Ex, Lit, Load, Param, Store
from ..model import DeviceModel, Layout, Parts, Plain, model_of
from .common import Written, refusal
from .contract import CONTRACT, epilogue, traffic
from .nests.values import add, mul
from .products.blocking import Whole
from .products.boxes import Boxes
from .products.panels import Panel
from .products.slide import (
    Sliding,
    domains,
    panels_of,
    seconds,
    slides,
    sliding,
    strides,
    work,
)
from .products.strips import layout, resized


@dataclass(frozen=True, slots=True)
class Window(Written, Plain):
    """One product, of which a side is a function of sums of kept and summed axes."""

    name: str = "window"

    def accepts(self, kernel: Kernel) -> str | None:
        return refusal(slides(kernel))

    def domains(self, kernel: Kernel, model: DeviceModel) -> Domains:
        s = sliding(kernel, model)
        if s is None:
            return {}
        return {**domains(kernel), **model.sharing(_parts(kernel, s, model))}

    def parts(
        self, kernel: Kernel, model: DeviceModel, holes: Holes = ()
    ) -> Parts | None:
        s = sliding(kernel, model, holes)
        return s and _parts(kernel, s, model)

    def overwrites(
        self, kernel: Kernel, model: DeviceModel, output: int, loads: int,
        holes: Holes = (),
    ) -> bool:  # fmt: skip
        return CONTRACT.overwrites(kernel, model, output, loads, holes)

    def layouts(
        self, kernel: Kernel, model: DeviceModel, holes: Holes = ()
    ) -> tuple[Layout, ...]:
        s = _sliding(kernel, model, holes)
        panels = panels_of(kernel, s)
        return (layout(kernel, s.c, s.other, panels),) if panels else ()

    def write(
        self, kernel: Kernel, caps: Caps, buffers: tuple[Param, ...], strict: bool,
        holes: Holes = (),
    ) -> Slides:  # fmt: skip
        model = model_of(caps)
        s = _sliding(kernel, model, holes)
        panels = panels_of(kernel, s)
        buffers = resized(buffers, (panels,) if panels else ())
        writer = Slides(kernel, strict, buffers, s)
        writer.grid = model.outermost(_parts(kernel, s, model), holes)
        writer.write()
        return writer


def _sliding(kernel: Kernel, model: DeviceModel, holes: Holes) -> Sliding:
    s = sliding(kernel, model, holes)
    assert s is not None
    return s


def _parts(kernel: Kernel, s: Sliding, model: DeviceModel) -> Parts:
    w, (batch, m, n, _) = work(kernel, s), s.c.sizes(kernel)
    across = ceil_div(n, s.blocks.columns)
    tiles = w.tiles // (batch * across), across
    end = batch * epilogue(kernel, s.c, (m, n), tiles, True)
    return Parts(
        traffic(kernel, s.c, tiles, model),
        seconds(w._replace(macs=0.0, scalar=w.scalar + end), s.c, model),
        seconds(w._replace(scalar=0.0), s.c, model),
    )


class Slides(Boxes):
    """Writes the function of one product with a side that slides."""

    def __init__(
        self, kernel: Kernel, strict: bool, buffers: tuple[Param, ...], s: Sliding
    ) -> None:
        super().__init__(kernel, strict, buffers, s.c, s.box, dict(s.tile))
        self.s, self.blocks = s, s.blocks
        self.whole = Whole(
            all(kernel.extents[a] % self.tile[a] == 0 for a in s.c.m),
            self.n % s.blocks.columns == 0,
            self.k % s.blocks.depth == 0,
        )
        panels = panels_of(kernel, s)
        self.there = {s.other: panels} if panels else {}
        self.once = s.blocks.depth >= self.k
        self.steps = strides(s.box, self.tile)

    def write(self) -> None:
        self.over_tiles(self.blocks.columns, self._tile_at)

    def _tile_at(self, left: Ex) -> None:
        b, dtype, (p,) = self.blocks, self.c.dtype, self.c.products
        size = prod(x.extent(self.tile) for x in self.s.box)
        box = self.array("box", dtype, size)
        if not self.there:
            self.right = {p.b: self.array("right", dtype, b.columns * b.depth)}
        self.sums = {p.root: self.array("sums", dtype, b.rows * b.columns)}
        if not self.once:
            with self.loop("simd", b.rows * b.columns) as i:
                self.emit(Store(self.sums[p.root], i, Lit(0.0, dtype)))
        first, *rest = self.c.k
        self.origin.update((a, self.number(0)) for a in rest)
        with self.loop("serial", self._parts_of(first)) as block:
            self.origin[first] = self.let(mul(block, self.tile[first]), "k")
            flat = self.let(mul(block, b.depth), "k")
            self.fill(box)
            if not self.there:
                self._pack_right(left, flat)
            self._products(box, left, flat)
        self._results(left)

    # ---- the products ----

    def _products(self, box: str, left: Ex, flat: Ex) -> None:
        b, (p,) = self.blocks, self.c.products
        with self.loop("serial", b.columns // b.width) as across:
            column = mul(across, b.width)

            def strip() -> None:
                right = self._panel_right(p.b, column, add(left, column), flat)
                self._over_rows(lambda at: self._at_rows(box, at, column, right))

            self._started(add(left, column), self.n, self.whole.n, strip)

    def _over_rows(self, body: Callable[[dict[int, Ex]], None]) -> None:
        """Loops over the places of the register tiles within the output tile, but for
        those beyond the edge."""
        r = self.s.register
        at: dict[int, Ex] = {}
        with ExitStack() as loops:
            for a in self.c.m:
                unit = r.height if a == r.along else 1
                n = ceil_div(self.tile[a], unit)
                at[a] = mul(loops.enter_context(self.loop("serial", n)), unit)
                for test in self.inside(a, at[a]) if self._parts_of(a) > 1 else ():
                    loops.enter_context(self.when(test))
            body(at)

    def _at_rows(self, box: str, at: dict[int, Ex], column: Ex, right: Panel) -> None:
        base: Ex = self.number(0)
        for a, place in at.items():
            base = add(base, mul(place, self.steps.get(a, 0)))
        own = self.steps.get(self.s.register.along, 0)
        left = Panel(box, self.let(base, "o"), 1, own)
        corner = add(mul(self._row_of(at), self.blocks.columns), column)
        (p,) = self.c.products
        self._register_tile(left, right, self.sums[p.root], corner)

    def _row_of(self, at: dict[int, Ex]) -> Ex:
        """The number of a row of the output tile."""
        row: Ex = self.number(0)
        for a in self.c.m:
            row = add(mul(row, self.tile[a]), at[a])
        return row

    def _corner(self, corner: Ex, i: int, j: int) -> Ex:
        b, inner = self.blocks, self.c.m[self.c.m.index(self.s.register.along) + 1 :]
        row = i * prod(self.tile[a] for a in inner)
        return add(corner, self.number(row * b.columns + j * b.lanes))

    @contextmanager
    def _along_k(self) -> Generator[tuple[Ex, Ex]]:
        """A loop for each summed axis, in the order in which the other side lies."""
        boxed: Ex = self.number(0)
        flat: Ex = self.number(0)
        with ExitStack() as loops:
            for a in self.c.k:
                here = loops.enter_context(self.loop("serial", self.tile[a]))
                boxed = add(boxed, mul(here, self.steps.get(a, 0)))
                flat = add(mul(flat, self.tile[a]), here)
            yield boxed, flat

    # ---- what follows the sums ----

    def _results(self, left: Ex) -> None:
        """For each line of rows along one axis: cell by cell along that axis or along
        the columns, as the output lies."""
        self._by_column(left)
        along, at = self.s.register.along, dict[int, Ex]()
        with ExitStack() as loops:
            for a in self.c.m:
                if a == along:
                    continue
                at[a] = loops.enter_context(self.loop("serial", self.tile[a]))
                for test in self.inside(a, at[a]):
                    loops.enter_context(self.when(test))
                self.at(a, self.let(add(self.origin[a], at[a]), "p"))
            self.in_parts(along, lambda count: self._cells_of(left, at, count))

    def _cells_of(self, left: Ex, at: dict[int, Ex], count: int) -> None:
        """`count` rows along the register tile's axis."""
        along, columns = self.s.register.along, self.blocks.columns
        lies_by_rows = any(
            coefficient(o.offset, self.c.n[-1]) == 1 for o in self.kernel.outputs
        )
        if lies_by_rows:
            with self.loop("serial", count) as i:
                self.at(along, self.let(add(self.origin[along], i), "p"))
                self._row(left, mul(self._row_of({**at, along: i}), columns))
            return
        (p,), dtype = self.c.products, self.c.dtype
        # Sums stand across the output's lines: turned first, the rest runs as vectors.
        line = self.array("line", dtype, count)
        with self.loop("serial", min(columns, self.n)) as j:

            def column() -> None:
                with self.loop("simd", count) as i:
                    row = mul(self._row_of({**at, along: i}), columns)
                    total = Load(self.sums[p.root], add(row, j), dtype)
                    self.emit(Store(line, i, total))
                self.at(self.column, j)
                self.unravel(self.c.n, add(left, j))
                with self.loop("simd", count) as i:
                    self.at(along, self.let(add(self.origin[along], i), "p"))
                    self.cell(Load(line, i, dtype))

            self._started(add(left, j), self.n, self.whole.n, column)


WINDOW = Window()
