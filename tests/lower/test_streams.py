"""Results that no cache holds are written past the caches."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rewrite.egraph.ir.dtypes import BF16, F32, F64, DType
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import normalise
from rewrite.lower.emit import host
from rewrite.lower.loops import Fetch, Function, Store
from rewrite.lower.lower import lower
from rewrite.lower.verify import verify
from rewrite.lower.walking import walk

from .harness import CPU, buffers_for, close, kernel_of, on_c, reference

SMALL = replace(CPU, last_cache=1 << 16)


def softmax(rows: int, width: int, dtype: DType = F32) -> Kernel:
    b = Builder()
    x = b.input("x", dtype, (rows, width))
    return normalise(kernel_of(b, [b.macro("softmax", [x], (0, 1))]))


def streams(f: Function) -> list[str]:
    return [s.array for s in walk(f.body) if isinstance(s, Store) and s.stream]


def test_what_fits_the_cache_is_stored_as_always() -> None:
    k = softmax(32, 256)
    assert streams(lower(k, replace(SMALL, last_cache=32 * 256 * 4), "f")) == []
    assert streams(lower(k, replace(SMALL, last_cache=32 * 256 * 4 - 1), "f")) == ["b1"]
    assert streams(lower(k, CPU, "f")) == []


def test_what_is_streamed_is_not_fetched() -> None:
    k = softmax(300, 4096)
    fetched = [
        [
            s.array
            for s in walk(lower(k, c, "f").body)
            if isinstance(s, Fetch) and s.write
        ]
        for c in (CPU, SMALL)
    ]
    assert fetched[0] and not fetched[1]


@pytest.mark.parametrize("dtype", [F32, F64, BF16])
@pytest.mark.parametrize("width", [1024, 1100, 4999])
def test_on_c(width: int, dtype: DType) -> None:
    k = softmax(40, width, dtype)
    f = verify(lower(k, SMALL, "f"))
    assert streams(f)
    text = host.source([f])
    assert ("rw_past(b1" in text) == (
        dtype is not BF16 and width * dtype.itemsize > 4095
    )
    buffers = buffers_for(k)
    want = reference(k, buffers)
    on_c([f], [buffers])
    close(k, buffers[k.reads :], want)
