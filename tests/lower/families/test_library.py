"""Products by a device's library: what it takes and computes, and who asks for it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from rewrite.backends import blas as finding
from rewrite.backends.blas import Blas, blas
from rewrite.egraph.ir.dtypes import F8E5M2, F16, F32, I32
from rewrite.egraph.ir.graph import Builder
from rewrite.lower.choice import Choice, digest
from rewrite.lower.device import Caps, DeviceError
from rewrite.lower.families.library import LIBRARY
from rewrite.lower.interpret import Trap
from rewrite.lower.interpret import run as interpret
from rewrite.lower.loops import For, Function, Gemm, Stmt, Var
from rewrite.lower.lower import choose, lower
from rewrite.lower.model import model_of
from rewrite.lower.registry import candidates_for
from rewrite.lower.text import parse_all, show
from rewrite.lower.verify import VerifyError, verify
from tests.lower.harness import (
    CPU,
    GPU,
    buffers_for,
    c_device,
    close,
    on_c,
    reference,
)
from tests.lower.products import SMALL, TAKEN, Make, kernel, product

WITH = replace(CPU, library="a library")


def scaled(b: Builder) -> int:
    return b.matmul(b.un("exp", b.input("x", F32, (4, 8))), b.input("w", F32, (8, 5)))


def softmaxed(b: Builder) -> int:
    return b.macro("softmax", [product(4, 5, 8)(b)], (0, 1))


def mixed(b: Builder) -> int:
    x, w = b.input("x", F16, (4, 8)), b.input("w", F32, (8, 5))
    return b.matmul(b.cast(x, F32), w)


def rounded(b: Builder) -> int:
    """Its products are rounded before they are summed."""
    x, w = b.input("x", F16, (4, 8, 1)), b.input("w", F16, (1, 8, 5))
    return b.reduce("sum", b.bin("mul", *b.broadcast(x, w)), [1])


def far(b: Builder) -> int:
    """Elements of no row or column lie side by side."""
    x = b.slice(b.input("x", F32, (8, 16)), (0, 0), (8, 8), (1, 2))
    return b.matmul(x, b.input("w", F32, (8, 5)))


REFUSED: dict[str, Make] = {
    "a side is computed": scaled, "rows are reduced after it": softmaxed,
    "sides of two types": mixed, "rounded products": rounded,
    "steps of two": far, "eight bits": product(4, 5, 8, dtype=F8E5M2),
    "one row": product(1, 9, 6, batch=2),
    "no product": lambda b: b.reduce("sum", b.input("x", F32, (4, 8)), [1]),
    "no reduction": lambda b: b.un("exp", b.input("x", F32, (4, 8))),
}  # fmt: skip


def lowered(make: Make, name: str = "f") -> Function:
    assert LIBRARY.accepts(kernel(make)) is None
    return LIBRARY.lower(kernel(make), WITH, name, False)


@pytest.mark.parametrize("name", TAKEN | SMALL)
def test_its_loops_mean_the_kernel(name: str) -> None:
    make = (TAKEN | SMALL)[name]
    k, made = kernel(make), verify(lowered(make))
    buffers = buffers_for(k)
    want = reference(k, buffers)
    interpret(made, buffers)
    close(k, buffers[k.reads :], want)
    assert tuple(parse_all(show(made))) == (made,)


def test_the_library_computes_what_the_kernel_means() -> None:
    if not c_device().caps().library:
        pytest.skip(blas().detail)
    kernels = [kernel(make) for make in TAKEN.values()]
    buffers = [buffers_for(k) for k in kernels]
    want = [reference(k, b) for k, b in zip(kernels, buffers, strict=True)]
    on_c([lowered(make, f"f{i}") for i, make in enumerate(TAKEN.values())], buffers)
    for k, b, w in zip(kernels, buffers, want, strict=True):
        close(k, b[k.reads :], w)


@pytest.mark.parametrize("name", REFUSED)
def test_it_refuses(name: str) -> None:
    assert LIBRARY.accepts(kernel(REFUSED[name])) is not None


def test_it_is_chosen_by_name_alone_and_where_there_is_one() -> None:
    k = kernel(TAKEN["plain"])
    choices = {digest(k): Choice("library")}
    assert choose(k, model_of(WITH))[0].name == "contract"
    assert LIBRARY in candidates_for(False)
    assert products(lower(k, WITH, "k", choices=choices).body)
    assert not products(lower(k, WITH, "k").body)
    assert not products(lower(k, CPU, "k", choices=choices).body)  # there is none


def test_small_floats_are_for_gpus() -> None:
    k = kernel(SMALL["f16"])
    assert LIBRARY.cost(k, model_of(WITH)) is None
    assert LIBRARY.cost(k, model_of(replace(GPU, library="a library")))
    with pytest.raises(DeviceError, match="multiplies f32 and f64 alone"):
        c_device().source([lowered(SMALL["f16"])])


def test_many_launches_are_no_way_to_multiply() -> None:
    """On a GPU, where one call does all products along one axis of two; or is one."""

    def seconds(batch: int, heads: int, caps: Caps) -> float:
        def make(b: Builder) -> int:
            q, k = (b.input(name, F32, (batch, 6, heads, 8)) for name in "qk")
            return b.matmul(b.permute(q, (0, 2, 1, 3)), b.permute(k, (0, 2, 3, 1)))

        found = LIBRARY.cost(kernel(make), model_of(caps))
        return found.launch if found else math.inf

    gpu = replace(GPU, library="a library")
    launch = model_of(gpu).launch
    assert seconds(1, 500, gpu) == launch
    assert seconds(3, 500, gpu) == seconds(500, 3, gpu) == 3 * launch
    assert seconds(65, 65, gpu) == math.inf
    assert seconds(65, 65, WITH) == model_of(WITH).launch


def products(body: tuple[Stmt, ...]) -> list[Gemm]:
    out = [s for s in body if isinstance(s, Gemm)]
    for s in body:
        if isinstance(s, For):
            out += products(s.body)
    return out


def test_a_product_that_goes_wrong_is_found() -> None:
    made = lowered(TAKEN["plain"])
    (call,) = made.body
    assert isinstance(call, Gemm)

    def with_call(**changed: object) -> Function:
        return replace(made, body=(replace(call, **changed),))  # type: ignore[arg-type]

    for changed in (
        {"k": 34}, {"a": call.a._replace(down=32)}, {"out": call.a}, {"m": 0},
        {"b": call.b._replace(across=2)}, {"out": call.out._replace(array="b9")},
    ):  # fmt: skip
        with pytest.raises(VerifyError):
            verify(with_call(**changed))
    shared = replace(made, body=(For(Var("i", I32), 2, "grid", (call,)),))
    with pytest.raises(VerifyError, match="a loop that is shared"):
        verify(shared)
    with pytest.raises(Trap, match="beyond 'b0'"):
        interpret(with_call(k=34), buffers_for(kernel(TAKEN["plain"])))


def test_other_languages_refuse_it() -> None:
    from rewrite.backends.devices import device

    made = lowered(TAKEN["plain"])
    for name in ("opencl", "wgpu"):
        with pytest.raises(DeviceError, match="no library of products"):
            device(name).source([made])


def test_a_library_with_other_threads_is_none_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not blas().calls:
        pytest.skip(blas().detail)
    monkeypatch.setattr(finding, "thread_count", lambda: 77)
    found = finding.blas.__wrapped__()
    assert not found.calls and "we with 77" in found.detail
    none = Blas("there is none")
    monkeypatch.setattr(finding, "blas", lambda: none)
    with pytest.raises(DeviceError, match="there is none"):
        c_device().compile([lowered(TAKEN["plain"], "not_compiled_before")])
    on_c([lower(kernel(REFUSED["no reduction"]), CPU, "fine")], [[
        np.zeros(32, np.float32), np.zeros(32, np.float32)
    ]])  # fmt: skip
