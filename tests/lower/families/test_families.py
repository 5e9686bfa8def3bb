"""Every family computes what the kernel means: interpreted, and compiled by C."""

from __future__ import annotations

import re
from dataclasses import replace
from math import prod

import numpy as np
import pytest

from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import normalise
from rewrite.lower.device import Caps
from rewrite.lower.families.contract import CONTRACT
from rewrite.lower.families.full import FULL
from rewrite.lower.families.order import ORDER
from rewrite.lower.families.rows import ROW
from rewrite.lower.families.stencil import STENCIL
from rewrite.lower.families.window import WINDOW
from rewrite.lower.families.winograd import WINOGRAD
from rewrite.lower.interpret import Trap
from rewrite.lower.interpret import run as interpret
from rewrite.lower.loops import Array, Await, Barrier, For, Function, If, Stmt
from rewrite.lower.lower import choose, lower
from rewrite.lower.model import model_of
from rewrite.lower.registry import FAMILIES
from rewrite.lower.text import show
from rewrite.lower.tiles.contract import BY_THREAD
from rewrite.lower.tiles.family import Tiled
from rewrite.lower.tiles.ir import TileProgram
from tests.lower.cases import CASES, LARGE
from tests.lower.harness import (
    CPU,
    GPU,
    NARROW,
    buffers_for,
    check_compiled,
    check_interpreted,
    close,
    kernel_of,
    lowered,
    reference,
)

CAPS = {"cpu": CPU, "narrow": NARROW, "gpu": GPU}
KERNELS = {name: make() for name, make in CASES.items()}
TAKEN = [
    (name, f.name)
    for name, k in KERNELS.items()
    for f in FAMILIES
    if not isinstance(f, Tiled) and f.accepts(normalise(k)) is None
    if any(f.cost(normalise(k), model_of(c)) for c in (CPU, GPU))
    if f not in (WINDOW, WINOGRAD, STENCIL, ORDER)
]  # these have their own tests; so have tiles
BY_NAME = {
    f.name: f
    for f in FAMILIES
    if f not in (WINDOW, WINOGRAD, STENCIL, ORDER) and not isinstance(f, Tiled)
}


def test_plain_sides_are_read_where_they_lie() -> None:
    def panels(m: int, n: int, k: int, turned: bool = False) -> set[str]:
        b = Builder()
        x, w = (
            b.input("x", F32, (m, k)),
            b.input("w", F32, (n, k) if turned else (k, n)),
        )
        made = b.matmul(x, b.permute(w, (1, 0)) if turned else w)
        kernel = normalise(kernel_of(b, [made]))
        function = CONTRACT.lower(kernel, CPU, "k", False)
        return {a.name.rstrip("0123456789") for a in arrays_in(function.body)}

    assert panels(24, 64, 64) == {"sums"}
    assert panels(23, 64, 64) == {"sums", "left"}  # a register tile beyond the edge
    assert panels(24, 61, 64) == {"sums", "right"}
    assert panels(24, 64, 1024) == {"sums", "left"}  # rows a page apart
    assert "right" in panels(24, 64, 64, turned=True) | panels(64, 24, 64, turned=True)
    # The right panel meets 32 register tiles, the left one 8.
    assert panels(1024, 1024, 1000) == {"sums", "right"}


def arrays_in(body: tuple[Stmt, ...]) -> list[Array]:
    out = [s for s in body if isinstance(s, Array)]
    for s in body:
        if isinstance(s, (For, If)):
            out += arrays_in(s.body)
    return out


def test_a_tile_on_a_gpu_lies_within_the_product_and_fills_the_device() -> None:
    model = model_of(
        replace(GPU, threads=256, max_threads=1024, shared_bytes=227 << 10, wide=16)
    )

    def tile(batch: int, m: int, k: int, n: int) -> tuple[int, int]:
        """The points of an instance's, and how many there are."""
        b = Builder()
        x, w = b.input("x", F32, (batch, m, k)), b.input("w", F32, (batch, k, n))
        kernel = normalise(kernel_of(b, [b.matmul(x, w)]))
        program = BY_THREAD.program(kernel, model, ())
        assert isinstance(program, TileProgram)
        (grid,) = program.body
        points = [p.extent for p in grid.points if p.extent > 1]
        return prod(sorted(points)[-2:]), prod(a.extent for a in grid.axes)

    assert tile(1, 4096, 4096, 4096)[0] == 128 * 128
    assert tile(1, 1024, 1024, 1024)[1] >= model.units // 2
    assert tile(32, 1024, 1024, 32)[0] == 32 * 32  # no column beyond the edge
    assert tile(1, 256, 256, 256)[1] >= model.units // 2


def test_every_family_has_cases_and_every_case_a_family() -> None:
    assert {f for _, f in TAKEN} == set(BY_NAME)
    assert {c for c, _ in TAKEN} == set(CASES)


@pytest.mark.sweep(4)
@pytest.mark.parametrize(
    ("name", "family", "caps"),
    [
        (name, family, caps)
        for name, family in TAKEN
        for caps in CAPS
        if caps != "narrow" or family == "contract"  # else nearly the code of cpu
        if BY_NAME[family].cost(normalise(KERNELS[name]), model_of(CAPS[caps]))
    ],
)
def test_interpreted(name: str, family: str, caps: str) -> None:
    check_interpreted(BY_NAME[family], KERNELS[name], CAPS[caps])


@pytest.mark.parametrize("name", ["softmax_f16", "softmax_bf16", "matmul_f16"])
def test_strict_rounds_every_operation(name: str) -> None:
    k = KERNELS[name]
    for family in FAMILIES:
        if not isinstance(family, Tiled) and family.accepts(normalise(k)) is None:
            check_interpreted(family, k, CPU, strict=True)
    buffers = buffers_for(k)
    loose, strict = (reference(k, buffers, s)[0] for s in (False, True))
    if name.startswith("softmax"):
        assert not np.array_equal(loose, strict)


def test_all_cases_by_all_families_compiled() -> None:
    check_compiled([(KERNELS[name], BY_NAME[family]) for name, family in TAKEN])


def test_contractions_of_several_tiles_compiled() -> None:
    check_compiled([(make(), CONTRACT) for make in LARGE.values()])


# ---- choices ----


def matmul(m: int, k: int, n: int) -> Kernel:
    b = Builder()
    return kernel_of(
        b, [b.matmul(b.input("x", F32, (m, k)), b.input("w", F32, (k, n)))]
    )


def reduction(m: int, n: int, axes: list[int]) -> Kernel:
    b = Builder()
    return kernel_of(b, [b.reduce("sum", b.input("x", F32, (m, n)), axes)])


@pytest.mark.parametrize("caps", [CPU, GPU], ids=["cpu", "gpu"])
def test_the_cheapest_family_is_the_expected_one(caps: Caps) -> None:
    model = model_of(caps)

    def name(kernel: Kernel) -> str:
        return choose(normalise(kernel), model)[0].name

    multiplied = "contract" if caps.cpu_like else "tilecontract"
    assert name(matmul(512, 512, 512)) == multiplied
    assert name(matmul(512, 512, 1)) != "contract"
    assert name(reduction(4096, 4096, [1])) == ("row" if caps.cpu_like else "tilerow")
    assert name(reduction(4096, 4096, [0, 1])) == "full"
    assert name(reduction(4096, 65536, [0])) == "column"
    big = Builder()
    x = big.permute(big.input("x", F32, (4096, 4096)), (1, 0))
    turned = "transpose" if caps.cpu_like else "tileturn"
    assert name(kernel_of(big, [big.un("neg", x)])) == turned


def test_reducing_several_axes_is_reducing_one() -> None:
    b = Builder()
    k = kernel_of(b, [b.reduce("sum", b.input("x", F32, (4, 5, 6, 7)), [1, 2, 3])])
    assert normalise(k).extents == (4, 210)


def test_a_contraction_evaluated_per_element_costs_its_flops() -> None:
    model = model_of(CPU)
    k = normalise(matmul(256, 256, 256))
    row, contract = ROW.cost(k, model), CONTRACT.cost(k, model)
    assert row is not None and contract is not None
    assert row.scalar >= 256**3 / model.scalar
    assert row.seconds > 3 * contract.seconds


def test_a_row_beyond_the_chip_is_not_staged() -> None:
    b = Builder()
    k = kernel_of(b, [b.macro("softmax", [b.input("x", F32, (2, 1 << 20))], (0, 1))])
    k = normalise(k)
    for caps in (CPU, GPU):
        plan = ROW.plan(k, model_of(caps))
        assert not any(s.staged for s in plan.steps)
    short = normalise(KERNELS["softmax_f32"])
    assert any(s.staged for s in ROW.plan(short, model_of(CPU)).steps)


def test_equal_kernels_lower_to_equal_functions() -> None:
    k = KERNELS["layer_norm"]
    assert lower(k, CPU, "f") == lower(CASES["layer_norm"](), CPU, "f")


# ---- the interpreter notices what a device would get wrong ----


def without_barriers(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    kept: list[Stmt] = []
    for s in body:
        if isinstance(s, For):
            inner = without_barriers(s.body)
            s = For(s.var, s.extent, s.kind, inner, s.step)
        if not isinstance(s, Barrier | Await):
            kept.append(s)
    return tuple(kept)


def test_a_missing_barrier_shows() -> None:
    k = KERNELS["matmul_f32"]
    f = lowered(BY_THREAD, k, GPU)
    broken = Function(f.name, f.params, without_barriers(f.body), f.scratch, f.threads)
    buffers = buffers_for(k)
    want = reference(k, buffers)
    interpret(broken, buffers)
    with pytest.raises(AssertionError):
        close(k, buffers[k.reads :], want)


def test_an_access_out_of_range_traps() -> None:
    k = KERNELS["gelu_chain"]
    f = lowered(BY_NAME["map"], k, CPU)
    short = Function(f.name, (f.params[0],) * 3, f.body)
    with pytest.raises(Trap, match="expected"):
        interpret(short, buffers_for(k))


def test_split_sums_combine_in_scratch() -> None:
    f = lowered(FULL, reduction(64, 1000, [0, 1]), CPU)
    assert f.scratch and len(f.body) == 2


def test_products_side_by_side_are_one_contraction() -> None:
    k = normalise(LARGE["side by side (5, (30, 10, 20))"]())
    assert len(k.outputs) == 3
    family, _ = choose(k, model_of(CPU))
    assert family is CONTRACT
    check_interpreted(CONTRACT, k, CPU)


def test_a_test_that_is_known_outside_leaves_loads_side_by_side() -> None:
    """Of a concatenation of rows, each row is read as it lies: the test picks where."""
    b = Builder()
    parts = [b.input(s, F32, (n, 64)) for s, n in (("x", 3), ("y", 5))]
    kernel = normalise(kernel_of(b, [b.un("neg", b.add("concat", parts, (0,)))]))
    text = show(lower(kernel, CPU, "f"))
    (inner,) = (part for part in text.split("simd ")[1:])
    assert "?" in text and "? " not in index_of_loads(inner)
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers)
    interpret(lower(kernel, CPU, "f"), buffers)
    close(kernel, buffers[kernel.reads :], want)


def index_of_loads(text: str) -> str:
    return " ".join(re.findall(r"b[01]\[([^\]]*)\]", text))
