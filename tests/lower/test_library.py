"""Products by the host's library: what it takes and computes, and who asks for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from rewrite.backends import blas as finding
from rewrite.backends.blas import Blas, blas
from rewrite.egraph.dtypes import F16, F32, F64, DType
from rewrite.egraph.graph import Builder
from rewrite.extract.kernel import Kernel
from rewrite.lower.axes import normalise
from rewrite.lower.choice import Choice, digest
from rewrite.lower.device import DeviceError
from rewrite.lower.families import candidates_for
from rewrite.lower.families.library import LIBRARY
from rewrite.lower.interpret import Trap
from rewrite.lower.interpret import run as interpret
from rewrite.lower.loops import For, Function, Gemm, Stmt
from rewrite.lower.lower import choose, lower
from rewrite.lower.model import model_of
from rewrite.lower.text import parse_all, show
from rewrite.lower.verify import VerifyError, verify

from .harness import (
    CPU,
    buffers_for,
    c_device,
    close,
    kernel_of,
    on_c,
    reference,
)

WITH = replace(CPU, library="a library")
type Make = Callable[[Builder], int]


def product(
    m: int, n: int, k: int, turned: str = "", batch: int = 0, dtype: DType = F32
) -> Make:
    """x @ w; `turned`: which of a, b and the result c lie the other way."""

    def make(b: Builder) -> int:
        head = (batch,) if batch else ()

        def matrix(name: str, rows: int, columns: int) -> int:
            if name not in turned:
                return b.input(name, dtype, (*head, rows, columns))
            return flip(b.input(name, dtype, (*head, columns, rows)))

        def flip(x: int) -> int:
            axes = (0, 2, 1) if batch else (1, 0)
            return b.permute(x, axes)

        made = b.matmul(matrix("a", m, k), matrix("b", k, n))
        return flip(made) if "c" in turned else made

    return make


def with_epilogue(b: Builder) -> int:
    y = product(13, 21, 8)(b)
    return b.un("gelu", b.bin("add", *b.broadcast(y, b.input("bias", F32, (1, 21)))))


def sliced(b: Builder) -> int:
    """Rows apart, and the first one not at the start."""
    x = b.slice(b.input("x", F32, (9, 20)), (1, 3), (6, 11), (1, 1))
    return b.matmul(x, b.input("w", F32, (11, 7)))


TAKEN: dict[str, Make] = {
    "plain": product(17, 65, 33), "double": product(5, 6, 7, dtype=F64),
    "left turned": product(17, 5, 9, "a"), "right turned": product(17, 5, 9, "b"),
    "result turned": product(17, 5, 9, "c"), "all turned": product(17, 5, 9, "abc"),
    "batch": product(4, 9, 6, "b", batch=3),
    "epilogue": with_epilogue, "sliced": sliced,
}  # fmt: skip


def scaled(b: Builder) -> int:
    return b.matmul(b.un("exp", b.input("x", F32, (4, 8))), b.input("w", F32, (8, 5)))


def softmaxed(b: Builder) -> int:
    return b.macro("softmax", [product(4, 5, 8)(b)], (0, 1))


REFUSED: dict[str, Make] = {
    "a side is computed": scaled, "rows are reduced after it": softmaxed,
    "sums of halves": product(4, 5, 8, dtype=F16),
    "one row": product(1, 9, 6, batch=2),
    "no product": lambda b: b.reduce("sum", b.input("x", F32, (4, 8)), [1]),
    "no reduction": lambda b: b.un("exp", b.input("x", F32, (4, 8))),
}  # fmt: skip


def kernel(make: Make) -> Kernel:
    b = Builder()
    return normalise(kernel_of(b, [make(b)]))


def lowered(make: Make, name: str = "f") -> Function:
    assert LIBRARY.accepts(kernel(make)) is None
    return LIBRARY.lower(kernel(make), WITH, name, False)


@pytest.mark.parametrize("name", TAKEN)
def test_its_loops_mean_the_kernel(name: str) -> None:
    k, made = kernel(TAKEN[name]), verify(lowered(TAKEN[name]))
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


def products(body: tuple[Stmt, ...]) -> list[Gemm]:
    out = [s for s in body if isinstance(s, Gemm)]
    for s in body:
        if isinstance(s, For):
            out += products(s.body)
    return out


def test_a_product_that_goes_wrong_is_found() -> None:
    made = lowered(TAKEN["plain"])
    (loop,) = made.body
    assert isinstance(loop, For)
    (call,) = loop.body
    assert isinstance(call, Gemm)

    def with_call(**changed: object) -> Function:
        broken = replace(call, **changed)  # type: ignore[arg-type]
        return replace(made, body=(replace(loop, body=(broken,)),))

    for changed in (
        {"k": 34}, {"a": call.a._replace(down=32)}, {"out": call.a}, {"m": 0},
        {"b": call.b._replace(across=2)}, {"out": call.out._replace(array="b9")},
    ):  # fmt: skip
        with pytest.raises(VerifyError):
            verify(with_call(**changed))
    shared = replace(made, body=(replace(loop, kind="grid"),))
    with pytest.raises(VerifyError, match="a loop that is shared"):
        verify(shared)
    with pytest.raises(Trap, match="beyond 'b0'"):
        interpret(with_call(k=34), buffers_for(kernel(TAKEN["plain"])))


def test_other_languages_refuse_it() -> None:
    from rewrite.backends.devices import device

    made = lowered(TAKEN["plain"])
    for name in ("opencl", "cuda", "wgpu"):
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
